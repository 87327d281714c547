"""Class expressions of OWL and DAML+OIL, as far as a concept model can say them."""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from pyoxigraph import BlankNode, Literal, NamedNode

from tocsin.semantics.concepts.ontology_vocabulary import ANYTHING, LITERAL, OWL, RDF, RDFS, THING
from tocsin.semantics.interest.rdf_facts import Facts, Node, Term

FIRST, REST = NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest")
INTERSECTION, UNION, ONE_OF, COMPLEMENT = (
    NamedNode(f"{OWL}{word}") for word in ("intersectionOf", "unionOf", "oneOf", "complementOf")
)
ON_PROPERTY, HAS_VALUE, ON_DATATYPE = (NamedNode(f"{OWL}{word}") for word in ("onProperty", "hasValue", "onDatatype"))
FILLERS = tuple(NamedNode(f"{OWL}{word}") for word in ("allValuesFrom", "someValuesFrom", "onClass", "onDataRange"))
DATA_RANGES = (NamedNode(f"{RDFS}Datatype"), NamedNode(f"{OWL}DataRange"))


class Expressed(Struct):
    """What a class is below: named classes, restrictions, and those that it has nothing in common with."""

    parents: set[str]
    restrictions: list[BlankNode]
    disjoint: set[str]


def members(facts: Facts, lists: Iterable[Term]) -> Iterator[Term]:
    """Of RDF lists; one that leads back into itself ends there."""
    for each in lists:
        at: Term | None = each
        seen = set[Term]()
        while isinstance(at, NamedNode | BlankNode) and at not in seen:
            seen.add(at)
            yield from facts.all(at, FIRST)
            at = next(facts.all(at, REST), None)


def expressed(facts: Facts, starts: Iterable[Term]) -> Expressed:
    found = Expressed(set(), [], set())
    for node in _all_within(facts, starts, (INTERSECTION,), (ON_DATATYPE,)):
        if isinstance(node, NamedNode):
            found.parents.add(node.value)
        elif isinstance(node, BlankNode):
            if any(facts.all(node, ON_PROPERTY)):
                found.restrictions.append(node)
            if facts.is_a(node, *DATA_RANGES) and any(facts.all(node, ONE_OF)):
                found.parents.add(LITERAL)
            found.disjoint |= {each.value for each in facts.all(node, COMPLEMENT) if isinstance(each, NamedNode)}
    found.parents.discard(ANYTHING)
    return found


def alternatives(facts: Facts, starts: Iterable[Term]) -> set[str]:
    """The classes that are meant by a domain, a range or a restriction's filler; what cannot be said is any thing."""
    found = set[str]()
    for node in _all_within(facts, starts, (INTERSECTION, UNION), (ON_DATATYPE,)):
        if isinstance(node, NamedNode):
            found.add(node.value)
        elif isinstance(node, BlankNode) and any(facts.all(node, ONE_OF)):
            found |= {_class_of(each) for each in members(facts, facts.all(node, ONE_OF))}
        elif isinstance(node, BlankNode) and not any(facts.all(node, INTERSECTION, UNION, ON_DATATYPE)):
            found.add(LITERAL if facts.is_a(node, *DATA_RANGES) else THING)
    return found


def restricted(facts: Facts, node: BlankNode) -> Iterator[tuple[str, str]]:
    """The properties of a restriction with the classes of their values; numbers of values are not looked at."""
    values = facts.all(node, HAS_VALUE)
    objects = alternatives(facts, facts.all(node, *FILLERS)) | {
        value for each in values for value in _types(facts, each)
    }
    for name in facts.all(node, ON_PROPERTY):
        if isinstance(name, NamedNode):
            yield from ((name.value, each) for each in objects)


def _all_within(
    facts: Facts, starts: Iterable[Term], lists: tuple[NamedNode, ...], single: tuple[NamedNode, ...]
) -> Iterator[Term]:
    waiting, seen = list(starts), set[Term]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        if isinstance(node, BlankNode):
            waiting += [*members(facts, facts.all(node, *lists)), *facts.all(node, *single)]


def _types(facts: Facts, value: Term) -> set[str]:
    if isinstance(value, Literal):
        return {value.datatype.value}
    return {each.value for each in _stated_types(facts, value)} or {THING}


def _stated_types(facts: Facts, node: Node) -> Iterator[NamedNode]:
    for each in facts.all(node, NamedNode(f"{RDF}type")):
        if isinstance(each, NamedNode) and not each.value.startswith((RDF, RDFS, OWL)):
            yield each


def _class_of(value: Term) -> str:
    return value.datatype.value if isinstance(value, Literal) else THING
