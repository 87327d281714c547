"""Fig. 19 between real notifiers: several nodes on this machine, the central history on one of its own, a way off."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import fmean, median

from msgspec import Struct

from tocsin.lab.benches._world import Nodes, nodes
from tocsin.lab.experiment import Findings, Progress, Rows
from tocsin.lab.experiments._disasters import CATEGORIES, SCENARIOS, TOPICS, Scenario, edges_of, services_of
from tocsin.lab.experiments._spread import COMPARED, TITLES
from tocsin.lab.plots import grouped_bars

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


def measured(rounds: int, histories: Sequence[float], progress: Progress) -> list[Took]:
    with tempfile.TemporaryDirectory(prefix="tocsin-lab-") as folder, nodes(Path(folder), RUNNERS) as stage:
        progress("Fig. 19, measured: creating the notifiers")
        stage.learn(whole())
        places = _create(stage)
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
            [_own(each, edge.source), edge.topic, _own(each, edge.target)]
            for each in SCENARIOS
            for edge in edges_of(each)
        ],
        "services": {},
    }


def _own(scenario: Scenario, category: str) -> str:
    return f"{category} {scenario.number}"


def _create(stage: Nodes) -> dict[str, int]:
    """Where each notifier is. Neighbours in a scenario are on different nodes."""
    places: dict[str, int] = {}
    for scenario in SCENARIOS:
        for number, service in enumerate(services_of(scenario)):
            stage.create(number, service.name, [_own(scenario, each) for each in service.categories])
            places[service.name] = number
    return places


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


def findings(found: Sequence[Took]) -> tuple[Findings]:
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


def draw(path: Path, found: Sequence[Took]) -> None:
    shown = [each for each in found if each.protocol != "cin" or each.history_ms in (0.0, 5.0)]
    groups: dict[str, list[float]] = {}
    for each in shown:
        groups.setdefault(each.contestant, []).append(each.ms)
    title = "Notification time between real notifiers (Medjahed Fig. 19)"
    labels = list(map(str, _scenarios(found)))
    grouped_bars(path, title, labels, groups, "ms until the last notifier has it", {})


def _scenarios(found: Sequence[Took]) -> list[Scenario]:
    return list(dict.fromkeys(each.scenario for each in found))
