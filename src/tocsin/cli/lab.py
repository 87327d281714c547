"""`lab` and `bench`: the papers' tables and figures, and benchmarks with their rivals."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.options import group
from tocsin.cli.output import WRONG_USE, Output, console, fail, give, give_bytes, say

application = typer.Typer()
lab = group("The papers' tables and figures, measured here.", "tocsin lab list")
bench = group("Benchmarks, with their rivals in the same run.", "tocsin bench list")
application.add_typer(lab, name="lab")
application.add_typer(bench, name="bench")
Seed = Annotated[int, typer.Option(help="For the workload.")]
Choices = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="As `list` shows them.")]
STEP = 500  # of what a workload has, so many are told at once


@lab.command("list", epilog="Example: tocsin lab list")
def experiments(json: options.Json = False) -> None:
    """The experiments there are."""
    from tocsin.lab.experiment import EXPERIMENTS

    _listed("what it shows", EXPERIMENTS.entries().values()).show(json)


@lab.command("run", epilog="Example: tocsin lab run ops --out pictures")
def run_experiment(
    name: Annotated[str, typer.Argument(help="One of `tocsin lab list`.")],
    out: Annotated[Path, typer.Option(help="Where the pictures go.")] = Path("lab"),
    seed: Seed = 1,
    choices: Choices = None,
    json: options.Json = False,
) -> None:
    """Run one: tables on the screen, pictures into a folder."""
    from tocsin.lab import experiment

    screen = console()
    with screen.status("measuring", spinner="dots") as status:
        try:
            report = experiment.run(
                name, seed=seed, out=out, progress=lambda text: status.update(Text(text)), chosen=_chosen(choices)
            )
        except (experiment.UnknownName, experiment.UnknownChoice) as error:
            status.stop()
            fail(str(error), WRONG_USE)
    if json:
        give(report)
        return
    wide = screen if screen.is_terminal else Console(stderr=True, width=160, highlight=False)
    say(str(report.machine))
    for findings in report.tables:
        wide.print(_findings(findings))
        for note in findings.notes:
            say(note)
    for path in report.figures:
        say(f"drawn: {path}")


def _findings(findings: Any) -> Table:
    from tocsin.lab.bench import number

    table = Table(title=findings.title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(findings.columns):
        numeric = any(isinstance(row[at], int | float) for row in findings.rows)
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric)
    for row in findings.rows:
        table.add_row(*(Text(each) if isinstance(each, str) else number(each) for each in row))
    return table


@bench.command("list", epilog="Example: tocsin bench list")
def benchmarks(json: options.Json = False) -> None:
    """The benchmarks there are."""
    from tocsin.lab.bench import BENCHES

    _listed("what it measures", BENCHES.entries().values()).show(json)


@bench.command("run", epilog="Example: tocsin bench run mediation --seed 7")
def run_benchmark(
    name: Annotated[str, typer.Argument(help="One of `tocsin bench list`.")],
    seed: Seed = 1,
    choices: Choices = None,
    json: options.Json = False,
) -> None:
    """Run one; ends with 1 when a target is missed."""
    from tocsin.lab import bench

    try:
        found = bench.run(name, seed=seed, chosen=_chosen(choices))
    except (bench.UnknownName, bench.UnknownChoice) as error:
        fail(str(error), WRONG_USE)
    give_bytes(bench.to_json(found) + b"\n") if json else bench.show(found)
    raise typer.Exit(1 if found.missed else 0)


@bench.command(epilog="Example: tocsin bench workload topics --out workload --subscriptions 1000")
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
    Output({"kind": kind, "seed": seed, "folder": str(out), **counts}, f"written: {out}").show(json)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    screen = console()
    return Progress(*columns, console=screen, disable=not screen.is_terminal)


def _listed(says: str, found: Iterable[Any]) -> Output:
    table, document = Table("name", says, "what can be chosen with --set"), list[dict[str, object]]()
    for each in found:
        document.append({"name": each.name, "summary": each.summary, "choices": each.defaults()})
        table.add_row(each.name, each.summary, " ".join(f"{name}={value}" for name, value in each.defaults().items()))
    return Output(document, table)


def _chosen(choices: list[str] | None) -> dict[str, str]:
    return dict(each.partition("=")[::2] for each in choices or ())
