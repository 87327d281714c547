"""The partition of a world that a node needs: the neighbours of its own notifiers, and their addresses.

No edge of others, no service that they alone know. The names of topics are everybody's: a service that is told of
`Earthquake` is told under which topic that stands.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.world import World


class Entry(Struct, frozen=True, array_like=True):
    """Where a notifier is: its address, and the node that runs it (empty for a foreign one)."""

    notifier: str = ""
    node: str = ""


class Partition(Struct, frozen=True):
    """`own` are the node's services with their categories; `told` has, by category and topic, the neighbours in the
    order of their names; `topics` each topic with its parent."""

    version: int = 0
    own: Mapping[str, tuple[str, ...]] = {}
    told: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    entries: Mapping[str, Entry] = {}
    topics: Mapping[str, str | None] = {}

    def neighbours(self, service: str, topic: str) -> tuple[str, ...]:
        """As the world itself would answer (paper 000, Table 1)."""
        found = {name for each in self.own.get(service, ()) for name in self.told.get(each, {}).get(topic, ())}
        return tuple(sorted(found - {service}))


def part_of(world: World, services: Iterable[Service]) -> Partition:
    """Of the node that runs the notifiers of these services."""
    served = list(services)
    told = {each: _told(world, each) for each in sorted({name for one in served for name in one.categories})}
    names = {name for topics in told.values() for reached in topics.values() for name in reached}
    names.update(name for one in served for name in (one.name, *one.tells.values()))
    entries = {name: entry_of(world.services[name]) for name in sorted(names) if name in world.services}
    own = {each.name: each.categories for each in served}
    return Partition(world.version, own, told, entries, dict(world.topics.items()))


def entry_of(service: Service) -> Entry:
    return Entry(service.notifier, service.node)


def _told(world: World, category: str) -> dict[str, tuple[str, ...]]:
    interests = world.interests
    found = {topic: tuple(sorted(interests.reach(category, topic))) for topic in interests.topics_of(category)}
    return {topic: reached for topic, reached in sorted(found.items()) if reached}
