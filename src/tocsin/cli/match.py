"""`match`: a dry run of semantic matching, and why an event matches a subscription or does not. It reads ontologies,
subscriptions as JSON lines and events as N-Quads; errors name the file and the line."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct
from rich.text import Text
from rich.tree import Tree

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, console, counted, fail, give, say
from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.explain.content import reason_text
from tocsin.matching.explain.wording import term_text, test_text, vertex_text
from tocsin.matching.graphs.partial_match import PartialMatch, furthest_match
from tocsin.matching.graphs.search import Bindings, find
from tocsin.matching.judge import Undecided
from tocsin.matching.resolution import resolve
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


class Query(Struct, frozen=True):
    """A subscription of the file."""

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
            data = read_bytes(path)
            name = path.stem if path.stem not in names else f"{path.stem}-{len(names)}"
            names.add(name)
            known.declare(read_ontology(data, media_type_of(path, data), name))
            known.concepts  # noqa: B018 - made here, so that what is wrong is known to be of this file
        except Refusal as refusal:
            fail(f"{path}: {refusal.text}", WRONG_USE)
    return known


def read_subscriptions(path: Path, known: Catalogue) -> list[Query]:
    found: dict[str, Query] = {}
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            asked = _query(line, known)
            if asked.id in found:
                raise Refusal("malformed", f"the id {asked.id!r} was there before; give each its own")
        except Refusal as refusal:
            fail(f"{path}:{number}: {refusal.text}", WRONG_USE)
        found[asked.id] = asked
    return list(found.values())


def _query(line: bytes, known: Catalogue) -> Query:
    document = _document(line)
    language = "pattern" if "pattern" in document else "sparql"
    prefixes = tuple(sorted(document.get("prefixes", {}).items()))
    asked = Graph(language, document[language], prefixes, document.get("plain", False))  # type: ignore[arg-type]
    (resolved,) = resolve((asked,), known)
    assert isinstance(resolved, Graph)
    return Query(document["id"], query_of(resolved))


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


DEMO = ("auction.ttl", "auction-subscriptions.jsonl", "auction-events.nq")
_WORTH_AN_INDEX = 64  # subscriptions
_EVERY = 1_000  # events, between two words of progress
_Matched = tuple[list[str], list[str]]  # those that match, those of which it cannot be told
application = typer.Typer()


@application.command(epilog="Example: tocsin match --demo --explain")
def match(
    ontology: Annotated[
        list[Path] | None, typer.Option(help="Turtle, RDF/XML, N-Triples or JSON-LD; several are one model.")
    ] = None,
    subscriptions: Annotated[
        Path | None, typer.Option(help='JSON lines: {"id", "pattern"} or {"id", "sparql"}.')
    ] = None,
    events: Annotated[Path | None, typer.Option(help="N-Quads: one named graph an event, home vertex _:H.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the mapping of each pair, or how far it gets and what fails.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="With the auction of the paper.")] = False,
    json: options.Json = False,
) -> None:
    """Tell which events match which subscriptions, without a broker: JSON lines {"event", "subscriptions"}."""
    given = (ontology, subscriptions, events)
    if demo and any(given):
        fail("--demo brings its own --ontology, --subscriptions and --events", WRONG_USE)
    if not demo and not all(given):
        fail("name --ontology, --subscriptions and --events, or see --demo", WRONG_USE)
    with ExitStack() as stack:
        if demo:
            folder = files("tocsin.semantics") / "demo"
            paths = [stack.enter_context(as_file(folder / name)) for name in DEMO]
            _run(paths[:1], paths[1], paths[2], explain, json)
        elif ontology and subscriptions and events:
            _run(ontology, subscriptions, events, explain, json)


def _run(ontologies: list[Path], subscriptions: Path, events: Path, explain: bool, json: bool) -> None:

    known = read_ontologies(ontologies)
    model = known.concepts
    asked = read_subscriptions(subscriptions, known)
    classes, properties = (_count(known, kind) for kind in ("classes", "properties"))
    say(f"{classes:,} classes, {properties:,} properties, {counted(len(asked), 'subscription')}")
    matched, count, pairs = _matcher(asked, model), 0, 0
    for name, event in read_events(events, model):
        found, undecided = matched(event)
        line: dict[str, Any] = {"event": name, "subscriptions": found}
        line |= {"undecided": undecided} if undecided else {}
        line |= {"explained": [Explained(each, event, model).document() for each in asked]} if explain and json else {}
        give(line)
        if explain and not json:
            tree = Tree(Text(name or "the event without a name", style="bold"))
            for each in asked:
                tree.children.append(Explained(each, event, model).tree())
            console().print(tree)
        count, pairs = count + 1, pairs + len(found)
        if count % _EVERY == 0:
            say(f"{count:,} events")
    say(f"{counted(count, 'event')}, {counted(pairs, 'match', 'matches')}")


def _count(known: Catalogue, kind: str) -> int:
    """Without those that every model has."""
    return len({name for each in known.ontologies.values() for name, _ in getattr(each, kind)})


def _matcher(asked: list[Query], model: ConceptModel) -> Callable[[EventGraph], _Matched]:
    """With the index of the broker, whose kernels take seconds to be ready, where that is worth it."""
    return _by_index(asked, model) if len(asked) >= _WORTH_AN_INDEX else _one_by_one(asked, model)


def _by_index(asked: list[Query], model: ConceptModel) -> Callable[[EventGraph], _Matched]:
    say("making the index ready; the first time on a machine it is compiled")
    from tocsin.matching.graphs.index import GraphIndex

    index = GraphIndex()
    for number, each in enumerate(asked):
        index.add(number, each.query)
    index.pack()

    def matched(event: EventGraph) -> _Matched:
        found = index.match(event, model)
        return [asked[at].id for at in sorted(found.atoms)], [asked[at].id for at in sorted(found.undecided)]

    return matched


def _one_by_one(asked: list[Query], model: ConceptModel) -> Callable[[EventGraph], _Matched]:

    def matched(event: EventGraph) -> _Matched:
        found: list[str] = []
        undecided: list[str] = []
        for each in asked:
            try:
                if find(each.query, event, model) is not None:
                    found.append(each.id)
            except Undecided:
                undecided.append(each.id)
        return found, undecided

    return matched


class Explained:
    """Of one pair: the mapping that was found, or how far one gets."""

    def __init__(self, asked: Query, event: EventGraph, model: ConceptModel) -> None:
        self._id, self._event, self._model = asked.id, event, model
        self._undecided = ""
        self._found: Bindings | None = None
        self._partial: PartialMatch | None = None
        try:
            self._found = find(asked.query, event, model)
        except Undecided as problem:
            self._undecided = str(problem)
        if self._found is None and not self._undecided:
            self._partial = furthest_match(asked.query, event, model)

    def document(self) -> dict[str, Any]:
        if self._undecided:
            return {"subscription": self._id, "matches": None, "undecided": self._undecided}
        document: dict[str, Any] = {"subscription": self._id, "matches": self._found is not None}
        document["mapping"] = self._names()
        if self._found is not None:
            return document | {"bindings": self._found.terms}
        return document | {"failed": self._failed(), "reasons": self._reasons()}

    def tree(self) -> Tree:
        if self._undecided:
            return Tree(Text(f"{self._id}: {self._undecided}", style="yellow"))
        matches = self._found is not None
        said = f"{self._id} {'matches' if matches else 'does not match'}"
        tree, (pattern, mapping) = Tree(Text(said, style="green" if matches else "red")), self._mapped()
        for at, vertex in sorted(mapping.items()):
            told = vertex_text(self._event.vertexes[vertex], self._model.short)
            tree.add(Text(f"{self._asked_for(pattern, at)}: {told}"))
        if self._partial is not None and self._partial.failed is not None:
            failed = tree.add(Text(f"{self._asked_for(pattern, self._partial.failed)}: nothing", style="red"))
            for each in self._reasons():
                failed.add(Text(each))
        return tree

    def _mapped(self) -> tuple[GraphPattern, dict[int, int]]:
        if self._found is not None:
            return self._found.pattern, dict(enumerate(self._found.mapping))
        assert self._partial is not None
        return self._partial.pattern, self._partial.mapping

    def _names(self) -> dict[str, str]:
        pattern, mapping = self._mapped()
        return {pattern.vertexes[at].name: self._event.vertexes[vertex].term for at, vertex in mapping.items()}

    def _failed(self) -> str | None:
        found = self._partial
        return None if found is None or found.failed is None else found.pattern.vertexes[found.failed].name

    def _reasons(self) -> list[str]:
        found = self._partial
        if found is None:
            return []
        more = [] if found.complete else ["there may be more: the search was cut short"]
        return [reason_text(each, self._model.short) for each in found.reasons] + more

    def _asked_for(self, pattern: GraphPattern, at: int) -> str:
        vertex, short = pattern.vertexes[at], self._model.short
        entry = next((arc for arc in pattern.arcs if arc.target == at), None)
        words = [f"a {short(each)}" for each in vertex.classes] + list(map(test_text, vertex.tests))
        if entry is not None:
            words.insert(0, f"the {short(entry.property)} of {pattern.vertexes[entry.source].name}")
        name = vertex.name if vertex.constant is None else term_text(vertex.constant, short)
        return ", ".join((name, *words))
