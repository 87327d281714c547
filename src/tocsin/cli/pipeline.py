"""`pipeline`: the Spark jobs."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail

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
    from tocsin.app.quantities import duration
    from tocsin.pipeline.errors import PipelineError
    from tocsin.pipeline.run import RunSettings
    from tocsin.pipeline.run import run as run_job

    del json
    try:
        run_job(RunSettings(folder, master, None, rows, duration(interval), parent, once))
    except PipelineError as problem:
        fail(str(problem))


def _ready(data: Path | None, config: Path | None) -> Path:
    """The data directory, when there is a JVM to work on it."""
    from tocsin.app.java import java_problem

    if (problem := java_problem(os.environ)) is not None:
        fail(problem, WRONG_USE)
    return options.settings_of(data=data, config=config).data
