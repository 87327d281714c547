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
    reader = _Reader(text, dialect, namespaces)
    if len(text) > LONGEST_TOPIC:
        raise reader.bad(LONGEST_TOPIC, f"it has {len(text)} characters, {LONGEST_TOPIC} are allowed")
    paths: list[Path] = []
    at = 0
    for part in text.split("|"):
        if at and dialect in ("simple", "concrete"):
            raise reader.bad(at - 1, f"the {dialect} dialect has no alternatives")
        paths += reader.paths(at + len(part) - len(part.lstrip()), at + len(part.rstrip()))
        at += len(part) + 1
    return TopicIs(tuple(dict.fromkeys(paths)))


def parse_concrete_topic(text: str, namespaces: Mapping[str, str]) -> Topic:
    """The topic of a notification, which is always a concrete path."""
    (path,) = parse_topic_expression(text, "concrete", namespaces).alternatives
    return Topic(tuple(step for step in path if isinstance(step, QName)))


def written_path(path: Path, prefixes: dict[str, str] | None = None, letter: str = "t") -> str:
    """In the grammar of Full; what ends in `//` is written with a last `.` (WS-Topics s8.3)."""
    text, joint = "", ""
    for step in path:
        if step == DESCEND:
            text, joint = f"{text}{DESCEND}", ""
        else:
            text, joint = f"{text}{joint}{written_step(step, prefixes, letter)}", "/"
    return text if joint else f"{text}."


def written_step(step: QName | str, prefixes: dict[str, str] | None, letter: str = "t") -> str:
    """With a prefix, which `prefixes` then has for its namespace; without these as `{namespace}local`."""
    if isinstance(step, str) or not step.namespace or prefixes is None:
        return str(step)
    return f"{prefixes.setdefault(step.namespace, f'{letter}{len(prefixes)}')}:{step.local}"


class _Reader(Struct, frozen=True):
    """Parses one topic expression; positions in errors count from 0."""

    text: str
    dialect: TopicDialect
    namespaces: Mapping[str, str]

    def paths(self, at: int, end: int) -> list[Path]:
        """One alternative; `tns://name` is short for two."""
        root = _ROOT.match(self.text, at, max(at, end))
        if root is None:
            raise self.bad(at, "a topic name or * is expected")
        heads, tail = self._heads(root), list[QName | str]()
        at = root.end()
        while at < end:
            child = _CHILD.match(self.text, at, end)
            if child is None:
                raise self.bad(at, "/ or // and a topic name, * or . is expected")
            tail += self._child(child)
            at = child.end()
            if len(tail) > MOST_STEPS:
                raise self.bad(at, f"more than {MOST_STEPS} steps")
        # `////` says no more than `//`; one form for one meaning keeps equal expressions equal.
        repeats = (DESCEND, DESCEND)
        whole = [(*head, *tail) for head in heads]
        return [tuple(s for at, s in enumerate(path) if path[max(at - 1, 0) : at + 1] != repeats) for path in whole]

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
        if self.dialect == "simple":
            raise self.bad(child.start(), "the simple dialect names root topics only")
        if axis == "//" and local == "." and self.dialect == "concrete-set":
            if self.text[child.end() :].lstrip()[:1] not in ("", "|"):
                raise self.bad(child.end(), "//. ends an alternative")
        elif axis == "//" or local in "*.":
            self._needs_full(child.start())
        steps: list[QName | str] = [DESCEND] if axis == "//" else []
        if local == "*":
            steps.append(ANY)
        elif local != ".":
            steps.append(QName(self._resolve(child.start(2), prefix) if prefix else "", local))
        return steps

    def _needs_full(self, at: int) -> None:
        if self.dialect != "full":
            raise self.bad(at, f"the {self.dialect} dialect has no wildcards (*, // and .)")

    def _resolve(self, at: int, prefix: str) -> str:
        namespace = self.namespaces.get(prefix)
        if namespace is None:
            raise self.bad(at, f"the prefix {prefix!r} is not declared")
        if len(namespace) > LONGEST_NAMESPACE:
            raise self.bad(at, f"the prefix {prefix!r} stands for more than {LONGEST_NAMESPACE} characters")
        if not NAMESPACE.fullmatch(namespace):
            raise self.bad(at, f"the prefix {prefix!r} stands for {namespace!r}, which is not a URI")
        return namespace

    def bad(self, at: int, why: str) -> Refusal:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return Refusal("bad-topic-expression", f"topic expression {shown!r}, position {at}: {why}")


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
