"""`bench workload`: what the benchmarks of matching are given, as files for other engines."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail, give, say, words

STEP = 500  # so many are told at once


def register(application: typer.Typer) -> None:
    application.command()(workload)


def workload(
    kind: Annotated[str, typer.Argument(help="topics, content, spaces, weather or engine (a mixture of all).")],
    out: Annotated[Path, typer.Option(help="The folder for the files.")] = Path("workload"),
    subscriptions: Annotated[int, typer.Option(min=1, help="How many.")] = 10_000,
    notifications: Annotated[int, typer.Option(min=1, help="How many.")] = 1_000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same bytes.")] = 1,
    dimensions: Annotated[int, typer.Option(min=1, max=16, help="Of the space of kind spaces.")] = 3,
    expected: Annotated[int, typer.Option(min=0, help="So many notifications come with who wants them.")] = 10,
    json: options.Json = False,
) -> None:
    """Write subscriptions and notifications to files, and what an engine should find; README.txt explains them."""
    from tocsin.lab.workloads.files import write
    from tocsin.lab.workloads.texts import kinds

    known = kinds(dimensions)
    if kind not in known:
        fail(f"{kind} is no kind of workload; there are: {', '.join(known)}", WRONG_USE)
    counts = {
        "subscriptions": subscriptions,
        "notifications": notifications,
        "notifications with expected matches": min(expected, notifications),
    }
    with _progress() as progress:
        tasks = {what: progress.add_task(what, total=count) for what, count in counts.items() if count}

        def advance(what: str, number: int) -> None:
            if number % STEP == 0 or number == counts[what] or counts[what] < STEP:
                progress.update(tasks[what], completed=number)

        write(out, known[kind], (subscriptions, notifications), seed, advance, expected)
    if json:
        give({"kind": kind, "seed": seed, "folder": str(out), **counts})
    else:
        say(f"written: {out}")


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=words, disable=not words.is_terminal)
