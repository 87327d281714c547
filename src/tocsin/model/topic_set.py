"""The topics a broker speaks of: namespaces that declare them, and the set it has (WS-Topics 1.3 s5 and s7)."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from tocsin.model.names import QName, Topic


class DeclaredTopic(Struct, frozen=True):
    """`final` forbids topics below it that are not declared. A root topic with a `parent` stands below that one."""

    name: str
    topics: tuple["DeclaredTopic", ...] = ()
    final: bool = False
    message_types: tuple[QName, ...] = ()
    parent: Topic | None = None
    documentation: str = ""


class TopicNamespace(Struct, frozen=True):
    """A tree for each root topic; `final` forbids root topics that are not declared."""

    namespace: str
    topics: tuple[DeclaredTopic, ...] = ()
    name: str = ""
    final: bool = False
    documentation: str = ""

    def concrete(self) -> Iterator[tuple[Topic, DeclaredTopic]]:
        """Each topic with its path from a root; only the root has the namespace in its name (WS-Topics s6)."""
        for root in self.topics:
            above = root.parent.steps if root.parent is not None else ()
            yield from _below(root, (*above, QName(self.namespace, root.name)))


def _below(declared: DeclaredTopic, steps: tuple[QName, ...]) -> Iterator[tuple[Topic, DeclaredTopic]]:
    yield Topic(steps), declared
    for child in declared.topics:
        yield from _below(child, (*steps, QName("", child.name)))


class Branch(Struct, frozen=True):
    """A step of the forest; `is_topic` is false where only something below it is one."""

    name: QName
    is_topic: bool
    branches: tuple["Branch", ...]


class TopicSet(Struct, frozen=True):
    """Each topic once, in the order of their names."""

    topics: tuple[Topic, ...] = ()

    @classmethod
    def of(cls, topics: Iterable[Topic]) -> "TopicSet":
        return cls(tuple(sorted(set(topics), key=lambda each: tuple(map(str, each.steps)))))

    def __contains__(self, topic: object) -> bool:
        return topic in self.topics

    def forest(self) -> tuple[Branch, ...]:
        return _forest([each.steps for each in self.topics])


def _forest(paths: list[tuple[QName, ...]]) -> tuple[Branch, ...]:
    by_head: dict[QName, list[tuple[QName, ...]]] = {}
    for head, *rest in paths:
        by_head.setdefault(head, []).append(tuple(rest))
    return tuple(Branch(head, () in rests, _forest(list(filter(None, rests)))) for head, rests in by_head.items())
