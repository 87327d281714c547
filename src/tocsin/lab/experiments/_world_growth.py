"""Implicit notification as the world grows: messages, HIN's header, the histories, time (paper 000 s4 does not say)."""

import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from random import Random

import msgspec
from msgspec import Struct

from tocsin.lab.experiment import Progress
from tocsin.semantics.interest.changes import PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World
from tocsin.sim.implicit import Tally, disseminate

PROTOCOLS = ("cin", "din", "hin", "hin-din")
HIN_PASSES = 2  # of one message at one notifier: what plain HIN is stopped at
DEGREE = 3
TOPIC = "Alarm"
DEEPEST_LADDER = 14
SERVICES_PER_LEAF = 2
MEMBERSHIPS = (1,) * 8 + (2, 3)  # how many leaves a service is in, each as likely


class Grown(Struct, frozen=True):
    """One message in a world of so many services. Bytes of a header are those of its names in MessagePack; bytes of
    histories are what their rows take in memory. `unlimited` is what HIN would send without its limit, where it can be
    told."""

    world: str
    services: int
    protocol: str
    reached: int
    notifications: int
    stopped: bool
    largest_header: int
    header_bytes: int
    central_rows: int
    central_bytes: int
    local_rows: int
    local_bytes: int
    seconds: float
    unlimited: int | None = None


class Rung(Struct, frozen=True):
    """A ladder: layers of two, each telling both of the next."""

    layers: int
    protocol: str
    notifications: int
    stopped: bool


def grown(sizes: tuple[int, ...], seed: int, progress: Progress) -> Iterator[Grown]:
    for name, build in WORLDS.items():
        for size in sizes:
            progress(f"growth: a {name} world of {size:,} services")
            world = build(size, Random(seed))
            for service in world.services:  # else the first protocol would pay for what all of them look up
                world.neighbours(service, TOPIC)
            for protocol in PROTOCOLS:
                progress(f"growth: a {name} world of {size:,} services, {protocol}")
                yield measured(name, world, protocol)


def measured(name: str, world: World, protocol: str) -> Grown:
    network, root = Tally(world, lambda names: len(msgspec.msgpack.encode(names))), next(iter(world.services))
    with uncollected():
        begun = time.perf_counter()
        network.publish(root, TOPIC, protocol, limit=HIN_PASSES)
        network.clock.run()
        seconds = time.perf_counter() - begun
    local = [each._history for each in network.notifiers if each.remembered()]
    return Grown(
        name,
        len(world.services),
        protocol,
        len(network.reached),
        network.notifications,
        network.withheld > 0,
        network.largest_header,
        network.header_bytes,
        len(network.history),
        size_of(vars(network.history)) if len(network.history) else 0,
        sum(map(len, local)),
        size_of(local) - sys.getsizeof(local) if local else 0,
        seconds,
        unlimited(world) if name == "layered" and protocol == "hin" else None,
    )


