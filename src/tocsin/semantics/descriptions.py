"""What somebody says of itself in RDF, brought into one form: N-Triples."""

import re
from collections.abc import Iterator

from pyoxigraph import BlankNode, RdfFormat, Triple, parse, serialize

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.rdf_facts import guard

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
        return _written(data, syntax, base, most)
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


def _written(data: bytes, syntax: RdfFormat, base: str, most: int) -> bytes:
    """A few words may stand for much: prefixes, and lists."""
    lines, size = set[bytes](), 0
    for each in _triples(data, syntax, base):
        line = serialize([each], format=RdfFormat.N_TRIPLES) or b""
        size += len(line)
        if size > most:
            raise Refusal("too-large", f"the description has more than {most:,} bytes, written as N-Triples; say less")
        lines.add(line)
    return b"".join(sorted(lines))


def _triples(data: bytes, syntax: RdfFormat, base: str) -> Iterator[Triple]:
    numbers: dict[BlankNode, BlankNode] = {}

    def numbered(term: object) -> object:
        return numbers.setdefault(term, BlankNode(f"n{len(numbers)}")) if isinstance(term, BlankNode) else term

    for each in parse(data, format=syntax, base_iri=base):
        yield Triple(numbered(each.subject), each.predicate, numbered(each.object))  # type: ignore[arg-type]
