"""Qualified names and concrete topics."""

import re

from msgspec import Struct

NCNAME = re.compile(r"[^\W\d][\w.\-·]*")
_STEP = re.compile(r"(?:\{([^{}]+)\})?([^\W\d][\w.\-·]*)")


class QName(Struct, frozen=True, cache_hash=True):
    namespace: str
    local: str

    def __str__(self) -> str:
        return f"{{{self.namespace}}}{self.local}" if self.namespace else self.local


class Topic(Struct, frozen=True, cache_hash=True):
    """A concrete topic: a path of steps. Expressions over topics are filters."""

    steps: tuple[QName, ...]

    def __str__(self) -> str:
        return "/".join(map(str, self.steps))


def qname(clark: str) -> QName:
    """`{namespace}local` or `local`, as lxml writes names."""
    namespace, brace, local = clark.rpartition("}")
    return QName(namespace[1:], local) if brace else QName("", clark)


def topic(text: str) -> Topic | None:
    """The topic that `str(Topic)` writes as this text; None when no topic is written so."""
    steps: list[QName] = []
    at = 0
    while found := _STEP.match(text, at):
        steps.append(QName(found[1] or "", found[2]))
        at = found.end()
        if at == len(text):
            return Topic(tuple(steps))
        if text[at] != "/":
            return None
        at += 1
    return None


# The paper's `wseTopic` (WS-Messenger s5.3), in a namespace of ours: what a message without a topic is filed under.
NO_TOPIC = Topic((QName("urn:tocsin:topics", "wseTopic"),))
