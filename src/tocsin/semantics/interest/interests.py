"""Who is told of what: GetNeighbors (paper 000, Table 1), answered from indexes that follow every change."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from tocsin.semantics.interest.edge import Key
from tocsin.semantics.interest.taxonomy import Taxonomy


class Interests:
    """Only edges that count are linked here. What was worked out is kept until something changes."""

    def __init__(self, topics: Taxonomy, categories: Taxonomy) -> None:
        self._topics, self._categories = topics, categories
        self._inherit_topics = self._inherit_categories = False
        self._links: dict[str, dict[str, dict[str, None]]] = {}  # source, topic, targets
        self._members: dict[str, dict[str, None]] = {}
        self._reach: dict[tuple[str, str], frozenset[str]] = {}
        self._found: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {}

    def inherit(self, *, topics: bool, categories: bool) -> None:
        """Two readings that the paper does not have: a message of a child topic uses the edges on its parents, a
        service those of the categories above its own."""
        self._inherit_topics, self._inherit_categories = topics, categories
        self.forget()

    def link(self, key: Key) -> None:
        source, topic, target = key
        self._links.setdefault(source, {}).setdefault(topic, {})[target] = None
        self.forget()

    def unlink(self, key: Key) -> None:
        source, topic, target = key
        targets = self._links.get(source, {}).get(topic, {})
        if targets.pop(target, key) is None:
            self.forget()

    def join(self, service: str, categories: Iterable[str]) -> None:
        for category in categories:
            self._members.setdefault(category, {})[service] = None
        self.forget()

    def leave(self, service: str, categories: Iterable[str]) -> None:
        for category in categories:
            self._members.get(category, {}).pop(service, None)
        self.forget()

    def forget(self) -> None:
        self._reach.clear()
        self._found.clear()

    def members(self, category: str) -> set[str]:
        """The services of a category or one under it."""
        return {name for each in self._categories.below(category) for name in self._members.get(each, ())}

    def neighbours(self, service: str, categories: tuple[str, ...], topic: str) -> tuple[str, ...]:
        found = self._found.get((categories, topic))
        if found is None:
            found = self._found[categories, topic] = self._merged(categories, topic)
        at = bisect_left(found, service)
        return found if found[at : at + 1] != (service,) else found[:at] + found[at + 1 :]

    def _merged(self, categories: tuple[str, ...], topic: str) -> tuple[str, ...]:
        return tuple(sorted({name for each in categories for name in self.reach(each, topic)}))

    def reach(self, category: str, topic: str) -> frozenset[str]:
        """All that services of a category tell of a topic."""
        found = self._reach.get((category, topic))
        if found is None:
            targets = {target for _, _, target in self.ways((category,), topic)}
            found = frozenset(name for target in targets for name in self.members(target))
            self._reach[category, topic] = found
        return found

    def ways(self, categories: Iterable[str], topic: str) -> set[Key]:
        """The edges along which services of these categories tell of a topic."""
        sources = {source for each in categories for source in self._sources(each)}
        return {key for source in sources for key in self._leaving(source, topic)}

    def topics_of(self, category: str) -> set[str]:
        """The topics of which services of a category tell anybody."""
        labels = {label for each in self._sources(category) for label in self._links.get(each, ())}
        found = {topic for label in labels for topic in self._topics.above(label)}
        if self._inherit_topics:
            found |= {topic for label in labels for topic in self._topics.below(label)}
        return found

    def _sources(self, category: str) -> list[str]:
        return self._categories.above(category) if self._inherit_categories else [category]

    def _leaving(self, source: str, topic: str) -> Iterator[Key]:
        """Edges labelled with the topic or one below it (Table 1, lines 8 and 10)."""
        links = self._links.get(source, {})
        labels: set[str] = set()
        if links:
            labels.update(self._topics.below(topic))
            if self._inherit_topics:
                labels.update(self._topics.above(topic))
        return ((source, label, target) for label in labels & links.keys() for target in links[label])
