"""The JSON documents of topics, and of the namespaces in which they are declared."""

from msgspec import Struct

from tocsin.mediation import times
from tocsin.model.identity import Instant
from tocsin.model.topics import TopicNamespace

TOPICS, TOPIC_NAMESPACES = "/api/topics", "/api/topics/namespaces"


class TopicDocument(Struct, frozen=True):
    """`subscriptions` is how many could be told of something there; a topic that is only declared has no `last`."""

    topic: str
    notifications: int
    last: str | None
    subscriptions: int = 0
    declared: bool = False

    @classmethod
    def of(cls, name: str, count: int, last: Instant | None, wanting: int, declared: bool) -> "TopicDocument":
        return cls(name, count, None if last is None else times.timestamp(last), wanting, declared)


class TopicNamespaceDocument(Struct, frozen=True):
    namespace: str
    name: str
    final: bool
    topics: list[str]

    @classmethod
    def of(cls, declared: TopicNamespace) -> "TopicNamespaceDocument":
        topics = [str(topic) for topic, _ in declared.concrete()]
        return cls(declared.namespace, declared.name, declared.final, topics)
