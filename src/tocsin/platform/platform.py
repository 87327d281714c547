"""The platform: a broker, the pipeline beside it and, if wanted, the demo; from start to drained."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from tocsin.broker.caller import NODE
from tocsin.broker.engines.outbox import OutboxEngine
from tocsin.broker.node import Node
from tocsin.broker.settings import Settings
from tocsin.doors.access import is_closed
from tocsin.platform.demo import Demo, demo
from tocsin.platform.pipeline_process import PipelineProcess, pipeline_process
from tocsin.platform.serving import serving

DRAIN_SECONDS = 60.0
FIRST_BATCH_SECONDS = 180.0


class PlatformFailed(Exception):
    """A part ended that should not have."""


@dataclass
class Platform:
    node: Node
    pipeline: PipelineProcess
    demo: Demo | None
    enough: asyncio.Event
    began: float

    def summary(self) -> dict[str, Any]:
        """The JSON that `up --json` promises."""
        figures = self.node.figures(NODE)
        embedded = self.node.settings.engine == "embedded"
        return {
            "published": sum(self.node.publishing.accepted.values()),
            "matched": self.node.engine.matched if embedded else self.pipeline.matches,
            "delivered": figures["delivery"]["delivered"],
            "by_dialect": {"in": dict(self.node.publishing.accepted), "out": self.node.delivered_by_dialect()},
            "dead_letters": figures["dead_letters"],
            "pipeline": {"batches": self.pipeline.batches, "rows": self.pipeline.rows},
            "engine": self.node.settings.engine,
            "repeated": self.node.publishing.repeated,
        }

    async def run(self, seconds: float | None, stop: asyncio.Event) -> None:
        """Until told to stop; a duration counts from the first finished batch, or from ready if nothing publishes."""
        begun = self.pipeline.first_batch if self.demo is not None else self.pipeline.ready
        if not await _either(begun, stop, FIRST_BATCH_SECONDS) and not stop.is_set():
            raise PlatformFailed(f"the data pipeline finished no batch within {FIRST_BATCH_SECONDS:.0f} s")
        deadline = None if seconds is None else time.monotonic() + seconds
        while not (stop.is_set() or self._has_left()) and self.pipeline.failure is None:
            if deadline is not None and time.monotonic() >= deadline:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await stop.wait()
        if self.pipeline.failure is not None:
            raise PlatformFailed(self.pipeline.failure)

    def _has_left(self) -> bool:
        """For good: there is nothing more to do."""
        return self.node.ring is not None and self.node.ring.left.is_set()

    async def drain(self) -> bool:
        """No more is published; what was is matched, sent and in the tables."""
        self.enough.set()
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline and self.pipeline.failure is None:
            batch, read_to = await asyncio.to_thread(self.pipeline.published)
            counted = read_to >= self.node.journal.log.durable and self.pipeline.heard >= batch
            if counted and await asyncio.to_thread(self._all_offered) and self.node.engine.deliverer.idle():
                return True
            await asyncio.sleep(0.1)
        return False

    def _all_offered(self) -> bool:
        """Whether the senders know of all that is to be sent."""
        engine = self.node.engine
        return not isinstance(engine, OutboxEngine) or engine.all_offered()


@contextlib.asynccontextmanager
async def platform(settings: Settings, with_demo: bool, report: Callable[[str], None]) -> AsyncIterator[Platform]:
    if with_demo and (is_closed(settings) or settings.tls.certificate is not None):
        raise PlatformFailed("the demo neither says who it is nor speaks TLS; start without --demo, or without these")
    async with contextlib.AsyncExitStack() as stack:
        began = time.monotonic()
        node = await stack.enter_async_context(serving(settings, report))
        pipeline = await stack.enter_async_context(pipeline_process(settings))
        world, enough = None, asyncio.Event()
        if with_demo:
            world, enough = await stack.enter_async_context(demo(node.base_url))
        yield Platform(node, pipeline, world, enough, began)


async def _either(event: asyncio.Event, stop: asyncio.Event, seconds: float) -> bool:
    waits = [asyncio.create_task(event.wait()), asyncio.create_task(stop.wait())]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return event.is_set()
