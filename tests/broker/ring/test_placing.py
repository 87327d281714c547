"""What is put at a node again, while it is not on disk yet, is not acknowledged before it is."""

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from tests.broker.ring.test_demanding import subscription

from tocsin.broker.ring.circle import Circle
from tocsin.broker.ring.placing import Placing
from tocsin.model.identity import Instant, Node
from tocsin.model.subscription import Position, Subscription


class Disk:
    """A journal and what stands by it; nothing is on disk before it is said to be."""

    def __init__(self) -> None:
        self.changing: dict[str, Subscription] = {}
        self.by_id: dict[str, Subscription] = {}
        self.futures: list[asyncio.Future[int]] = []

    def change_here(self, what: Subscription) -> "asyncio.Future[int]":
        self.changing[what.id] = what
        self.futures.append(asyncio.get_running_loop().create_future())
        return self.futures[-1]

    def position(self) -> Position:
        return Position(Node("a"), 0)

    async def stored(self, future: "asyncio.Future[int]") -> None:
        await future


def placing(disk: Any, settled: list[str]) -> Placing:
    async def settle(names: Iterable[str]) -> None:
        settled.extend(names)

    known = SimpleNamespace(spaces={})
    circle = Circle("a", lambda: True)
    asking: Any = None
    return Placing(circle, asking, disk, disk, lambda: known, lambda: Instant(0), print, settle, int)  # type: ignore[arg-type, return-value]


async def test_who_puts_the_same_again_waits_for_the_disk() -> None:
    disk, settled = Disk(), list[str]()
    made = placing(disk, settled)
    tasks = [asyncio.create_task(made.put((subscription(),), Instant(0))) for _ in range(2)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(disk.futures) == 1 and settled == [] and not any(each.done() for each in tasks)
    disk.futures[0].set_result(0)
    await asyncio.gather(*tasks)
    assert settled == ["s", "s"]
    await made.put((subscription(),), Instant(0))
    assert len(disk.futures) == 1
