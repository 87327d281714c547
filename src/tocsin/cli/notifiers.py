"""`notifiers`: the agents of services, what is published through them, and who was told."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tocsin.cli.command import Connection, asking, read
from tocsin.cli.disseminations import show_result
from tocsin.cli.options import Json, pairs
from tocsin.cli.output import WRONG_USE, Output, fail, show_list, table
from tocsin.cli.replies import Patience, Replies, condition_of, finish
from tocsin.documents.notifiers import DisseminationDocument
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.protocols import DEFAULT, PROTOCOLS
from tocsin.routing.implicit.protocols import protocol as protocol_named

if TYPE_CHECKING:
    from tocsin.client.client import Client
    from tocsin.client.publishing import SaidThrough

application = typer.Typer(invoke_without_command=True)
Name = Annotated[str, typer.Argument(help="The name of the service, which its notifier has too.")]
By = Annotated[str, typer.Option(help="Who says so, where nobody has to show it.", metavar="NAME")]
Wait = Annotated[float, typer.Option(help="Seconds to wait until all were told.", min=0.0, metavar="SECONDS")]
NONE = "there are no notifiers here; `tocsin notifiers create NAME --category C` makes one, `tocsin ino demo` twenty"


async def listed(client: "Client") -> Output:
    """The notifiers of a node, and what is published through them.

    Without a command they are listed: their categories, and how their services are told.
    """
    found = await client.notifiers.list()
    if not found:
        return Output({"items": found}, NONE)
    rows, lines = list[tuple[str, ...]](), list[tuple[Text, Text]]()
    for each in found:
        place = f"at {each.address} in {each.dialect}" if each.address else "pull point"
        rows.append((each.name, "\n".join(each.categories), place, f"{each.handled:,}", f"{each.remembered:,}"))
        lines.append((Text(each.name), Text(f"{', '.join(each.categories)}; {place}; {each.handled:,} handled")))
    drawn = table(("service", "categories", "is told", "handled", "remembered"), rows, right=(3, 4))
    fetched = not all(each.address for each in found)
    hint = ["--json has the ids of the pull points, for `tocsin pull`"] if fetched else []
    return Output({"items": found}, lambda: show_list(drawn, lines), *hint)


asking(application.callback, "tocsin notifiers")(listed)
asking(application.command, "tocsin notifiers list", name="list", help="List them.")(listed)


@asking(
    application.command,
    "tocsin notifiers create TV --category Media --address http://127.0.0.1:9000/ --dialect wsn-1.3",
)
async def create(
    client: "Client",
    connection: Connection,
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
) -> Output:
    """Create a notifier for a service, and register the service under its categories."""
    given = pairs(quality, "--quality", "NAME=VALUE")
    made = await client.notifiers.create(
        name,
        category,
        address=address,
        dialect=spoken,
        qualities={name: _number(name, text) for name, text in given.items()},
        policies=policy or (),
        tells=pairs(tells, "--tells", "NAME=VALUE"),
        by=by,
        owner=owner,
    )
    words = [f"{name} takes Publish and Notify at {made.notifier} (WSDL: {made.wsdl})"]
    if not address:
        words.append(f"what it is told waits in its pull point: {connection.command('pull', made.subscription)}")
    return Output(made, *words)


@asking(application.command, "tocsin notifiers remove TV")
async def remove(client: "Client", name: Name, by: By = "") -> Output:
    """Remove a notifier, and its service from the world."""
    await client.notifiers.remove(name, by=by)
    return Output({"name": name, "removed": True}, f"removed {name}")


@asking(application.command, "tocsin notifiers tell TV Earthquake USGS")
async def tell(
    client: "Client",
    name: Name,
    topic: Annotated[str, typer.Argument(help="A topic of the world.")],
    service: Annotated[str, typer.Argument(help="The one service that is told of it.")] = "",
    nobody: Annotated[bool, typer.Option("--nobody", help="End the rule for this topic.")] = False,
    by: By = "",
) -> Output:
    """Change a service's own rule: whom it tells of a topic by push-1:1-implicit. Its notifier runs on."""
    if bool(service) == nobody:
        fail("name the one service that is told, or say --nobody", WRONG_USE)
    made = await client.world.change_service(name, tells={topic: service or None}, by=by)
    return Output(made, f"{name} tells {service or 'nobody'} of {topic!r}")


@asking(application.command, "tocsin notifiers publish IDER --topic 'Disaster Info' --data 'an earthquake off Chile'")
async def publish(
    client: "Client",
    connection: Connection,
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
    *,
    replies: Replies,
    until: Annotated[
        str, typer.Option(help="For which replies to wait: all, fraction=0.9, count=10, quiet=0.5, or none.")
    ] = "all",
    patience: Patience = "60s",
    json: Json = False,
) -> None:
    """Publish through a notifier, and tell who was told by whom, or with --reply-type what they replied."""
    replies.checked()
    condition = condition_of(until, patience, "--until")
    try:
        protocol_named(protocol)
    except Refusal as refusal:
        fail(refusal.text, WRONG_USE)
    said: SaidThrough = {
        "media_type": media_type or "text/plain",
        "protocol": protocol,
        "limit": limit,
        "only": only,
    }
    content = _content(data)
    if replies.reply_type is None:
        message = await client.notifiers.publish(name, topic, content, **said)
        _result(connection, await client.notifiers.result(message, wait=wait)).show(json)
        return
    view = await client.notifiers.publish(
        name, topic, content, reply_type=replies.reply_type, reply_for=replies.reply_for, **said
    )
    await finish(view, condition, connection, json)


@asking(application.command, "tocsin notifiers result urn:uuid:6ba7b810 --wait 30")
async def result(
    client: "Client",
    connection: Connection,
    message: Annotated[str, typer.Argument(metavar="ID", help="What `publish` told.")],
    wait: Wait = 0.0,
) -> Output:
    """Tell what became of a message that was published through a notifier here."""
    return _result(connection, await client.notifiers.result(message, wait=wait))


def _content(data: str | None) -> bytes:
    if data is None:
        fail("what is published? say it with --data TEXT or --data @FILE; --data '' says nothing more", WRONG_USE)
    if not data.startswith("@"):
        return data.encode()
    return sys.stdin.buffer.read() if data == "@-" else read(Path(data[1:]))


def _result(connection: Connection, found: DisseminationDocument) -> Output:
    again = connection.api_command("notifiers", "result", found.id, "--wait", "30")
    later = "" if found.complete else f"; {again} tells the rest"
    return Output(found, lambda: show_result(found, found.root, found.topic), f"published as {found.id}{later}")


def _number(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        fail(f"--quality {name}={text!r} is no number", WRONG_USE)
    return found
