"""The JSON documents of topics."""

from msgspec import Struct

from tocsin.model.topics import TopicNamespace


class TopicDocument(Struct, frozen=True):
    """`subscriptions` is how many could be told of something there; a topic that is only declared has no `last`."""

    topic: str
    notifications: int
    last: str | None
    subscriptions: int = 0
    declared: bool = False


class TopicNamespaceDocument(Struct, frozen=True):
    namespace: str
    name: str
    final: bool
    topics: list[str]

    @classmethod
    def of(cls, declared: TopicNamespace) -> "TopicNamespaceDocument":
        topics = [str(topic) for topic, _ in declared.concrete()]
        return cls(declared.namespace, declared.name, declared.final, topics)
