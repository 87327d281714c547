"""`subscriptions`: who is told of what, and ending, pausing and resuming that."""

from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

import typer
from msgspec.json import encode
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import ask, asking, joined, pages
from tocsin.cli.connection import Connection
from tocsin.cli.listing import number, show_list, whole_seconds
from tocsin.cli.output import give, say, words

application = typer.Typer(help="The subscriptions of a broker.", invoke_without_command=True)

Identity = Annotated[str, typer.Argument(metavar="ID", help="The subscription's id, or its address.")]
Limit = Annotated[int, typer.Option(help="How many at most.", min=1)]
STYLES = {"paused": "yellow", "suspended": "red"}
COUNTERS = {"waiting": "waiting", "delivered": "delivered", "dead_letters": "dead letters"}
PULL_POINTS = "/broker/pullpoints/"
MAILBOX = ["any ()"]  # matches nothing by itself


@application.callback()
@asking
def subscriptions(
    connection: Connection,
    context: typer.Context,
    limit: Limit = 1000,
    json: options.Json = False,
) -> None:
    """List the subscriptions: who is told of what, until when, what waits, was delivered, or could not be."""
    context.obj = connection
    if context.invoked_subcommand is None:
        _list(connection, limit, json)


def _list(connection: Connection, limit: int, json: bool) -> None:
    found, more = pages(connection, "/api/subscriptions", limit)
    if json:
        give({"items": found, "more": more})
        return
    if not found:
        say("there are no subscriptions; `tocsin subscribe --to URL` makes one")
        return
    show_list(_table(found), _lines(found))
    if more:
        say(f"there are more than these {limit}: ask with a larger --limit")


@application.command("list", hidden=True)
@asking
def listed(connection: Connection, context: typer.Context, limit: Limit = 1000, json: options.Json = False) -> None:
    """The same, for who is used to the `list` of other commands."""
    _list(joined(connection, context), limit, json)


@application.command()
@asking
def show(connection: Connection, context: typer.Context, name: Identity, json: options.Json = False) -> None:
    """Tell all of one subscription."""
    found = ask(joined(connection, context), "GET", _path(name))
    if json:
        give(found)
        return
    table = Table.grid(padding=(0, 2))
    for key, value in (found | {"consumer": _consumer(found), "filters": _filters(found)}).items():
        table.add_row(Text(key.replace("_", " "), style="bold"), Text(_shown(value), overflow="fold"))
    words.print(table)


@application.command()
@asking
def cancel(connection: Connection, context: typer.Context, name: Identity, json: options.Json = False) -> None:
    """End a subscription; its subscriber is told if it named an address for that."""
    ask(joined(connection, context), "DELETE", f"{_path(name)}?cancel=true")
    give({"id": _id(name), "state": "ended"}) if json else say(f"cancelled {_id(name)}")


@application.command()
@asking
def pause(connection: Connection, context: typer.Context, name: Identity, json: options.Json = False) -> None:
    """Hold a subscription: what is published meanwhile is not for it."""
    found = ask(joined(connection, context), "POST", f"{_path(name)}/pause")
    give(found) if json else say(f"paused {_id(name)}; go on with `tocsin subscriptions resume {_id(name)}`")


@application.command()
@asking
def resume(connection: Connection, context: typer.Context, name: Identity, json: options.Json = False) -> None:
    """Go on with a subscription that was paused or suspended."""
    found = ask(joined(connection, context), "POST", f"{_path(name)}/resume")
    give(found) if json else say(f"resumed {_id(name)}")


def _id(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _path(name: str) -> str:
    return f"/api/subscriptions/{quote(_id(name), safe='')}"


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table("id", "dialect", "state", "consumer", "filters", "expires", *COUNTERS.values())
    for column in table.columns[6:]:
        column.justify = "right"
    for each in items:
        table.add_row(
            each["id"],
            each["dialect"],
            _state(each) + _because(each),
            Text(_consumer(each)),
            Text(_filters(each)),
            whole_seconds(each["expires"] or "never"),
            *(number(each[name]) for name in COUNTERS),
        )
    return table


def _lines(items: list[dict[str, Any]]) -> Iterator[tuple[Text, Text]]:
    for each in items:
        counted = "".join(f"  {_counted(each[name], title)}" for name, title in COUNTERS.items() if each[name])
        head = Text.assemble((each["id"], "bold"), "  ", _state(each), f"  {each['dialect']}{counted}")
        until = f"until {whole_seconds(each['expires'])}" if each["expires"] else "never expires"
        yield head, Text("  ".join((_consumer(each), _filters(each), until)), overflow="fold") + _because(each)


def _counted(count: int, title: str) -> str:
    return f"{count:,} {title.removesuffix('s') if count == 1 else title}"


def _state(each: dict[str, Any]) -> Text:
    return Text(each["state"], style=STYLES.get(each["state"], ""))


def _because(each: dict[str, Any]) -> Text:
    """Why it is suspended, on a line of its own."""
    return Text(f"\n{each['reason']}" if each["state"] == "suspended" and each["reason"] else "", style="dim")


def _consumer(each: dict[str, Any]) -> str:
    """A pull point that another subscription feeds is named by its path alone."""
    consumer: str | None = each["consumer"]
    if consumer is None:
        return "pull point"
    return f"pull point {_id(consumer)}" if consumer.startswith(PULL_POINTS) else consumer


def _filters(each: dict[str, Any]) -> str:
    if each["filters"] == MAILBOX:
        return "what is sent to it"
    return ", ".join(each["filters"]) or "everything"


def _shown(value: object) -> str:
    match value:
        case None | "" | []:
            return "none"
        case list():
            return ", ".join(map(_shown, value))
        case dict():
            return encode(value).decode()
        case int():
            return f"{value:,}"
    return str(value)
