"""What somebody says of itself in RDF, brought into one form: N-Triples."""

import re

from pyoxigraph import BlankNode, RdfFormat, Triple, parse, serialize

from tocsin.model.refusal import Refusal
from tocsin.semantics.rdf_facts import guard

# Every other document is Turtle, of which N-Triples is a part; an IRI of it holds no space.
_RDF_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml\s|!|(?:[\w.-]+:)?RDF\s)")


def n_triples(data: bytes, base: str) -> bytes:
    """Turtle, N-Triples or RDF/XML, with relative names below `base`; the same document gives the same bytes.

    Nodes without a name are numbered in the order in which they come.
    """
    syntax = RdfFormat.RDF_XML if _RDF_XML.match(data) else RdfFormat.TURTLE
    try:
        guard(data, syntax)
        return _written(data, syntax, base)
    except (SyntaxError, ValueError) as problem:
        form = "RDF/XML" if syntax == RdfFormat.RDF_XML else "Turtle"
        raise Refusal("malformed", f"the description is not readable as {form}: {problem}") from None


def _written(data: bytes, syntax: RdfFormat, base: str) -> bytes:
    numbers: dict[BlankNode, BlankNode] = {}

    def numbered(term: object) -> object:
        return numbers.setdefault(term, BlankNode(f"n{len(numbers)}")) if isinstance(term, BlankNode) else term

    triples = [
        Triple(numbered(each.subject), each.predicate, numbered(each.object))  # type: ignore[arg-type]
        for each in parse(data, format=syntax, base_iri=base)
    ]
    lines = (serialize(triples, format=RdfFormat.N_TRIPLES) or b"").splitlines(keepends=True)
    return b"".join(sorted(set(lines)))
