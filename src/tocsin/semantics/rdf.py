"""RDF: a small graph in memory, descriptions as canonical N-Triples, and fast reading of canonical lines."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, parse, serialize

from tocsin.markup import xml
from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import ino_vocabulary as v

Node = NamedNode | BlankNode
Term = NamedNode | BlankNode | Literal
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LAST = 253_402_300_800 * SECOND  # the year 10000 has no xsd:dateTime that others read
WHOLE = re.compile(r"-?[0-9]{1,19}")
FRACTION = re.compile(r"\.(\d+)")
MOST_QUOTED = 100
EXACT = 1 << 53
TRUTH = {"true": True, "1": True, "false": False, "0": False}


class Facts:
    """A small RDF graph in memory, in the order of its file. Errors name the node; what is said twice is said once."""

    def __init__(self, quads: Iterable[Quad]) -> None:
        self._said: dict[Node, dict[NamedNode, dict[Any, None]]] = {}
        for quad in quads:
            about: Any = quad.subject
            if isinstance(about, NamedNode | BlankNode):
                self._said.setdefault(about, {}).setdefault(quad.predicate, {})[quad.object] = None

    @classmethod
    def parsed(cls, data: bytes, syntax: RdfFormat) -> "Facts":
        try:
            guard(data, syntax)
            return cls(parse(data, format=syntax, base_iri=v.WORLD))
        except (SyntaxError, ValueError) as problem:
            raise Refusal("malformed", f"not readable as {syntax.name}: {problem}") from None

    def __iter__(self) -> Iterator[Node]:
        return iter(self._said)

    def about(self, node: Node) -> Mapping[NamedNode, Iterable[Any]]:
        return self._said.get(node, {})

    def all(self, node: Node, *words: NamedNode) -> Iterator[Any]:
        said = self._said.get(node, {})
        return (value for word in words for value in said.get(word, ()))

    def nodes(self, node: Node, *words: NamedNode) -> list[Node]:
        return [each for each in self.all(node, *words) if isinstance(each, NamedNode | BlankNode)]

    def is_a(self, node: Node, *classes: NamedNode) -> bool:
        types = self.about(node).get(v.TYPE, ())
        return any(each in types for each in classes)

    def one(self, node: Node, word: NamedNode) -> Any | None:
        found = list(self.all(node, word))
        if len(found) > 1:
            raise Refusal("bad-world", f"{shown(node)} has {shown(word)} {len(found)} times; keep one")
        return found[0] if found else None

    def needed(self, node: Node, word: NamedNode) -> Node:
        found = self.one(node, word)
        if not isinstance(found, NamedNode | BlankNode):
            raise Refusal("bad-world", f"{shown(node)} needs {shown(word)} with the node that is meant")
        return found

    def text(self, node: Node, word: NamedNode) -> str:
        found = self.one(node, word)
        return "" if found is None else _text(node, word, found)

    def texts(self, node: Node, word: NamedNode) -> tuple[str, ...]:
        return tuple(_text(node, word, found) for found in self.all(node, word))

    def number(self, node: Node, word: NamedNode) -> float | None:
        text = self.text(node, word)
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise Refusal("bad-world", f"{shown(node)}: {shown(word)} is {text[:80]!r}; write a number")
        return number

    def whole(self, node: Node, word: NamedNode) -> int | None:
        number = self.number(node, word)
        if number is not None and (number != int(number) or abs(number) > EXACT):
            raise Refusal("bad-world", f"{shown(node)}: {shown(word)} is {number}; write a whole number")
        return None if number is None else int(number)

    def truth(self, node: Node, word: NamedNode) -> bool:
        text = self.text(node, word)
        if text not in TRUTH:
            raise Refusal("bad-world", f"{shown(node)} needs {shown(word)}, true or false, not {text[:80]!r}")
        return TRUTH[text]

    def instant(self, node: Node, word: NamedNode) -> Instant:
        text = self.text(node, word)
        try:
            return _instant(text) if text else Instant(0)
        except (ValueError, OverflowError):
            raise Refusal(
                "bad-world", f"{shown(node)}: {shown(word)} is {text[:80]!r}; write an xsd:dateTime"
            ) from None

    def name(self, node: Node) -> str:
        """A label without a language before others, whatever their order; without any, what the IRI ends in."""
        labels = [each for each in self.all(node, v.LABEL, v.PREFERRED) if isinstance(each, Literal)]
        if labels:
            return min(labels, key=lambda each: (each.language or "", each.value)).value
        if isinstance(node, NamedNode):
            return v.name_in(node.value)
        raise Refusal("bad-world", f"{shown(node)} has neither IRI nor rdfs:label; give it a name")


def guard(data: bytes, syntax: RdfFormat) -> None:
    """XML passes the one door first; bytes are looked at too, which the two parsers might decode differently. Triples
    within triples, deep enough, end the process that parses them."""
    if syntax == RdfFormat.RDF_XML:
        if b"<!DOCTYPE" in data:
            raise xml.MarkupError("a DOCTYPE is not allowed; save it without entities, or as Turtle")
        xml.parse(data)
    elif data.count(b"<<") > MOST_QUOTED:
        raise ValueError(f"more than {MOST_QUOTED} triples are quoted in it (<<); none are read here")


def shown(node: Node) -> str:
    for prefix in ("ino", "rdfs", "owl", "skos"):
        space = v.PREFIXES[prefix]
        if isinstance(node, NamedNode) and node.value.startswith(space):
            return f"{prefix}:{node.value.removeprefix(space)}"
    return str(node)[:300]


def written_instant(when: int) -> Literal:
    """All nine digits, so that it is the same when it is read; what has no date is a number."""
    if not 0 <= when < LAST:
        return Literal(str(when), datatype=NamedNode(f"{v.XSD}integer"))
    seconds, fraction = divmod(when, SECOND)
    date = (FIRST + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    return Literal(f"{date}.{fraction:09}Z", datatype=NamedNode(f"{v.XSD}dateTime"))


def _instant(text: str) -> Instant:
    if WHOLE.fullmatch(text):
        return Instant(int(text))
    fraction = FRACTION.search(text)
    moment = datetime.fromisoformat(FRACTION.sub("", text, count=1))
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - FIRST
    nanoseconds = int(fraction[1][:9].ljust(9, "0")) if fraction else 0
    return Instant((since.days * 86_400 + since.seconds) * SECOND + nanoseconds)


def _text(node: Node, word: NamedNode, found: Term) -> str:
    if isinstance(found, Literal | NamedNode):
        return found.value
    raise Refusal("bad-world", f"{shown(node)}: {shown(word)} needs a text")


MOST = 256 << 10  # bytes
DEEPEST = 64  # the parser takes time with the square of it
# Every other document is Turtle, of which N-Triples is a part; an IRI of it holds no space.
_RDF_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml\s|!|(?:[\w.-]+:)?RDF\s)")
# Where brackets mean nothing. What does not end there is refused by the parser, and is not looked through again.
_QUIET = re.compile(
    rb'(?P<long>"""|\'\'\')(?:\\[\s\S]?|[^\\])*?(?:(?P=long)|\Z)'
    rb"""|(?P<quote>["'])(?:\\[\s\S]?|(?!(?P=quote))[^\\\n])*(?:(?P=quote)|(?=\n)|\Z)"""
    rb"|<[^<>\s]*>|#[^\n]*|\\[\s\S]"
)
_BRACKET = re.compile(rb"[(\[{)\]}]")


