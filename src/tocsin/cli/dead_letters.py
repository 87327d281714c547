"""`dead-letters`: what could not be delivered, and another try."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import ask, asking
from tocsin.cli.connection import Connection
from tocsin.cli.listing import show_list, whole_seconds
from tocsin.cli.output import fail, give, say


def register(application: typer.Typer) -> None:
    application.command("dead-letters")(asking(dead_letters))


def dead_letters(
    connection: Connection,
    redrive: Annotated[list[int] | None, typer.Option(help="Try this one again; may be repeated.", min=1)] = None,
    redrive_all: Annotated[bool, typer.Option("--redrive-all", help="Try all of them again.")] = False,
    subscription: Annotated[str, typer.Option(help="Only those of this subscription.")] = "",
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 100,
    json: options.Json = False,
) -> None:
    """List the dead letters of a broker, or try them again."""
    if redrive or redrive_all:
        _redrive(connection, None if redrive_all else sorted(set(redrive or ())), json)
        return
    of = f"&subscription={quote(subscription, safe='')}" if subscription else ""
    found = ask(connection, "GET", f"/api/dead-letters?limit={limit}{of}")
    if json:
        give(found)
    elif not found["items"]:
        say("there are no dead letters")
    else:
        show_list(_table(found["items"]), _lines(found["items"]))
        if found["next"] is not None:
            say(f"there are more than these {len(found['items'])}: ask with a larger --limit")


def _redrive(connection: Connection, ids: Sequence[int] | None, json: bool) -> None:
    if unknown := [str(each) for each in ids or () if not _is_there(connection, each)]:
        fail(f"there is no dead letter {', '.join(unknown)}, and none is tried again; `tocsin dead-letters` lists them")
    found = ask(connection, "POST", "/api/dead-letters/redrive", msgspec.json.encode({"ids": ids}))
    if json:
        give(found)
    elif ids and not found["redriven"]:
        say("they wait for another try already" if len(ids) > 1 else "it waits for another try already")
    else:
        say(f"{found['redriven']:,} will be tried again")


def _is_there(connection: Connection, name: int) -> bool:
    found = ask(connection, "GET", f"/api/dead-letters?limit=1&after={name - 1}")["items"]
    return bool(found) and found[0]["id"] == name


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table("id", "when", "notification", "subscription", "consumer", "tries", "state", "reason")
    table.columns[0].justify = table.columns[5].justify = "right"
    for each in items:
        named = (each["notification"], each["subscription"], each["consumer"], f"{each['attempts']:,}")
        row = (str(each["id"]), whole_seconds(each["when"]), *named, each["state"], each["reason"])
        table.add_row(*map(Text, row))
    return table


def _lines(items: list[dict[str, Any]]) -> Iterator[tuple[Text, Text]]:
    for each in items:
        tries = "1 try" if each["attempts"] == 1 else f"{each['attempts']:,} tries"
        head = Text.assemble((str(each["id"]), "bold"), f"  {each['state']} after {tries}  {each['notification']}")
        told = (f"of {each['subscription']}", f"to {each['consumer']}", whole_seconds(each["when"]), each["reason"])
        yield head, Text("  ".join(told), overflow="fold")
