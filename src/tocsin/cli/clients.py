"""`publish`, `subscribe`, `renew`, `status`, `pause`, `resume`, `unsubscribe`, `pull`: a client in any dialect."""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tocsin.cli import filter_options as asked_for
from tocsin.cli import options
from tocsin.cli.connection import Connection, connected, read
from tocsin.cli.output import WRONG_USE, fail, give, say, until_signalled
from tocsin.cli.payloads import media_type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tocsin.client.client import Client
    from tocsin.client.consumer import Received
    from tocsin.client.errors import ClientError
    from tocsin.client.values import Ended, Lease, PullPoint
    from tocsin.model.notification import Notification

Subscription = Annotated[str, typer.Argument(help="The id or the address of the subscription.")]
TopicDialect = Annotated[str, typer.Option(help="simple, concrete, full or concrete-set.")]
Expires = Annotated[str, typer.Option(help="A duration such as PT1H, or a time such as 2030-01-31T12:00:00Z.")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="OFFSET|TIME", help="Begin there in the log, rather than now."),
]
AT_ONCE = 20.0
NOTHING = "there is nothing to pull; wait for it with"


def register(application: typer.Typer) -> None:
    for command in (publish, subscribe, renew, status, pause, resume, unsubscribe, pull):
        application.command()(connected(command))


def publish(
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
        str, typer.Option(metavar="SPACE:POINT", help="A point of an information space, e.g. weather:Troy,NY/29/48.9.")
    ] = "",
    json: options.Json = False,
) -> None:
    """Publish one notification; returns when the broker has it on disk."""
    from tocsin.model import names

    payload = sys.stdin.buffer.read() if file == "-" else read(Path(file))
    found = names.topic(topic) if topic else names.NO_TOPIC
    if found is None:
        fail(f"--topic {topic!r} is not a path such as a/b or {{urn:x}}a/b", WRONG_USE)

    async def work(client: "Client") -> None:
        name = await client.publish(
            payload,
            media_type=media_type or media_type_of(file, payload),
            topic=found,
            producer=producer,
            kind=kind,
            message_id=message_id,
            content_topic=content_topic,
        )
        give({"id": name}) if json else say(f"accepted as {name}")

    connection.run(work)


def subscribe(
    connection: Connection,
    to: Annotated[str | None, typer.Option(help="The consumer's address.")] = None,
    show: Annotated[bool, typer.Option("--print", help="Be the consumer, and print what comes.")] = False,
    pulled: Annotated[bool, typer.Option("--pull", help="With --print: fetch it, for want of an address.")] = False,
    topic: asked_for.Topic = None,
    topic_dialect: TopicDialect = "full",
    namespace: options.Namespace = None,
    content: asked_for.Content = None,
    content_language: asked_for.ContentLanguage = "xpath",
    types: asked_for.Types = None,
    producers: asked_for.Producers = None,
    box: asked_for.Box = None,
    pattern: asked_for.Pattern = None,
    sparql: asked_for.Sparql = None,
    plain: asked_for.Plain = False,
    deliver_as: asked_for.DeliverAs = "",
    bindings: asked_for.Bindings = False,
    expires: Expires = "",
    start: From = None,
    mode: Annotated[
        str,
        typer.Option(help="wrapped or raw; of CloudEvents structured, binary or batched. By default the dialect's."),
    ] = "",
    together: Annotated[int, typer.Option(help="How many may come in one message.", min=1)] = 1,
    secret: Annotated[str, typer.Option(help="The name of a secret to sign or authorise with.")] = "",
    consent: Annotated[bool, typer.Option("--consent", help="Ask the consumer first (CloudEvents).")] = False,
    thin: Annotated[bool, typer.Option("--thin", help="Tell where the data is, not the data.")] = False,
    json: options.Json = False,
) -> None:
    """Subscribe a consumer, or this terminal with --print."""
    if to is not None and show:
        fail("--to and --print exclude each other: the consumer is there, or it is this terminal", WRONG_USE)
    if to is None and not show:
        fail("name the consumer with --to URL, or be it with --print", WRONG_USE)
    if pulled and not show:
        fail("--pull goes with --print; `tocsin pull` fetches from a pull point", WRONG_USE)
    about: dict[str, Any] = _about(topic, topic_dialect, namespace, expires, start)
    about |= _filters(content, content_language, types, producers, box)
    about |= asked_for.meaning(pattern, sparql, plain, deliver_as, bindings)
    form: dict[str, Any] = {"mode": mode, "together": together, "secret": secret, "consent": consent, "thin": thin}
    if pulled and form != {"mode": "", "together": 1, "secret": "", "consent": False, "thin": False}:
        names = "--mode, --together, --secret, --consent and --thin"
        fail(f"{names} are about what is sent, and with --pull nothing is", WRONG_USE)
    _check_form(connection.dialect, mode, together)

    async def work(client: "Client") -> None:
        if to is not None:
            _tell_lease(await client.subscribe(to, **about, **form), json)
        elif pulled:
            await _follow_own(client, about, json, AT_ONCE)
        else:
            await _consume(client, about | form, json)

    connection.run(work)