@contextmanager
def uncollected() -> Iterator[None]:
    """Python would look again and again at a world that does not change."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def unlimited(world: World) -> int:
    """Where edges lead to later services only, HIN's header knows nobody whom a copy could still reach: it sends a copy
    along every way."""
    ways = dict.fromkeys(world.services, 0)
    ways[next(iter(ways))] = 1
    for name, count in ways.items():
        for told in world.neighbours(name, TOPIC):
            ways[told] += count
    return sum(ways.values()) - 1


def size_of(thing: object) -> int:
    """In memory with all it holds, each thing once."""
    seen, waiting, total = set[int](), [thing], 0
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        total += sys.getsizeof(each)
        if isinstance(each, dict):
            waiting += each.keys()
            waiting += each.values()
        elif isinstance(each, list | tuple | set):
            waiting += each
        elif slots := getattr(each, "__slots__", ()):
            waiting += (getattr(each, name) for name in slots)
    return total


def ladders(progress: Progress) -> Iterator[Rung]:
    for layers in range(2, DEEPEST_LADDER + 1, 2):
        progress(f"growth: a ladder of {layers} layers")
        world = _empty(["Root", *(f"Layer {layer}" for layer in range(1, layers + 1))])
        world.apply(PutService(Service("Root", ("Root",))))
        source = "Root"
        for layer in range(1, layers + 1):
            category = f"Layer {layer}"
            for side in ("left", "right"):
                world.apply(PutService(Service(f"{category} {side}", (category,))))
            world.apply(PutEdge(Edge(source, TOPIC, category)))
            source = category
        for protocol in PROTOCOLS:
            found = disseminate(world, "Root", TOPIC, protocol)
            yield Rung(layers, protocol, found.notifications, found.stopped is not None)


def ways(layers: int) -> int:
    """What plain HIN sends on a ladder: each copy is passed on twice."""
    return sum(2**layer for layer in range(1, layers + 1))


def _random(size: int, random: Random) -> World:
    """Each service tells so many others, whoever they are."""
    return _linked(size, lambda _: random.sample(range(size), min(DEGREE, size)))


def _layered(size: int, random: Random) -> World:
    """Each layer is twice as wide as the one before; each service tells its own two of the next and a third. So every
    other one is told twice, and whoever is told twice by plain HIN tells twice."""

    def told(number: int) -> list[int]:
        own = [each for each in (2 * number + 1, 2 * number + 2) if each < size]
        layer = 2 * ((1 << ((number + 1).bit_length() - 1)) - 1) + 1
        others = [random.randrange(layer, min(2 * layer + 1, size))] if own else []
        return [*own, *(each for each in others if each not in own)]

    return _linked(size, told)


def _linked(size: int, told: Callable[[int], list[int]]) -> World:
    world = _empty(map(_category, range(size)))
    for number in range(size):
        world.apply(PutService(Service(f"s{number:06}", (_category(number),))))
    for number in range(size):
        for other in told(number):
            world.apply(PutEdge(Edge(_category(number), TOPIC, _category(other))))
    return world


def taxonomies(size: int, random: Random, per_leaf: int = SERVICES_PER_LEAF) -> World:
    """Categories and topics three deep; services in one to three leaves; edges between leaves, or from a leaf to all of
    the branch above another, on topics below the one that is published."""
    world = _empty([])
    for number in range(12):
        world.apply(PutTopic(f"Alarm {number}", TOPIC if number < 3 else f"Alarm {number % 3}"))
    leaves = max(size // per_leaf, 4)
    for name, parent in _branches(leaves):
        world.apply(PutCategory(name, parent))
    for number in range(size):
        chosen = random.sample(range(leaves), random.choice(MEMBERSHIPS))
        world.apply(PutService(Service(f"s{number:06}", tuple(map(_category, chosen)))))
    for leaf in range(leaves):
        other = random.randrange(leaves)
        target = f"b{other // 2:06}" if random.random() < 0.5 else _category(other)
        world.apply(PutEdge(Edge(_category(leaf), f"Alarm {random.randrange(12)}", target)))
    return world


def _branches(leaves: int) -> Iterator[tuple[str, str | None]]:
    """Leaves under branches of two under stems of ten."""
    branches = -(-leaves // 2)
    yield from ((f"a{stem:06}", None) for stem in range(-(-branches // 10)))
    yield from ((f"b{branch:06}", f"a{branch // 10:06}") for branch in range(branches))
    yield from ((_category(leaf), f"b{leaf // 2:06}") for leaf in range(leaves))


def _empty(categories: Iterable[str]) -> World:
    world = World()
    world.apply(PutTopic(TOPIC))
    for name in categories:
        world.apply(PutCategory(name))
    return world


def _category(number: int) -> str:
    return f"c{number:06}"


WORLDS: Mapping[str, Callable[[int, Random], World]] = {
    "layered": _layered,
    "random": _random,
    "taxonomy": taxonomies,
}
