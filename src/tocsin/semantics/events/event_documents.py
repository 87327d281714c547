"""Reads event graphs from RDF in any of its syntaxes, and writes them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice
from types import MappingProxyType
from typing import Literal as OneOf
from typing import TypeVar

import msgspec
from msgspec.structs import replace
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse, serialize

from tocsin.model.refusal import Refusal
from tocsin.semantics import rdf as rdf_lines
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import MOST_ARCS, EventGraph, Vertex, check_event, graph_of
from tocsin.semantics.interest.ino_vocabulary import TYPE, XSD
from tocsin.semantics.interest.world_rdf import NOT_IN_XML
from tocsin.semantics.rdf import DEEPEST, Statement, check_depth, guard

__all__ = ["SYNTAXES", "check_event", "event_of_quads", "read_event", "read_events_nquads", "syntax_of"]

SYNTAXES = {
    "text/turtle": RdfFormat.TURTLE,
    "application/n-triples": RdfFormat.N_TRIPLES,
    "application/n-quads": RdfFormat.N_QUADS,
    "application/rdf+xml": RdfFormat.RDF_XML,
    "application/ld+json": RdfFormat.JSON_LD,
}
_MOST_STATEMENTS = 2 * MOST_ARCS  # with those that state classes
_MOST_TEXT = 64 << 20  # characters: a few words may stand for much, by prefixes
_AT_ONCE = 128
_LARGE = 32 << 10  # bytes
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_REMOTE_CONTEXT = "No LoadDocumentCallback"
_Read = TypeVar("_Read")
_HEXADECIMAL = re.compile(rb"(?<![0-9a-f])[0-9a-f]{16,32}(?![0-9a-f])")
_MADE_UP = re.compile(r"_:[0-9a-f]{16,32}")  # how the parser calls nodes that have no label


def syntax_of(media_type: str) -> RdfFormat | None:
    """None where the media type is none of RDF; parameters do not matter."""
    return SYNTAXES.get(media_type.partition(";")[0].strip().lower())


def read_event(data: bytes, media_type: str, model: ConceptModel, unknown_properties: bool = False) -> EventGraph:
    syntax = syntax_of(media_type)
    if syntax is None:
        raise Refusal("malformed", f"{media_type[:80]!r} is no media type of RDF; use one of {', '.join(SYNTAXES)}")
    statements = _lines(data, syntax)
    if statements is None:
        statements = _statements(_parsed(data, syntax), data)
    graph = graph_of(statements, model.classes_of)
    check_event(graph, model, unknown_properties)
    return graph


def event_of_quads(quads: Iterable[Quad | Triple], model: ConceptModel, unknown_properties: bool = False) -> EventGraph:
    graph = graph_of(_statements(iter(quads)), model.classes_of)
    check_event(graph, model, unknown_properties)
    return graph


def read_events_nquads(data: bytes, model: ConceptModel) -> Iterator[tuple[str, EventGraph]]:
    """One named graph an event, in the order in which they begin; what is in no graph is an event without name."""
    for name, statements in _by_graph(data).items():
        try:
            graph = graph_of(statements, model.classes_of)
            check_event(graph, model)
        except Refusal as refusal:
            where = f"the event {name[:200]}" if name else "the event in no named graph"
            raise Refusal(refusal.reason, f"{where}: {refusal.text}") from None
        yield name, graph


def _by_graph(data: bytes) -> dict[str, list[Statement]]:
    events: dict[str, list[Statement]] = {}
    lines = _decoded(data, rdf_lines.quads)
    if lines is not None:
        for statement, name in lines:
            events.setdefault(name[1:-1] if name[:1] == "<" else name, []).append(statement)
        return events
    quads: dict[str, list[Triple]] = {}
    for quad in _parsed(data, RdfFormat.N_QUADS):
        name = "" if isinstance(quad.graph_name, DefaultGraph) else str(quad.graph_name)
        quads.setdefault(name[1:-1] if name[:1] == "<" else name, []).append(quad.triple)
    return {name: _statements(iter(of_one)) for name, of_one in quads.items()}


def _lines(data: bytes, syntax: RdfFormat) -> list[Statement] | None:
    if syntax == RdfFormat.N_TRIPLES:
        return _decoded(data, rdf_lines.triples)
    placed = _decoded(data, rdf_lines.quads) if syntax == RdfFormat.N_QUADS else None
    if placed is None or len({name for _, name in placed}) > 1:
        return None
    return [statement for statement, _ in placed]


def _decoded(data: bytes, read: Callable[[str], _Read | None]) -> _Read | None:
    try:
        return read(data.decode())
    except UnicodeDecodeError:
        return None


def _parsed(data: bytes, syntax: RdfFormat) -> Iterator[Quad]:
    """No context of JSON-LD is fetched from anywhere: the parser has nothing to do it with."""
    try:
        if syntax == RdfFormat.JSON_LD:
            _check_json(data)
        else:
            guard(data, syntax)
        if syntax == RdfFormat.TURTLE:
            check_depth(data)
        yield from parse(data, format=syntax)
    except (SyntaxError, ValueError) as problem:
        text = str(problem)
        if _REMOTE_CONTEXT in text:
            text = "its @context is elsewhere, and nothing is fetched; write the context into the event"
        raise Refusal("malformed", f"the event is not readable as {syntax.name}: {text}") from None


def _check_json(data: bytes) -> None:
    """The parser takes time with the square of the depth, and copies a context wherever another is added to it."""
    outside = b"".join(data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    brackets = outside.translate(None, _NO_BRACKETS)
    for _ in range(DEEPEST):
        brackets = brackets.replace(b"{}", b"[]").replace(b"[]", b"")
        if not brackets:
            break
    else:
        raise ValueError(f"its brackets are nested more than {DEEPEST} deep, or do not pair")
    if len(data) > _LARGE and _plain(data).count(b'"@context"') > 1:
        raise ValueError(f"an event of more than {_LARGE:,} bytes may have one @context, outside; merge them")


def _plain(data: bytes) -> bytes:
    """With letters in place of their numbers."""
    try:
        return msgspec.json.encode(msgspec.json.decode(data)) if b"\\u00" in data else data
    except msgspec.MsgspecError as problem:
        raise ValueError(str(problem)) from None


def _statements(quads: Iterator[Quad | Triple], data: bytes | None = None) -> list[Statement]:
    """By way of N-Triples: to write and to split them is faster than to ask for the terms one by one."""
    lines, names, said, size = list[str](), set[object](), 0, 0
    while some := list(islice(quads, _AT_ONCE)):
        lines.append(_n_triples(some, names))
        said += len(some)
        size += len(lines[-1])
        if said > _MOST_STATEMENTS:
            raise Refusal("too-large", f"the event has more than {_MOST_STATEMENTS:,} statements; say less")
        if size > _MOST_TEXT:
            raise Refusal("too-large", f"the event has more than {_MOST_TEXT:,} characters, written out; say less")
    text = "".join(lines)
    statements = rdf_lines.canonical_triples(text)
    for _, _, target in statements if "<<(" in text else ():
        if target.startswith("<<"):
            raise Refusal("bad-event-graph", f"{target[:200]} is a triple within a triple; an event graph has none")
    return statements if data is None or not _MADE_UP.search(text) else _numbered(statements, data)


def _n_triples(some: list[Quad | Triple], names: set[object]) -> str:
    """`names` are of the graphs in which something was said until now."""
    try:
        written = serialize(some, format=RdfFormat.N_TRIPLES)  # type: ignore[arg-type]
        names.add(DefaultGraph())
    except ValueError:  # some are in a named graph
        placed = [each if isinstance(each, Quad) else Quad(*each) for each in some]
        names.update(each.graph_name for each in placed)
        written = serialize([each.triple for each in placed], format=RdfFormat.N_TRIPLES)
    if len(names) > 1:
        listed = ", ".join(sorted(map(str, names))[:5])
        raise Refusal("bad-event-graph", f"the event has several graphs ({listed[:300]}); an event is one graph")
    return (written or b"").decode()


def _numbered(statements: list[Statement], data: bytes) -> list[Statement]:
    """Nodes without a label are numbered, so that the same event is always read as the same graph."""
    labels = dict.fromkeys(term for subject, _, target in statements for term in (subject, target) if term[0] == "_")
    stated = {found.decode() for found in _HEXADECIMAL.findall(data)}
    made_up = [each for each in labels if _MADE_UP.fullmatch(each) and each[2:] not in stated]
    if not made_up:
        return statements
    free = (each for each in map("_:b{}".format, count(1)) if each not in labels)
    names = dict(zip(made_up, free, strict=False))
    return [(names.get(subject, subject), name, names.get(target, target)) for subject, name, target in statements]


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
        written = _serialised(_triples(_with_xml_names(graph)), "rdf-xml", prefixes)
        if NOT_IN_XML.search(written.decode()):
            raise _not_in_xml("a text of it has a character that XML cannot hold")
        if found := _NO_LOCAL_NAME.search(written):
            raise _not_in_xml(f"the name <{found[1].decode()[:200]}> does not end in a name of XML")
        return written.replace(b"\r", b"&#13;")  # else it is read as a line feed (XML 1.0 s2.11)
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
