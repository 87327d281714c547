"""Takes the order of changes that nodes share into this node's log, where its followers hear of them."""

import asyncio
from collections.abc import Callable, Sequence

from confluent_kafka import KafkaError, Message, TopicPartition

from tocsin.broker.journal import Journal
from tocsin.broker.shared.proposals import Proposals
from tocsin.broker.shared.worker import Worker
from tocsin.store.errors import CannotAppend, StoreError
from tocsin.store.past import Past
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.changes import Admission, SharedChange, change_of
from tocsin.store.shared.kafka import answering, bounds, consumer_of
from tocsin.store.shared.reading import truncated

_LOOK_SECONDS = 0.02
_PAUSE = 1.0
_PAGE = 1_000


class Following:
    """One thread reads; a page of changes is on this node's disk before the next is read."""

    def __init__(
        self, shared: SharedLog, proposals: Proposals, journal: Journal, past: Past, report: Callable[[str], None]
    ) -> None:
        self._shared, self._proposals, self._journal, self._past = shared, proposals, journal, past
        self._report, self._worker = report, Worker("changes", self._run, report)
        self._consumer = consumer_of(shared, "changes")
        self._caught_up: asyncio.Future[None] = self._worker.loop.create_future()
        self._end = 0  # of the order when this began

    async def start(self) -> None:
        """Returns when all that is in the order by now is in this node's log."""
        start = self._past.shared()
        with answering(self._shared):
            low, self._end = await asyncio.to_thread(bounds, self._consumer, self._shared.changes, 0)
        if low > start:
            raise truncated(self._shared, self._shared.changes, 0, start, low)
        self._consumer.assign([TopicPartition(self._shared.changes, 0, start)])
        self._worker.start()
        if start < self._end:
            await self._caught_up

    async def close(self) -> None:
        await self._worker.close()

    def _run(self) -> None:
        while not self._worker.stopped.is_set():
            page: list[Message] = []
            reached = 0
            for message in self._consumer.consume(_PAGE, _LOOK_SECONDS):
                error, offset = message.error(), int(message.offset() or 0)
                if error is None:
                    page.append(message)
                    reached = offset + 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    reached = offset
                else:
                    self._worker.trouble(f"the shared log {self._shared.shown}: {error.str()}")
            if reached:
                self._worker.trouble("")
            try:
                self._take([change_of(each) for each in page])
            except StoreError as problem:  # it will not pass: nothing may be left out of the order
                self._worker.trouble(f"this node no longer follows the changes of others: {problem}")
                self._worker.call(self._proposals.refuse, str(problem))
                return
            if reached >= self._end:
                self._worker.call(_done, self._caught_up)
        self._consumer.close()

    def _take(self, waiting: Sequence[SharedChange]) -> None:
        """Until the node's own log has them: nothing may be left out of the order."""
        while waiting and not self._worker.stopped.is_set():
            waiting = waiting[asyncio.run_coroutine_threadsafe(self._follow(waiting), self._worker.loop).result() :]
            if waiting:
                self._worker.stopped.wait(_PAUSE)

    async def _follow(self, page: Sequence[SharedChange]) -> int:
        """How many of them are done with, from the first on."""
        admission, follow = Admission(self._past), self._journal.follow
        appended = [
            (change, follow(change.record, change.offset) if admission.admits(change.record) else None)
            for change in page
        ]
        done = 0
        for change, future in appended:
            if future is not None:
                try:
                    await future
                except CannotAppend as problem:
                    self._report(f"changes that nodes share wait for this node's disk: {problem}")
                    break
            self._proposals.came_back(change, admitted=future is not None)
            done += 1
        return done


def _done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
