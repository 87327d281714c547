"""Qualified names and concrete topics."""

import re

from msgspec import Struct

# Namespaces in XML s3; XML 1.0 s2.3 without the colon.
NAME_START = (
    "A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
NCNAME = re.compile(rf"[{NAME_START}][{NAME_START}\-.0-9\xb7\u0300-\u036f\u203f\u2040]*")
# RFC 3986 without user information. XML parsers refuse namespaces that are no URI, so a topic that has one could not
# be written; and it has neither braces nor spaces, so that a topic's text can be read again.
_CHARACTER = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=@]|%[0-9A-Fa-f]{2})"
_END = r"(?=[/?#}]|\Z)"
_AUTHORITY = rf"//(?:[A-Za-z0-9\-._~]+|\[[0-9A-Fa-f:]+\])(?::[0-9]{{1,5}})?{_END}"
_REST = rf"(?:{_CHARACTER}|[:/?])*(?:#(?:{_CHARACTER}|[:/?])*)?"
NAMESPACE = re.compile(rf"(?:[A-Za-z][A-Za-z0-9+.\-]*:(?:{_AUTHORITY}|(?!//))|{_CHARACTER}+{_END}){_REST}")

LONGEST_TOPIC = 8192
_STEP = re.compile(rf"(?:\{{({NAMESPACE.pattern})\}})?({NCNAME.pattern})(/(?!\Z)|\Z)")
_CLARK = re.compile(rf"\{{(.+)\}}({NCNAME.pattern})", re.DOTALL)


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


def qname_in(text: str) -> QName | None:
    """The name in a namespace that `str(QName)` writes as this text; None for any other text."""
    found = _CLARK.fullmatch(text)
    return None if found is None else QName(found[1], found[2])


def topic(text: str) -> Topic | None:
    """The topic that `str(Topic)` writes as this text; None when no topic is written so."""
    steps: list[QName] = []
    at = 0
    while len(text) <= LONGEST_TOPIC and (found := _STEP.match(text, at)):
        steps.append(QName(found[1] or "", found[2]))
        if found.end() == len(text):
            return Topic(tuple(steps))
        at = found.end()
    return None


# The paper's `wseTopic` (WS-Messenger s5.3), in a namespace of ours: what a message without a topic is filed under.
NO_TOPIC = Topic((QName("urn:tocsin:topics", "wseTopic"),))
