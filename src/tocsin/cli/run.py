"""`serve`, `up` and `config`: a node alone, the whole platform, and the settings of both."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, console, counted, fail, give, say, until_signalled

if TYPE_CHECKING:
    from tocsin.broker.node import Node
    from tocsin.broker.settings import Settings


application = typer.Typer()


@application.command(epilog="Example: tocsin serve --listen 127.0.0.1:8080 --data ./data")
def serve(
    listen: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where to listen.")] = None,
    port: options.Port = None,
    data: options.Data = None,
    config: options.Config = None,
    extra: options.Setting = None,
    log: options.SharedLog = None,
    parent: Annotated[str | None, typer.Option(metavar="URL", help="The node above this one in a tree.")] = None,
    join: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Any node of the ring that it joins.")] = None,
    role: Annotated[str | None, typer.Option(help="broker, or dht: without doors, it stores, matches, relays.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes behind one port, that act as one, such as one for each core.")
    ] = None,
    json: options.Json = False,
) -> None:
    """A broker without a JVM: it matches by itself. Others join it with --join HOST:PORT, and all of them
    are one broker. With --log it shares the work with others and with Spark; with --parent it is a node of a tree, and
    a subscription at one receives what is published at any other."""
    import uvloop

    asked = {"listen": listen, "port": port, "data": data, "config": config, "log-shared": log, "tree-parent": parent}
    asked |= {"ring-join": _url(join), "ring-role": role, "workers": workers}
    settings = options.settings_of(extra, **asked, engine="embedded")
    if settings.log.shared is not None:
        settings = options.settings_of(extra, **asked, engine="spark")
    elif settings.origins.get("ring.port", "default") == "default":
        settings = options.settings_of([*(extra or ()), "ring-port=0"], **asked, engine="embedded")
    many = _workers(settings)
    uvloop.run(_serve_together(settings, many, json) if many else _serve(settings, json))


def _url(place: str | None) -> str | None:
    return place if place is None or "://" in place else f"http://{place}"


def _workers(settings: "Settings") -> int:
    """How many processes are watched by one more; none where one is enough, and the directory was never that of
    several."""
    from tocsin.platform.names import former

    many, why = settings.workers, _alone(settings)
    if why is not None:
        if many > 1:
            say(f"{why}: one worker is started, not {many}")
        return 0
    return many if many > 1 or former(settings.data) else 0


def _alone(settings: "Settings") -> str | None:
    """Why one process cannot be several."""
    if settings.log.shared is not None:
        return "nodes that share a log are one process each"
    if settings.tree.parent is not None:
        return "the nodes of a tree are one process each"
    return "a node that is in no ring is one process" if settings.ring.port is None else None


DOORS = "SOAP /broker, CloudEvents /events, API /api/openapi.json"


async def _serve(settings: "Settings", json: bool) -> None:
    from tocsin.platform.serving import serving

    with until_signalled() as stop, _in_a_sentence():
        async with serving(settings, say) as node:
            if json:
                give({"event": "listening", "url": node.base_url, "node": node.journal.node})
            say(f"{node.journal.node} listens on {node.base_url}  ({DOORS})")
            await _stopped(node, stop)
            say("draining ...")
        say(f"stopped; {node.journal.log.durable} records in the log")


async def _stopped(node: "Node", stop: asyncio.Event) -> None:
    """Told so, or because it left its ring for good."""
    events = (stop,) if node.ring is None else (stop, node.ring.left)
    waiting = [asyncio.create_task(each.wait()) for each in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()


async def _serve_together(settings: "Settings", many: int, json: bool) -> None:
    from tocsin.platform.workers import Workers

    def listening(workers: Workers) -> None:
        if json:
            give({"event": "listening", "url": workers.url, "node": workers.node, "workers": many})
        say(f"{workers.node} listens on {workers.url} with {counted(many, 'worker')}  ({DOORS})")

    with until_signalled() as stop, _in_a_sentence():
        records = await Workers(settings, many, say, stop).run(listening)
        say(f"stopped; {records} records in the logs")


@application.command(epilog="Example: tocsin up --demo --for 30s")
def up(
    demo: Annotated[bool, typer.Option("--demo", help="Publish and consume disaster notifications.")] = False,
    duration: Annotated[str | None, typer.Option("--for", metavar="30s", help="End after that long.")] = None,
    port: options.Port = None,
    data: options.Data = None,
    engine: Annotated[str | None, typer.Option(help="spark, or embedded.")] = None,
    config: options.Config = None,
    extra: options.Setting = None,
    json: options.Json = False,
) -> None:
    """The platform: a broker, and the data pipeline on Spark."""
    import uvloop

    from tocsin.broker.quantities import duration as seconds_of
    from tocsin.platform.java import spark_problem

    settings = options.settings_of(extra, port=port, data=data, engine=engine, config=config)
    try:
        seconds = None if duration is None else seconds_of(duration)
    except ValueError:
        fail(f"--for {duration!r} is not a duration such as 30s or 5m", WRONG_USE)
    if settings.log.shared is not None:
        fail("nodes that share a log are started by `tocsin serve`, and Spark by `tocsin pipeline run`", WRONG_USE)
    if (problem := spark_problem(os.environ)) is not None:
        fail(problem, WRONG_USE)
    summary = uvloop.run(_up(settings, demo, seconds))
    if json:
        give(summary)


async def _up(settings: "Settings", demo: bool, seconds: float | None) -> object:
    from tocsin.cli.screen import run_platform

    with until_signalled() as stop, _in_a_sentence():
        return await run_platform(settings, demo=demo, seconds=seconds, stop=stop)


@application.command("config", epilog="Example: tocsin config --set delivery-attempts=3")
def configuration(config: options.Config = None, extra: options.Setting = None, json: options.Json = False) -> None:
    """Print every setting in force and where it came from: a flag, the environment, the file or the default."""
    from rich.table import Table

    from tocsin.broker.settings import rows

    found = rows(options.settings_of(extra, config=config))
    if json:
        give({name: {"value": value, "origin": origin} for name, value, origin in found})
        return
    table = Table("setting", "value", "from")
    for name, value, origin in found:
        table.add_row(name, value, origin, style=None if origin == "default" else "bold")
    console().print(table)


@contextlib.contextmanager
def _in_a_sentence() -> Iterator[None]:
    """What can be said so is, without a traceback."""
    from tocsin.store.errors import StoreError
    from tocsin.wire.addresses import WireError

    try:
        yield
    except (StoreError, WireError, OSError) as error:
        fail(str(error))
