"""Lifts XML and JSON events to event graphs by a declared mapping."""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct
from pyoxigraph import NamedNode

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.literals import XSD, check_of, is_verbatim, literal_term
from tocsin.markup.lifting_paths import ElementPath, ElementStep, ValuePath, json_path, xml_path
from tocsin.markup.xml import Element, text_in
from tocsin.model.declarations import LiftedArc, Lifting, LiteralAt, Named, ThingAt
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import (
    HOME,
    MOST_ARCS,
    MOST_VERTEXES,
    THING,
    TYPE,
    Arc,
    EventGraph,
    Vertex,
    check_event,
    graph_of,
)
from tocsin.semantics.interest.ino_vocabulary import RDF
from tocsin.semantics.rdf import Statement

Item = Any  # an element of lxml, a value of JSON, or a text
_ATTRIBUTE = re.compile(r"\$([a-z0-9]+)")


class Place:
    """A document with the attributes of its CloudEvent, and what its absolute paths found."""

    def __init__(self, document: Item, attributes: Mapping[str, str]) -> None:
        self.document, self.attributes = document, attributes
        self.known: dict[str, list[Item]] = {}


class LiftedPath(Struct, frozen=True):
    text: str
    find: Callable[[Item, Place], list[Item]]


def path_of(text: str, syntax: Literal["xml", "json"], namespaces: Mapping[str, str]) -> LiftedPath:
    """Raises `ExpressionError`."""
    text = text.strip()
    if not text:
        raise ExpressionError(text, 0, "it is empty; what a path begins at is written . in XML and @ in JSON")
    if attribute := _ATTRIBUTE.fullmatch(text):
        return LiftedPath(text, _attribute(attribute[1]))
    if syntax == "json":
        path = json_path(text)
        return LiftedPath(
            text, _absolute(path) if path.absolute else lambda start, place: path.find(start, place.document)
        )
    steps = xml_path(text, namespaces)
    return LiftedPath(text, _absolute(steps) if steps.absolute else _relative(steps))


_Find = Callable[[Item, Place], list[Item]]


def _attribute(name: str) -> _Find:
    def find(_start: Item, place: Place) -> list[Item]:
        value = place.attributes.get(name)
        return [] if value is None else [value]

    return find


def _absolute(path: ElementPath | ValuePath) -> _Find:
    def find(_start: Item, place: Place) -> list[Item]:
        found = place.known.get(path.text)
        if found is None:
            place.known[path.text] = found = list(path.find(place.document, place.document))
        return found

    return find


def _relative(path: ElementPath) -> _Find:
    """Most paths are a child's name or an attribute. Below a text there is nothing but itself."""
    match path:
        case ElementPath(steps=(), leaf=""):
            return lambda start, _place: [start]
        case ElementPath(steps=(ElementStep(name=name, deep=False, predicates=()),), leaf=""):
            return lambda start, _place: [] if isinstance(start, str) else list(start.iterchildren(name))
    return lambda start, place: [] if isinstance(start, str) else list(path.find(start, place.document))


def text_of(found: Item, datatype: str) -> str | None:
    """None of what has no text: an object or array of JSON."""
    if isinstance(found, str):
        return found
    if isinstance(found, Element):
        return text_in(found)
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, int):
        return str(found)
    return _number(found, datatype) if isinstance(found, float) else None


def _number(value: float, datatype: str) -> str:
    """JSON has one kind of numbers, and 4.0 is 4; a decimal has no exponent."""
    if datatype in (f"{XSD}double", f"{XSD}float"):
        return repr(value)
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0") if datatype != f"{XSD}decimal" else text


__all__ = ["check_lifting", "lift"]

_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})
_MOST_TEXT = 16 << 20  # characters: elements within elements have the same text again and again
_REMEMBERED = 256
_DEEPEST = 64
_LONGEST_SHOWN = 100
_WRITTEN_AS_IS = re.compile(r'[^"\\\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]*')


def lift(
    document: Item, lifting: Lifting, model: ConceptModel, attributes: Mapping[str, str] = _NO_ATTRIBUTES
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
    """The lifting of one document. Nodes are numbered in the order in which they are met."""

    def __init__(self, place: Place) -> None:
        self.statements: list[Statement] = []
        self._place, self._things, self._text = place, 0, 0

    def home(self, thing: _Thing) -> str:
        found = thing.path.find(self._place.document, self._place)
        if len(found) != 1:
            raise _bad(f"the home vertex is at {thing.path.text!r}, where {len(found)} stand; there must be one")
        return self._add(thing, found[0], HOME)

    def _add(self, thing: _Thing, at: Item, label: str = "") -> str:
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

    def _targets(self, target: "_Literal | _Thing | _Constant", at: Item) -> Iterator[str] | list[str]:
        if isinstance(target, _Constant):
            self.statements.extend(target.statements)
            return [target.term]
        found = target.path.find(at, self._place)
        if isinstance(target, _Thing):
            return [self._add(target, each) for each in found if each is not None]
        return [self._literal(target, each) for each in found if each is not None]

    def _literal(self, literal: _Literal, at: Item) -> str:
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

    def _named(self, thing: _Thing, at: Item) -> str:
        found = thing.iri.find(at, self._place) if thing.iri else []
        if thing.iri is None or not found or found[0] is None:
            return ""
        text = self._read(thing.iri, found[0], f"{XSD}anyURI").strip()
        try:
            return str(NamedNode(text))
        except ValueError:
            where = f"at {thing.iri.text!r} stands {text[:_LONGEST_SHOWN]!r}, which is no IRI"
            raise _bad(f"{where}; leave `iri` out where things have no name") from None

    def _read(self, path: LiftedPath, at: Item, datatype: str) -> str:
        text = text_of(at, datatype)
        if text is None:
            raise _bad(f"at {path.text!r} stands an object or array, and no text; name what is in it, or all with [*]")
        self._text += len(text)
        if self._text > _MOST_TEXT:
            raise Refusal("too-large", f"it makes texts of more than {_MOST_TEXT:,} characters of this event")
        return text


def _bad(text: str) -> Refusal:
    return Refusal("bad-event-graph", text)
