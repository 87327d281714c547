"""What `match` reads: ontologies, subscriptions as JSON lines, events as N-Quads. Errors name the file and the line."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tocsin.cli.output import WRONG_USE, fail
from tocsin.markup.graphs.graph_pattern import GraphQuery
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.resolution import resolve
from tocsin.model.declarations import Ontology
from tocsin.model.filters import Graph
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.ontology_documents import read_ontology
from tocsin.semantics.events.event_documents import read_events_nquads
from tocsin.semantics.events.event_graph import EventGraph

_TURTLE, _RDF_XML, _JSON_LD = "text/turtle", "application/rdf+xml", "application/ld+json"
_BY_NAME = {
    ".ttl": _TURTLE,
    ".nt": "application/n-triples",
    ".rdf": _RDF_XML,
    ".owl": _RDF_XML,
    ".daml": _RDF_XML,
    ".xml": _RDF_XML,
    ".jsonld": _JSON_LD,
    ".json": _JSON_LD,
}
_BY_FIRST_BYTE = {b"<": _RDF_XML, b"{": _JSON_LD, b"[": _JSON_LD}
_MEMBERS = ("id", "pattern", "sparql", "plain", "prefixes")
EXAMPLE = '{"id": "s1", "pattern": "(_:H, ?1, (Selling, target, Computer))"}'


class Asked(Struct, frozen=True):
    id: str
    query: GraphQuery


def read_bytes(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        fail(f"{path}: {error.strerror}", WRONG_USE)


def media_type_of(path: Path, data: bytes) -> str:
    """By the name; for want of a known one, by how it begins. `<` begins an IRI of Turtle as well."""
    if (found := _BY_NAME.get(path.suffix.lower())) is not None:
        return found
    start = data.lstrip()
    is_markup = start.startswith((b"<?xml", b"<!--", b"<!DOCTYPE")) or b":RDF" in start[:1024]
    return _BY_FIRST_BYTE.get(start[:1], _TURTLE) if start[:1] != b"<" or is_markup else _TURTLE


def read_ontologies(paths: Sequence[Path]) -> Catalogue:
    """Several are one model; whatever contradicts itself in it is told of the last that was read."""
    known, names = Catalogue(), set[str]()
    for path in paths:
        try:
            known.declare(_ontology(path, names))
            known.concepts  # noqa: B018 - made here, so that what is wrong is known to be of this file
        except Refusal as refusal:
            fail(f"{path}: {refusal.text}", WRONG_USE)
    return known


def _ontology(path: Path, names: set[str]) -> Ontology:
    data = read_bytes(path)
    name = path.stem if path.stem not in names else f"{path.stem}-{len(names)}"
    names.add(name)
    return read_ontology(data, media_type_of(path, data), name)


def read_subscriptions(path: Path, known: Catalogue) -> list[Asked]:
    found: dict[str, Asked] = {}
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            asked = _asked(line, known)
            if asked.id in found:
                raise Refusal("malformed", f"the id {asked.id!r} was there before; give each its own")
        except Refusal as refusal:
            fail(f"{path}:{number}: {refusal.text}", WRONG_USE)
        found[asked.id] = asked
    return list(found.values())


def _asked(line: bytes, known: Catalogue) -> Asked:
    document = _document(line)
    language = "pattern" if "pattern" in document else "sparql"
    prefixes = tuple(sorted(document.get("prefixes", {}).items()))
    asked = Graph(language, document[language], prefixes, document.get("plain", False))  # type: ignore[arg-type]
    (resolved,) = resolve((asked,), known)
    assert isinstance(resolved, Graph)
    return Asked(document["id"], query_of(resolved))


def _document(line: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refusal("malformed", f"not a JSON object: {problem}; write {EXAMPLE}") from None
    kinds = {"id": str, "pattern": str, "sparql": str, "plain": bool, "prefixes": dict}
    for name, value in document.items():
        if name not in kinds:
            raise Refusal("malformed", f"{name[:80]!r} is not known; known are {', '.join(_MEMBERS)}")
        if not isinstance(value, kinds[name]):
            raise Refusal("malformed", f"{name} must be {kinds[name].__name__}; write {EXAMPLE}")
    if "id" not in document or ("pattern" in document) == ("sparql" in document):
        raise Refusal("malformed", f"a subscription has an id, and a pattern or sparql; write {EXAMPLE}")
    return document


def read_events(path: Path, model: ConceptModel) -> Iterator[tuple[str, EventGraph]]:
    try:
        yield from read_events_nquads(read_bytes(path), model)
    except Refusal as refusal:
        fail(f"{path}: {refusal.text}", WRONG_USE)
