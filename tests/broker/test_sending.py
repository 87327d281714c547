"""Progress and history are saved apart: neither waits for the other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from tests.broker.records import NODE

from tocsin.broker.engines.sending import Engine, Sending
from tocsin.delivery.entry import Entry
from tocsin.model.delivery import Delivery, Match, Outcome
from tocsin.model.identity import Instant, MessageId, SubscriptionId
from tocsin.model.records import Position
from tocsin.model.subscription import Endpoint
from tocsin.store.database import Store
from tocsin.store.errors import CannotAppend
from tocsin.store.log.log import Log

NAME = SubscriptionId("s")


class History:
    """Stands for the log of outcomes; full while `full`."""

    def __init__(self) -> None:
        self.full = False
        self.told: list[Any] = []

    async def append(self, payload: bytes) -> int:
        if self.full:
            raise CannotAppend("no room")
        self.told += msgspec.msgpack.decode(payload)
        return 0


class Progress:
    """Stands for an engine: counts what was written, and when."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.written: list[int] = []

    def settled(self, entry: Entry) -> None:
        pass

    def checkpoint(self, dead: object, revived: object) -> Callable[[], None]:
        return lambda: self.written.append(len(self.history.told))


def made(tmp_path: Path) -> tuple[Sending, History, Progress]:
    history = History()
    progress = Progress(history)
    sending = Sending(Store.open(tmp_path / "tocsin.db"), cast(Log, history))
    sending.engine = cast(Engine, progress)
    return sending, history, progress


def settle(sending: Sending, offset: int) -> None:
    match, at = Match(MessageId(f"m{offset}"), NAME), Position(NODE, offset)
    delivery = Delivery(match, at, 0, Endpoint("http://x/"), (), b"")
    outcome = Outcome(match, at, 0, Instant(1), "delivered", 1, "")
    sending.settled(Entry(NAME, (offset, 0), None), delivery, outcome)


async def test_what_is_told_is_on_disk_before_progress_is(tmp_path: Path) -> None:
    sending, history, progress = made(tmp_path)
    settle(sending, 1)
    await sending.save()
    assert len(history.told) == 1
    assert progress.written == [1]


async def test_progress_goes_on_while_the_history_has_no_room(tmp_path: Path) -> None:
    sending, history, progress = made(tmp_path)
    history.full = True
    settle(sending, 1)
    with pytest.raises(CannotAppend):
        await sending.save()
    assert progress.written == [0]
    history.full = False
    settle(sending, 2)
    await sending.save()
    assert [each[1][1] for each in history.told] == [1, 2]
    assert progress.written == [0, 2]