async def _consume(client: "Client", asked: dict[str, Any], json: bool) -> None:
    from tocsin.cli.shown import show_received

    ends: list[Ended] = []
    with until_signalled() as stop:

        def ended(end: "Ended") -> None:
            ends.append(end)
            stop.set()

        def received(one: "Received") -> None:
            show_received(one, json)

        async with client.listening(received=received, ended=ended, **asked) as lease:
            _tell_lease(lease, json=False)
            await stop.wait()
    if ends:
        raise _ended(ends[0].reason or ends[0].status)
    say("unsubscribed")


def _ended(reason: str) -> "ClientError":
    from tocsin.client.errors import ClientError

    return ClientError(f"ended at the broker: {reason or 'no reason was given'}")


def renew(
    connection: Connection, subscription: Subscription, expires: Expires = "", json: options.Json = False
) -> None:
    """Renew a subscription or a pull point."""
    _check_expires(expires)

    async def work(client: "Client") -> None:
        _tell_lease(await client.renew(subscription, expires), json)

    connection.run(work)


def status(connection: Connection, subscription: Subscription, json: options.Json = False) -> None:
    """Tell until when a subscription stands, and in the JSON API's dialects how."""

    async def work(client: "Client") -> None:
        found = await client.status(subscription)
        until = found.expires or "further notice"
        if json:
            give({"expires": found.expires or None, "state": found.state or None, "reason": found.reason or None})
        elif found.state == "suspended":
            again = connection.command("resume", subscription)
            because, once = (f": {found.reason}", ", once that is put right") if found.reason else ("", "")
            say(f"suspended{because}; lease until {until}; {again} makes it active again{once}")
        elif found.state:
            say(f"{found.state} until {until}")
        else:
            name = subscription.rstrip("/").rpartition("/")[2]
            asking = connection.command("status", name, dialect="cloudevents")
            say(f"stands until {until}; {connection.dialect} does not tell whether it is paused, {asking} does")

    connection.run(work)


def pause(connection: Connection, subscription: Subscription) -> None:
    """Hold a subscription: what is published meanwhile is not for it."""

    async def work(client: "Client") -> None:
        await client.pause(subscription)
        say(f"paused; go on with {connection.command('resume', subscription)}")

    connection.run(work)


def resume(connection: Connection, subscription: Subscription) -> None:
    """Go on with a subscription that was paused or suspended."""

    async def work(client: "Client") -> None:
        await client.resume(subscription)
        say("resumed")

    connection.run(work)


def unsubscribe(connection: Connection, subscription: Subscription) -> None:
    """End a subscription."""

    async def work(client: "Client") -> None:
        await client.unsubscribe(subscription)
        say("unsubscribed")

    connection.run(work)


def pull(
    connection: Connection,
    point: Annotated[
        str | None, typer.Argument(help="The id or address of a pull point; without, one is made.")
    ] = None,
    topic: asked_for.Topic = None,
    topic_dialect: TopicDialect = "full",
    namespace: options.Namespace = None,
    content: asked_for.Content = None,
    content_language: asked_for.ContentLanguage = "xpath",
    types: asked_for.Types = None,
    producers: asked_for.Producers = None,
    box: asked_for.Box = None,
    pattern: asked_for.Pattern = None,
    sparql: asked_for.Sparql = None,
    plain: asked_for.Plain = False,
    deliver_as: asked_for.DeliverAs = "",
    bindings: asked_for.Bindings = False,
    expires: Expires = "",
    start: From = None,
    wait: Annotated[str, typer.Option(help="How long to wait for the first message, such as 30s.")] = "0s",
    limit: Annotated[int, typer.Option(help="How many at once, at most.", min=1, max=1000)] = 100,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the pull point that was made.")] = False,
    destroy: Annotated[bool, typer.Option("--destroy", help="Destroy POINT afterwards.")] = False,
    json: options.Json = False,
) -> None:
    """Fetch what waits in a pull point, or in one of its own that is about --topic and what else is asked for."""
    seconds, about = _seconds(wait), _about(topic, topic_dialect, namespace, expires, start)
    about |= _filters(content, content_language, types, producers, box)
    about |= asked_for.meaning(pattern, sparql, plain, deliver_as, bindings)
    asked = topic or content or types or producers or box or pattern or sparql or deliver_as or bindings
    if point is not None and (asked or start or expires or keep):
        fail("what a pull point is about was said when it was made: leave POINT out to make another", WRONG_USE)
    if point is None and destroy:
        fail("a pull point of its own is destroyed anyway, unless you say --keep", WRONG_USE)

    async def work(client: "Client") -> None:
        if point is not None:
            found = await _fetch(client, point, seconds, limit, follow, json)
            if not (found or follow or destroy):
                say(f"{NOTHING} {connection.command('pull', point, '--wait', '30s')}")
            if destroy:
                await client.destroy_pull_point(point)
        elif keep:
            made = await client.create_pull_point(**about)
            say(f"made a pull point until {made.expires or 'further notice'}: {made.address}")
            if not await _fetch(client, made, seconds, limit, follow, json) and not follow:
                say(f"{NOTHING} {connection.command('pull', made.address, '--wait', '30s')}")
        elif follow:
            await _follow_own(client, about, json, seconds or AT_ONCE)
        else:
            async with client.pulling(**about) as own:
                if not await _fetch(client, own, seconds, limit, follow, json):
                    say(f"{NOTHING} --wait 30s, or go on with --follow")

    connection.run(work)


