"""XML and JSON events become event graphs, by a mapping that was declared."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct
from pyoxigraph import NamedNode

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.literal_values import literal_term
from tocsin.model.lifting import LiftedArc, Lifting, LiteralAt, Named, ThingAt
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_checks import check_event
from tocsin.semantics.events.event_draft import MOST_ARCS, MOST_VERTEXES, THING, TYPE, graph_of
from tocsin.semantics.events.event_graph import HOME, Arc, EventGraph, Vertex
from tocsin.semantics.events.lexical_forms import check_of, is_verbatim
from tocsin.semantics.events.lifted_paths import Found, LiftedPath, Place, path_of, text_of
from tocsin.semantics.events.rdf_lines import Statement
from tocsin.semantics.interest.ino_vocabulary import RDF, XSD

__all__ = ["check_lifting", "lift"]

_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})
_MOST_TEXT = 16 << 20  # characters: elements within elements have the same text again and again
_REMEMBERED = 256
_DEEPEST = 64
_LONGEST_SHOWN = 100
_WRITTEN_AS_IS = re.compile(r'[^"\\\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]*')


def lift(
    document: Found, lifting: Lifting, model: ConceptModel, attributes: Mapping[str, str] = _NO_ATTRIBUTES
) -> EventGraph:
    """The document is an XML element or a JSON value; `attributes` are those of its CloudEvent, for paths `$name`."""
    try:
        run = _Run(Place(document, attributes))
        home = run.home(_compiled(lifting))
        graph = graph_of(run.statements, model.classes_of, home)
        check_event(graph, model)
    except Refusal as refusal:
        raise Refusal(refusal.reason, f"the lifting {lifting.name[:200]!r}: {refusal.text}") from None
    return graph


def check_lifting(lifting: Lifting, model: ConceptModel) -> None:
    """That its paths can be read, and that the concept model has what it names and allows what it will state."""
    try:
        _compiled(lifting)
        vertexes, arcs = list[Vertex](), list[Arc]()
        _check_thing(lifting.home, model, vertexes, arcs)
        check_event(EventGraph(tuple(vertexes), tuple(arcs)), model)
    except Refusal as refusal:
        raise Refusal("bad-lifting", f"the lifting {lifting.name[:200]!r}: {refusal.text}") from None


def _check_thing(thing: ThingAt, model: ConceptModel, vertexes: list[Vertex], arcs: list[Arc]) -> int:
    """What it stands for, as an event graph whose vertexes are called by their paths."""
    if not thing.classes and not thing.iri:
        raise _bad(f"the thing at {thing.path!r} has no class; a vertex without a name needs one")
    number = len(vertexes)
    vertexes.append(Vertex(f"at {thing.path!r}", thing.classes or (THING,)))
    for arc in thing.arcs:
        match arc.to:
            case ThingAt() as below:
                target = _check_thing(below, model, vertexes, arcs)
            case LiteralAt(path, datatype):
                target = len(vertexes)
                vertexes.append(Vertex(f"at {path!r}", (datatype,), ""))
            case Named(iri, classes):
                target = len(vertexes)
                vertexes.append(Vertex(f"<{iri}>", (*classes, *model.classes_of(iri)) or (THING,)))
        arcs.append(Arc(number, arc.property, target))
    return number


class _Literal(Struct, frozen=True):
    path: LiftedPath
    datatype: str
    suffix: str  # of its terms
    verbatim: bool
    check: Callable[[str], object] | None


class _Thing(Struct, frozen=True):
    path: LiftedPath
    iri: LiftedPath | None
    classes: tuple[str, ...]  # as all names here, terms of N-Triples
    arcs: tuple[tuple[str, "_Literal | _Thing | _Constant"], ...]


class _Constant(Struct, frozen=True):
    term: str
    statements: tuple[Statement, ...]


@lru_cache(_REMEMBERED)
def _compiled(lifting: Lifting) -> _Thing:
    namespaces = dict(lifting.namespaces)
    return _thing(lifting.home, lambda text: _path(lifting, text, namespaces), 1)


_Reader = Callable[[str], LiftedPath]


def _path(lifting: Lifting, text: str, namespaces: Mapping[str, str]) -> LiftedPath:
    try:
        return path_of(text, lifting.syntax, namespaces)
    except ExpressionError as problem:
        raise _bad(f"the path {problem}") from None


def _thing(thing: ThingAt, read: _Reader, depth: int) -> _Thing:
    if depth > _DEEPEST:
        raise _bad(f"things are nested more than {_DEEPEST} deep")
    arcs = tuple((_name(arc.property), _target(arc, read, depth)) for arc in thing.arcs)
    return _Thing(read(thing.path), read(thing.iri) if thing.iri else None, tuple(map(_name, thing.classes)), arcs)


def _target(arc: LiftedArc, read: _Reader, depth: int) -> "_Literal | _Thing | _Constant":
    match arc.to:
        case ThingAt() as thing:
            return _thing(thing, read, depth + 1)
        case Named(iri, classes):
            return _Constant(_name(iri), tuple((_name(iri), TYPE, _name(each)) for each in classes))
        case LiteralAt(path, datatype):
            if datatype.startswith(RDF):
                raise _bad(f"the datatype of {path!r} is <{datatype}>, which needs a language; use xsd:string")
            suffix = "" if datatype == f"{XSD}string" else f"^^{_name(datatype)}"
            return _Literal(read(path), datatype, suffix, is_verbatim(datatype), check_of(datatype))


def _name(iri: str) -> str:
    try:
        return str(NamedNode(iri))
    except ValueError:
        raise _bad(f"{iri[:200]!r} is no IRI; write it as prefix:name or in full") from None


class _Run:
    """One document. Nodes are numbered in the order in which they are met."""

    def __init__(self, place: Place) -> None:
        self.statements: list[Statement] = []
        self._place, self._things, self._text = place, 0, 0

    def home(self, thing: _Thing) -> str:
        found = thing.path.find(self._place.document, self._place)
        if len(found) != 1:
            raise _bad(f"the home vertex is at {thing.path.text!r}, where {len(found)} stand; there must be one")
        return self._add(thing, found[0], HOME)

    def _add(self, thing: _Thing, at: Found, label: str = "") -> str:
        term = self._named(thing, at) or label or f"_:b{self._things}"
        self._things += 1
        statements = self.statements
        statements.extend([(term, TYPE, each) for each in thing.classes])
        for name, target in thing.arcs:
            statements.extend([(term, name, each) for each in self._targets(target, at)])
        if self._things > MOST_VERTEXES or len(statements) > 2 * MOST_ARCS:
            raise Refusal(
                "too-large", f"it makes more than {MOST_VERTEXES:,} vertexes or {MOST_ARCS:,} arcs of this event"
            )
        return term

    def _targets(self, target: "_Literal | _Thing | _Constant", at: Found) -> Iterator[str] | list[str]:
        if isinstance(target, _Constant):
            self.statements.extend(target.statements)
            return [target.term]
        found = target.path.find(at, self._place)
        if isinstance(target, _Thing):
            return [self._add(target, each) for each in found if each is not None]
        return [self._literal(target, each) for each in found if each is not None]

    def _literal(self, literal: _Literal, at: Found) -> str:
        text = self._read(literal.path, at, literal.datatype)
        if not literal.verbatim:
            text = text.strip(" \t\r\n")
        if literal.check is not None and not literal.check(text):
            name = literal.datatype.replace(XSD, "xsd:")
            raise _bad(f"at {literal.path.text!r} stands {text[:_LONGEST_SHOWN]!r}, which is no {name}")
        if _WRITTEN_AS_IS.fullmatch(text):
            return f'"{text}"{literal.suffix}'
        try:
            return literal_term(text, literal.datatype)
        except UnicodeEncodeError:
            raise _bad(f"at {literal.path.text!r} stands half of a character (a lone surrogate)") from None

    def _named(self, thing: _Thing, at: Found) -> str:
        found = thing.iri.find(at, self._place) if thing.iri else []
        if thing.iri is None or not found or found[0] is None:
            return ""
        text = self._read(thing.iri, found[0], f"{XSD}anyURI").strip()
        try:
            return str(NamedNode(text))
        except ValueError:
            where = f"at {thing.iri.text!r} stands {text[:_LONGEST_SHOWN]!r}, which is no IRI"
            raise _bad(f"{where}; leave `iri` out where things have no name") from None

    def _read(self, path: LiftedPath, at: Found, datatype: str) -> str:
        text = text_of(at, datatype)
        if text is None:
            raise _bad(f"at {path.text!r} stands an object or array, and no text; name what is in it, or all with [*]")
        self._text += len(text)
        if self._text > _MOST_TEXT:
            raise Refusal("too-large", f"it makes texts of more than {_MOST_TEXT:,} characters of this event")
        return text


def _bad(text: str) -> Refusal:
    return Refusal("bad-event-graph", text)
