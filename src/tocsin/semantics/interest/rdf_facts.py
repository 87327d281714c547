"""A small RDF graph in memory, in the order in which it stands in its file; what is missing or wrong names its node."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, parse

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
    """A graph is a set: what is said twice is said once."""

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
