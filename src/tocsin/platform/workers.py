"""All cores of a machine: several nodes of a ring behind one port, started, watched and started again as one."""

import asyncio
import contextlib
import secrets
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tocsin.broker.ring.port import PEER
from tocsin.broker.settings import Settings, Worker
from tocsin.doors.access import require_users
from tocsin.flow.addressing import AT
from tocsin.platform.names import even_places, former, fresh_name
from tocsin.platform.serving import base_url_at
from tocsin.platform.worker import LEAVE, Failed, Left, Ready, Said, Standing, Stopped, decode_event, encode
from tocsin.store.database import Store
from tocsin.store.places import Places
from tocsin.wire.addresses import LOOPBACK, WireError
from tocsin.wire.server import listen

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0  # seconds before one that ended is started again
STEADY_SECONDS = 60.0  # after which it is as if it had never ended
STOP_SECONDS = 75.0
LOOK_SECONDS = 30.0  # after which those are named that are not in place yet
SAME_SECONDS = 10.0  # in which what several say is said once
LONGEST_LINE = 1 << 20
Report = Callable[[str], None]


class CannotStart(WireError):
    """What a worker said why it could not."""


class _Process:
    """One life of a worker, and what it has told so far."""

    def __init__(self, process: asyncio.subprocess.Process, say: Report, heard: Callable[[], None]) -> None:
        self._process, self._say, self._heard = process, say, heard
        self.standing: Standing | None = None
        self.left: Left | None = None
        self.is_ready, self.records, self.failure = False, 0, ""

    @classmethod
    async def start(cls, settings: Settings, say: Report, heard: Callable[[], None]) -> "_Process":
        """In a session of its own: Ctrl-C reaches it through us."""
        assert settings.worker is not None
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tocsin.platform.worker", str(settings.worker.number)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        made = cls(process, say, heard)
        made.write(encode(settings) + b"\n")
        return made

    def write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._process.stdin.write(line)

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def run(self) -> str:
        """Until it ends: how it did."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._hear(line)
            self._heard()
        code = await self._process.wait()
        if self.failure:
            return self.failure
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def _hear(self, line: bytes) -> None:
        try:
            event = decode_event(line)
        except msgspec.MsgspecError:
            self._say(line.decode(errors="replace").rstrip())
            return
        match event:
            case Standing():
                self.standing = event
            case Ready():
                self.is_ready = True
            case Said(text):
                self._say(text)
            case Failed(text):
                self.failure = text
            case Left():
                self.left = event
            case Stopped(records):
                self.records = records


class _Worker:
    """Through all its lives. `told` is how it goes by now."""

    def __init__(
        self, number: int, settings: Callable[[int], Settings], say: Report, heard: Callable[[], None]
    ) -> None:
        self.number, self._settings, self._say, self._heard = number, settings, say, heard
        self.now: _Process | None = None
        self.is_stopping = False
        self._may_fail = False
        self._pause = FIRST_PAUSE
        self._wake = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    @property
    def is_ready(self) -> bool:
        return self.now is not None and self.now.is_ready

    def keep(self) -> None:
        """From now on it is started again, whatever happens to it."""
        self._may_fail = True

    async def _run(self) -> None:
        while not self.is_stopping:
            began = time.monotonic()
            self.now = await _Process.start(self._settings(self.number), self._say, self._heard)
            if self.is_stopping:
                self.now.stop()
            how = await self.now.run()
            self._heard()
            if self.is_stopping or self.now.left is not None:
                return
            if not self._may_fail:
                raise CannotStart(self.now.failure or f"worker {self.number} {how}")
            await self._rest(how, time.monotonic() - began)

    async def _rest(self, how: str, lived: float) -> None:
        if lived > STEADY_SECONDS:
            self._pause = FIRST_PAUSE
        self._say(
            f"it {how}; it is started again" if self.now and not self.now.failure else f"{how}; it is tried again"
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._pause):
                await self._wake.wait()
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def stop(self) -> None:
        self.is_stopping = True
        self._wake.set()
        if self.now is not None:
            self.now.stop()


class Workers:
    """`stop` ends all of them, also while they start."""

    def __init__(self, settings: Settings, many: int, report: Report, stop: asyncio.Event) -> None:
        self._asked, self._many, self._report, self._stop = settings, many, report, stop
        self.url, self.node = "", ""
        self._key = _own_key(settings)
        self._join = settings.ring.join
        self._names: dict[int, str] = {}
        self._places: dict[int, int] = {}
        self._workers: list[_Worker] = []
        self._moved = asyncio.Event()
        self._said: deque[tuple[float, str]] = deque(maxlen=64)

    async def run(self, listening: Callable[["Workers"], None]) -> int:
        """Until it is stopped: how many records there are. `listening` is called when all are in place."""
        require_users(self._asked)
        with _ports(self._asked) as settings:
            self._asked = settings
            self.url = settings.advertise or ""
            work = asyncio.create_task(self._work(listening))
            stopped = asyncio.create_task(self._stop.wait())
            try:
                await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
                if work.done():
                    work.result()
                    await stopped
            finally:
                work.cancel()
                stopped.cancel()
                await self._close()
        return sum(each.now.records for each in self._workers if each.now is not None)

    async def _work(self, listening: Callable[["Workers"], None]) -> None:
        first = self._begin(0)
        await self._until(lambda: first.now is not None and first.now.standing is not None)
        assert first.now is not None and first.now.standing is not None
        self.node, self._join = first.now.standing.node, f"{PEER}{first.now.standing.address}"
        others = sorted({*range(1, self._many), *former(self._asked.data)})
        known = await asyncio.to_thread(_names, self._asked, others)
        self._names = {number: known.get(number) or fresh_name() for number in others}
        if not known and self._asked.ring.join is None:
            places = even_places(first.now.standing.place, len(others))
            self._places = dict(zip(others, places, strict=True))
        for number in others:
            self._begin(number)
        await self._until(lambda: all(each.is_ready for each in self._workers))
        for each in self._workers:
            each.keep()
        listening(self)
        for each in reversed([each for each in self._workers if each.number >= self._many]):
            await self._dismiss(each)
        await self._until(lambda: False)

    def _begin(self, number: int) -> _Worker:
        made = _Worker(number, self._settings_of, lambda text: self._say(number, text), self._moved.set)
        self._workers.append(made)
        return made

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Or one of them could not be started."""
        while not holds():
            self._moved.clear()
            moved = asyncio.create_task(self._moved.wait())
            tasks = [each.task for each in self._workers]
            done, _ = await asyncio.wait((moved, *tasks), return_when=asyncio.FIRST_COMPLETED, timeout=LOOK_SECONDS)
            moved.cancel()
            for task in done & {*tasks}:
                task.result()
            if not done and (late := [str(each.number) for each in self._workers if not each.is_ready]):
                self._report(f"not in place yet: worker {', '.join(late)}")

    async def _dismiss(self, worker: _Worker) -> None:
        """Fewer are asked for than there were. One after the other: what one had may be the next one's now."""

        def is_gone() -> bool:
            if worker.is_ready and worker.now is not told[-1]:
                assert worker.now is not None
                worker.now.write(LEAVE)
                told.append(worker.now)
            return worker.now is not None and worker.now.left is not None

        told: list[_Process | None] = [None]
        await self._until(is_gone)
        await worker.task
        assert worker.now is not None and worker.now.left is not None
        self._workers.remove(worker)
        self._report(await asyncio.to_thread(self._clear, worker.number, worker.now.left))

    def _clear(self, number: int, left: Left) -> str:
        folder = self._asked.places.workers / str(number)
        text = f"worker {number} has left, and the others have what it had"
        if left.dead_letters:
            kept = folder.with_name(f"{number}.left-{secrets.token_hex(4)}")
            folder.rename(kept)
            return f"{text}, but for {left.dead_letters:,} dead letters: these stay in {kept}"
        shutil.rmtree(folder)
        with contextlib.suppress(OSError):  # there are others
            folder.parent.rmdir()
        return text

    async def _close(self) -> None:
        for each in self._workers:
            each.stop()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await asyncio.gather(*(each.task for each in self._workers), return_exceptions=True)
        except TimeoutError:
            self._report(f"not all workers have stopped in {STOP_SECONDS:.0f} seconds: they are ended")
        finally:
            for each in self._workers:
                if each.now is not None:
                    each.now.kill()

    def _settings_of(self, number: int) -> Settings:
        asked, home = self._asked, self._asked.data
        ring = replace(asked.ring, join=self._join, port=asked.ring.port if number == 0 else 0)
        if self._key:
            ring = replace(ring, advertise=None)
        first, name = self.node if number else "", self._names.get(number, "")
        place = self._places.get(number)
        worker = Worker(number, home, name, first, self._key, number >= self._many, place)
        data = home if number == 0 else asked.places.workers / str(number)
        url = f"{self.url}{AT}{name}" if number else self.url
        return replace(asked, data=data, ring=ring, worker=worker, advertise=url)

    def _say(self, number: int, text: str) -> None:
        """What concerns all of them is said by all."""
        now = time.monotonic()
        if not any(each == text and now - at < SAME_SECONDS for at, each in self._said):
            self._report(f"worker {number}: {text}")
        self._said.append((now, text))


