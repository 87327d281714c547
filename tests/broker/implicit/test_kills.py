"""A node that is killed at any of its transactions, before or after it: everybody is told all the same."""

import asyncio
from pathlib import Path

import pytest
from tests.broker.implicit.stage import Stage, at_home, opened, published, world

from tocsin.semantics.interest.world import World
from tocsin.sim.implicit import disseminate
from tocsin.store.machines import Writing

# Paths of different lengths, a loop, and a service that two others tell.
CHANGES = world(
    [("C1", "C2"), ("C1", "C3"), ("C2", "C4"), ("C3", "C4"), ("C4", "C1")],
    [("N1", "C1", "http://here"), *at_home("C2", "N2"), *at_home("C3", "N3"), *at_home("C4", "N4", "N5")],
)
MESSAGE = "urn:message:1"
MOST_WRITES = 20


class Killed(BaseException):
    """Nobody catches it."""


def kill(stage: Stage, monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool) -> None:
    write, left = stage.tables.write, [number]

    def killed(writing: Writing) -> None:
        left[0] -= 1
        if left[0] or after:
            write(writing)
        if not left[0]:
            raise Killed

    monkeypatch.setattr(stage.tables, "write", killed)


async def lived(stage: Stage) -> bool:
    """Whether it came to its end; the publisher asks until it has an answer."""
    taking = asyncio.create_task(stage.take(published(protocol=stage.path.name)))
    await asyncio.wait({taking, stage.life}, return_when=asyncio.FIRST_COMPLETED)
    settling = asyncio.create_task(stage.settled())
    await asyncio.wait({settling, stage.life}, return_when=asyncio.FIRST_COMPLETED)
    for task in (taking, settling):
        task.cancel()
    await asyncio.gather(taking, settling, return_exceptions=True)
    return not stage.life.done()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("protocol", ["cin", "din", "hin-din"])
async def test_killed_at_any_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, after: bool) -> None:
    expected = disseminate(World.of(CHANGES), "N1", "T", protocol)
    for number in range(1, MOST_WRITES):
        folder = tmp_path / str(number) / protocol
        async with opened(folder, CHANGES) as stage:
            kill(stage, monkeypatch, number, after=after)
            ended = await lived(stage)
            told = list(stage.told)
        async with opened(folder) as stage:
            assert await lived(stage)
            found = await stage.result(MESSAGE)
            assert found.complete and set(found.receivers) == set(expected.receivers)
            assert found.notifications == expected.notifications
            assert {name for name, _ in [*told, *stage.told]} == set(expected.receivers)
        if ended:
            return
    raise AssertionError("it never came to its end")
