"""Writes changes to the order that nodes share; they are done when they have come back from there."""

import asyncio
import itertools
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue

from confluent_kafka import Producer

from tocsin.model.identity import Node
from tocsin.model.records import Changed, Declared
from tocsin.store.codec import encode
from tocsin.store.errors import CannotAppend, StoreError
from tocsin.store.judge.judge import FILTER_SECONDS
from tocsin.store.log.log import Stored
from tocsin.store.shared import changes
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.changes import SharedChange
from tocsin.store.shared.kafka import Headers
from tocsin.store.shared.transactions import Transactions

_PAGE = 1_000
_Proposal = tuple[int, Sequence[Changed | Declared]]


class Proposals:
    """One thread writes what is proposed; what is proposed meanwhile goes into the next transaction."""

    def __init__(self, shared: SharedLog, node: Node, base_url: str, filter_seconds: float) -> None:
        """Where nodes are reached, and how long a filter may take, goes with every change: Spark must know it."""
        self._shared, self._node = shared, node
        self._headers: Headers = [
            (changes.NODE, node.encode()),
            (changes.BASE_URL, base_url.encode()),
            (FILTER_SECONDS, str(filter_seconds).encode()),
        ]
        self._transactions = Transactions(shared, f"{node}.changes")
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(time.time_ns())
        self._waiting: dict[int, Stored] = {}
        self._refusal: str | None = None
        self._queue: SimpleQueue[_Proposal | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="proposals", daemon=True)

    def propose(self, records: Sequence[Changed | Declared]) -> "asyncio.Future[int]":
        future, number = Stored(loop=self._loop), next(self._numbers)
        if self._refusal is not None:
            future.set_exception(CannotAppend(self._refusal))
            return future
        self._waiting[number] = future
        self._queue.put((number, records))
        return future

    async def start(self) -> None:
        await asyncio.to_thread(self._transactions.open)
        self._thread.start()

    async def close(self) -> None:
        self._queue.put(None)
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)
        self._fail(list(self._waiting), "the node is about to end")

    def refuse(self, reason: str) -> None:
        """From now on: nothing that is proposed would come back."""
        self._refusal = reason
        self._fail(list(self._waiting), reason)

    def came_back(self, change: SharedChange, *, admitted: bool) -> None:
        """It is in this node's log; or it is left out there, and everywhere."""
        future = self._waiting.pop(change.number, None) if change.node == self._node and change.last else None
        if future is not None and admitted:
            future.set_result(change.offset)
        elif future is not None:
            future.set_exception(CannotAppend("the subscription was ended at another node meanwhile"))

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            proposals = [first]
            with suppress(Empty):
                while len(proposals) < _PAGE and (more := self._queue.get_nowait()) is not None:
                    proposals.append(more)
            try:
                self._transactions.write(partial(self._produce, proposals))
            except StoreError as problem:
                numbers = [number for number, _ in proposals]
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._fail, numbers, str(problem))

    def _produce(self, proposals: Sequence[_Proposal], producer: Producer) -> None:
        for number, records in proposals:
            headers: Headers = [*self._headers, (changes.NUMBER, str(number).encode())]
            for place, record in enumerate(records, 1):
                last: Headers = [(changes.LAST, b"1")] if place == len(records) else []
                producer.produce(self._shared.changes, value=encode(record), headers=headers + last, partition=0)

    def _fail(self, numbers: Sequence[int], reason: str) -> None:
        for number in numbers:
            if (future := self._waiting.pop(number, None)) is not None:
                future.set_exception(CannotAppend(reason))
                future.exception()  # whoever waited may be gone
