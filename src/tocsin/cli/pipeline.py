"""`pipeline`: the Spark jobs."""

import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail, give, say, words

application = typer.Typer(help="The data pipeline on Spark.", no_args_is_help=True)

Master = Annotated[str, typer.Option(help="Spark's master, e.g. local[*] or spark://host:7077.")]


@application.command()
def run(
    data: options.Data = None,
    master: Master = "local[*]",
    rows: Annotated[int, typer.Option(help="Records in a batch at most.")] = 10_000,
    interval: Annotated[str, typer.Option(help="How often the log is looked at.")] = "100ms",
    once: Annotated[bool, typer.Option("--once", help="End when what is in the log is done.")] = False,
    parent: Annotated[int | None, typer.Option(help="A process to end with.")] = None,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Keep the tables, and with the Spark engine the outbox, up with the log, until stopped."""
    folder = _ready(data, config)
    from tocsin.broker.quantities import duration
    from tocsin.pipeline.errors import PipelineError
    from tocsin.pipeline.run import RunSettings
    from tocsin.pipeline.run import run as run_job

    del json
    try:
        run_job(RunSettings(folder, master, None, rows, duration(interval), parent, once))
    except PipelineError as problem:
        fail(str(problem))


@application.command()
def replay(
    data: options.Data = None,
    start: Annotated[int | None, typer.Option("--from", help="The first offset; by default the first kept.")] = None,
    stop: Annotated[int | None, typer.Option("--to", help="The offset after the last; by default the end.")] = None,
    deliver: Annotated[bool, typer.Option("--deliver", help="Deliver what is found; without it, only say so.")] = False,
    current: Annotated[
        bool, typer.Option("--current", help="Match with today's subscriptions, not those of the time.")
    ] = False,
    again: Annotated[int, typer.Option(help="Another number delivers the same range once more.")] = 0,
    master: Master = "local[*]",
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Match a range of the log again as a batch: what would be delivered, and to whom."""
    folder = _ready(data, config)
    from tocsin.pipeline.errors import PipelineError
    from tocsin.pipeline.replay import ReplaySettings
    from tocsin.pipeline.replay import replay as replay_job

    with words.status("replaying on Spark ...") if words.is_terminal else nullcontext():
        try:
            found = replay_job(ReplaySettings(folder, start, stop, deliver, current, again, master))
        except PipelineError as problem:
            fail(str(problem))
    if json:
        give(found)
        return
    say(f"offsets {found.start:,} to {found.stop:,}: {found.records:,} records, {found.notifications:,} notifications")
    _show("matches", found.by_subscription, "subscription")
    if found.published is None:
        say(f"{found.matches:,} would be delivered; nothing was. Say --deliver to do it.")
    elif found.published:
        say(f"{found.deliveries:,} are in the outbox and will be sent")
    else:
        say("this replay was delivered before; --again 1 does it once more")


@application.command()
def status(data: options.Data = None, config: options.Config = None, json: options.Json = False) -> None:
    """How far the pipeline is; starts no Spark."""
    from tocsin.platform.java import NO_SPARK, has_spark

    if not has_spark():
        fail(NO_SPARK, WRONG_USE)
    from tocsin.pipeline.errors import PipelineError
    from tocsin.pipeline.status import status as status_of

    try:
        found = status_of(options.settings_of(data=data, config=config).data)
    except PipelineError as problem:
        fail(str(problem))
    if json:
        give(found)
        return
    _show("rows", found.tables, "table")
    lag = ", ".join(f"{name} {behind:,}" for name, behind in found.lag.items())
    say(f"{found.batches:,} batches of {found.rows:,} records, {found.deliveries:,} deliveries; behind: {lag}")


def _show(title: str, counts: Mapping[str, int], name: str) -> None:
    table = Table(name, title)
    table.columns[1].justify = "right"
    for each, count in sorted(counts.items()):
        table.add_row(each, f"{count:,}")
    words.print(table)


def _ready(data: Path | None, config: Path | None) -> Path:
    """The data directory, when there is a JVM to work on it."""
    from tocsin.platform.java import spark_problem

    if (problem := spark_problem(os.environ)) is not None:
        fail(problem, WRONG_USE)
    return options.settings_of(data=data, config=config).data
