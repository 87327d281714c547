"""The node's log as its services use it: they append records, and followers hear of each in its order, once on disk."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec

from tocsin.flow.addressing import addressed_to
from tocsin.flow.flow import normalise
from tocsin.model.identity import Node
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed, Declared, Position
from tocsin.model.refusal import Refusal
from tocsin.store.codec import decode, encode
from tocsin.store.errors import CannotAppend, LogFull
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader


class Arrival(NamedTuple):
    """What one record brought: `matchable` is what subscriptions are held against, `public` what was said to everybody.

    What was posted to a pull point is for that alone; what a notifier tells its service is nobody else's.
    """

    offset: int
    notifications: Sequence[Notification]
    matchable: Sequence[Notification]
    public: Sequence[Notification]
    pull_point: str | None
    principal: str | None


def arrival(
    offset: int, notifications: Sequence[Notification], pull_point: str | None, principal: str | None
) -> Arrival:
    matchable = notifications if pull_point is None else ()
    public = () if matchable and matchable[0].addressee else matchable
    return Arrival(offset, notifications, matchable, public, pull_point, principal)


class Follower(NamedTuple):
    """Hears of every change, declaration and arrival from the record `since` on; without it, of what is new alone."""

    changed: Callable[[Changed], None] | None = None
    declared: Callable[[Declared], None] | None = None
    accepted: Callable[[Arrival], None] | None = None
    since: int | None = None


class Ahead(Protocol):
    """Direct delivery: goes ahead of the disk in what waits for it."""

    def go(self) -> None: ...

    def passed(self) -> bool:
        """The first of those that wait does so no more; whether it was gone ahead with."""
        ...

    def failed(self, durable: int) -> None: ...


class Copying(Protocol):
    """Copies of the log elsewhere, which whoever waits for a record waits for as well."""

    @property
    def is_needed(self) -> bool: ...

    def appended(self, offset: int, payloads: Sequence[bytes]) -> None: ...

    def durable(self) -> None: ...

    def failed(self) -> None: ...

    def covered(self, stored: "asyncio.Future[int]", last: int) -> "asyncio.Future[int]": ...


Waiting = tuple["asyncio.Future[int]", Changed | Declared | Arrival]


class Proposals(Protocol):
    """The order of changes that nodes share. What is proposed there comes back by `Journal.follow`, at all of them."""

    def propose(self, records: Sequence[Changed | Declared]) -> "asyncio.Future[int]":
        """All of them or none; done when they are in this node's log."""
        ...


