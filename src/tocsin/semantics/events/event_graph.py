"""Event graphs (OPS s3.1): made from statements, checked against the concept model, literals as values."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import NoReturn
from weakref import WeakKeyDictionary

from msgspec import Struct

from tocsin.markup.graphs.literals import LANG_STRING, XSD_STRING, Kind, Value, literal_value
from tocsin.model.declarations import MetaStatement
from tocsin.model.refusal import Refusal, known_names
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.interest.ino_vocabulary import OWL, RDF, XSD
from tocsin.semantics.rdf import Statement

HOME = "_:H"


class Vertex(Struct, frozen=True, gc=False):
    """A thing or a literal. `term` is as N-Triples has it: `_:H`, `<iri>`, `"450"^^<datatype>`.

    `classes` are those that are stated (IRIs), those of an ontology's individual included; of a literal it is the
    datatype. A literal has its lexical form, and is a vertex of its own at each arc.
    """

    term: str
    classes: tuple[str, ...]
    lexical: str | None = None
    language: str = ""


class Arc(Struct, frozen=True, array_like=True, gc=False):
    source: int
    property: str
    target: int


class EventGraph(Struct, frozen=True):
    """Vertex 0 is home, and there are paths from it to all others."""

    vertexes: tuple[Vertex, ...]
    arcs: tuple[Arc, ...]


def value_of(vertex: Vertex) -> Value:
    """A thing, and a literal whose lexical form its datatype does not have, are equal to themselves alone."""
    if vertex.lexical is None:
        return Value(Kind.OTHER, text=vertex.term)
    datatype = vertex.classes[0] if vertex.classes else XSD_STRING
    return literal_value(vertex.lexical, LANG_STRING if vertex.language else datatype, vertex.language)


MOST_VERTEXES = 20_000
MOST_ARCS = 100_000
MOST_CLASSES = 100  # of a vertex
TYPE = f"<{RDF}type>"
THING = f"{OWL}Thing"
Classes = Callable[[str], Sequence[str]]  # of an individual that an ontology names
_Stated = dict[str, list[str]]
_Out = dict[str, list[Statement]]
_MOST_NAMED = 5
_REMEMBERED, _LONGEST_REMEMBERED = 1 << 13, 256
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-F]{4})|(.))", re.DOTALL)
_LITERAL = re.compile(r'"(.*)"(?:@([a-z0-9]+(?:-[a-z0-9]+)*)|\^\^<([^>]*)>)?', re.DOTALL)


def graph_of(statements: Iterable[Statement], individual: Classes, home: str = "") -> EventGraph:
    """Vertexes stand in the order in which they are reached, so that the same statements give the same graph.

    A graph is a set: what is said twice is said once.
    """
    stated: _Stated = {}
    out: _Out = {}
    for each in dict.fromkeys(statements):
        if each[1] == TYPE:
            stated.setdefault(each[0], []).append(each[2])
        else:
            out.setdefault(each[0], []).append(each)
    order, arcs, things = _reached(home or _home(stated, out), out)
    if not (out.keys() <= things.keys() and stated.keys() <= things.keys()):
        lost = [term for term in dict.fromkeys((*out, *stated)) if term not in things]
        raise _bad(f"no path leads from the home vertex {order[0]} to {_listed(lost)}; each vertex needs one")
    return EventGraph(tuple([_vertex(term, stated.get(term, ()), individual) for term in order]), tuple(arcs))


def _home(stated: _Stated, out: _Out) -> str:
    """Labelled, or the only one to which no arc leads."""
    if HOME in stated or HOME in out:
        return HOME
    entered = {target for said in out.values() for _, _, target in said}
    found = [term for term in dict.fromkeys((*out, *stated)) if term not in entered]
    if len(found) == 1:
        return found[0]
    if not found:
        raise _bad(f"no vertex is the home vertex: call it {HOME}" if out or stated else "the graph is empty")
    raise _bad(f"{_listed(found)} might all be the home vertex, as no arc leads to them; call the one that is {HOME}")


def _reached(home: str, out: _Out) -> tuple[list[str], list[Arc], dict[str, int]]:
    """From home, breadth first; each literal is a vertex of its own."""
    order, numbers, arcs = [home], {home: 0}, list[Arc]()
    for source, term in enumerate(order):
        for _, name, target in out.get(term, ()):
            number = numbers.get(target)
            if number is None:
                number = len(order)
                order.append(target)
                if target[0] != '"':
                    numbers[target] = number
            arcs.append(Arc(source, _known_name(name) if len(name) <= _LONGEST_REMEMBERED else name[1:-1], number))
    _check_sizes(len(order), len(arcs))
    return order, arcs, numbers


def _check_sizes(vertexes: int, arcs: int) -> None:
    if vertexes > MOST_VERTEXES:
        raise Refusal("too-large", f"the event graph has {vertexes:,} vertexes; at most {MOST_VERTEXES:,} are taken")
    if arcs > MOST_ARCS:
        raise Refusal("too-large", f"the event graph has {arcs:,} arcs; at most {MOST_ARCS:,} are taken")


def _vertex(term: str, stated: Sequence[str], individual: Classes) -> Vertex:
    if term[0] == '"':
        return _known_literal(term) if len(term) <= _LONGEST_REMEMBERED else literal(term)
    if term[0] == "_" and len(stated) == 1 and len(stated[0]) <= _LONGEST_REMEMBERED and stated[0][0] == "<":
        return Vertex(term, _known_class(stated[0]))
    if term[0] == "_" and not stated:
        raise _bad(f"no class is stated of the vertex {term[:200]}; say `{term[:200]} rdf:type` and its class")
    if len(stated) > MOST_CLASSES:
        raise _bad(f"the vertex {term[:200]} has {len(stated):,} classes; at most {MOST_CLASSES} are taken")
    for each in stated:
        if each[0] != "<":
            raise _bad(f"the class of the vertex {term[:200]} is {each[:200]}; a class is an IRI")
    named = (*(each[1:-1] for each in stated), *(individual(term[1:-1]) if term[0] == "<" else ()))
    return Vertex(term, tuple(dict.fromkeys(named)) or (THING,))


def literal(term: str) -> Vertex:
    """Of a term in its canonical form."""
    found = _LITERAL.fullmatch(term)
    if found is None:
        raise _bad(f"{term[:200]} is no literal; one without a base direction is expected")
    text, language, datatype = found.groups()
    if "\\" in text:
        text = _ESCAPE.sub(lambda each: chr(int(each[1], 16)) if each[1] else _ESCAPES[each[2]], text)
    if language:
        return Vertex(term, (f"{RDF}langString",), text, language)
    return Vertex(term, (datatype or f"{XSD}string",), text)


# The same come again and again, and a string that is kept has its hash; long ones are not worth keeping.
_known_literal = lru_cache(_REMEMBERED)(literal)
_known_name = lru_cache(_REMEMBERED)(lambda term: term[1:-1])
_known_class = lru_cache(_REMEMBERED)(lambda term: (term[1:-1],))


def _listed(terms: list[str]) -> str:
    more = len(terms) - _MOST_NAMED
    return ", ".join(term[:200] for term in terms[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _bad(text: str) -> Refusal:
    return Refusal("bad-event-graph", text)


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
