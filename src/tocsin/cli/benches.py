"""`bench`: benchmarks with their rivals."""

import sys
from typing import Annotated

import typer
from rich.table import Table

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail, give, words

application = typer.Typer(help="Benchmarks, with their rivals in the same run.", no_args_is_help=True)


@application.command("list")
def listing(json: options.Json = False) -> None:
    """The benchmarks there are."""
    from tocsin.lab.bench import benchmarks

    found = [(each.name, each.summary) for each in benchmarks().values()]
    if json:
        give([{"name": name, "summary": summary} for name, summary in found])
        return
    table = Table("name", "what it measures")
    for row in found:
        table.add_row(*row)
    words.print(table)


@application.command("run")
def run(
    name: Annotated[str, typer.Argument(help="One of `tocsin bench list`.")],
    seed: Annotated[int, typer.Option(help="For the workload.")] = 1,
    json: options.Json = False,
) -> None:
    """Run one; ends with 1 when a target is missed."""
    from tocsin.lab import bench, report

    try:
        found = bench.run(name, seed=seed)
    except bench.UnknownBenchmark as error:
        fail(str(error), WRONG_USE)
    if json:
        sys.stdout.write(bench.to_json(found).decode() + "\n")
    else:
        report.show(found)
    raise typer.Exit(1 if found.missed else 0)
