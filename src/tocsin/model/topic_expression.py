"""The grammar of WS-Topics 1.3 topic expressions: Simple, Concrete and Full (WS-Topics s8)."""

import re
from collections.abc import Mapping
from typing import Literal

from tocsin.model.filters import ANY, DESCEND, TopicIs
from tocsin.model.names import NCNAME, QName, Topic
from tocsin.model.refusal import Refusal

TopicDialect = Literal["simple", "concrete", "full"]
Path = tuple[QName | str, ...]

LONGEST_EXPRESSION = 8192
MOST_STEPS = 256

_NAME = NCNAME.pattern
_ROOT = re.compile(rf"(?:({_NAME}):)?(//)?({_NAME}|\*)")
_CHILD = re.compile(rf"(//?)(?:({_NAME}):(?=[^*.])|)({_NAME}|\*|\.)")


def parse_topic_expression(text: str, dialect: TopicDialect, namespaces: Mapping[str, str]) -> TopicIs:
    """Prefixes are resolved with the namespaces in scope where the expression stood."""
    if len(text) > LONGEST_EXPRESSION:
        raise _bad(text, LONGEST_EXPRESSION, f"it has {len(text)} characters, {LONGEST_EXPRESSION} are allowed")
    paths: list[Path] = []
    at = 0
    for part in text.split("|"):
        paths += _path(text, part, at, namespaces)
        at += len(part) + 1
    if dialect != "full":
        _refuse_beyond(text, dialect, paths)
    return TopicIs(tuple(dict.fromkeys(paths)))


def parse_concrete_topic(text: str, namespaces: Mapping[str, str]) -> Topic:
    """The topic of a notification, which is always a concrete path."""
    (path,) = parse_topic_expression(text, "concrete", namespaces).alternatives
    return Topic(tuple(step for step in path if isinstance(step, QName)))


def _path(text: str, part: str, start: int, namespaces: Mapping[str, str]) -> list[Path]:
    begin = len(part) - len(part.lstrip())
    body = part.rstrip()
    root = _ROOT.match(body, begin)
    if root is None:
        raise _bad(text, start + begin, "a topic name or * is expected")
    heads = _heads(text, start, root, namespaces)
    at, tail = root.end(), []
    while at < len(body):
        child = _CHILD.match(body, at)
        if child is None:
            raise _bad(text, start + at, "/ or // and a topic name, * or . is expected")
        tail += _child(text, start, child, namespaces)
        at = child.end()
        if len(tail) > MOST_STEPS:
            raise _bad(text, start + at, f"more than {MOST_STEPS} steps")
    return [_tidy(head + tuple(tail)) for head in heads]


def _heads(text: str, start: int, root: re.Match[str], namespaces: Mapping[str, str]) -> list[Path]:
    prefix, descend, local = root[1], root[2], root[3]
    if prefix is None:
        name: QName | str = ANY if local == "*" else QName("", local)
        return [(DESCEND, name)] if descend else [(name,)]
    namespace = _resolve(text, start + root.start(1), prefix, namespaces)
    if not descend:
        return [(QName(namespace, local),)]
    under: Path = (QName(namespace, "*"), DESCEND)
    # `tns://name` is a topic of that name anywhere in the namespace's trees: a root, or an unprefixed child.
    return [under] if local == "*" else [(QName(namespace, local),), (*under, QName("", local))]


def _child(text: str, start: int, child: re.Match[str], namespaces: Mapping[str, str]) -> list[QName | str]:
    axis, prefix, local = child[1], child[2], child[3]
    steps: list[QName | str] = [DESCEND] if axis == "//" else []
    if local == "*":
        steps.append(ANY)
    elif local != ".":
        steps.append(QName(_resolve(text, start + child.start(2), prefix, namespaces) if prefix else "", local))
    return steps


def _tidy(path: Path) -> Path:
    """`////` says no more than `//`; one form for one meaning keeps equal expressions equal."""
    return tuple(step for at, step in enumerate(path) if step != DESCEND or path[at - 1 : at] != (DESCEND,))


def _resolve(text: str, at: int, prefix: str, namespaces: Mapping[str, str]) -> str:
    try:
        return namespaces[prefix]
    except KeyError:
        raise _bad(text, at, f"the prefix {prefix!r} is not declared") from None


def _refuse_beyond(text: str, dialect: TopicDialect, paths: list[Path]) -> None:
    if len(paths) != 1:
        raise _bad(text, text.find("|"), f"the {dialect} dialect has no alternatives")
    (path,) = paths
    for step in path:
        if isinstance(step, str) or step.local == "*":
            raise _bad(text, max(text.find("*"), text.find("//")), f"the {dialect} dialect has no wildcards")
    if dialect == "simple" and len(path) > 1:
        raise _bad(text, text.find("/"), "the simple dialect names root topics only")
    if "." in re.split(r"/|:", text):
        raise _bad(text, text.find("."), f"the {dialect} dialect has no '.' step")


def _bad(text: str, at: int, why: str) -> Refusal:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return Refusal("bad-topic-expression", f"topic expression {shown!r}, position {at}: {why}")
