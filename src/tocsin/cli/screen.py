"""What a person sees of the running platform."""

import asyncio
import time
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tocsin.broker.settings import Settings
from tocsin.cli.output import console, fail, say
from tocsin.platform.platform import Platform, PlatformFailed, platform

USUAL_START_SECONDS = 12.0  # of Spark on two cores
LINE_SECONDS = 5.0


async def run_platform(settings: Settings, *, demo: bool, seconds: float | None, stop: asyncio.Event) -> Any:
    try:
        async with platform(settings, demo, say) as running:
            say(f"broker  {running.node.base_url}/broker (SOAP), /events (CloudEvents)")
            say(f"API     {running.node.base_url}/api/openapi.json")
            say(f"data    {settings.data}, engine {settings.engine}")
            await _watch(running, seconds, stop)
            say("draining: nothing more is published, what was is delivered ...")
            drained = await running.drain()
            summary = running.summary()
            if not drained:
                say("not everything was delivered in time; it is kept, and goes on at the next start")
    except PlatformFailed as problem:
        fail(str(problem))
    console().print(_summary(summary))
    return summary


async def _watch(running: Platform, seconds: float | None, stop: asyncio.Event) -> None:
    run = asyncio.create_task(running.run(seconds, stop))
    await _until_spark(running, run)
    screen = console()
    if screen.is_terminal:
        with Live(console=screen, refresh_per_second=4) as live:
            while not run.done():
                _, read_to = await asyncio.to_thread(running.pipeline.published)
                live.update(Group(*_demo_tables(running), Text(_line(running, read_to))))
                await asyncio.wait({run}, timeout=0.25)
    else:
        while not run.done():
            _, read_to = await asyncio.to_thread(running.pipeline.published)
            say(_line(running, read_to))
            await asyncio.wait({run}, timeout=LINE_SECONDS)
    await run


async def _until_spark(running: Platform, run: "asyncio.Task[None]") -> None:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    screen = console()
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        bar = progress.add_task("starting Spark", total=USUAL_START_SECONDS)
        if not screen.is_terminal:
            say("starting Spark ...")
        began = time.monotonic()
        while not running.pipeline.ready.is_set() and not run.done():
            progress.update(bar, completed=min(time.monotonic() - began, USUAL_START_SECONDS * 0.97))
            await asyncio.wait({run}, timeout=0.1)
    if running.pipeline.ready.is_set() and running.pipeline.failure is None:
        say(f"Spark is ready after {time.monotonic() - running.began:.1f} s")


def _demo_tables(running: Platform) -> list[Table]:
    if running.demo is None:
        return []
    who = Table("producer", "speaks", "published", title="disaster notifications in")
    for producer in running.demo.producers:
        who.add_row(producer.name, producer.dialect, f"{producer.published:,}")
    whom = Table("consumer", "speaks", "asked for", "received", title="and out")
    for listener in running.demo.listeners:
        speaks = listener.dialect if listener.mode == "structured" else f"{listener.dialect} ({listener.mode})"
        whom.add_row(listener.name, speaks, listener.topic or "everything", f"{listener.received:,}")
    for table in (who, whom):
        table.columns[-1].justify = "right"
    return [who, whom]


def _line(running: Platform, read_to: int) -> str:
    summary, pipeline = running.summary(), running.pipeline
    lag = max(0, running.node.journal.log.durable - read_to)
    return (
        f"published {summary['published']:,}  matched {summary['matched']:,}  delivered {summary['delivered']:,}  "
        f"dead letters {summary['dead_letters']:,}  |  Spark {pipeline.state}: {pipeline.batches:,} batches, "
        f"{pipeline.rows:,} rows, {lag:,} behind, last batch {pipeline.seconds:.2f} s"
    )


def _summary(summary: dict[str, Any]) -> Table:
    table = Table("", "count", title="summary")
    table.columns[1].justify = "right"
    for name in ("published", "matched", "delivered", "dead_letters"):
        table.add_row(name.replace("_", " "), f"{summary[name]:,}")
    for direction, counts in summary["by_dialect"].items():
        for dialect, count in sorted(counts.items()):
            table.add_row(f"{direction} as {dialect}", f"{count:,}")
    for name, count in summary["pipeline"].items():
        table.add_row(f"pipeline {name}", f"{count:,}")
    return table
