"""`notifiers`: the agents of services, what is published through them, and who was told."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import asking, joined, through
from tocsin.cli.connection import Connection, read
from tocsin.cli.disseminations import show_result
from tocsin.cli.listing import show_list
from tocsin.cli.output import WRONG_USE, fail, give, say
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.protocols import DEFAULT, PROTOCOLS
from tocsin.routing.implicit.protocols import protocol as protocol_named

if TYPE_CHECKING:
    from tocsin.client.client import Client
    from tocsin.documents.notifiers import DisseminationDocument

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
    owner: Annotated[
        str, typer.Option(help="The user who fetches for the service; by default you.", metavar="USER")
    ] = "",
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
            owner=owner,
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
def tell(
    connection: Connection,
    context: typer.Context,
    name: Name,
    topic: Annotated[str, typer.Argument(help="A topic of the world.")],
    service: Annotated[str, typer.Argument(help="The one service that is told of it.")] = "",
    nobody: Annotated[bool, typer.Option("--nobody", help="End the rule for this topic.")] = False,
    by: By = "",
    json: options.Json = False,
) -> None:
    """Change a service's own rule: whom it tells of a topic by push-1:1-implicit. Its notifier runs on."""
    if bool(service) == nobody:
        fail("name the one service that is told, or say --nobody", WRONG_USE)
    tells = {topic: service or None}
    made = through(joined(connection, context), lambda client: client.world.change_service(name, tells=tells, by=by))
    give(made) if json else say(f"{name} tells {service or 'nobody'} of {topic!r}")


@application.command()
@asking
def publish(
    connection: Connection,
    context: typer.Context,
    name: Name,
    topic: Annotated[str, typer.Option(help="A topic of the world.")],
    protocol: Annotated[str, typer.Option(help=f"{', '.join(PROTOCOLS)}.")] = DEFAULT,
    data: Annotated[
        str | None, typer.Option(metavar="TEXT|@FILE", help="What is said of it; @- is standard input.")
    ] = None,
    media_type: Annotated[str, typer.Option(help="By default text/plain.")] = "",
    limit: Annotated[
        int | None, typer.Option(help="How often one notifier passes it on at most, with bin and hin.", min=1)
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="SERVICE", help="Who is told, with --protocol direct; may be said several times."),
    ] = None,
    wait: Wait = 10.0,
    json: options.Json = False,
) -> None:
    """Publish through a notifier, and tell who was told by whom."""
    _check_protocol(protocol)
    said = _said(data)

    async def work(client: "Client") -> "DisseminationDocument":
        message = await client.notifiers.publish(
            name, topic, said, media_type=media_type or "text/plain", protocol=protocol, limit=limit, only=only
        )
        return await client.notifiers.result(message, wait=wait)

    connection = joined(connection, context)
    _show(connection, through(connection, work), json)


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
    connection = joined(connection, context)
    _show(connection, through(connection, lambda client: client.notifiers.result(message, wait=wait)), json)


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
    rows: list[tuple[Text, Text]] = []
    for each in found:
        told = f"at {each.address} in {each.dialect}" if each.address else "pull point"
        parts = (each.name, "\n".join(each.categories), told, f"{each.handled:,}", f"{each.remembered:,}")
        table.add_row(*(Text(part, overflow="fold") for part in parts))
        rows.append((Text(each.name), Text(f"{', '.join(each.categories)}; {told}; {each.handled:,} handled")))
    show_list(table, rows)
    if not all(each.address for each in found):
        say("--json has the ids of the pull points, for `tocsin pull`")


def _check_protocol(name: str) -> None:
    try:
        protocol_named(name)
    except Refusal as refusal:
        fail(refusal.text, WRONG_USE)


def _said(data: str | None) -> bytes:
    if data is None:
        fail("what is published? say it with --data TEXT or --data @FILE; --data '' says nothing more", WRONG_USE)
    if not data.startswith("@"):
        return data.encode()
    return sys.stdin.buffer.read() if data == "@-" else read(Path(data[1:]))


def _show(connection: Connection, found: "DisseminationDocument", json: bool) -> None:
    if json:
        give(found)
        return
    show_result(found, found.root, found.topic)
    again = connection.api_command("notifiers", "result", found.id, "--wait", "30")
    later = "" if found.complete else f"; {again} tells the rest"
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
