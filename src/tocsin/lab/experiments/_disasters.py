"""Ten disasters of our own for the experiment of paper 000 s6, whose own ten are not told.

Each has double notifications, loops or both, and falls into the class that Fig. 17 gives its number. They stand in a
text: the topics, the categories, then a scenario a paragraph: its number, its name, its class, its topic and who
publishes; then `service: category, ...`; then `category -> category, ...`, on the scenario's topic unless another
stands after a colon.
"""

from collections.abc import Iterator
from importlib.resources import files

import msgspec
from msgspec import Struct

from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World


def _forest(text: str) -> dict[str, str | None]:
    """Lines of `parent: child, ...`; those below nothing are roots."""
    lines = (line.split(":") for line in text.strip().splitlines())
    return {name: parent.strip() or None for parent, children in lines for name in _names(children)}


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


class Scenario(Struct, frozen=True):
    number: int
    name: str
    falls: str
    topic: str
    root: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.number} {self.name}"

    @property
    def services(self) -> Iterator[Service]:
        for line in self.lines:
            if "->" not in line:
                name, _, categories = line.partition(":")
                yield Service(name.strip(), _names(categories))

    @property
    def edges(self) -> Iterator[Edge]:
        for line in self.lines:
            if "->" in line:
                source, _, rest = line.partition("->")
                targets, _, topic = rest.partition(":")
                for target in _names(targets):
                    yield Edge(source.strip(), topic.strip() or self.topic, target)


_PARAGRAPHS = files("tocsin.lab.experiments").joinpath("disasters.txt").read_text("utf-8").split("\n\n")
TOPICS, CATEGORIES = map(_forest, _PARAGRAPHS[:2])


def _scenario(paragraph: str) -> Scenario:
    head, *lines = paragraph.strip().splitlines()
    number, name, falls, topic, root = head.split(" | ")
    return Scenario(int(number), name, falls, topic, root, tuple(lines))


SCENARIOS = tuple(map(_scenario, _PARAGRAPHS[2:]))


def world_of(scenario: Scenario) -> World:
    return world_json.read(msgspec.json.encode(document(scenario))).world()


def document(scenario: Scenario) -> dict[str, object]:
    """As `tocsin implicit run` reads it."""
    return {
        "topics": TOPICS,
        "categories": CATEGORIES,
        "edges": [list(edge.key) for edge in scenario.edges],
        "services": {each.name: list(each.categories) for each in scenario.services},
        "publish": {"root": scenario.root, "topic": scenario.topic, "data": str(scenario)},
    }
