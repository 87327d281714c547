"""Reply time over real processes: seven nodes in a binary tree, receivers that reply as soon as they are told."""

import asyncio
import contextlib
import json
import secrets
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from tocsin.lab.benches._receivers import Poster, receivers
from tocsin.lab.benches._stage import Process, started

PARENTS: dict[int, int | None] = {0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2}
ROUNDS = 3
_EVENT = {"specversion": "1.0", "source": "/lab", "type": "ask", "subject": "t", "data": "?"}
_HEADERS = {"Content-Type": "application/cloudevents+json"}


class Measured(Struct, frozen=True):
    """Milliseconds since the publication: until the last receiver was told, and until the last reply was counted."""

    receivers: int
    way: str
    told: float
    replied: float

    @property
    def ratio(self) -> float:
        return self.replied / self.told


def measured(count: int) -> list[Measured]:
    """By turns, of each way the round of the median: merged on the way back, and straight to the publisher."""
    with tempfile.TemporaryDirectory(prefix="tocsin-lab-") as folder, _tree(Path(folder)) as nodes:
        return asyncio.run(_measured(nodes, count))


@contextlib.contextmanager
def _tree(folder: Path) -> Iterator[dict[int, Process]]:
    key = folder / "key"
    key.write_text(secrets.token_hex(32))
    with contextlib.ExitStack() as stack:
        nodes: dict[int, Process] = {}
        for number, parent in PARENTS.items():
            asked = ["serve", "--workers", "1", "--port", "0", "--data", str(folder / f"node{number}"), "--json"]
            asked += ["--set", f"implicit.key_file={key}"]
            asked += [] if parent is None else ["--parent", nodes[parent].url]
            pid, told = stack.enter_context(started(asked))
            nodes[number] = Process(pid, int(told["url"].rpartition(":")[2]))
        yield nodes


async def _measured(nodes: dict[int, Process], count: int) -> list[Measured]:
    crowd = _Crowd(count)
    async with receivers(crowd.heard) as port, receivers(crowd.publisher) as publisher:
        for number in range(count):
            asked = {"consumer": f"http://127.0.0.1:{port}/{number}", "topic": "t"}
            await asyncio.to_thread(nodes[number % len(nodes)].ask, "POST", "/api/subscriptions", asked)
        for number in sorted(nodes, reverse=True):
            while not (await asyncio.to_thread(nodes[number].get, "/api/tree"))["told"] and PARENTS[number] is not None:  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.05)
        crowd.straight = Poster(f"http://127.0.0.1:{publisher}", 32)
        await crowd.straight.open()
        await crowd.ask(nodes[3], asks=False)  # connections are open from here on
        merged = [await crowd.ask(nodes[3], asks=True) for _ in range(ROUNDS)]
        naive = [await crowd.ask(nodes[3], asks=False) for _ in range(ROUNDS)]
        await crowd.sent()
        crowd.straight.close()
    return [sorted(each, key=lambda found: found.ratio)[ROUNDS // 2] for each in (merged, naive)]


class _Crowd:
    """All receivers. Asked for replies they reply in their answers, else straight to the publisher."""

    def __init__(self, count: int) -> None:
        self._count, self._told, self._came = count, 0, 0
        self._last_told = self._last_came = 0.0
        self._all_told, self._all_came = asyncio.Event(), asyncio.Event()
        self.straight: Poster | None = None
        self._asks = False
        self._sent: set[asyncio.Task[int]] = set()

    async def heard(self, path: str, body: bytes) -> bytes:
        del path
        self._told += 1
        if self._told == self._count:
            self._last_told = time.monotonic()
            self._all_told.set()
        if self._asks:
            return b'{"reply": "yes"}' if b"replyto" in body else b""
        assert self.straight is not None
        task = asyncio.create_task(self.straight.post("/reply", b'{"value": "yes"}'))
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)
        return b""

    async def sent(self) -> None:
        await asyncio.gather(*self._sent)

    async def publisher(self, path: str, body: bytes) -> bytes:
        del path, body
        self._came += 1
        if self._came == self._count:
            self._last_came = time.monotonic()
            self._all_came.set()
        return b""

    async def ask(self, node: Process, *, asks: bool) -> Measured:
        self._told = self._came = 0
        self._all_told.clear()
        self._all_came.clear()
        self._asks = asks
        event = _EVENT | {"id": secrets.token_hex(8)} | ({"replytype": "enum:yes,no"} if asks else {})
        begun = time.monotonic()
        await asyncio.to_thread(node.post, "/events", msgspec.json.encode(event), _HEADERS)
        if asks:
            await asyncio.to_thread(_complete, node)
            self._last_came = time.monotonic()
        else:
            await self._all_came.wait()
        await self._all_told.wait()
        told, replied = (1e3 * (each - begun) for each in (self._last_told, self._last_came))
        return Measured(self._count, "merged on the way" if asks else "straight to the publisher", told, replied)


def _complete(node: Process) -> None:
    """The one view that is open, until all have replied; then it is terminated."""
    (view,) = (each for each in node.get("/api/views")["items"] if not each["ended"])
    found = node.get(f"/api/views/{view['id']}?wait=120s")
    assert found["met"] == "all", json.dumps(found)
    node.ask("DELETE", f"/api/views/{view['id']}")
