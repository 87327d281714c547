"""Topic expressions (WS-Topics 1.3 s8: Simple, Concrete, Full; ONVIF ConcreteSet) and sets of topics (s5, s7).

ConcreteSet is Concrete with alternatives, each of which may end in `//.` (ONVIF Core s9.7.3).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from tocsin.model.filters import ANY, DESCEND, TopicIs
from tocsin.model.names import LONGEST_TOPIC, NAMESPACE, NCNAME, QName, Topic
from tocsin.model.refusal import Refusal

TopicDialect = Literal["simple", "concrete", "concrete-set", "full"]
Path = tuple[QName | str, ...]

MOST_STEPS = 256
LONGEST_NAMESPACE = 2048  # topics are kept in memory, and every step may be in the same

_NAME = NCNAME.pattern
_ROOT = re.compile(rf"(?:({_NAME}):)?(//)?({_NAME}|\*)")
_CHILD = re.compile(rf"(//?)(?:({_NAME}):(?=[^*.]))?({_NAME}|\*|\.)")


def parse_topic_expression(text: str, dialect: TopicDialect, namespaces: Mapping[str, str]) -> TopicIs:
    """Prefixes are resolved with the namespaces in scope where the expression stood."""
    return _Reader(text, dialect, namespaces).expression()


def parse_concrete_topic(text: str, namespaces: Mapping[str, str]) -> Topic:
    """The topic of a notification, which is always a concrete path."""
    (path,) = parse_topic_expression(text, "concrete", namespaces).alternatives
    return Topic(tuple(step for step in path if isinstance(step, QName)))


class _Reader:
    """Parses one topic expression; positions in errors count from 0."""

    def __init__(self, text: str, dialect: TopicDialect, namespaces: Mapping[str, str]) -> None:
        self._text = text
        self._dialect = dialect
        self._namespaces = namespaces

    def expression(self) -> TopicIs:
        if len(self._text) > LONGEST_TOPIC:
            raise self._bad(LONGEST_TOPIC, f"it has {len(self._text)} characters, {LONGEST_TOPIC} are allowed")
        paths: list[Path] = []
        at = 0
        for part in self._text.split("|"):
            if at and self._dialect in ("simple", "concrete"):
                raise self._bad(at - 1, f"the {self._dialect} dialect has no alternatives")
            paths += self._paths(at + len(part) - len(part.lstrip()), at + len(part.rstrip()))
            at += len(part) + 1
        return TopicIs(tuple(dict.fromkeys(paths)))

    def _paths(self, at: int, end: int) -> list[Path]:
        """One alternative; `tns://name` is short for two."""
        root = _ROOT.match(self._text, at, max(at, end))
        if root is None:
            raise self._bad(at, "a topic name or * is expected")
        heads, tail = self._heads(root), list[QName | str]()
        at = root.end()
        while at < end:
            child = _CHILD.match(self._text, at, end)
            if child is None:
                raise self._bad(at, "/ or // and a topic name, * or . is expected")
            tail += self._child(child)
            at = child.end()
            if len(tail) > MOST_STEPS:
                raise self._bad(at, f"more than {MOST_STEPS} steps")
        return [_tidy(head + tuple(tail)) for head in heads]

    def _heads(self, root: re.Match[str]) -> list[Path]:
        prefix, descend, local = root.groups()
        if descend or local == "*":
            self._needs_full(root.start(2) if descend else root.start(3))
        if prefix is None:
            name: QName | str = ANY if local == "*" else QName("", local)
            return [(DESCEND, name)] if descend else [(name,)]
        namespace = self._resolve(root.start(1), prefix)
        if not descend:
            return [(QName(namespace, local),)]
        under: Path = (QName(namespace, "*"), DESCEND)
        # `tns://name` is a topic of that name anywhere in the namespace's trees: a root, or an unprefixed child.
        return [under] if local == "*" else [(QName(namespace, local),), (*under, QName("", local))]

    def _child(self, child: re.Match[str]) -> list[QName | str]:
        axis, prefix, local = child.groups()
        if self._dialect == "simple":
            raise self._bad(child.start(), "the simple dialect names root topics only")
        if axis == "//" and local == "." and self._dialect == "concrete-set":
            self._must_end(child.end())
        elif axis == "//" or local in "*.":
            self._needs_full(child.start())
        steps: list[QName | str] = [DESCEND] if axis == "//" else []
        if local == "*":
            steps.append(ANY)
        elif local != ".":
            steps.append(QName(self._resolve(child.start(2), prefix) if prefix else "", local))
        return steps

    def _must_end(self, at: int) -> None:
        if self._text[at:].lstrip()[:1] not in ("", "|"):
            raise self._bad(at, "//. ends an alternative")

    def _needs_full(self, at: int) -> None:
        if self._dialect != "full":
            raise self._bad(at, f"the {self._dialect} dialect has no wildcards (*, // and .)")

    def _resolve(self, at: int, prefix: str) -> str:
        namespace = self._namespaces.get(prefix)
        if namespace is None:
            raise self._bad(at, f"the prefix {prefix!r} is not declared")
        if len(namespace) > LONGEST_NAMESPACE:
            raise self._bad(at, f"the prefix {prefix!r} stands for more than {LONGEST_NAMESPACE} characters")
        if not NAMESPACE.fullmatch(namespace):
            raise self._bad(at, f"the prefix {prefix!r} stands for {namespace!r}, which is not a URI")
        return namespace

    def _bad(self, at: int, why: str) -> Refusal:
        shown = self._text if len(self._text) <= 80 else self._text[:77] + "..."
        return Refusal("bad-topic-expression", f"topic expression {shown!r}, position {at}: {why}")


def _tidy(path: Path) -> Path:
    """`////` says no more than `//`; one form for one meaning keeps equal expressions equal."""
    return tuple(step for at, step in enumerate(path) if step != DESCEND or path[at - 1 : at] != (DESCEND,))


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
