"""Topics as those who look for one see them: declared, seen, and wanted."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tocsin.broker.caller import Caller
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.topics.topic_counts import TopicCounts
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.matching.index.topics import TopicIndex
from tocsin.model import names
from tocsin.model.filters import Filter, TopicIs
from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.topics import TopicNamespace, TopicSet
from tocsin.routing.demand import allows

Filters = tuple[Filter, ...]


class Topics:
    """Everybody is told of the topics that it may hear of or publish on."""

    def __init__(self, space: TopicSpace, counts: TopicCounts, standing: StandingSubscriptions) -> None:
        self._space, self._counts, self._standing = space, counts, standing

    @property
    def fixed(self) -> bool:
        """Whether only declared topics can be used."""
        return self._space.fixed

    def counts(self, caller: Caller) -> Sequence[tuple[str, int, Instant]]:
        """Those seen, with how often and when last."""
        rows = self._counts.rows()
        return rows if caller.principal is None else [row for row in rows if _may_know(caller, names.topic(row[0]))]

    def declared(self, caller: Caller) -> Iterable[Topic]:
        return filter(caller.may_know_of, self._space.declared())

    def topic_set(self, caller: Caller) -> TopicSet:
        """The topics declared, and those seen."""
        found = self._space.topic_set(name for name, _, _ in self._counts.rows())
        return TopicSet(tuple(filter(caller.may_know_of, found.topics)))

    def namespaces(self, caller: Caller) -> Sequence[TopicNamespace]:
        return [each for each in self._space.namespaces() if _may_know_all(caller, each)]

    def namespace(self, caller: Caller, uri: str) -> TopicNamespace:
        found = self._space.namespace(uri)
        if not _may_know_all(caller, found):
            raise caller.may_not(f"read of all topics of the namespace {uri}")
        return found

    async def declare(self, caller: Caller, document: bytes) -> TopicNamespace:
        """A `wstop:TopicNamespace` document; it replaces what was declared under its namespace before."""
        caller.must_manage_everything("declare topics")
        return await self._space.declare(document)

    async def withdraw(self, caller: Caller, uri: str) -> None:
        caller.must_manage_everything("withdraw topics")
        await self._space.withdraw(uri)

    async def wanting(self, caller: Caller, topics: Sequence[str]) -> Sequence[int]:
        """How many subscriptions could be told of each of these; counted apart from the loop, over what stands now."""
        caller.anybody()
        standing = Counter(each.filters for each in self._standing.by_id.values() if each.state == "active")
        return await asyncio.to_thread(_count, standing, topics)


def _may_know(caller: Caller, topic: Topic | None) -> bool:
    return topic is not None and caller.may_know_of(topic)


def _may_know_all(caller: Caller, declared: TopicNamespace) -> bool:
    return all(caller.may_know_of(topic) for topic, _ in declared.concrete())


def _count(standing: Mapping[Filters, int], topics: Sequence[str]) -> list[int]:
    """One index for those that ask for topics, so that many subscriptions and many topics are no matter."""
    index: TopicIndex[Filters] = TopicIndex()
    others: list[Filters] = []
    for filters in standing:
        key = next((each for each in filters if isinstance(each, TopicIs)), None)
        if key is None:
            others.append(filters)
        else:
            index.add(filters, key)
    return [_wanting(each, index, others, standing) for each in topics]


def _wanting(name: str, index: "TopicIndex[Filters]", others: list[Filters], standing: Mapping[Filters, int]) -> int:
    topic = names.topic(name)
    if topic is None:
        return 0
    asking = (each for each in (*index.match(topic), *others) if allows(each, topic))
    return sum(standing[each] for each in asking)
