"""What is asked of machines at other nodes: those that wait for one peer go together, and again until it answers."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from msgspec import Raw, Struct

from tocsin.delivery.retry import delay, describe
from tocsin.delivery.settings import DeliverySettings
from tocsin.runtime.peers import MOST_ROWS, Link, is_unreadable, taken_of
from tocsin.store.machines import Codec
from tocsin.wire.answer import Answer
from tocsin.wire.peer_messages import UNREADABLE, Batch, Question, encode, letters_of


class _Waiting(Struct):
    of: str
    body: Raw
    answer: "asyncio.Future[Any]"


class Questions:
    def __init__(
        self, link: Link, family: str, messages: Codec, patience: DeliverySettings, report: Callable[[str], None]
    ) -> None:
        self._link, self._path, self._messages = link, letters_of(family), messages
        self._patience, self._report, self._random = patience, report, Random()
        self._waiting: defaultdict[str, list[_Waiting]] = defaultdict(list)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, peer: str, of: str, question: Any) -> Any:
        """However long it takes; raises only where the peer can never understand it."""
        body, answer = Raw(self._messages.encode(question)), asyncio.get_running_loop().create_future()
        self._waiting[peer].append(_Waiting(of, body, answer))
        if peer not in self._tasks:
            self._tasks[peer] = asyncio.create_task(self._ask_all(peer))
        return await answer

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _ask_all(self, peer: str) -> None:
        failed, most = 0, MOST_ROWS
        try:
            while asked := self._next(peer, most):
                answer = await self._ask(peer, asked)
                if self._answered(asked, answer):
                    failed, most = 0, min(MOST_ROWS, 2 * most)
                elif is_unreadable(answer):
                    # How many to ask next: the one at fault is found by halves
                    if len(asked) == 1:
                        asked[0].answer.set_exception(LookupError(describe(answer)))
                    most = max(1, len(asked) // 2)
                else:
                    failed += 1
                    await self._wait(peer, answer, failed)
        finally:
            del self._tasks[peer]

    def _next(self, peer: str, most: int) -> list[_Waiting]:
        """Who is not waited for any more is forgotten."""
        self._waiting[peer] = [each for each in self._waiting[peer] if not each.answer.done()]
        return self._waiting[peer][:most]

    async def _ask(self, peer: str, asked: Sequence[_Waiting]) -> Answer:
        batch = Batch(questions=tuple(Question(number, each.of, each.body) for number, each in enumerate(asked)))
        return await self._link.ask("POST", peer, self._path, encode(batch))

    def _answered(self, asked: Sequence[_Waiting], answer: Answer) -> bool:
        """Whether anybody was."""
        taken = taken_of(answer)
        replies = {} if taken is None else {each.number: each.body for each in taken.replies}
        found = [(each, replies[number]) for number, each in enumerate(asked) if number in replies]
        for each, body in found:
            if not each.answer.done():
                self._answer(each.answer, body)
        return bool(found)

    def _answer(self, waiting: "asyncio.Future[Any]", body: Raw) -> None:
        try:
            waiting.set_result(self._messages.decode(body))
        except UNREADABLE as problem:
            waiting.set_exception(LookupError(f"the answer cannot be read: {problem}"))

    async def _wait(self, peer: str, answer: Answer, failed: int) -> None:
        if failed == 1:
            self._report(f"{peer} does not answer what is asked of it: {describe(answer)}; it is asked again")
        await asyncio.sleep(delay(answer, failed, self._patience, self._random))
