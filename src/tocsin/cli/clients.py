"""`publish`, `subscribe`, `renew`, `unsubscribe`: a client in any dialect."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail, give, say, until_signalled


def register(application: typer.Typer) -> None:
    for command in (publish, subscribe, renew, unsubscribe):
        application.command()(command)


def publish(
    file: Annotated[str, typer.Argument(help="The payload: a file, or - for standard input.")],
    topic: Annotated[str, typer.Option(help="a/b, or {namespace}a/b.")] = "",
    dialect: options.Dialect = "cloudevents",
    broker: options.Broker = options.DEFAULT_BROKER,
    producer: Annotated[str, typer.Option(help="Who publishes: a URI.")] = "",
    kind: Annotated[str | None, typer.Option("--type", help="The CloudEvents type.")] = None,
    media_type: Annotated[str | None, typer.Option(help="By default what the file's name or first byte says.")] = None,
    message_id: Annotated[str | None, typer.Option("--id", help="The message id; repeating it is harmless.")] = None,
    json: options.Json = False,
) -> None:
    """Publish one notification; returns when the broker has it on disk."""
    from tocsin.model import names

    payload = sys.stdin.buffer.read() if file == "-" else _read(Path(file))
    found = names.topic(topic) if topic else names.NO_TOPIC
    if found is None:
        fail(f"--topic {topic!r} is not a path such as a/b or {{urn:x}}a/b", WRONG_USE)

    async def work(client: Any) -> None:
        name = await client.publish(
            payload,
            media_type=media_type or _media_type(file, payload),
            topic=found,
            producer=producer,
            kind=kind,
            message_id=message_id,
        )
        give({"id": name}) if json else say(f"accepted as {name}")

    _with_client(broker, dialect, work)


def subscribe(
    to: Annotated[str | None, typer.Option(help="The consumer's address.")] = None,
    show: Annotated[bool, typer.Option("--print", help="Be the consumer, and print what comes.")] = False,
    topic: Annotated[str, typer.Option(help="A topic expression, e.g. d:earthquake//. with --namespace d=urn:x.")] = "",
    topic_dialect: Annotated[str, typer.Option(help="simple, concrete or full.")] = "full",
    namespace: options.Namespace = None,
    expires: Annotated[str, typer.Option(help="A duration such as PT1H, or a time.")] = "",
    mode: Annotated[str, typer.Option(help="Of CloudEvents: structured or binary.")] = "structured",
    dialect: options.Dialect = "cloudevents",
    broker: options.Broker = options.DEFAULT_BROKER,
    json: options.Json = False,
) -> None:
    """Subscribe a consumer, or this terminal with --print."""
    if (to is None) != show:
        fail("name the consumer with --to URL, or be it with --print", WRONG_USE)
    asked = {
        "topic": topic,
        "topic_dialect": topic_dialect,
        "namespaces": options.pairs(namespace),
        "expires": expires,
        "mode": mode,
    }

    async def work(client: Any) -> None:
        if to is not None:
            lease = await client.subscribe(to, **asked)
            _tell_lease(lease, json)
        else:
            await _consume(client, asked, json)

    _with_client(broker, dialect, work)


async def _consume(client: Any, asked: dict[str, Any], json: bool) -> None:
    from tocsin.cli.shown import show_received
    from tocsin.client import Consumer

    consumer = Consumer(lambda received: show_received(received, json))
    with until_signalled() as stop:
        async with consumer.listening():
            lease = await client.subscribe(f"{consumer.url}/print", **asked)
            _tell_lease(lease, json=False)
            await stop.wait()
            await client.unsubscribe(lease.address)
            say("unsubscribed")


def renew(
    subscription: Annotated[str, typer.Argument(help="The id or the address of the subscription.")],
    expires: Annotated[str, typer.Option(help="A duration such as PT1H, or a time.")] = "",
    dialect: options.Dialect = "cloudevents",
    broker: options.Broker = options.DEFAULT_BROKER,
    json: options.Json = False,
) -> None:
    """Renew a subscription."""

    async def work(client: Any) -> None:
        _tell_lease(await client.renew(_address(client, subscription), expires), json)

    _with_client(broker, dialect, work)


def unsubscribe(
    subscription: Annotated[str, typer.Argument(help="The id or the address of the subscription.")],
    dialect: options.Dialect = "cloudevents",
    broker: options.Broker = options.DEFAULT_BROKER,
) -> None:
    """End a subscription."""

    async def work(client: Any) -> None:
        await client.unsubscribe(_address(client, subscription))
        say("unsubscribed")

    _with_client(broker, dialect, work)


def _with_client(broker: str, dialect: str, work: Callable[[Any], Awaitable[None]]) -> None:
    from tocsin.client.answers import ClientError
    from tocsin.client.client import Client

    async def run() -> None:
        client = Client(broker, dialect)
        try:
            await work(client)
        finally:
            await client.close()

    try:
        asyncio.run(run())
    except ClientError as error:
        fail(str(error))


def _tell_lease(lease: Any, json: bool) -> None:
    if json:
        give({"id": lease.id, "address": lease.address, "expires": lease.expires})
    else:
        say(f"subscribed until {lease.expires or 'further notice'}: {lease.address}")


def _address(client: Any, subscription: str) -> str:
    return subscription if "://" in subscription else str(client.address_of(subscription))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def _media_type(name: str, payload: bytes) -> str:
    if name.endswith(".json") or payload.lstrip()[:1] in (b"{", b"["):
        return "application/json"
    if name.endswith(".xml") or payload.lstrip()[:1] == b"<":
        return "application/xml"
    return "text/plain"
