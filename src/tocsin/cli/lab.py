"""`lab`: the papers' tables and figures."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail, give, say, words

application = typer.Typer(help="The papers' tables and figures, measured here.", no_args_is_help=True)


@application.command("list")
def listing(json: options.Json = False) -> None:
    """The experiments there are."""
    from tocsin.lab.experiment import EXPERIMENTS

    found = EXPERIMENTS.entries().values()
    if json:
        give([{"name": each.name, "summary": each.summary, "choices": each.defaults()} for each in found])
        return
    table = Table("name", "what it shows", "what can be chosen with --set")
    for each in found:
        table.add_row(each.name, each.summary, " ".join(f"{name}={value}" for name, value in each.defaults().items()))
    words.print(table)


@application.command("run")
def run(
    name: Annotated[str, typer.Argument(help="One of `tocsin lab list`.")],
    out: Annotated[Path, typer.Option(help="Where the pictures go.")] = Path("lab"),
    seed: Annotated[int, typer.Option(help="For the workload.")] = 1,
    choices: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="As `tocsin lab list` shows them.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Run one: tables on the screen, pictures into a folder."""
    from tocsin.lab import experiment
    from tocsin.lab.report import number

    chosen = dict(each.partition("=")[::2] for each in choices or ())
    with words.status("measuring", spinner="dots") as status:
        try:
            report = experiment.run(
                name, seed=seed, out=out, progress=lambda text: status.update(Text(text)), chosen=chosen
            )
        except (experiment.UnknownName, experiment.UnknownChoice) as error:
            status.stop()
            fail(str(error), WRONG_USE)
    if json:
        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
        return
    console = words if words.is_terminal else Console(stderr=True, width=160, highlight=False)
    say(str(report.machine))
    for findings in report.tables:
        table = Table(title=findings.title, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for at, column in enumerate(findings.columns):
            numeric = any(isinstance(row[at], int | float) for row in findings.rows)
            table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric)
        for row in findings.rows:
            table.add_row(*(Text(each) if isinstance(each, str) else number(each) for each in row))
        console.print(table)
        for note in findings.notes:
            say(note)
    for path in report.figures:
        say(f"drawn: {path}")
