"""Topics as those who look for one see them: declared, seen, and wanted."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.journal import Arrival
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.matching.index.topics import TopicIndex
from tocsin.model import names
from tocsin.model.filters import Filter, TopicIs
from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.topics import TopicNamespace, TopicSet
from tocsin.routing.demand import allows
from tocsin.runtime.write_behind import WriteBehind
from tocsin.store.database import Store

Filters = tuple[Filter, ...]
_META = "topics"
MOST_TOPICS = 2_000
LONGEST_NAME = 256
SAVE_SECONDS = 5.0
_Seen = dict[str, tuple[int, Instant]]


class TopicCounts:
    """Bounded, the oldest go first; kept every few seconds, so that a crash loses counts of a moment at most."""

    def __init__(self, store: Store) -> None:
        text = store.meta(_META)
        self._seen: dict[str, tuple[int, Instant]] = msgspec.json.decode(text, type=_Seen) if text else {}
        self._fresh: dict[Topic, list[int]] = {}
        self._writer = WriteBehind(lambda: dict(self._seen), lambda seen: _save(store, seen))

    def arrived(self, arrived: Arrival) -> None:
        for each in arrived.public:
            entry = self._fresh.get(each.topic)
            if entry is None:
                if len(self._fresh) >= MOST_TOPICS:
                    self._fold()
                self._fresh[each.topic] = [1, each.when]
            else:
                entry[0] += 1
                entry[1] = each.when

    def names(self) -> tuple[str, ...]:
        self._fold()
        return tuple(self._seen)

    def rows(self) -> list[tuple[str, int, Instant]]:
        self._fold()
        return sorted((name, count, last) for name, (count, last) in self._seen.items())

    async def save(self) -> None:
        """Only a copy leaves the loop, in which everything is counted."""
        self._fold()
        await self._writer.save()

    def _fold(self) -> None:
        fresh, self._fresh = self._fresh, {}
        if fresh:
            self._writer.changed()
        for topic, (count, last) in sorted(fresh.items(), key=lambda each: each[1][1]):
            name = str(topic)[:LONGEST_NAME]
            before, _ = self._seen.pop(name, (0, 0))
            if len(self._seen) >= MOST_TOPICS:
                del self._seen[next(iter(self._seen))]
            self._seen[name] = (before + count, Instant(last))


def _save(store: Store, seen: dict[str, tuple[int, Instant]]) -> None:
    store.set_meta(_META, msgspec.json.encode(seen).decode())


class Topics:
    """Everybody is told of the topics that it may hear of or publish on. `elsewhere` are those that other nodes of a
    ring have seen."""

    def __init__(
        self,
        space: TopicSpace,
        counts: TopicCounts,
        standing: StandingSubscriptions,
        elsewhere: Callable[[], Awaitable[Iterable[str]]],
    ) -> None:
        self._space, self._counts, self._standing, self._elsewhere = space, counts, standing, elsewhere

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

    async def topic_set(self, caller: Caller) -> TopicSet:
        """The topics declared, and those seen."""
        found = self._space.topic_set(sorted({*self._counts.names(), *await self._elsewhere()}))
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
