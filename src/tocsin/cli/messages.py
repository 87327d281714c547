"""`publish` and `pull`: notifications to a broker and from it, in any dialect."""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tocsin.cli.command import Connection, read, speaking
from tocsin.cli.filters import About
from tocsin.cli.options import Json
from tocsin.cli.output import WRONG_USE, Output, fail, give, say, until_signalled
from tocsin.cli.replies import Patience, Replies, condition_of, finish

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tocsin.client.client import Client
    from tocsin.client.consumer import Received
    from tocsin.client.errors import ClientError
    from tocsin.client.publishing import Said
    from tocsin.client.values import Ended, PullPoint
    from tocsin.model.notification import Notification

application = typer.Typer()
AT_ONCE = 20.0
NOTHING = "there is nothing to pull; wait for it with"
BINDINGS = "bindings"  # the CloudEvents extension; in SOAP they are a header, which --json shows in the body
_BY_NAME = {
    ".json": "application/json",
    ".xml": "application/xml",
    ".ttl": "text/turtle",
    ".nt": "application/n-triples",
    ".nq": "application/n-quads",
    ".rdf": "application/rdf+xml",
    ".jsonld": "application/ld+json",
}
_BY_FIRST_BYTE = {b"{": "application/json", b"[": "application/json", b"<": "application/xml"}


@speaking(application.command, "tocsin publish alert.xml --topic flood/severe --as wsn-1.3")
async def publish(
    client: "Client",
    connection: Connection,
    file: Annotated[str, typer.Argument(help="The payload: a file, or - for standard input.")],
    topic: Annotated[str, typer.Option(help="a/b, or {namespace}a/b.")] = "",
    producer: Annotated[str, typer.Option(help="Who publishes: a URI.")] = "",
    kind: Annotated[str | None, typer.Option("--type", help="The CloudEvents type.")] = None,
    media_type: Annotated[
        str | None, typer.Option(help="By default what the file's name (.ttl, .xml) or first byte says.")
    ] = None,
    message_id: Annotated[str | None, typer.Option("--id", help="The message id; repeating it is harmless.")] = None,
    content_topic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPACE:POINT",
            help="A point of an information space, e.g. weather:Troy,NY/29/48.9, or a span, e.g. 'weather:*,NY/29/*'; "
            "may be said again.",
        ),
    ] = None,
    *,
    replies: Replies,
    wait: Annotated[
        str, typer.Option(help="For which replies: all, fraction=0.9, count=10, quiet=0.5 (a second), or none.")
    ] = "all",
    patience: Patience = "60s",
    json: Json = False,
) -> None:
    """Publish one notification; returns when the broker has it on disk, and with --reply-type when replies are there.

    With --reply-type the replies are drawn as they come. It ends with 0 when everybody has replied and with 1 when
    somebody is outstanding or was not reached. Ctrl-C ends the view: what comes later does not count.
    """
    from tocsin.model import names

    replies.checked()
    until = condition_of(wait, patience)
    payload = sys.stdin.buffer.read() if file == "-" else read(Path(file))
    found = names.topic(topic) if topic else names.NO_TOPIC
    if found is None:
        fail(f"--topic {topic!r} is not a path such as a/b or {{urn:x}}a/b", WRONG_USE)
    said: Said = {
        "media_type": media_type or media_type_of(file, payload),
        "topic": found,
        "producer": producer,
        "kind": kind,
        "message_id": message_id,
        "content_topic": content_topic or "",
    }
    if replies.reply_type is None:
        name = await client.publish(payload, **said)
        Output({"id": name}, f"accepted as {name}").show(json)
        return
    view = await client.publish(payload, reply_type=replies.reply_type, reply_for=replies.reply_for, **said)
    await finish(view, until, connection, json)


@speaking(application.command, "tocsin pull --topic flood//. --from 0 --wait 30s")
async def pull(
    client: "Client",
    connection: Connection,
    point: Annotated[
        str | None, typer.Argument(help="The id or address of a pull point; without, one is made.")
    ] = None,
    *,
    about: About,
    wait: Annotated[str, typer.Option(help="How long to wait for the first message, such as 30s.")] = "0s",
    limit: Annotated[int, typer.Option(help="How many at once, at most.", min=1, max=1000)] = 100,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the pull point that was made.")] = False,
    destroy: Annotated[bool, typer.Option("--destroy", help="Destroy POINT afterwards.")] = False,
    json: Json = False,
) -> None:
    """Fetch what waits in a pull point, or in one of its own that is about --topic and what else is asked for."""
    seconds, asked = _seconds(wait), about.options()
    if point is not None and (about.said or keep):
        fail("what a pull point is about was said when it was made: leave POINT out to make another", WRONG_USE)
    if point is None and destroy:
        fail("a pull point of its own is destroyed anyway, unless you say --keep", WRONG_USE)
    if point is not None:
        found = await _fetch(client, point, seconds, limit, follow, json)
        if not (found or follow or destroy):
            say(f"{NOTHING} {connection.command('pull', point, '--wait', '30s')}")
        if destroy:
            await client.destroy_pull_point(point)
    elif keep:
        made = await client.create_pull_point(**asked)
        say(f"made a pull point until {made.expires or 'further notice'}: {made.address}")
        if not await _fetch(client, made, seconds, limit, follow, json) and not follow:
            say(f"{NOTHING} {connection.command('pull', made.address, '--wait', '30s')}")
    elif follow:
        await follow_own(client, asked, json, seconds or AT_ONCE)
    else:
        async with client.pulling(**asked) as own:
            if not await _fetch(client, own, seconds, limit, follow, json):
                say(f"{NOTHING} --wait 30s, or go on with --follow")


