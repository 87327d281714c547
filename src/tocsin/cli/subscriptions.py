"""`subscriptions`: who is told of what, and ending, pausing and resuming that."""

from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import ask, pages
from tocsin.cli.output import give, say, words

application = typer.Typer(help="The subscriptions of a broker.", invoke_without_command=True)

Identity = Annotated[str, typer.Argument(metavar="ID", help="The subscription's id, or its address.")]
Broker = Annotated[str | None, typer.Option(help="The broker's address.")]
STYLES = {"paused": "yellow", "suspended": "red"}


@application.callback()
def subscriptions(
    context: typer.Context,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 1000,
    broker: options.Broker = options.DEFAULT_BROKER,
    json: options.Json = False,
) -> None:
    """List the subscriptions: who is told of what, until when, what waits, was delivered, or could not be."""
    context.obj = broker
    if context.invoked_subcommand is not None:
        return
    found, more = pages(broker, "/api/subscriptions", limit)
    if json:
        give({"items": found, "more": more})
        return
    if not found:
        say("there are no subscriptions; `tocsin subscribe --to URL` makes one")
        return
    words.print(_table(found))
    if more:
        say(f"there are more than these {limit}: ask with a larger --limit")


@application.command()
def show(context: typer.Context, name: Identity, broker: Broker = None, json: options.Json = False) -> None:
    """Tell all of one subscription."""
    found = ask(broker or context.obj, "GET", _path(name))
    if json:
        give(found)
        return
    table = Table.grid(padding=(0, 2))
    for key, value in found.items():
        table.add_row(Text(key.replace("_", " "), style="bold"), Text(_shown(value), overflow="fold"))
    words.print(table)


@application.command()
def cancel(context: typer.Context, name: Identity, broker: Broker = None, json: options.Json = False) -> None:
    """End a subscription; its subscriber is told if it named an address for that."""
    ask(broker or context.obj, "DELETE", f"{_path(name)}?cancel=true")
    give({"id": _id(name), "state": "ended"}) if json else say(f"cancelled {_id(name)}")


@application.command()
def pause(context: typer.Context, name: Identity, broker: Broker = None, json: options.Json = False) -> None:
    """Hold a subscription: what is published meanwhile is not for it."""
    found = ask(broker or context.obj, "POST", f"{_path(name)}/pause")
    give(found) if json else say(f"paused {_id(name)}; go on with `tocsin subscriptions resume {_id(name)}`")


@application.command()
def resume(context: typer.Context, name: Identity, broker: Broker = None, json: options.Json = False) -> None:
    """Go on with a subscription that was paused."""
    found = ask(broker or context.obj, "POST", f"{_path(name)}/resume")
    give(found) if json else say(f"resumed {_id(name)}")


def _id(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _path(name: str) -> str:
    return f"/api/subscriptions/{quote(_id(name), safe='')}"


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table("id", "dialect", "state", "consumer", "filters", "expires", "waiting", "delivered", "dead letters")
    for column in table.columns[6:]:
        column.justify = "right"
    for each in items:
        table.add_row(
            each["id"],
            each["dialect"],
            Text(each["state"], style=STYLES.get(each["state"], "")),
            Text(each["consumer"] or "none: it is pulled", overflow="fold"),
            Text(", ".join(each["filters"]) or "everything", overflow="fold"),
            each["expires"] or "never",
            *(f"{each[name]:,}" for name in ("waiting", "delivered", "dead_letters")),
        )
    return table


def _shown(value: object) -> str:
    match value:
        case None | "" | []:
            return "none"
        case list():
            return ", ".join(map(str, value))
        case int():
            return f"{value:,}"
    return str(value)