class Journal:
    """`waiting` is what was appended and is not on disk, in its order. With `proposals` changes go there first."""

    def __init__(self, node: Node, log: Log, proposals: Proposals | None = None) -> None:
        self.node, self.log, self._proposals = node, log, proposals
        self.waiting: deque[Waiting] = deque()
        self._changed: Sequence[Callable[[Changed], None]] = ()
        self._declared: Sequence[Callable[[Declared], None]] = ()
        self._accepted: Sequence[Callable[[Arrival], None]] = ()
        self._ahead: Ahead | None = None
        self._copies: Copying | None = None
        log.on_durable, log.on_failed = self._durable, self._failed

    def start(
        self,
        reader: LogReader,
        followers: Sequence[Follower],
        *,
        past: Sequence[Follower] = (),
        ahead: Ahead | None = None,
        copies: Copying | None = None,
    ) -> None:
        """One pass over what the log has that some follower has not heard of; from then on they hear of what is new.

        Those of the `past` hear of that alone.
        """
        end = reader.end()
        all_of_them = (*followers, *past)
        behind = [(each, each.since) for each in all_of_them if each.since is not None and each.since < end]
        first = min((since for _, since in behind), default=end)
        for offset, payload in reader.kept_frames(first, end):
            record = decode(payload)
            self._tell([each for each, since in behind if since <= offset], offset, record)
        self._changed = [each.changed for each in followers if each.changed is not None]
        self._declared = [each.declared for each in followers if each.declared is not None]
        self._accepted = [each.accepted for each in followers if each.accepted is not None]
        self._ahead, self._copies = ahead, copies

    def position(self) -> Position:
        """Of what is appended next."""
        return Position(self.node, self.log.next_offset)

    def accept(self, record: Accepted, arrived: Arrival) -> "asyncio.Future[int]":
        payload = encode(record)
        offset, future = self.log.next_offset, self.log.append_all((payload,))
        self.waiting.append((future, arrived))
        if self._ahead is not None:
            self._ahead.go()
        if self._copies is not None and self._copies.is_needed:
            return self._covered(offset, (payload,), future)
        return future

    def _covered(self, offset: int, payloads: Sequence[bytes], future: "asyncio.Future[int]") -> "asyncio.Future[int]":
        assert self._copies is not None
        self._copies.appended(offset, payloads)
        return self._copies.covered(future, offset + len(payloads) - 1)

    def change(self, change: Changed) -> "asyncio.Future[int]":
        return self._change((change,))

    def declare(self, records: Sequence[Declared]) -> "asyncio.Future[int]":
        """All of them or none."""
        return self._change(records)

    def follow(self, record: Changed | Declared, shared: int) -> "asyncio.Future[int]":
        """The next of the shared order, as this node's log has it."""
        return self._append((msgspec.structs.replace(record, at=self.position(), shared=shared),))

    def _change(self, records: Sequence[Changed | Declared]) -> "asyncio.Future[int]":
        return self._append(records) if self._proposals is None else self._proposals.propose(records)

    def _append(self, records: Sequence[Changed | Declared]) -> "asyncio.Future[int]":
        payloads = [encode(each) for each in records]
        offset, future = self.log.next_offset, self.log.append_all(payloads, records)
        self.waiting.extend((future, each) for each in records)
        if self._copies is not None and self._copies.is_needed:
            return self._covered(offset, payloads, future)
        return future

    async def stored(self, future: "asyncio.Future[int]") -> None:
        try:
            await future
        except CannotAppend as problem:
            raise self.refusal(problem) from None

    def refusal(self, problem: CannotAppend) -> Refusal:
        """What is said to whoever waited for it."""
        self._durable()  # so that what failed is let go while nothing succeeds
        if isinstance(problem, LogFull):
            return Refusal("overloaded", f"{problem}; try again a little later")
        return Refusal("cannot-store", f"it could not be stored, try again: {problem}")

    async def settled(self) -> None:
        """Until all that was appended is in the log, or is known not to be."""
        if self.waiting:
            with suppress(CannotAppend):
                await self.waiting[-1][0]

    def _durable(self, end: int = 0) -> None:
        """In the order of the log: what is on disk is told, what failed to get there is not."""
        del end
        waiting, ahead = self.waiting, self._ahead
        while waiting and waiting[0][0].done():
            future, what = waiting.popleft()
            gone_ahead = ahead is not None and ahead.passed()
            if future.exception() is not None:
                continue
            if type(what) is Arrival:
                for hear in self._accepted[1:] if gone_ahead else self._accepted:  # the engine is the first
                    hear(what)
            elif type(what) is Changed:
                for hear_change in self._changed:
                    hear_change(what)
            elif type(what) is Declared:
                for hear_declared in self._declared:
                    hear_declared(what)
        if ahead is not None:
            ahead.go()
        if self._copies is not None:
            self._copies.durable()

    def _failed(self) -> None:
        """All that waited failed; nothing has been given its offsets yet."""
        self._durable()
        if self._copies is not None:
            self._copies.failed()
        if self._ahead is not None:
            self._ahead.failed(self.log.durable)

    def _tell(self, followers: Sequence[Follower], offset: int, record: Accepted | Changed | Declared) -> None:
        match record:
            case Changed():
                for each in followers:
                    if each.changed is not None:
                        each.changed(record)
            case Declared():
                for each in followers:
                    if each.declared is not None:
                        each.declared(record)
            case Accepted():
                hearing = [each.accepted for each in followers if each.accepted is not None]
                if hearing:
                    arrived = arrival(offset, readable(record), addressed_to(record), record.principal)
                    for hear in hearing:
                        hear(arrived)


def readable(record: Accepted) -> tuple[Notification, ...]:
    """None where today's rules refuse what was accepted under others: one such record must not stop the rest."""
    try:
        return normalise(record)
    except Refusal:
        return ()


def matchable(record: Accepted) -> tuple[Notification, ...]:
    """What is for a pull point alone is for no subscription."""
    return readable(record) if addressed_to(record) is None else ()
