"""Simulations on Spark, for eyes: a bar while they run, and a table of what each protocol sends."""

from collections.abc import Collection, Iterable
from dataclasses import asdict
from json import dumps

from rich.table import Table

from tocsin.cli.output import WRONG_USE, counted, fail, give_bytes, say, show_whole, table
from tocsin.cli.progress import spark_bar
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.simulate import Simulated, SimulateSettings, Simulation, simulate
from tocsin.routing.implicit.protocols import PROTOCOLS

ALL = "all"
INHERITED = ("topics", "categories")
MOST_ROWS = 100
FIGURES = {
    "notifications": "sent",
    "repetitions": "repetitions",
    "receivers": "told",
    "dropped": "dropped",
    "withheld": "withheld",
    "hops": "hops",
    "largest_header": "largest header",
}


def protocols(name: str) -> tuple[str, ...]:
    if name != ALL and name not in PROTOCOLS:
        fail(f"{name[:80]!r} is no protocol; there are: {', '.join(PROTOCOLS)}, and {ALL} to compare them", WRONG_USE)
    return tuple(PROTOCOLS) if name == ALL else (name,)


def inherited(names: Collection[str]) -> tuple[bool, bool]:
    """Topics, categories."""
    for name in names:
        if name not in INHERITED:
            fail(f"--inherit {name[:80]!r}: it is {' or '.join(INHERITED)}", WRONG_USE)
    return "topics" in names, "categories" in names


def run_simulation(settings: SimulateSettings, *, json: bool) -> None:
    try:
        with spark_bar("counting") as bar:
            found = simulate(settings, bar.tell)
    except PipelineError as problem:
        fail(str(problem))
    if json:  # by the standard library: what is withheld may be longer than 64 bits
        give_bytes(dumps(asdict(found)).encode() + b"\n")
    else:
        _show(found)


def _show(found: Simulation) -> None:
    say(
        f"{counted(found.services, 'service')} in {counted(found.categories, 'category', 'categories')},"
        f" {counted(found.profiles, 'profile')}, {counted(found.edges, 'edge')}"
    )
    show_whole(_drawn(found.results[:MOST_ROWS]))
    for note in dict.fromkeys(each.note for each in found.results if each.note):
        say(note)
    if len(found.results) > MOST_ROWS:
        say(f"... and {len(found.results) - MOST_ROWS:,} more; --json has all of them")


def _drawn(results: Iterable[Simulated]) -> Table:
    titles = ("root", "topic", "protocol", *FIGURES.values(), "seconds")
    rows = (
        (
            each.root,
            each.topic,
            each.protocol,
            *("-" if each.note else f"{getattr(each, name):,}" for name in FIGURES),
            f"{each.seconds:.2f}",
        )
        for each in results
    )
    return table(titles, rows, right=range(3, len(titles)))
