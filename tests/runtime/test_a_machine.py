"""One machine, unchanged, in the runtime on a real store and in the simulator."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.bells import QUIET, Bells, HowOften, Strike, make, tables
from tests.whole.shell import wait_until

from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.machine import Report
from tocsin.runtime import runtime as runtime_module
from tocsin.runtime.runtime import Runtime
from tocsin.sim.network import Network
from tocsin.store import machines
from tocsin.store.connection import Connection
from tocsin.store.errors import DatabaseFailed
from tocsin.store.machines import Letter, MachineTables, Writing

THREE = Strike(("bell 2", "bell 3"))


class Life:
    def __init__(self, connection: Connection) -> None:
        self.heard: list[str] = []
        self.told: list[str] = []
        self.tables: MachineTables = tables(connection)
        now = lambda: Instant(time.time_ns())  # noqa: E731
        self.runtime = Runtime(Bells(self.heard), self.tables, now, self.told.append)

    async def ask(self, name: str) -> int:
        (answer,) = await self.runtime.take([Letter(name, HowOften())])
        return int(answer)


@contextlib.asynccontextmanager
async def alive(folder: Path) -> AsyncIterator[Life]:
    """On the way out it is killed: the loop is cut off wherever it is."""
    connection = Connection.open(folder / "bells.db", (machines.SCHEMA,), read_only=False)
    life = Life(connection)
    running = life.runtime.start()
    try:
        yield life
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        connection.close()


async def test_it_runs_and_goes_on_after_a_kill(tmp_path: Path) -> None:
    async with alive(tmp_path) as life:
        await life.runtime.take([Letter("bell 1", THREE, "first")])
    async with alive(tmp_path) as life:
        await life.runtime.take([Letter("bell 1", THREE, "first")])  # sent again, for the answer may have been lost
        await life.runtime.take([Letter("bell 3", Strike(), "second")])
        await wait_until(lambda: not life.runtime.waits, "all is handled")
        assert [await life.ask(f"bell {number}") for number in (1, 2, 3)] == [1, 1, 2]
        await wait_until(lambda: len(life.heard) == 3, "all three are quiet")
        assert set(life.heard) == {"bell 1 is quiet", "bell 2 is quiet", "bell 3 is quiet"}


async def test_a_timer_is_set_again_after_a_kill(tmp_path: Path) -> None:
    async with alive(tmp_path) as life:
        await life.runtime.take([Letter("bell 1", Strike())])
        assert life.heard == []
    async with alive(tmp_path) as life:
        await wait_until(lambda: life.heard == ["bell 1 is quiet"], "it is quiet")


async def test_what_cannot_be_written_did_not_happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits is told; what nobody waits for is tried until it is written."""
    monkeypatch.setattr(runtime_module, "AGAIN_AFTER", 0.001)
    async with alive(tmp_path) as life:
        write, left = life.tables.write, [2]

        def fails(writing: Writing) -> None:
            left[0] -= 1
            if left[0] >= 0:
                raise DatabaseFailed("disk full")
            write(writing)

        monkeypatch.setattr(life.tables, "write", fails)
        life.runtime.post("bell 2", Strike())
        with pytest.raises(Refusal) as refused:
            await life.runtime.take([Letter("bell 1", Strike())])
        assert refused.value.reason == "cannot-store"
        await wait_until(lambda: "bell 2" in life.tables.rows(), "it is struck")
        assert await life.ask("bell 2") == 1 and "bell 1" not in life.runtime.machines
        assert life.told == ["the bells: DatabaseFailed: disk full"]


async def test_what_a_machine_refuses_is_refused_to_its_caller_alone(tmp_path: Path) -> None:
    async with alive(tmp_path) as life:
        calls = [life.runtime.take([Letter("bell 1", each)]) for each in (Strike(("bell 1",) * 101), Strike())]
        refused, _ = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(refused, Refusal) and refused.reason == "too-large"
        assert await life.ask("bell 1") == 1


async def test_what_nobody_can_take_is_given_up(tmp_path: Path) -> None:
    async with alive(tmp_path) as life:
        await life.runtime.take([Letter("bell 1", Strike(("gong", "bell 2")), "a")])
        await wait_until(lambda: life.heard, "it is told")
        assert life.heard[0] == "nobody strikes gong" and "bell 2" not in life.runtime.machines


async def test_who_is_closed_takes_nothing_more(tmp_path: Path) -> None:
    async with alive(tmp_path) as life:
        await life.runtime.take([Letter("bell 1", Strike())])
        await life.runtime.close()
        with pytest.raises(Refusal) as refused:
            await life.runtime.take([Letter("bell 1", Strike())])
        assert refused.value.reason == "overloaded"
        await asyncio.sleep(2 * QUIET)
        assert life.heard == []


class Simulated(Network):
    def __init__(self) -> None:
        super().__init__(make)
        self.heard: list[tuple[int, str]] = []

    def reported(self, report: Report) -> None:
        self.heard.append((self.clock.now, report.what))


def test_the_simulator_runs_the_same_machine() -> None:
    network = Simulated()
    network.take("bell 1", THREE)
    while len(network.clock) > 3:
        network.clock.step()
    network.clock.run()
    quiet, hop = round(QUIET * SECOND), 1_000_000
    assert network.heard == [(quiet + hop * number, f"bell {number + 1} is quiet") for number in range(3)]
    counts: list[Any] = [network.take(f"bell {number}", HowOften()) for number in (1, 2, 3)]
    assert counts == [[1], [1], [1]]


def test_a_machine_that_crashes_in_the_simulator_has_what_it_remembers() -> None:
    network = Simulated()
    network.take("bell 1", Strike())
    network.crash("bell 1")
    network.clock.run()
    assert network.heard == [(round(QUIET * SECOND), "bell 1 is quiet")] and network.take("bell 1", HowOften()) == [1]
