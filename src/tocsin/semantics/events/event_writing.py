"""Event graphs as RDF documents."""

import re
from collections.abc import Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Literal as OneOf

from msgspec.structs import replace
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from tocsin.model.refusal import Refusal
from tocsin.semantics.events.event_graph import EventGraph, Vertex
from tocsin.semantics.interest.ino_vocabulary import TYPE, XSD
from tocsin.semantics.interest.world_rdf import NOT_IN_XML

Syntax = OneOf["turtle", "n-triples", "n-quads", "json-ld", "rdf-xml"]
FORMATS: dict[Syntax, RdfFormat] = {
    "turtle": RdfFormat.TURTLE,
    "n-triples": RdfFormat.N_TRIPLES,
    "n-quads": RdfFormat.N_QUADS,
    "json-ld": RdfFormat.JSON_LD,
    "rdf-xml": RdfFormat.RDF_XML,
}
MEDIA_TYPES: dict[Syntax, str] = {syntax: each.media_type for syntax, each in FORMATS.items()}
_NO_PREFIXES: Mapping[str, str] = MappingProxyType({})
_PREFIX = re.compile(r"(?!xml|oxprefix)(?:[A-Za-z][\w-]*)?", re.ASCII)
_XML_NAME = re.compile(r"_:[A-Za-z_][\w.-]*", re.ASCII)
_NO_LOCAL_NAME = re.compile(rb'<oxprefix:[ >][^>]*?xmlns:oxprefix="([^"]*)"')


def write_event(graph: EventGraph, syntax: Syntax, prefixes: Mapping[str, str] = _NO_PREFIXES, name: str = "") -> bytes:
    """`name` is the IRI of the graph in N-Quads and JSON-LD; the syntaxes of one graph do not have it."""
    if syntax == "rdf-xml":
        return _rdf_xml(graph, prefixes)
    if name and syntax in ("n-quads", "json-ld"):
        placed = NamedNode(name)
        return _serialised(
            (Quad(each.subject, each.predicate, each.object, placed) for each in _triples(graph)), syntax, prefixes
        )
    return _serialised(_triples(graph), syntax, prefixes)


def _serialised(statements: Iterator[Triple] | Iterator[Quad], syntax: Syntax, prefixes: Mapping[str, str]) -> bytes:
    known = {prefix: space for prefix, space in prefixes.items() if _PREFIX.fullmatch(prefix)}
    return serialize(statements, format=FORMATS[syntax], prefixes=known) or b""


def _triples(graph: EventGraph) -> Iterator[Triple]:
    """Each vertex with its classes and arcs, so that a reader finds them together."""
    nodes = [_node(each) for each in graph.vertexes]
    out: dict[int, list[Triple]] = {}
    for arc in graph.arcs:
        source = nodes[arc.source]
        said = Triple(source, NamedNode(arc.property), nodes[arc.target])  # type: ignore[arg-type]
        out.setdefault(arc.source, []).append(said)
    for number, (vertex, node) in enumerate(zip(graph.vertexes, nodes, strict=True)):
        if not isinstance(node, Literal):
            yield from (Triple(node, TYPE, NamedNode(each)) for each in vertex.classes)
            yield from out.get(number, ())


def _node(vertex: Vertex) -> NamedNode | BlankNode | Literal:
    if vertex.lexical is not None:
        if vertex.language:
            return Literal(vertex.lexical, language=vertex.language)
        return Literal(vertex.lexical, datatype=NamedNode(vertex.classes[0] if vertex.classes else f"{XSD}string"))
    return BlankNode(vertex.term[2:]) if vertex.term.startswith("_:") else NamedNode(vertex.term[1:-1])


def _rdf_xml(graph: EventGraph, prefixes: Mapping[str, str]) -> bytes:
    written = _serialised(_triples(_with_xml_names(graph)), "rdf-xml", prefixes)
    if NOT_IN_XML.search(written.decode()):
        raise _not_in_xml("a text of it has a character that XML cannot hold")
    if found := _NO_LOCAL_NAME.search(written):
        raise _not_in_xml(f"the name <{found[1].decode()[:200]}> does not end in a name of XML")
    return written.replace(b"\r", b"&#13;")  # else it is read as a line feed (XML 1.0 s2.11)


def _with_xml_names(graph: EventGraph) -> EventGraph:
    """The label of a node is a name of XML there; others are numbered."""
    labels = {each.term for each in graph.vertexes if each.term[0] == "_"}
    odd = [label for label in sorted(labels) if not _XML_NAME.fullmatch(label)]
    if not odd:
        return graph
    free = (each for each in map("_:n{}".format, count(1)) if each not in labels)
    names = dict(zip(odd, free, strict=False))
    renamed = (replace(each, term=names.get(each.term, each.term)) for each in graph.vertexes)
    return EventGraph(tuple(renamed), graph.arcs)


def _not_in_xml(why: str) -> Refusal:
    return Refusal("bad-event-graph", f"the event cannot be written as RDF/XML: {why}; ask for Turtle")
