"""The topics that were declared to this node, and whether others may be used."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from tocsin.matching.index.topics import topic_matches
from tocsin.mediation.ws.topic_documents import read_topic_namespace
from tocsin.model import names
from tocsin.model.filters import Filter, TopicIs
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.topics import TopicNamespace, TopicSet
from tocsin.store.errors import StoreError
from tocsin.store.topics import TopicNamespaceTable

REMEMBERED = 16_384
SHOWN = 5
KIND = "topics"  # as the nodes of a ring call them
Spread = Callable[[str, str, bytes | None], Awaitable[None]]


async def _nowhere(kind: str, name: str, value: bytes | None) -> None:
    """There is no other node."""


class TopicSpace:
    """`fixed`: only declared topics. Otherwise any, but below what was declared final (WS-Topics 1.3 s5).

    What comes without a topic is filed under a topic of ours, which needs no declaration.
    """

    def __init__(self, table: TopicNamespaceTable, *, fixed: bool, spread: Spread = _nowhere) -> None:
        self._table, self.fixed, self._spread = table, fixed, spread
        self._namespaces: dict[str, TopicNamespace] = {}
        self._changing = asyncio.Lock()
        self._allowed: set[Topic] = set()  # asked for before
        for document in table.documents():
            declared = read_topic_namespace(document)
            self._namespaces[declared.namespace] = declared
        self._index()

    def namespaces(self) -> Sequence[TopicNamespace]:
        return sorted(self._namespaces.values(), key=lambda each: each.namespace)

    def namespace(self, uri: str) -> TopicNamespace:
        if uri not in self._namespaces:
            text = f"no topic namespace {uri!r} was declared here; /api/topics/namespaces lists those that were"
            raise Refusal("unknown-topic", text)
        return self._namespaces[uri]

    def entries(self) -> dict[str, bytes]:
        """For the other nodes of a ring."""
        return {read_topic_namespace(each).namespace: each for each in self._table.documents()}

    async def take(self, name: str, value: bytes | None) -> None:
        """As another node has it."""
        if value is not None:
            await self._keep(value)
        elif name in self._namespaces:
            await self._remove(name)

    async def declare(self, document: bytes) -> TopicNamespace:
        """On disk when it returns, at all nodes of a ring."""
        declared = await self._keep(document)
        await self._spread(KIND, declared.namespace, document)
        return declared

    async def withdraw(self, uri: str) -> None:
        await self._remove(uri)
        await self._spread(KIND, uri, None)

    async def _keep(self, document: bytes) -> TopicNamespace:
        declared = read_topic_namespace(document)
        async with self._changing:
            await _stored(self._table.keep, declared.namespace, document)
            self._namespaces[declared.namespace] = declared
            self._index()
        return declared

    async def _remove(self, uri: str) -> None:
        async with self._changing:
            self.namespace(uri)
            await _stored(self._table.remove, uri)
            del self._namespaces[uri]
            self._index()

    def declared(self) -> Iterable[Topic]:
        return self._declared

    def topic_set(self, seen: Iterable[str]) -> TopicSet:
        """Declared topics, and those seen; names that were cut short to be kept are no topics."""
        found = (names.topic(each) for each in seen)
        return TopicSet.of((*self._declared, *(each for each in found if each is not None)))

    def check(self, topic: Topic) -> None:
        """Whether something may be published there."""
        if not self.restricts or topic in self._allowed:
            return
        if topic not in self._declared and (why := self._objection(topic)):
            raise Refusal("unknown-topic", f"the topic {topic} {why}; {self._advice()}")
        if len(self._allowed) >= REMEMBERED:
            self._allowed = {NO_TOPIC}
        self._allowed.add(topic)

    def check_filters(self, filters: Iterable[Filter]) -> None:
        """With a fixed set, an expression must select something of it (WS-BaseNotification s4.2: TopicNotSupported)."""
        for each in filters if self.fixed else ():
            if isinstance(each, TopicIs) and not any(topic_matches(each, topic) for topic in self._declared):
                raise Refusal("unknown-topic", f"the expression selects none of the declared topics; {self._advice()}")

    def _index(self) -> None:
        all_topics = [pair for each in self._namespaces.values() for pair in each.concrete()]
        self._declared = {topic: None for topic, _ in all_topics}
        self._final = {topic for topic, declared in all_topics if declared.final}
        self._final_namespaces = {each.namespace for each in self._namespaces.values() if each.final}
        self.restricts = self.fixed or bool(self._final or self._final_namespaces)
        self._allowed = {NO_TOPIC}

    def _objection(self, topic: Topic) -> str:
        if self.fixed:
            return "was not declared, and the set of topics is fixed here"
        if topic.steps[0].namespace in self._final_namespaces and Topic(topic.steps[:1]) not in self._declared:
            return "is a root topic of a namespace that was declared final"
        above = (Topic(topic.steps[:length]) for length in range(1, len(topic.steps)))
        final = next((each for each in above if each in self._final), None)
        return "" if final is None else f"stands below {final}, which was declared final"

    def _advice(self) -> str:
        known = ", ".join(map(str, list(self._declared)[:SHOWN])) or "none"
        more = ", ..." if len(self._declared) > SHOWN else ""
        return f"declared are {known}{more} (GET /broker/topics has all; declare others with: tocsin topics load FILE)"


async def _stored(write: Callable[..., None], *what: object) -> None:
    try:
        await asyncio.to_thread(write, *what)
    except StoreError as problem:
        raise Refusal("cannot-store", f"it could not be stored, try again: {problem}") from None
