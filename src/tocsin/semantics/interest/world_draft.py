"""A world while it is read from a file: each thing with its place in the file, put in an order that can be applied."""

from collections.abc import Iterator
from typing import TypeVar

from msgspec.structs import replace

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.changes import Change, PutCategory, PutEdge, PutRules, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Key, Service
from tocsin.semantics.interest.taxonomy import parents_first
from tocsin.semantics.interest.world import World

T = TypeVar("T")
NAMED = TypeVar("NAMED", str, Key)
Placed = tuple[str, Change]


class Draft:
    """What a file says, in an order that can be applied: in a file names may be used before they are declared."""

    def __init__(self) -> None:
        self._rules: list[Placed] = []
        self._topics: dict[str, tuple[str, PutTopic]] = {}
        self._categories: dict[str, tuple[str, PutCategory]] = {}
        self._services: dict[str, tuple[str, Service]] = {}
        self._edges: dict[Key, tuple[str, Edge]] = {}

    def rules(self, place: str, rules: PutRules) -> None:
        self._rules.append((place, rules))

    def topic(self, place: str, topic: PutTopic) -> None:
        _add(self._topics, topic.name, place, topic, f"topic {topic.name!r}")

    def category(self, place: str, category: PutCategory) -> None:
        _add(self._categories, category.name, place, category, f"category {category.name!r}")

    def service(self, place: str, service: Service) -> None:
        if len(set(service.categories)) < len(service.categories):
            raise Refusal("bad-world", f"{place}: service {service.name!r} has a category twice; keep one")
        _add(self._services, service.name, place, service, f"service {service.name!r}")

    def edge(self, place: str, edge: Edge) -> None:
        _add(self._edges, edge.key, place, edge, f"edge {edge}")

    def create_missing(self, onto: World | None) -> None:
        """Each name that is used and neither declared nor known becomes one at the top."""
        known = onto or World()
        for name in self._used_topics():
            if name not in self._topics and name not in known.topics:
                self._topics[name] = "created", PutTopic(name)
        for name in self._used_categories():
            if name not in self._categories and name not in known.categories:
                self._categories[name] = "created", PutCategory(name)

    def changes(self, onto: World | None) -> Iterator[Placed]:
        """Rules and taxonomies, then services, then edges: each after what it needs."""
        yield from self._rules
        topics = {name: topic.parent for name, (_, topic) in self._topics.items()}
        yield from (self._topics[name] for name in parents_first("topic", topics))
        categories = {name: category.parent for name, (_, category) in self._categories.items()}
        yield from (self._categories[name] for name in parents_first("category", categories))
        # one that tells others who come later is said twice, at last with whom it tells
        known = set(onto.services) if onto else set()
        later: list[Placed] = []
        for place, service in self._services.values():
            if known.issuperset(service.tells.values()):
                yield place, PutService(service)
            else:
                yield place, PutService(replace(service, tells={}))
                later.append((place, PutService(service)))
            known.add(service.name)
        yield from later
        yield from ((place, PutEdge(edge)) for place, edge in self._edges.values())

    def _used_topics(self) -> Iterator[str]:
        yield from [topic.parent for _, topic in self._topics.values() if topic.parent is not None]
        yield from (edge.topic for _, edge in self._edges.values())
        yield from (topic for _, service in self._services.values() for topic in service.tells)

    def _used_categories(self) -> Iterator[str]:
        yield from [category.parent for _, category in self._categories.values() if category.parent is not None]
        yield from (category for _, service in self._services.values() for category in service.categories)
        yield from (name for _, edge in self._edges.values() for name in (edge.source, edge.target))


def tried(
    changes: Iterator[Placed], onto: World | None, unknown: str = "add it, or correct the name"
) -> tuple[tuple[Change, ...], World]:
    """The changes, and the world they make; what is refused names its place, and what to do of an unknown name."""
    world = World.of(onto.changes()) if onto else World()
    made: list[Change] = []
    for place, change in changes:
        try:
            world.apply(change)
        except Refusal as refused:
            hint = f"; {unknown}" if refused.reason == "unknown-name" else ""
            raise Refusal("bad-world", f"{place}: {refused.text}{hint}") from None
        made.append(change)
    return tuple(made), world


def _add(kept: dict[NAMED, tuple[str, T]], name: NAMED, place: str, said: T, shown: str) -> None:
    if name in kept:
        raise Refusal("bad-world", f"{place}: {shown} stands already at {kept[name][0]}; keep one")
    kept[name] = place, said