def n_triples(data: bytes, base: str, most: int = MOST) -> bytes:
    """Turtle, N-Triples or RDF/XML, with relative names below `base`; the same document gives the same bytes.

    Nodes without a name are numbered in the order in which they come.
    """
    syntax = RdfFormat.RDF_XML if _RDF_XML.match(data) else RdfFormat.TURTLE
    try:
        guard(data, syntax)
        if syntax == RdfFormat.TURTLE:
            check_depth(data)
        # A few words may stand for much: prefixes, and lists
        lines, size = set[bytes](), 0
        for each in _triples(data, syntax, base):
            line = serialize([each], format=RdfFormat.N_TRIPLES) or b""
            size += len(line)
            if size > most:
                raise Refusal(
                    "too-large", f"the description has more than {most:,} bytes, written as N-Triples; say less"
                )
            lines.add(line)
        return b"".join(sorted(lines))
    except (SyntaxError, ValueError) as problem:
        form = "RDF/XML" if syntax == RdfFormat.RDF_XML else "Turtle"
        raise Refusal("malformed", f"the description is not readable as {form}: {problem}") from None


def check_depth(data: bytes) -> None:
    if sum(map(data.count, (b"(", b"[", b"{"))) <= DEEPEST:
        return
    depth = 0
    for found in _BRACKET.finditer(_QUIET.sub(b" ", data)):
        depth += 1 if found[0] in b"([{" else -1
        if depth > DEEPEST:
            raise ValueError(f"brackets are nested more than {DEEPEST} deep")


def _triples(data: bytes, syntax: RdfFormat, base: str) -> Iterator[Triple]:
    numbers: dict[BlankNode, BlankNode] = {}

    def numbered(term: object) -> object:
        return numbers.setdefault(term, BlankNode(f"n{len(numbers)}")) if isinstance(term, BlankNode) else term

    for each in parse(data, format=syntax, base_iri=base):
        yield Triple(numbered(each.subject), each.predicate, numbered(each.object))  # type: ignore[arg-type]


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
