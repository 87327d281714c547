"""Refuses graph patterns that no event allowed by the concept model could ever match.

A class that a pattern asks for may be above or below those of a meta-statement, or have a class below it in common with
them: an event may have that one. So an arc is refused only when, for all meta-statements of its property and of those
below it, no class asked of an end has anything in common with the class stated for it.

A vertex of an event may be of two classes that no class of the model is below, and one of them alone allows the
property. Who means such an event names both classes; nothing is lost by it, for the vertex must be of both.
"""

from collections.abc import Collection
from functools import reduce
from typing import NoReturn
from weakref import WeakKeyDictionary

from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.model.declarations import MetaStatement
from tocsin.model.refusal import Refusal, known_names
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.vocabulary import LITERAL, RDF, THING, XSD

_Names = tuple[str, ...]
_MOST_REMEMBERED, _MOST_CLASSES = 100_000, 16  # of what subscribers say: statements, and classes in one
_MOST_LISTED = 5
_LONGEST_SHOWN = 200
_POSSIBLE: WeakKeyDictionary[ConceptModel, set[tuple[_Names, str, _Names]]] = WeakKeyDictionary()


def check_query(query: GraphQuery, model: ConceptModel) -> None:
    """Each alternative must be possible, or it would stand there for nothing."""
    for pattern in query.alternatives:
        _check_pattern(pattern, model)
        for larger in pattern.optional:
            _check_pattern(larger, model)


def _check_pattern(pattern: GraphPattern, model: ConceptModel) -> None:
    subjects = {arc.source for arc in pattern.arcs}
    classes = [_classes(vertex, at in subjects, model) for at, vertex in enumerate(pattern.vertexes)]
    possible = _POSSIBLE.setdefault(model, set())
    for arc in pattern.arcs:
        said = classes[arc.source], arc.property, classes[arc.target]
        if said not in possible:
            _check_arc(arc, pattern, said, model)
            if len(possible) < _MOST_REMEMBERED and len(said[0]) + len(said[2]) <= _MOST_CLASSES:
                possible.add(said)
    _check_shared(pattern, classes, model)


def _classes(vertex: PatternVertex, is_subject: bool, model: ConceptModel) -> _Names:
    """Those asked for, or what the vertex must be without any; refuses what no vertex can be."""
    for each in vertex.classes:
        if not model.has_class(each):
            raise _unknown("class", each, vertex.name, model.own_classes, model)
    datatypes = [each for each in vertex.classes if model.is_datatype(each)]
    literal = _literal_type(vertex)
    if is_subject and datatypes:
        raise _bad(
            f"{_shown(vertex.name)} has properties, and {model.short(datatypes[0])} is a datatype: make it a thing"
        )
    if (vertex.tests or datatypes or literal) and len(datatypes) < len(vertex.classes):
        _refuse_thing(vertex, model)
    if datatypes:
        _check_datatypes(vertex, datatypes, literal, model)
    if literal:
        return (literal,) if model.is_datatype(literal) else (LITERAL,)
    return vertex.classes or ((LITERAL,) if vertex.tests else (THING,) if is_subject or vertex.constant else ())


def _literal_type(vertex: PatternVertex) -> str:
    """The datatype of a constant that is a literal."""
    term = vertex.constant or ""
    if not term.startswith('"'):
        return ""
    after = term[term.rindex('"') + 1 :]
    return after[3:-1] if after.startswith("^^") else f"{RDF}langString" if after else f"{XSD}string"


def _refuse_thing(vertex: PatternVertex, model: ConceptModel) -> NoReturn:
    thing = next(each for each in vertex.classes if not model.is_datatype(each))
    what = "a filter asks literals" if vertex.tests else "it is a literal"
    raise _bad(
        f"{_shown(vertex.name)}: {what}, and {model.short(thing)} is no datatype; test a literal that it has instead"
    )


def _check_datatypes(vertex: PatternVertex, datatypes: list[str], literal: str, model: ConceptModel) -> None:
    """A literal has one datatype, which must be below all that are asked for."""
    if literal and model.is_datatype(literal):
        fits = model.classes_above(literal).issuperset(datatypes)
    else:
        fits = bool(reduce(frozenset.intersection, map(model.classes_below, datatypes)))
    if not fits:
        listed = " and ".join(map(model.short, datatypes))
        raise _bad(f"{_shown(vertex.name)}: no literal can be of {listed}{' as written' if literal else ' at once'}")


def _check_shared(pattern: GraphPattern, classes: list[_Names], model: ConceptModel) -> None:
    """A datatype of an ontology is not known when a pattern is read, where literals become vertexes of their own."""
    seen: set[int] = set()
    for arc in pattern.arcs:
        if arc.target in seen and any(map(model.is_datatype, classes[arc.target])):
            name = _shown(pattern.vertexes[arc.target].name)
            raise _bad(
                f"{name} is a literal at two arcs: write another variable for one, for literals are never shared"
            )
        seen.add(arc.target)


def _check_arc(arc: PatternArc, pattern: GraphPattern, said: tuple[_Names, str, _Names], model: ConceptModel) -> None:
    source, target = pattern.vertexes[arc.source].name, pattern.vertexes[arc.target].name
    if not model.has_property(arc.property):
        raise _unknown("property", arc.property, source, model.own_properties, model)
    if not model.could_hold(*said):
        subject, object_ = (" and ".join(map(model.short, names)) or "anything" for names in (said[0], said[2]))
        asked = f"({_shown(source)}, {_shown(target)}, ({subject}, {model.short(arc.property)}, {object_}))"
        raise _bad(f"nothing could ever match {asked}; the ontologies allow {_allowed(arc.property, model)}")


def _allowed(name: str, model: ConceptModel) -> str:
    stated = [each for below in sorted(model.properties_below(name)) for each in model.statements_of(below)]
    listed = ", ".join(f"({_triple(each, model)})" for each in stated[:_MOST_LISTED]) or "nothing of it"
    return f"{listed} and {len(stated) - _MOST_LISTED} more" if len(stated) > _MOST_LISTED else listed


def _triple(each: MetaStatement, model: ConceptModel) -> str:
    return ", ".join(map(model.short, (each.subject, each.property, each.object)))


def _unknown(what: str, iri: str, name: str, known: Collection[str], model: ConceptModel) -> Refusal:
    word = model.short(iri)
    there = known_names(word, known, model.short)
    return _bad(f"the {what} {_shown(word)} of {_shown(name)} is in no ontology; {there}")


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _bad(text: str) -> Refusal:
    return Refusal("bad-filter", text)
