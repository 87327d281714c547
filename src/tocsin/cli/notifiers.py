"""`notifiers`: the agents of services, what is published through them, and who was told."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import asking, joined, through
from tocsin.cli.connection import Connection, read
from tocsin.cli.output import WRONG_USE, fail, give, say, words
from tocsin.cli.told import show_result
from tocsin.routing.implicit.protocols import DEFAULT, PROTOCOLS

if TYPE_CHECKING:
    from tocsin.client import Client
    from tocsin.client.world import Result

application = typer.Typer(help="The notifiers of a node.", invoke_without_command=True)
Name = Annotated[str, typer.Argument(help="The name of the service, which its notifier has too.")]
By = Annotated[str, typer.Option(help="Who says so, where nobody has to show it.", metavar="NAME")]
Wait = Annotated[float, typer.Option(help="Seconds to wait until all were told.", min=0.0, metavar="SECONDS")]
NONE = "there are no notifiers here; `tocsin notifiers create NAME --category C` makes one, `tocsin ino demo` twenty"


@application.callback()
@asking
def notifiers(connection: Connection, context: typer.Context, json: options.Json = False) -> None:
    """List the notifiers of this node: their categories, and how their services are told."""
    context.obj = connection
    if context.invoked_subcommand is None:
        _list(connection, json)


@application.command("list")
@asking
def listing(connection: Connection, context: typer.Context, json: options.Json = False) -> None:
    """List them."""
    _list(joined(connection, context), json)


@application.command()
@asking
def create(
    connection: Connection,
    context: typer.Context,
    name: Name,
    category: Annotated[list[str], typer.Option(help="What it is; may be said several times.")],
    address: Annotated[str, typer.Option(help="Where the service is told; without one it fetches.")] = "",
    spoken: Annotated[str, typer.Option("--dialect", help="In which dialect it is told.")] = "",
    quality: Annotated[list[str] | None, typer.Option(metavar="NAME=NUMBER", help="E.g. price=2.5.")] = None,
    policy: Annotated[list[str] | None, typer.Option(help="What it promises or demands.")] = None,
    tells: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC=SERVICE", help="Its own rule: of this topic it tells that one.")
    ] = None,
    by: By = "",
    json: options.Json = False,
) -> None:
    """Create a notifier for a service, and register the service under its categories."""
    qualities = {name: _number(name, text) for name, text in _pairs("--quality", quality).items()}
    connection = joined(connection, context)
    made = through(
        connection,
        lambda client: client.notifiers.create(
            name,
            category,
            address=address,
            dialect=spoken,
            qualities=qualities,
            policies=policy or (),
            tells=_pairs("--tells", tells),
            by=by,
        ),
    )
    if json:
        give(made)
        return
    say(f"{name} takes Publish and Notify at {made.notifier} (WSDL: {made.wsdl})")
    if not address:
        say(f"what it is told waits in its pull point: {connection.command('pull', made.subscription)}")


@application.command()
@asking
def remove(connection: Connection, context: typer.Context, name: Name, by: By = "", json: options.Json = False) -> None:
    """Remove a notifier, and its service from the world."""
    through(joined(connection, context), lambda client: client.notifiers.remove(name, by=by))
    give({"name": name, "removed": True}) if json else say(f"removed {name}")


@application.command()
@asking
def publish(
    connection: Connection,
    context: typer.Context,
    name: Name,
    topic: Annotated[str, typer.Option(help="A topic of the world.")],
    protocol: Annotated[str, typer.Option(help=f"{', '.join(PROTOCOLS)}.")] = DEFAULT,
    data: Annotated[str, typer.Option(metavar="TEXT|@FILE", help="What is said of it.")] = "",
    media_type: Annotated[str, typer.Option(help="By default text/plain.")] = "",
    limit: Annotated[int | None, typer.Option(help="How many notifications at most.", min=1)] = None,
    wait: Wait = 10.0,
    json: options.Json = False,
) -> None:
    """Publish through a notifier, and tell who was told by whom."""
    said = read(Path(data[1:])) if data.startswith("@") else data.encode()

    async def work(client: "Client") -> "Result":
        message = await client.notifiers.publish(
            name, topic, said, media_type=media_type or "text/plain", protocol=protocol, limit=limit
        )
        return await client.notifiers.result(message, wait=wait)

    _show(through(joined(connection, context), work), json)


@application.command()
@asking
def result(
    connection: Connection,
    context: typer.Context,
    message: Annotated[str, typer.Argument(metavar="ID", help="What `publish` told.")],
    wait: Wait = 0.0,
    json: options.Json = False,
) -> None:
    """Tell what became of a message that was published through a notifier here."""
    _show(through(joined(connection, context), lambda client: client.notifiers.result(message, wait=wait)), json)


def _list(connection: Connection, json: bool) -> None:
    found = through(connection, lambda client: client.notifiers.list())
    if json:
        give({"items": found})
        return
    if not found:
        say(NONE)
        return
    table = Table("service", "categories", "is told", "handled", "remembered", box=None, pad_edge=False)
    table.columns[3].justify = table.columns[4].justify = "right"
    for each in found:
        told = f"at {each.address} in {each.dialect}" if each.address else f"pull point {each.subscription}"
        parts = (each.name, ", ".join(each.categories), told, f"{each.handled:,}", f"{each.remembered:,}")
        table.add_row(*(Text(part, overflow="fold") for part in parts))
    words.print(table)


def _show(found: "Result", json: bool) -> None:
    if json:
        give(found)
        return
    show_result(found, found.root, found.topic)
    later = "" if found.complete else f"; `tocsin notifiers result {found.id} --wait 30` tells the rest"
    say(f"published as {found.id}{later}")


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            fail(f"{option} {each!r} is not NAME=VALUE", WRONG_USE)
        found[name] = value
    return found


def _number(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        fail(f"--quality {name}={text!r} is no number", WRONG_USE)
    return found
