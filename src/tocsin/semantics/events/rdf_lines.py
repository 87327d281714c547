"""Lines of canonical N-Triples and N-Quads, which is what programs write, read without a parser.

A reader of all that the languages allow takes several times as long. What is told here is what it would tell; anything
that is written in another way is left to it.
"""

import re
from collections.abc import Callable
from functools import lru_cache

Statement = tuple[str, str, str]  # subject, property and object: terms as N-Triples has them
_REMEMBERED, _LONGEST = 1 << 14, 256
_CHARACTER = r"[\w.~/:=,;+!$&@*-]"
# A part of RFC 3986 that needs no more than these characters to be told: no user, no address in brackets.
_IRI = (
    r"<(?:https?://[a-z0-9.-]*[a-z0-9](?::[0-9]{1,4})?(?=[/#?>])|urn:[a-z0-9]+:)"
    rf"{_CHARACTER}*(?:\?{_CHARACTER}*)?(?:#{_CHARACTER}*)?>"
)
_BLANK = r"_:[A-Za-z0-9][A-Za-z0-9_]*"
# What has another canonical form (a type that is not written, a tag in capitals, \u) is not here; nor are the types of
# texts that have a language.
_PLAIN = r"[^\"\\\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]"
_OTHER_TYPES = r"(?!<http://www\.w3\.org/(?:2001/XMLSchema#string>|1999/02/22-rdf-syntax-ns#))"
_LITERAL = rf'"{_PLAIN}*(?:\\[tbnrf"\\]{_PLAIN}*)*"(?:@[a-z]{{2,3}}(?:-[a-z]{{2}})?|\^\^{_OTHER_TYPES}{_IRI})?'
_WRITTEN = re.compile(r"([^ ]+) ([^ ]+) (.+) \.\n")
_SUBJECT = re.compile(rf"{_BLANK}|{_IRI}", re.ASCII)
_PROPERTY = re.compile(_IRI, re.ASCII)
_OBJECT = re.compile(rf"{_BLANK}|{_IRI}|{_LITERAL}", re.ASCII)


Check = Callable[[str], object]
_PATTERNS: tuple[Check, ...] = (_SUBJECT.fullmatch, _PROPERTY.fullmatch, _OBJECT.fullmatch)
_KNOWN: tuple[Check, ...] = tuple(lru_cache(_REMEMBERED)(each) for each in _PATTERNS)


def canonical_triples(text: str) -> list[Statement]:
    """Of what a serialiser wrote; terms are not looked at."""
    return _WRITTEN.findall(text)


def triples(text: str) -> list[Statement] | None:
    """None where a parser must be asked."""
    rows = _rows(text)
    return rows if _sound(rows) else None


def quads(text: str) -> list[tuple[Statement, str]] | None:
    """Each with the name of its graph as a term, which is empty without one; all have one, or none has."""
    rows = _rows(text)
    if _sound(rows):
        return [(row, "") for row in rows]
    parted = [(subject, name, *rest.rpartition(" ")) for subject, name, rest in rows]
    statements = [(subject, name, target) for subject, name, target, _, _ in parted]
    graphs = [each[4] for each in parted]
    if not _sound(statements) or not all(map(_SUBJECT.fullmatch, set(graphs))):
        return None
    return list(zip(statements, graphs, strict=True))


def _rows(text: str) -> list[Statement]:
    """Sound terms have no line in them: where there are as many rows as lines, nothing was passed over."""
    rows: list[Statement] = _WRITTEN.findall(text)
    return rows if text.endswith("\n") and len(rows) == text.count("\n") else []


def _sound(rows: list[Statement]) -> bool:
    """Terms come again and again; long ones are not worth keeping."""
    distinct = [set(column) for column in zip(*rows, strict=True)]
    checks = _KNOWN if all(max(map(len, terms)) <= _LONGEST for terms in distinct) else _PATTERNS
    return bool(distinct) and all(all(map(sound, terms)) for sound, terms in zip(checks, distinct, strict=True))
