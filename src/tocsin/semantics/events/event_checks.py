"""Whether the concept model allows what an event graph states (OPS s3.2)."""

from collections.abc import Collection
from typing import NoReturn
from weakref import WeakKeyDictionary

from tocsin.model.ontology import MetaStatement
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph, Vertex
from tocsin.semantics.known_names import known_names

_Statement = tuple[tuple[str, ...], str, tuple[str, ...], bool]  # between these classes; to a thing, or to a literal
_MOST_REMEMBERED, _MOST_CLASSES = 100_000, 16  # of what publishers say: statements, and classes in one
_MOST_LISTED = 5
_LONGEST_SHOWN = 200
_ALLOWED: WeakKeyDictionary[ConceptModel, set[_Statement]] = WeakKeyDictionary()


def check_event(graph: EventGraph, model: ConceptModel, unknown_properties: bool = False) -> None:
    """Nothing is refused where no ontology is declared. With `unknown_properties`, arcs of which the model knows
    nothing may be there; nobody can ask for them."""
    if not model:
        return
    vertexes = graph.vertexes
    said = {_said(vertexes[arc.source], arc.property, vertexes[arc.target]) for arc in graph.arcs}
    allowed = _ALLOWED.setdefault(model, set())
    if not graph.arcs or not said <= allowed:
        _check(graph, model, unknown_properties, allowed)


def _check(graph: EventGraph, model: ConceptModel, unknown_properties: bool, allowed: set[_Statement]) -> None:
    for vertex in graph.vertexes:
        _check_classes(vertex, model)
    for arc in graph.arcs:
        source, target = graph.vertexes[arc.source], graph.vertexes[arc.target]
        said = _said(source, arc.property, target)
        if said in allowed:
            continue
        if model.has_property(arc.property):
            if not model.allows(source.classes, arc.property, target.classes):
                _refuse(source, arc.property, target, model)
        elif unknown_properties:
            continue
        else:
            raise _unknown("property", arc.property, _named(source, model), model.own_properties, model)
        if len(allowed) < _MOST_REMEMBERED and len(source.classes) + len(target.classes) <= _MOST_CLASSES:
            allowed.add(said)


def _said(source: Vertex, name: str, target: Vertex) -> _Statement:
    return source.classes, name, target.classes, target.lexical is None


def _check_classes(vertex: Vertex, model: ConceptModel) -> None:
    owner = f"the {'vertex' if vertex.lexical is None else 'literal'} {vertex.term[:_LONGEST_SHOWN]}"
    for each in vertex.classes:
        is_datatype = model.is_datatype(each)
        if vertex.lexical is not None and not is_datatype:
            raise _unknown("datatype", each, owner, model.datatypes, model)
        if vertex.lexical is None and is_datatype:
            raise _bad(f"{owner} is a thing, and {model.short(each)} a datatype; write a literal, or name a class")
        if vertex.lexical is None and not model.has_class(each):
            raise _unknown("class", each, owner, model.own_classes, model)


def _refuse(source: Vertex, name: str, target: Vertex, model: ConceptModel) -> NoReturn:
    """With what is allowed: of that class if there is anything, else of the property."""
    stated = model.statements_of(name)
    above = frozenset().union(*map(model.classes_above, source.classes))
    allowed = [each for each in stated if each.subject in above] or stated
    listed = ", ".join(f"({_triple(each, model)})" for each in allowed[:_MOST_LISTED])
    more = f" and {len(allowed) - _MOST_LISTED} more" if len(allowed) > _MOST_LISTED else ""
    said = f"{_named(source, model)} cannot have {model.short(name)} with {_named(target, model)}"
    raise _bad(f"{said}; allowed: {listed or 'nothing'}{more}")


def _triple(each: MetaStatement, model: ConceptModel) -> str:
    return ", ".join(map(model.short, (each.subject, each.property, each.object)))


def _named(vertex: Vertex, model: ConceptModel) -> str:
    term = vertex.term if len(vertex.term) <= _LONGEST_SHOWN else f"{vertex.term[:_LONGEST_SHOWN]}…"
    kind = " and ".join(map(model.short, vertex.classes))
    return f"the {'vertex' if vertex.lexical is None else 'literal'} {term} ({kind})"


def _unknown(what: str, iri: str, owner: str, known: Collection[str], model: ConceptModel) -> Refusal:
    word = model.short(iri)
    return _bad(
        f"the {what} {word[:_LONGEST_SHOWN]} of {owner} is in no ontology; {known_names(word, known, model.short)}"
    )


def _bad(text: str) -> Refusal:
    return Refusal("bad-event-graph", text)
