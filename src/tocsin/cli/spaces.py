"""`spaces`: the information spaces that content topics lie in."""

from math import isfinite, nan
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import ask, asking
from tocsin.cli.connection import Connection, read
from tocsin.cli.output import WRONG_USE, fail, give, say, words

application = typer.Typer(help="Information spaces, for content topics.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Of the space: what stands before the colon of a content topic.")]
KINDS = ("string", "number", "enumeration", "time")
EXAMPLE = "write NAME:KIND, e.g. place:string, temperature:number:-50..60 or sky:enumeration:clear|cloudy"


@application.command("list")
@asking
def names(connection: Connection, json: options.Json = False) -> None:
    """The spaces that were declared, with their dimensions."""
    found = ask(connection, "GET", "/api/spaces")
    if json:
        give(found)
    elif not found["items"]:
        say("there are no information spaces yet: tocsin spaces declare weather place:string temperature:number")
    else:
        words.print(_table(found["items"]))


@application.command()
@asking
def show(connection: Connection, name: Name, json: options.Json = False) -> None:
    """One space."""
    found = ask(connection, "GET", _path(name))
    give(found) if json else words.print(_dimensions(found))


@application.command()
@asking
def declare(
    connection: Connection,
    name: Name,
    dimensions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME:KIND[:BOUNDS]...",
            help="E.g. temperature:number:-50..60 (bounds may be left out), or 'sky:enumeration:clear|cloudy'.",
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help='Instead, JSON: {"dimensions": [...]}.')] = None,
    json: options.Json = False,
) -> None:
    """Declare a space. A box or point has one side for each dimension, in their order."""
    if (file is None) == (not dimensions):
        fail(f"name the dimensions, or a --file that does; {EXAMPLE}", WRONG_USE)
    body = msgspec.json.encode({"dimensions": [_dimension(each) for each in dimensions or ()]})
    declared = ask(connection, "PUT", _path(name), body if file is None else read(file))
    if json:
        give(declared)
    else:
        sides = "/".join(each["name"] for each in declared["dimensions"])
        say(f"declared {name}; its content topics are {name}:{sides}")


@application.command()
@asking
def withdraw(connection: Connection, name: Name) -> None:
    """Forget a space in which no subscription asks for anything."""
    ask(connection, "DELETE", _path(name))
    say(f"{name} is withdrawn")


def _path(name: str) -> str:
    return f"/api/spaces/{quote(name, safe='')}"


def _dimension(text: str) -> dict[str, Any]:
    name, _, rest = text.partition(":")
    kind, _, bounds = rest.partition(":")
    if name and kind and kind not in KINDS:
        fail(f"{text!r}: the kind {kind!r} is not known; choose one of {', '.join(KINDS)}; {EXAMPLE}", WRONG_USE)
    if not name or not kind:
        fail(f"{text!r} is no dimension; {EXAMPLE}", WRONG_USE)
    if kind == "enumeration" and "," in bounds:
        values = bounds.replace(",", "|")
        hint = f"write '{name}:enumeration:{values}', or declare by a --file where a value has a comma"
        fail(f"{text!r}: values are separated by |, not by commas; {hint}", WRONG_USE)
    if kind == "enumeration":
        return {"name": name, "kind": kind, "values": bounds.split("|") if bounds else []}
    low, dots, high = bounds.partition("..")
    if bounds and (not dots or kind == "string"):
        fail(f"{text!r} has bounds that are none; {EXAMPLE}", WRONG_USE)
    ends = {"low": low, "high": high}
    return {"name": name, "kind": kind} | {key: _end(kind, end, text) for key, end in ends.items() if end}


def _end(kind: str, end: str, text: str) -> float | str:
    if kind == "time":
        return end
    try:
        number = float(end)
    except ValueError:
        number = nan
    if not isfinite(number):  # JSON has none, and the broker would be told nothing
        fail(f"{text!r}: {end!r} is no number; leave it out for no bound; {EXAMPLE}", WRONG_USE)
    return number


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table("space", "dimensions", box=None, pad_edge=False)
    for each in items:
        shown = ", ".join(f"{one['name']} ({_said(one)})" for one in each["dimensions"])
        table.add_row(Text(each["name"]), Text(shown, overflow="fold"))
    return table


def _dimensions(space: dict[str, Any]) -> Table:
    table = Table("dimension", "kind", "lowest", "highest", "values", box=None, pad_edge=False)
    for each in space["dimensions"]:
        ends = (str(each.get(end, "")) for end in ("low", "high"))
        table.add_row(Text(each["name"]), each["kind"], *ends, Text("|".join(each.get("values", ())), overflow="fold"))
    return table


def _said(dimension: dict[str, Any]) -> str:
    if values := dimension.get("values"):
        return "|".join(values)
    low, high = dimension.get("low", ""), dimension.get("high", "")
    return f"{dimension['kind']} {low}..{high}" if low != "" or high != "" else str(dimension["kind"])
