"""The world: taxonomies, services and edges, changed by values alone, and GetNeighbors (paper 000, Table 1)."""

import shlex
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from tocsin.model.refusal import Refusal, known_names
from tocsin.semantics.interest import changes as c
from tocsin.semantics.interest.ino import MOST_VOTES, Edge, Key, Service, Verdict, verdict, voted
from tocsin.semantics.interest.taxonomy import Taxonomy


class Interests:
    """GetNeighbors from indexes. Only edges that count are linked; results are kept until something changes."""

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

    def own_members(self, category: str) -> set[str]:
        """The services of a category itself."""
        return set(self._members.get(category, ()))

    def members(self, category: str) -> set[str]:
        """The services of a category or one under it."""
        return {name for each in self._categories.below(category) for name in self._members.get(each, ())}

    def neighbours(self, service: str, categories: tuple[str, ...], topic: str) -> tuple[str, ...]:
        found = self._found.get((categories, topic))
        if found is None:
            found = self._found[categories, topic] = tuple(
                sorted({name for each in categories for name in self.reach(each, topic)})
            )
        at = bisect_left(found, service)
        return found if found[at : at + 1] != (service,) else found[:at] + found[at + 1 :]

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


class World:
    """The world and its changes. A change is checked before anything is changed; one that is refused changes
    nothing."""

    def __init__(self) -> None:
        self.version = 0
        self.rules = c.PutRules()
        self.topics = Taxonomy("topic")
        self.categories = Taxonomy("category")
        self.owners: dict[str, str] = {}
        self.services: dict[str, Service] = {}
        self.edges: dict[Key, Edge] = {}
        self.interests = Interests(self.topics, self.categories)
        self._apply: Mapping[type, Callable[[Any], None]] = {
            c.PutTopic: self._put_topic,
            c.RemoveTopic: self._remove_topic,
            c.PutCategory: self._put_category,
            c.RemoveCategory: self._remove_category,
            c.PutService: self._put_service,
            c.RemoveService: self._remove_service,
            c.PutEdge: self._put_edge,
            c.RemoveEdge: self._remove_edge,
            c.CastVote: self._vote,
            c.PutRules: self._put_rules,
        }

    @classmethod
    def of(cls, changes: Iterable[c.Change]) -> "World":
        world = cls()
        for change in changes:
            world.apply(change)
        return world

    def apply(self, change: c.Change) -> None:
        self._apply[type(change)](change)
        self.version += 1

    def changes(self) -> Iterator[c.Change]:
        """Those that make this world anew, from nothing."""
        yield self.rules
        for name in self.topics:
            yield c.PutTopic(name)
        for name in self.categories:
            yield c.PutCategory(name, owner=self.owners.get(name))
        for name, parent in self.topics.items():
            if parent is not None:
                yield c.PutTopic(name, parent)
        for name, parent in self.categories.items():
            if parent is not None:
                yield c.PutCategory(name, parent, self.owners.get(name))
        yield from (c.PutService(replace(each, tells={})) for each in self.services.values())
        yield from (c.PutService(each) for each in self.services.values() if each.tells)
        yield from map(c.PutEdge, self.edges.values())

    def service(self, name: str) -> Service:
        found = self.services.get(name)
        if found is None:
            raise Refusal("unknown-name", f"there is no service {name!r}; {known_names(name, self.services)}")
        return found

    def edge(self, key: Key) -> Edge:
        found = self.edges.get(key)
        if found is None:
            raise Refusal("unknown-name", f"there is no edge {key[0]} -{key[1]}-> {key[2]}")
        return found

    def verdict(self, edge: Edge) -> Verdict:
        return verdict(edge, self.owners.get(edge.source), self.rules.quorum)

    def counts(self, edge: Edge) -> bool:
        return self.verdict(edge).counts

    def members(self, category: str) -> list[Service]:
        """The services of a category or one under it, by name."""
        self.categories.check(category)
        return [self.services[name] for name in sorted(self.interests.members(category))]

    def neighbours(self, service: str, topic: str) -> tuple[str, ...]:
        """GetNeighbors (paper 000, Table 1), in the order of their names."""
        return self.interests.neighbours(service, self.service(service).categories, topic)

    def ways(self, service: str, topic: str) -> list[tuple[Edge, set[str]]]:
        """The edges along which it tells of the topic, in the order of their names, and whom each leads to."""
        keys = sorted(self.interests.ways(self.service(service).categories, topic))
        return [(self.edges[key], self.interests.members(key[2])) for key in keys]

    def _put_topic(self, change: c.PutTopic) -> None:
        self.topics.put(change.name, change.parent)
        self.interests.forget()

    def _remove_topic(self, change: c.RemoveTopic) -> None:
        self._refuse_use("topic", change.name, (edge for edge in self.edges.values() if edge.topic == change.name))
        self._refuse_rules("topic", change.name, lambda topic, _: topic == change.name)
        self.topics.remove(change.name)
        self.interests.forget()

    def _put_category(self, change: c.PutCategory) -> None:
        self.categories.put(change.name, change.parent)
        before = self.owners.pop(change.name, None)
        if change.owner:
            self.owners[change.name] = change.owner
        if before != self.owners.get(change.name):
            # another owner may decide otherwise
            for edge in self.edges.values():
                if edge.source == change.name:
                    self._weigh_one(edge)
        self.interests.forget()

    def _remove_category(self, change: c.RemoveCategory) -> None:
        name = change.name
        self.categories.check(name)
        self._refuse_use("category", name, (e for e in self.edges.values() if name in (e.source, e.target)))
        self._refuse_use("category", name, (s.name for s in self.services.values() if name in s.categories))
        self.categories.remove(name)
        self.owners.pop(name, None)

    def _put_service(self, change: c.PutService) -> None:
        service = change.service
        service.check()
        for category in service.categories:
            self.categories.check(category)
        for topic, told in service.tells.items():
            self.topics.check(topic)
            if told not in self.services or told == service.name:
                raise Refusal("bad-world", f"service {service.name!r} tells {told!r}, which is no other service here")
        self._leave(service.name)
        self.services[service.name] = service
        self.interests.join(service.name, service.categories)

    def _remove_service(self, change: c.RemoveService) -> None:
        self.service(change.name)
        self._refuse_rules("service", change.name, lambda _, told: told == change.name)
        self._leave(change.name)
        del self.services[change.name]

    def _leave(self, name: str) -> None:
        if (old := self.services.get(name)) is not None:
            self.interests.leave(name, old.categories)

    def _put_edge(self, change: c.PutEdge) -> None:
        edge = change.edge
        edge.check()
        self.categories.check(edge.source)
        self.topics.check(edge.topic)
        self.categories.check(edge.target)
        self.edges[edge.key] = edge
        self._weigh_one(edge)

    def _remove_edge(self, change: c.RemoveEdge) -> None:
        edge = self.edge((change.source, change.topic, change.target))
        del self.edges[edge.key]
        self.interests.unlink(edge.key)

    def _vote(self, change: c.CastVote) -> None:
        edge = voted(self.edge((change.source, change.topic, change.target)), change.vote)
        edge.check()
        self.edges[edge.key] = edge
        self._weigh_one(edge)

    def _put_rules(self, change: c.PutRules) -> None:
        if not 1 <= change.quorum <= MOST_VOTES:
            raise Refusal("bad-world", f"a quorum of {change.quorum} decides nothing; it is from 1 to {MOST_VOTES}")
        self.rules = change
        self.interests.inherit(topics=change.inherit_topics, categories=change.inherit_categories)
        for edge in self.edges.values():
            self._weigh_one(edge)

    def _weigh_one(self, edge: Edge) -> None:
        (self.interests.link if self.counts(edge) else self.interests.unlink)(edge.key)

    def _refuse_use(self, kind: str, name: str, users: Iterable[object]) -> None:
        if (user := next(iter(users), None)) is not None:
            raise Refusal("in-use", f"{kind} {name!r} is used by {user}; remove that first")

    def _refuse_rules(self, kind: str, name: str, uses: Callable[[str, str], bool]) -> None:
        for service in self.services.values():
            for topic, told in service.tells.items():
                if uses(topic, told):
                    raise Refusal("in-use", f"{kind} {name!r} is in use: {_rule(service.name, topic, told)}")


def _rule(service: str, topic: str, told: str) -> str:
    command = shlex.join(("tocsin", "notifiers", "tell", service, topic, "--nobody"))
    hint = f"end that rule first with `{command}` or PATCH /api/world/services/{{name}}"
    return f"the rule of {service!r} for the topic {topic!r} tells {told!r}; {hint}"
