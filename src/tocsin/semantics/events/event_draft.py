"""Statements become an event graph: the restrictions of OPS s3.1."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from tocsin.model.refusal import Refusal
from tocsin.semantics.events.event_graph import HOME, Arc, EventGraph, Vertex
from tocsin.semantics.events.rdf_lines import Statement
from tocsin.semantics.interest.ino_vocabulary import OWL, RDF, XSD

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
