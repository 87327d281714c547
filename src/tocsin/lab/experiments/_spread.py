"""How far, how often and how fast a message spreads in the simulator: paper 000, Fig. 17 and 19, and who wins where."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from statistics import median

from msgspec import Struct

from tocsin.lab.experiments._disasters import SCENARIOS, Scenario, world_of
from tocsin.semantics.interest.changes import PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World
from tocsin.sim.clock import Clock, Delay, between
from tocsin.sim.implicit import Network, disseminate

PAPER, OURS = ("cin", "din", "hin"), ("hin-din", "bin")
COMPARED = ("cin", "din", "hin", "hin-din")
TITLES = {"cin": "CIN", "din": "DIN", "hin": "HIN", "hin-din": "HIN+DIN", "bin": "BIN"}
NANOSECONDS = 1_000_000  # in a millisecond
RUNS = 9
FAN_OUTS = (4, 16)


class Counts(Struct, frozen=True):
    """Notifications by protocol; `endless` are the protocols that the limit ended."""

    scenario: Scenario
    sent: Mapping[str, int]
    endless: tuple[str, ...]

    @property
    def falls(self) -> str:
        """CIN, DIN and HIN in order, as the paper compares them."""
        ordered = sorted(PAPER, key=lambda name: (self.sent[name], name not in ("cin", "hin"), name))
        words = [ordered[0].upper()]
        for before, name in pairwise(ordered):
            words += ["=" if self.sent[before] == self.sent[name] else "<", name.upper()]
        return " ".join(words)


class Links(Struct, frozen=True):
    """Milliseconds: to the remote history and back, of a message on its way (half as long to half as long again), and
    of the machine that runs all notifiers, as in the paper, for each message it sends."""

    history: float = 5.0
    message: float = 1.0
    handling: float = 0.2


class Cell(Struct, frozen=True):
    """A place in the map: who sends fewest, and who is done first."""

    shape: str
    fan_out: int
    history: float
    sent: Mapping[str, int]
    ms: Mapping[str, float]

    @property
    def fewest(self) -> tuple[str, ...]:
        return best(self.sent)

    @property
    def fastest(self) -> tuple[str, ...]:
        return best(self.ms)


class _Busy:
    """Who does one thing after the other: how long from now until one more has arrived."""

    def __init__(self, work: float, way: Delay) -> None:
        self.clock = Clock()
        self._work, self._way, self._free = round(work * NANOSECONDS), way, 0

    def __call__(self) -> int:
        self._free = max(self.clock.now, self._free) + self._work
        return self._free - self.clock.now + self._way()


def counted(scenario: Scenario) -> Counts:
    world = world_of(scenario)
    found = {name: disseminate(world, scenario.root, scenario.topic, name) for name in PAPER + OURS}
    sent = {name: each.notifications for name, each in found.items()}
    return Counts(scenario, sent, tuple(name for name, each in found.items() if each.stopped))


def all_counted() -> list[Counts]:
    return [counted(each) for each in SCENARIOS]


def reached_ms(world: World, root: str, topic: str, protocol: str, links: Links, seed: int) -> float:
    """Until the last service has the message, the median of some runs; the same ways for every protocol."""
    return median(_run(world, root, topic, protocol, links, seed + run) for run in range(RUNS))


def scenario_ms(scenario: Scenario, links: Links, seed: int) -> dict[str, float]:
    world = world_of(scenario)
    return {name: reached_ms(world, scenario.root, scenario.topic, name, links, seed) for name in COMPARED}


def _run(world: World, root: str, topic: str, protocol: str, links: Links, seed: int) -> float:
    way = links.message * NANOSECONDS
    send = _Busy(links.handling, between(seed, round(way / 2), round(1.5 * way)))
    ask = round(links.history * NANOSECONDS / 2)
    network = Network(world, send=send, ask=lambda: ask)
    send.clock = network.clock
    name = network.publish(root, topic, protocol)
    network.clock.run()
    return network.result(name).ms


def mapped(histories: tuple[float, ...], links: Links, seed: int) -> Iterator[Cell]:
    for fan_out in FAN_OUTS:
        for shape, told in SHAPES.items():
            world = _shaped(told(fan_out))
            sent = {name: disseminate(world, "Root", "T", name).notifications for name in COMPARED}
            ms = {name: reached_ms(world, "Root", "T", name, links, seed) for name in COMPARED}
            for history in histories:  # which no other protocol asks
                here = Links(history, links.message, links.handling)
                yield Cell(
                    shape, fan_out, history, sent, ms | {"cin": reached_ms(world, "Root", "T", "cin", here, seed)}
                )


def best(values: Mapping[str, float]) -> tuple[str, ...]:
    """All that are within 2 % of the least."""
    least = min(values.values())
    return tuple(name for name, value in values.items() if value <= 1.02 * least)


Told = Mapping[str, list[str]]  # each service, and whom it tells


def _shaped(told: Told) -> World:
    """Each service is a category of its own."""
    names = list(dict.fromkeys([*told, *(name for each in told.values() for name in each)]))
    world = World.of([PutTopic("T"), *map(PutCategory, names)])
    for name in names:
        world.apply(PutService(Service(name, (name,))))
    for source, targets in told.items():
        for target in targets:
            world.apply(PutEdge(Edge(source, "T", target)))
    return world


def _tree(fan_out: int) -> dict[str, list[str]]:
    told = {f"M{one}": [f"L{one}.{two}" for two in range(fan_out)] for one in range(fan_out)}
    return {"Root": list(told), **told}


def _back_talk(fan_out: int) -> dict[str, list[str]]:
    told = _tree(fan_out)
    middles = told.pop("Root")
    back = {leaf: [middle] for middle, leaves in told.items() for leaf in leaves}
    return {"Root": middles, **{middle: ["Root", *middles, *leaves] for middle, leaves in told.items()}, **back}


def _common(fan_out: int) -> dict[str, list[str]]:
    middles, leaves = ([f"{kind}{one}" for one in range(fan_out)] for kind in "ML")
    return {"Root": middles, **dict.fromkeys(middles, leaves)}


def _relayed(fan_out: int) -> dict[str, list[str]]:
    told = _common(fan_out)
    far = [f"F{one}" for one in range(fan_out)]
    return {**told, **dict.fromkeys(told["M0"], far)}


SHAPES: Mapping[str, Callable[[int], Told]] = {
    "tree": _tree,
    "back-talk": _back_talk,
    "in common": _common,
    "relayed": _relayed,
}
