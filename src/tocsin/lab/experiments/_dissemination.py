"""How a message spreads: counted and timed in the simulator, and between real notifiers (paper 000, Fig. 17, 19)."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import fmean, median

from msgspec import Struct

from tocsin.lab.benches._world import Nodes, nodes
from tocsin.lab.experiment import Findings, Progress, Rows, bars
from tocsin.lab.experiments._disasters import CATEGORIES, SCENARIOS, TOPICS, Scenario, world_of
from tocsin.semantics.interest.changes import PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World
from tocsin.sim.implicit import NotifierNetwork, disseminate
from tocsin.sim.network import Clock, Delay, between

PAPER, OURS = ("cin", "din", "hin"), ("dht-cin", "hin-din", "bin")
COMPARED = ("cin", "din", "hin", "hin-din")
TITLES = {"cin": "CIN", "din": "DIN", "hin": "HIN", "hin-din": "HIN+DIN", "bin": "BIN", "dht-cin": "DHT-CIN"}
NANOSECONDS = 1_000_000  # in a millisecond
RUNS = 9
FAN_OUTS = (4, 16)


class Sent(Struct, frozen=True):
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


def counted(scenario: Scenario) -> Sent:
    world = world_of(scenario)
    found = {name: disseminate(world, scenario.root, scenario.topic, name) for name in PAPER + OURS}
    sent = {name: each.notifications for name, each in found.items()}
    return Sent(scenario, sent, tuple(name for name, each in found.items() if each.stopped))


def all_counted() -> list[Sent]:
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
    network = NotifierNetwork(world, send=send, ask=lambda: ask)
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


Followers = Mapping[str, list[str]]  # each service, and whom it tells


def _shaped(told: Followers) -> World:
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


SHAPES: Mapping[str, Callable[[int], Followers]] = {
    "tree": _tree,
    "back-talk": _back_talk,
    "in common": _common,
    "relayed": _relayed,
}

RUNNERS = 3


class Took(Struct, frozen=True):
    """Milliseconds until the last notifier had the message, the median of the rounds."""

    scenario: Scenario
    protocol: str
    history_ms: float
    ms: float
    notifications: int

    @property
    def contestant(self) -> str:
        return f"CIN, history {self.history_ms:g} ms away" if self.protocol == "cin" else TITLES[self.protocol]


def measured_times(rounds: int, histories: Sequence[float], progress: Progress) -> list[Took]:
    with tempfile.TemporaryDirectory(prefix="tocsin-lab-") as folder, nodes(Path(folder), RUNNERS) as stage:
        progress("Fig. 19, measured: creating the notifiers")
        stage.learn(whole())
        # where each notifier is. Neighbours in a scenario are on different nodes.
        places: dict[str, int] = {}
        for scenario in SCENARIOS:
            for number, service in enumerate(scenario.services):
                stage.create(number, service.name, [_own(scenario, each) for each in service.categories])
                places[service.name] = number
        return [
            each for scenario in SCENARIOS for each in _scenario(stage, scenario, places, rounds, histories, progress)
        ]


def whole() -> dict[str, object]:
    """The ten as one world that falls into ten parts: each has categories of its own."""
    parents = [(each, name, parent) for each in SCENARIOS for name, parent in CATEGORIES.items()]
    return {
        "topics": dict(TOPICS),
        "categories": {_own(each, name): parent and _own(each, parent) for each, name, parent in parents},
        "edges": [
            [_own(each, edge.source), edge.topic, _own(each, edge.target)] for each in SCENARIOS for edge in each.edges
        ],
        "services": {},
    }


def _own(scenario: Scenario, category: str) -> str:
    return f"{category} {scenario.number}"


def _scenario(
    stage: Nodes,
    scenario: Scenario,
    places: dict[str, int],
    rounds: int,
    histories: Sequence[float],
    progress: Progress,
) -> Iterator[Took]:
    """By turns, so that whatever else the machine does hits all alike; each round in another order, for nodes may still
    be busy with who was before. The first round warms up."""
    contestants = [("cin", history) for history in histories] + [(name, 0.0) for name in COMPARED if name != "cin"]
    found: dict[tuple[str, float], list[tuple[float, int]]] = {each: [] for each in contestants}
    for number in range(rounds + 1):
        progress(f"Fig. 19, measured: {scenario}, round {number} of {rounds}")
        for protocol, history in Random(number).sample(contestants, len(contestants)):
            stage.way.seconds = history / 1000
            message = stage.publish(places[scenario.root], scenario.root, scenario.topic, protocol)
            became = stage.became(places[scenario.root], message)
            if number:
                found[protocol, history].append((became.ms, became.notifications))
    for (protocol, history), took in found.items():
        yield Took(scenario, protocol, history, median(ms for ms, _ in took), max(sent for _, sent in took))


def measured_findings(found: Sequence[Took]) -> tuple[Findings]:
    names = list(dict.fromkeys(each.contestant for each in found))
    rows: Rows = tuple(
        (str(scenario), *(each.ms for each in found if each.scenario == scenario)) for scenario in _scenarios(found)
    )
    means: Rows = (("mean", *(fmean(each.ms for each in found if each.contestant == name) for name in names)),)
    notes = (
        f"Real notifiers in {RUNNERS} processes on this machine, with every step on disk before it is answered; the"
        " central history is in a process of its own, behind a way that is made longer. Until the last notifier has"
        " the message; medians.",
    )
    return (
        Findings(
            "Fig. 19: notification time, measured", ("scenario", *(f"{n} ms" for n in names)), rows + means, notes
        ),
    )


def draw_measured(path: Path, found: Sequence[Took]) -> None:
    shown = [each for each in found if each.protocol != "cin" or each.history_ms in (0.0, 5.0)]
    groups: dict[str, list[float]] = {}
    for each in shown:
        groups.setdefault(each.contestant, []).append(each.ms)
    title = "Notification time between real notifiers (Medjahed Fig. 19)"
    labels = list(map(str, _scenarios(found)))
    bars(path, title, labels, groups, "ms until the last notifier has it", stacked=False)


def _scenarios(found: Sequence[Took]) -> list[Scenario]:
    return list(dict.fromkeys(each.scenario for each in found))
