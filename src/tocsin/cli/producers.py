"""`producers`: what is known of who sends notifications."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import ask, asking, pages
from tocsin.cli.connection import Connection, read
from tocsin.cli.hierarchies import drawn
from tocsin.cli.output import WRONG_USE, fail, give, say, words

application = typer.Typer(help="Producers: their categories, properties and descriptions.", no_args_is_help=True)
Address = Annotated[str, typer.Argument(help="Where its notifications come from, as they say it.")]


@application.command("list")
@asking
def names(
    connection: Connection,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 1000,
    json: options.Json = False,
) -> None:
    """The producers that were declared, and the services of the world."""
    found, more = pages(connection, "/api/producers", limit)
    if json:
        give({"items": found, "more": more})
        return
    words.print(_table(found)) if found else say("there are no producers yet: tocsin producers declare ADDRESS")
    if more:
        say(f"there are more than {limit}; --limit shows more")


@application.command()
@asking
def show(connection: Connection, address: Address, json: options.Json = False) -> None:
    """One producer, whole."""
    found = ask(connection, "GET", _path(address))
    if json:
        give(found)
        return
    say(f"{found['address']}{'  (a service of the world)' if found['of_world'] else ''}")
    for name in ("categories", "properties", "description"):
        shown = ", ".join(found[name]) if name == "categories" else found[name].strip()
        say(f"{name}: {shown}" if "\n" not in shown else f"{name}:\n{shown}") if shown else None


@application.command()
@asking
def declare(
    connection: Connection,
    address: Address,
    category: Annotated[list[str] | None, typer.Option(help="One of its categories; may be said again.")] = None,
    properties: Annotated[Path | None, typer.Option(help="XML: what it can do, promises and implements.")] = None,
    description: Annotated[Path | None, typer.Option(help="RDF: Turtle, N-Triples or RDF/XML.")] = None,
    json: options.Json = False,
) -> None:
    """Say what a producer is; what was said of it before is replaced."""
    asked = {"categories": category or [], "properties": _text(properties), "description": _text(description)}
    declared = ask(connection, "PUT", _path(address), msgspec.json.encode(asked))
    give(declared) if json else say(f"declared {address}: {', '.join(declared['categories']) or 'of no category'}")


@application.command()
@asking
def withdraw(connection: Connection, address: Address) -> None:
    """Forget what was declared of a producer."""
    ask(connection, "DELETE", _path(address))
    say(f"{address} is withdrawn")


@application.command()
@asking
def categories(
    connection: Connection,
    file: Annotated[Path | None, typer.Argument(help='Declare these: {"parents": {"hospital": ["care"]}}.')] = None,
    json: options.Json = False,
) -> None:
    """The categories of producers, as a tree."""
    body = b"" if file is None else read(file)
    found = ask(connection, "GET" if file is None else "PUT", "/api/categories", body)
    if json:
        give(found)
    elif not found["parents"]:
        say("no category is below another yet")
    else:
        words.print(drawn(found["parents"]))
        say("they are those of the world; `tocsin ino` changes them") if found["of_world"] else None


def _path(address: str) -> str:
    return f"/api/producers/{quote(address, safe='')}"


def _text(file: Path | None) -> str:
    try:
        return "" if file is None else read(file).decode()
    except UnicodeDecodeError as problem:
        fail(f"{file} is not in UTF-8: {problem}", WRONG_USE)


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table("producer", "categories", "properties", "description", "of the world", box=None, pad_edge=False)
    for each in items:
        said = ("yes" if each[name] else "" for name in ("properties", "description", "of_world"))
        table.add_row(Text(each["address"], overflow="fold"), Text(", ".join(each["categories"])), *said)
    return table