async def _follow_own(client: "Client", about: dict[str, Any], json: bool, seconds: float) -> None:
    async with client.pulling(**about) as own:
        say(f"pulling from {own.address}")
        await _follow(client, own, seconds, 100, json)


async def _fetch(
    client: "Client", point: "PullPoint | str", seconds: float, limit: int, follow: bool, json: bool
) -> int:
    """How many there were, unless they are followed."""
    from tocsin.cli.shown import notification_parts, show_notification

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
        raise _ended(end.reason)
    return len(found)


async def _follow(client: "Client", point: "PullPoint | str", seconds: float, limit: int, json: bool) -> None:
    """One JSON document a line; what was pulled is printed before the command ends."""
    from tocsin.cli.shown import notification_parts, show_notification

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
                if end is not None:
                    raise _ended(end.reason)


async def _pulled(
    client: "Client", point: "PullPoint | str", limit: int, seconds: float, known: bool
) -> "Sequence[Notification]":
    """A pull point that is known to have been, and cannot be pulled from, has ended."""
    from tocsin.client.errors import ClientError

    try:
        return await client.pull(point, limit=limit, wait=seconds)
    except ClientError as error:
        if known and error.refused:
            raise _ended(str(error)) from None
        raise


def _without_end(found: "Sequence[Notification]") -> "tuple[list[Notification], Ended | None]":
    from tocsin.client.notifications import end_in

    ends = [end for each in found if (end := end_in(each)) is not None]
    return [each for each in found if end_in(each) is None], ends[0] if ends else None


def _about(
    topic: list[str] | None, topic_dialect: str, namespace: list[str] | None, expires: str, start: str | None
) -> dict[str, Any]:
    _check_expires(expires)
    _check_topic_dialect(topic_dialect)
    return {
        "topic": asked_for.once("topic", topic),
        "topic_dialect": topic_dialect,
        "namespaces": options.pairs(namespace),
        "expires": expires,
        "start": start,
    }


def _filters(
    content: list[str] | None,
    language: str,
    types: list[str] | None,
    producers: list[str] | None,
    box: list[str] | None,
) -> dict[str, Any]:
    from tocsin.client.filters import LANGUAGES

    if language not in LANGUAGES:
        fail(f"--content-language {language!r} is not known; choose one of {', '.join(LANGUAGES)}", WRONG_USE)
    return {
        "content": asked_for.once("content", content),
        "content_language": language,
        "types": types or (),
        "producers": producers or (),
        "box": asked_for.once("box", box),
    }


def _check_topic_dialect(name: str) -> None:
    from tocsin.mediation.topics import DIALECTS

    known = tuple(DIALECTS.values())
    if name not in known:
        fail(f"--topic-dialect {name!r} is not known; choose one of {', '.join(known)}", WRONG_USE)


def _check_form(dialect: str, mode: str, together: int) -> None:
    from tocsin.client.requests import dialect_named, modes

    known = modes(dialect_named(dialect))
    if mode and mode not in known:
        choice = f"choose one of {', '.join(known)}" if known else "leave it out"
        fail(f"--mode {mode!r} is not a mode of {dialect}; {choice}", WRONG_USE)
    if together > 1 and ("batched" not in known or mode not in ("", "batched")):
        fail("--together is about batches: it goes with --as cloudevents, and --mode batched if any", WRONG_USE)


def _check_expires(text: str) -> None:
    from tocsin.mediation import times
    from tocsin.model.refusal import Refusal

    try:
        if text:
            times.duration(text) if times.is_duration(text) else times.instant(text)
    except Refusal as refusal:
        fail(f"--expires: {refusal.text}", WRONG_USE)


def _seconds(text: str) -> float:
    from tocsin.broker.quantities import duration

    try:
        return duration(text)
    except ValueError:
        fail(f"--wait {text!r} is not a time such as 30s, 500ms or 2m", WRONG_USE)


def _tell_lease(lease: "Lease", json: bool) -> None:
    if json:
        give({"id": lease.id, "address": lease.address, "expires": lease.expires})
    else:
        say(f"subscribed until {lease.expires or 'further notice'}: {lease.address}")
