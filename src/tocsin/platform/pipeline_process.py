"""The data pipeline as a child process: a JVM of its own, which tells in JSON lines what it does."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable

import msgspec

from tocsin.broker.settings import Settings
from tocsin.store.outbox import Outbox

STOP_SECONDS = 30.0
JVM_SECONDS = 5.0
NO_BATCH = -1


class PipelineProcess:
    """What the child has told so far."""

    def __init__(self, process: asyncio.subprocess.Process, settings: Settings) -> None:
        self._process, self._settings = process, settings
        self.ready = asyncio.Event()
        self.first_batch = asyncio.Event()
        self.batches = self.rows = self.matches = 0
        self.heard, _ = self.published()  # the last batch that is counted, here or in a run before
        self.seconds = 0.0
        self.failure: str | None = None
        self.stopping = False

    @property
    def state(self) -> str:
        if self.failure is not None:
            return "failed"
        return "running" if self.ready.is_set() else "starting"

    def published(self) -> tuple[int, int]:
        """The last batch that is published, and how much of the log is in it and those before."""
        path = self._settings.places.outbox
        if not path.exists():
            return NO_BATCH, 0
        with contextlib.closing(Outbox.open(path, read_only=True)) as outbox:
            last = outbox.last()
        return (NO_BATCH, 0) if last is None else (last.id, int(msgspec.json.decode(last.end)["log"]))

    async def listen(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._hear(msgspec.json.decode(line))
        code = await self._process.wait()
        if not self.stopping and self.failure is None:
            self.failure = f"the data pipeline ended with code {code}; see {self._settings.places.spark_log}"
        self.ready.set()
        self.first_batch.set()

    async def stop(self) -> None:
        """Lets the running batch finish, and returns when the JVM is gone too."""
        self.stopping = True
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        if not await _within(STOP_SECONDS, self._process.wait()) or not await _within(JVM_SECONDS, self._group_gone()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()

    async def _group_gone(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.killpg(self._process.pid, 0)
                await asyncio.sleep(0.02)

    def _hear(self, event: dict[str, object]) -> None:
        match event:
            case {"event": "ready"}:
                self.ready.set()
            case {"event": "batch", "id": int(batch), "rows": int(rows), "matches": int(matches)}:
                self.heard = batch
                self.batches += 1
                self.rows += rows
                self.matches += matches
                self.seconds = float(str(event.get("seconds", 0)))
                self.first_batch.set()
            case {"event": "failed", "reason": str(reason)}:
                self.failure = reason


@contextlib.asynccontextmanager
async def pipeline_process(settings: Settings) -> AsyncIterator[PipelineProcess]:
    """In a session of its own, so that Ctrl-C reaches it through us and in our order; it ends when we do."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tocsin", "pipeline", "run", "--json", "--data", str(settings.data), "--parent", str(os.getpid())),
        *("--rows", str(settings.pipeline.batch_rows), "--interval", f"{settings.pipeline.trigger_ms}ms"),
        env=environment(settings),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
        limit=1 << 20,
    )
    pipeline = PipelineProcess(process, settings)
    listening = asyncio.create_task(pipeline.listen())
    try:
        yield pipeline
    finally:
        await pipeline.stop()
        await listening


def environment(settings: Settings) -> dict[str, str]:
    """Where the tables are, and by which options: these may be secrets, which everybody could read as arguments."""
    tables, options = settings.pipeline.tables, settings.pipeline.tables_options
    told = {"TOCSIN_PIPELINE_TABLES": tables or "", "TOCSIN_PIPELINE_TABLES_OPTIONS": ",".join(map("=".join, options))}
    return {**os.environ, **{name: text for name, text in told.items() if text}}


async def _within(seconds: float, work: Awaitable[object]) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await work
    except TimeoutError:
        return False
    return True
