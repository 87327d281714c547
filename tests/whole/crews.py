"""Brokers of several workers, as their operator sees them: one process that has others, and what becomes of those."""

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.whole.acts import IMPATIENT, get, until
from tests.whole.shell import BrokerProcess, wait_until

from tocsin.wire.http_client import HttpClient

CALLERS = 8  # connections, which the system gives to one worker or the other


@dataclass
class Crew:
    data: Path
    http: list[HttpClient]
    broker: BrokerProcess | None = None
    seen: set[int] = field(default_factory=set)
    _turn: int = 0

    def start(self, workers: int, **flags: str) -> BrokerProcess:
        port = 0 if self.broker is None else self.broker.port
        self.broker = BrokerProcess.start(self.data, IMPATIENT | flags | {"workers": str(workers)}, port)
        self.pids()
        return self.broker

    @property
    def caller(self) -> HttpClient:
        """One after the other."""
        self._turn += 1
        return self.http[self._turn % len(self.http)]

    @property
    def up(self) -> BrokerProcess:
        assert self.broker is not None
        return self.broker

    def pids(self) -> Mapping[int, int]:
        """Of the workers that run, by their numbers."""
        parent = self.up.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        found = dict(pair for each in children if (pair := _worker(int(each))) is not None)
        self.seen |= {*found.values()}
        return found

    async def gone(self) -> None:
        """None of those that ever ran does so any more."""
        await wait_until(lambda: not any(map(_worker, self.seen)), "all workers have ended", 120)

    async def members(self, many: int) -> list[dict[str, Any]]:
        """As each worker sees them, when it sees so many that are all ready."""
        found: dict[str, list[dict[str, Any]]] = {}

        async def ask() -> dict[str, Any]:
            seen = await get(self.caller, f"{self.up.url}/api/ring")
            if len(seen["members"]) == many and all(each["ready"] for each in seen["members"]):
                found[seen["node"]] = seen["members"]
            return found

        return next(iter((await until(ask, bool)).values()))

    def end(self) -> None:
        if self.broker is not None:
            if self.broker.process.poll() is None:
                self.pids()
            self.broker.kill()
        for pid in filter(_worker, self.seen):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _worker(pid: int) -> tuple[int, int] | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    if b"tocsin.platform.worker" not in words:
        return None
    return int(words[words.index(b"tocsin.platform.worker") + 1]), pid


@asynccontextmanager
async def crew(data: Path) -> AsyncIterator[Crew]:
    clients = [HttpClient(max_body=8 << 20) for _ in range(CALLERS)]
    made = Crew(data, clients)
    try:
        yield made
    finally:
        made.end()
        for each in clients:
            await each.close()
