"""`implicit`: a dry run of implicit notification, in the simulator that runs the notifiers of the nodes."""

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct
from msgspec.structs import replace

from tocsin.cli import options
from tocsin.cli.disseminations import compared, show_result
from tocsin.cli.output import WRONG_USE, console, fail, give
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.protocols import PROTOCOLS
from tocsin.routing.implicit.protocols import protocol as protocol_named
from tocsin.routing.implicit.result import Dissemination
from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.world import World
from tocsin.sim.implicit import LIMIT, NotifierNetwork
from tocsin.sim.network import MILLISECOND, Delay, between, constant

application = typer.Typer(no_args_is_help=True)
ALL = "all"
_DELAY = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(?:-(\d{1,6}(?:\.\d{1,6})?))?(?:ms)?")
_SHUFFLED = "0.1-10"  # milliseconds, when only a seed is given


class Inherit(StrEnum):
    TOPICS = "topics"
    CATEGORIES = "categories"


class Scenario(Struct, frozen=True):
    """A world is changed by what runs in it as little as by reading: all protocols run in the same one."""

    world: World
    root: str
    topic: str
    data: bytes


@application.callback(epilog="Example: tocsin implicit run scenario.json --protocol all")
def implicit() -> None:
    """Dry runs of implicit notification."""


@application.command(epilog="Example: tocsin implicit run scenario.json --protocol hin-din --json")
def run(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO.json", help="A world and what is published in it.")],
    protocol: Annotated[str, typer.Option(help=f"{', '.join(PROTOCOLS)}, or {ALL} to compare them.")],
    limit: Annotated[
        int, typer.Option(help="How often one notifier passes it on at most, where a protocol can loop.", min=1)
    ] = LIMIT,
    seed: Annotated[int | None, typer.Option(help="Messages overtake each other; each seed is another order.")] = None,
    delay: Annotated[str, typer.Option(metavar="MS|MS-MS", help="How long a message takes, or between what.")] = "",
    inherit: Annotated[
        list[Inherit] | None,
        typer.Option(help="Edges hold for topics below theirs, or for categories below theirs, too."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Publish once in a world that exists only for this, and tell who was told by whom."""
    names = list(PROTOCOLS) if protocol == ALL else [protocol]
    _check(names, delay)
    try:
        read = _read(scenario, inherit or [])
        results = [_run(read, name, limit, delay, seed) for name in names]
    except Refusal as refusal:
        fail(f"{scenario}: {refusal.text}", WRONG_USE)
    if json:
        given = [_document(each, read) for each in results]
        give({"results": given} if protocol == ALL else given[0])
    elif protocol == ALL:
        console().print(compared(results))
    else:
        show_result(results[0], read.root, read.topic)


def _check(names: list[str], delay: str) -> None:
    try:
        for name in names:
            protocol_named(name)
        _range(delay)
    except Refusal as refusal:
        fail(refusal.text, WRONG_USE)


def _read(scenario: str, inherit: list[Inherit]) -> Scenario:
    try:
        data = sys.stdin.buffer.read() if scenario == "-" else Path(scenario).read_bytes()
    except OSError as error:
        fail(f"{scenario}: {error.strerror}", WRONG_USE)
    found = world_json.read(data)
    if found.publish is None:
        raise Refusal("malformed", 'nothing is published; add "publish": {"root": ..., "topic": ..., "data": ...}')
    world = found.world()
    rules = replace(
        world.rules,
        inherit_topics=world.rules.inherit_topics or Inherit.TOPICS in inherit,
        inherit_categories=world.rules.inherit_categories or Inherit.CATEGORIES in inherit,
    )
    world.apply(rules)
    return Scenario(world, found.publish.root, found.publish.topic, found.publish.content)


def _run(read: Scenario, name: str, limit: int, delay: str, seed: int | None) -> Dissemination:
    network = NotifierNetwork(read.world, send=_delay(delay, seed), ask=_delay(delay, seed))
    message = network.publish(read.root, read.topic, name, data=read.data, limit=limit)
    network.clock.run()
    return network.result(message)


def _delay(text: str, seed: int | None) -> Delay:
    least, most = _range(text or (_SHUFFLED if seed is not None else "1"))
    return constant(least) if least == most else between(seed or 0, least, most)


def _range(text: str) -> tuple[int, int]:
    """In nanoseconds."""
    found = _DELAY.fullmatch(text or "1")
    if found is None:
        raise Refusal("malformed", f"--delay {text!r} is neither milliseconds such as 5 nor a range such as 1-20")
    least, most = (round(float(each or found[1]) * MILLISECOND) for each in found.groups())
    if least > most:
        raise Refusal("malformed", f"--delay {text!r}: the smaller number comes first")
    return least, most


def _document(result: Dissemination, read: Scenario) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(result)
    return found | {"root": read.root, "topic": read.topic}
