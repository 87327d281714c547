"""`types`: which types of notifications are kinds of others."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from tocsin.cli import options
from tocsin.cli.api import ask, asking
from tocsin.cli.connection import Connection, read
from tocsin.cli.hierarchies import drawn
from tocsin.cli.output import give, say, words

application = typer.Typer(help="The hierarchy of types.", no_args_is_help=True)
PATH = "/api/types"


@application.command("list")
@asking
def names(connection: Connection, json: options.Json = False) -> None:
    """The types that were declared, as a tree; one with several parents stands below each of them."""
    found = ask(connection, "GET", PATH)
    if json:
        give(found)
    elif not found["parents"]:
        say("there is no hierarchy of types yet: tocsin types set CHILD PARENT")
    else:
        words.print(drawn(found["parents"]))


@application.command()
@asking
def declare(
    connection: Connection,
    file: Annotated[Path, typer.Argument(help='JSON: {"parents": {"{urn:x}flood": ["alert"]}}.')],
    json: options.Json = False,
) -> None:
    """Declare the whole hierarchy; the one before is replaced."""
    declared = ask(connection, "PUT", PATH, read(file))
    give(declared) if json else say(f"declared {len(declared['parents'])} types with their parents")


@application.command("set")
@asking
def put(
    connection: Connection,
    child: Annotated[str, typer.Argument(help="{namespace}local of an element, or a type of CloudEvents.")],
    parents: Annotated[list[str] | None, typer.Argument(help="What it is a kind of; nothing without.")] = None,
    json: options.Json = False,
) -> None:
    """Give one type other parents; all else stays."""
    known = ask(connection, "GET", PATH)["parents"]
    known[child] = parents or []
    declared = ask(connection, "PUT", PATH, msgspec.json.encode({"parents": known}))
    if json:
        give(declared)
    else:
        say(f"{child} is a kind of {', '.join(parents)}" if parents else f"{child} is a kind of nothing else")
