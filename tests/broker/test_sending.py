"""Progress and history are saved apart: neither waits for the other."""

from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest
from tests.broker.records import NODE

from tocsin.broker.engines.settlement import Engine, Settlement
from tocsin.broker.settings import DeliverySettings
from tocsin.broker.subscriptions.failures import FilterFailures
from tocsin.delivery.lane import Entry
from tocsin.model.delivery import Delivery, Match, Outcome
from tocsin.model.identity import Instant, MessageId, SubscriptionId
from tocsin.model.records import Position
from tocsin.model.subscription import Endpoint
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


def made() -> tuple[Settlement, History, Progress]:
    history = History()
    progress = Progress(history)
    deliverer: Any = None
    settlement = Settlement(cast(Engine, progress), deliverer, cast(Log, history), FilterFailures(), DeliverySettings())
    return settlement, history, progress


def settle(settlement: Settlement, offset: int) -> None:
    match, at = Match(MessageId(f"m{offset}"), NAME), Position(NODE, offset)
    delivery = Delivery(match, at, 0, Endpoint("http://x/"), (), b"")
    outcome = Outcome(match, at, 0, Instant(1), "delivered", 1, "")
    settlement.settled(Entry(NAME, (offset, 0), None), delivery, outcome)


async def test_what_is_told_is_on_disk_before_progress_is() -> None:
    settlement, history, progress = made()
    settle(settlement, 1)
    await settlement.save()
    assert len(history.told) == 1
    assert progress.written == [1]


async def test_progress_goes_on_while_the_history_has_no_room() -> None:
    settlement, history, progress = made()
    history.full = True
    settle(settlement, 1)
    with pytest.raises(CannotAppend):
        await settlement.save()
    assert progress.written == [0]
    history.full = False
    settle(settlement, 2)
    await settlement.save()
    assert [each[1][1] for each in history.told] == [1, 2]
    assert progress.written == [0, 2]
