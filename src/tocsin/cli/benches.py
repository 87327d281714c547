"""`bench`: benchmarks with their rivals."""

import sys
from typing import Annotated

import typer
from rich.table import Table

from tocsin.cli import options, workload
from tocsin.cli.output import WRONG_USE, fail, give, words

application = typer.Typer(help="Benchmarks, with their rivals in the same run.", no_args_is_help=True)
workload.register(application)


@application.command("list")
def listing(json: options.Json = False) -> None:
    """The benchmarks there are."""
    from tocsin.lab.bench import BENCHES

    found = BENCHES.entries().values()
    if json:
        give([{"name": each.name, "summary": each.summary, "choices": each.defaults()} for each in found])
        return
    table = Table("name", "what it measures", "what can be chosen with --set")
    for each in found:
        table.add_row(each.name, each.summary, " ".join(f"{name}={value}" for name, value in each.defaults().items()))
    words.print(table)


@application.command("run")
def run(
    name: Annotated[str, typer.Argument(help="One of `tocsin bench list`.")],
    seed: Annotated[int, typer.Option(help="For the workload.")] = 1,
    choices: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="As `tocsin bench list` shows them.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Run one; ends with 1 when a target is missed."""
    from tocsin.lab import bench, report

    try:
        found = bench.run(name, seed=seed, chosen=dict(each.partition("=")[::2] for each in choices or ()))
    except (bench.UnknownName, bench.UnknownChoice) as error:
        fail(str(error), WRONG_USE)
    if json:
        sys.stdout.write(bench.to_json(found).decode() + "\n")
    else:
        report.show(found)
    raise typer.Exit(1 if found.missed else 0)