def _names(settings: Settings, numbers: Sequence[int]) -> dict[int, str]:
    """Of those that have one."""
    return {number: name for number in numbers if (name := _name(settings.places.workers / str(number))) is not None}


def _name(data: Path) -> str | None:
    if not (database := Places(data).database).exists():
        return None
    with contextlib.closing(Store.open(database)) as store:
        return store.meta("node")


def _own_key(settings: Settings) -> str:
    """For nodes that listen to others, and have been given none: then nobody else joins them."""
    is_alone = settings.implicit.key_file is None and settings.ring.join is None
    return secrets.token_hex(32) if is_alone and settings.listen.host not in LOOPBACK else ""


@contextlib.contextmanager
def _ports(settings: Settings) -> Iterator[Settings]:
    """Kept as long as they run, also while none of them listens; with the settings that name them."""
    with contextlib.ExitStack() as stack:
        host = settings.listen.host
        port = _port(host, settings.listen.port, stack)
        tcp = None if settings.tcp.port is None else _port(host, settings.tcp.port, stack)
        yield replace(
            settings,
            advertise=settings.advertise or base_url_at(settings, port),
            listen=replace(settings.listen, port=port),
            tcp=replace(settings.tcp, port=tcp),
        )


def _port(host: str, port: int, stack: contextlib.ExitStack) -> int:
    """One that others share already is as good as taken."""
    listen(host, port).close()
    kept = stack.enter_context(listen(host, port, shared=True))
    return int(kept.getsockname()[1])