async def follow_own(
    client: "Client",
    about: dict[str, Any],
    json: bool,
    seconds: float = AT_ONCE,
    hear: "Callable[[Sequence[Notification]], None]" = lambda _: None,
) -> None:
    async with client.pulling(**about) as own:
        say(f"pulling from {own.address}")
        await _follow(client, own, seconds, 100, json, hear)


async def _fetch(
    client: "Client", point: "PullPoint | str", seconds: float, limit: int, follow: bool, json: bool
) -> int:
    """How many there were, unless they are followed."""
    if follow:
        await _follow(client, point, seconds or AT_ONCE, limit, json)
        return 0
    found, end = _without_end(await client.pull(point, limit=limit, wait=seconds))
    if json:
        give({"items": [notification_parts(each) for each in found]})
    else:
        for each in found:
            show_notification(each)
    if end is not None:
        raise ended(end.reason)
    return len(found)


async def _follow(
    client: "Client",
    point: "PullPoint | str",
    seconds: float,
    limit: int,
    json: bool,
    hear: "Callable[[Sequence[Notification]], None]" = lambda _: None,
) -> None:
    """One JSON document a line; what was pulled is printed before the command ends."""
    with until_signalled() as stop:
        stopped = asyncio.ensure_future(stop.wait())
        known = not isinstance(point, str)
        while not stopped.done():
            pulling = asyncio.ensure_future(_pulled(client, point, limit, seconds, known))
            await asyncio.wait({pulling, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not pulling.done():
                pulling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                found, end = _without_end(await pulling)
                known = True
                for each in found:
                    give(notification_parts(each)) if json else show_notification(each)
                hear(found)
                if end is not None:
                    raise ended(end.reason)


async def _pulled(
    client: "Client", point: "PullPoint | str", limit: int, seconds: float, known: bool
) -> "Sequence[Notification]":
    """A pull point that is known to have been, and cannot be pulled from, has ended."""
    from tocsin.client.errors import ClientError

    try:
        return await client.pull(point, limit=limit, wait=seconds)
    except ClientError as error:
        if known and error.refused:
            raise ended(str(error)) from None
        raise


def ended(reason: str) -> "ClientError":
    from tocsin.client.errors import ClientError

    return ClientError(f"ended at the broker: {reason or 'no reason was given'}")


def _without_end(found: "Sequence[Notification]") -> "tuple[list[Notification], Ended | None]":
    from tocsin.client.notifications import end_in

    ends = [end for each in found if (end := end_in(each)) is not None]
    return [each for each in found if end_in(each) is None], ends[0] if ends else None


def _seconds(text: str) -> float:
    from tocsin.broker.quantities import duration

    try:
        return duration(text)
    except ValueError:
        fail(f"--wait {text!r} is not a time such as 30s, 500ms or 2m", WRONG_USE)


def media_type_of(name: str, payload: bytes) -> str:
    """The name goes first: N-Triples begin as XML does, and JSON-LD as JSON."""
    by_name = _BY_NAME.get(Path(name).suffix.lower())
    return by_name or _BY_FIRST_BYTE.get(payload.lstrip()[:1], "text/plain")


def show_received(received: "Received", json: bool) -> None:
    """What tells of an end is shown by who hears of it."""
    if received.end() is not None:
        return
    found = received.notifications()
    if json:
        parts = [notification_parts(each) for each in found]
        give({"headers": dict(received.headers), "body": received.body.decode(errors="replace"), "is": parts})
        return
    for each in found:
        show_notification(each)
    if not found:
        _show("not a notification", received.body)


def show_notification(notification: "Notification") -> None:
    """On standard output, for it is what was asked for."""
    producer = notification.producer or "an unnamed producer"
    title = f"{notification.topic}  from {producer}  ({notification.dialect})"
    bindings = notification.attribute(BINDINGS)
    _show(title, notification.payload.data, f"{notification.id}  {bindings}" if bindings else notification.id)


def _show(title: str, body: bytes, below: str = "") -> None:
    """In a frame for eyes; into a pipe as it is, for a frame would break its lines."""
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    out, text = Console(highlight=False), body.decode(errors="replace")
    if out.is_terminal:
        out.print(Panel(Text(text), title=Text(title), title_align="left", subtitle=Text(below)))
    else:
        out.file.write(f"{title}  {below}".rstrip() + f"\n{text}\n\n")
    out.file.flush()


def notification_parts(notification: "Notification") -> dict[str, str | None]:
    asked = notification.reply_type
    return {
        "id": notification.id,
        "topic": str(notification.topic),
        "producer": notification.producer,
        "type": None if notification.type is None else str(notification.type),
        "media_type": notification.payload.media_type,
        "data": notification.payload.data.decode(errors="replace"),
        **({"bindings": bindings} if (bindings := notification.attribute(BINDINGS)) else {}),
        **({"reply_type": asked, "replyto": notification.attribute("replyto")} if asked else {}),
    }
