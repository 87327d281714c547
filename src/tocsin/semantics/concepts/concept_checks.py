"""Checks that ontologies do not contradict each other; a refusal names the term."""

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from graphlib import CycleError, TopologicalSorter
from typing import Protocol

from tocsin.model.declarations import MetaStatement
from tocsin.model.refusal import Refusal, known_names
from tocsin.semantics.concepts.vocabulary import (
    DATATYPE_PROPERTY,
    LITERAL,
    LITERAL_NAMES,
    OBJECT_PROPERTY,
    THING,
    THING_NAMES,
)

Hierarchy = Mapping[str, tuple[str, ...]]
Ends = Mapping[str, tuple[tuple[str, str], ...]]
Short = Callable[[str], str]
DEEPEST = 200  # levels: an event of many deep classes would be checked for long
MOST_SHOWN = 10  # of a way round
_TOPS = THING_NAMES | LITERAL_NAMES


class Concepts(Protocol):
    @property
    def individuals(self) -> Collection[str]: ...
    def short(self, iri: str) -> str: ...
    def is_datatype(self, iri: str) -> bool: ...
    def classes_of(self, individual: str) -> tuple[str, ...]: ...
    def classes_above(self, iri: str) -> frozenset[str]: ...
    def classes_below(self, iri: str) -> frozenset[str]: ...
    def properties_above(self, iri: str) -> frozenset[str]: ...


def check_defined(
    classes: Hierarchy, properties: Hierarchy, individuals: Hierarchy, statements: Iterable[MetaStatement], short: Short
) -> None:
    for hierarchy, kind, known, how in (
        (classes, "class", classes.keys() | _TOPS, "is under it"),
        (properties, "property", properties.keys(), "is under it"),
        (individuals, "class", classes.keys() | _TOPS, "is one"),
    ):
        for name, parents in hierarchy.items():
            for each in parents:
                if each not in known:
                    raise _undefined(kind, each, known, f"{short(name)} {how}", short)
    _check_statements(classes.keys() | _TOPS, properties.keys(), sorted(statements), short)


def parents_first(kind: str, parents: Hierarchy, short: Short) -> list[str]:
    try:
        ordered = list(TopologicalSorter(parents).static_order())
    except CycleError as problem:
        way = list(map(short, reversed(problem.args[1])))
        shown = " under ".join(way if len(way) <= MOST_SHOWN else [*way[:MOST_SHOWN], "...", way[-1]])
        raise Refusal(
            "bad-ontology", f"{way[0]} is above itself: {shown}. A {kind} cannot be; take one step out (OPS s3.2)"
        ) from None
    depths: dict[str, int] = {}
    for name in ordered:
        depths[name] = 1 + max((depths[each] for each in parents.get(name, ())), default=0)
        if depths[name] > DEEPEST:
            raise Refusal("bad-ontology", f"the {kind} {short(name)} is {DEEPEST} levels down; take levels out")
    return ordered


def datatypes(ordered: Iterable[str], classes: Hierarchy, short: Short) -> frozenset[str]:
    """The classes whose members are literals; no class has literals and things."""
    literal: dict[str, bool] = dict.fromkeys(LITERAL_NAMES, True)
    for name in ordered:
        kinds = {literal.setdefault(each, False): each for each in classes.get(name, ())}
        if len(kinds) > 1:
            raise Refusal(
                "bad-ontology",
                f"{short(name)} is under {short(kinds[True])}, a datatype, and under {short(kinds[False])}, a class of"
                " things; nothing can be both: keep one",
            )
        literal.setdefault(name, True in kinds)
    return frozenset(name for name, is_literal in literal.items() if is_literal and name in classes)


def check_values(model: Concepts, properties: Hierarchy, ends: Ends) -> None:
    """Several ranges are alternatives; but no value of a property is a literal for one class and a thing for another
    that is the same or above it, and it is of the kind that the property has."""
    for name, pairs in ends.items():
        for subject, object_ in pairs:
            if model.is_datatype(subject):
                raise Refusal(
                    "bad-ontology",
                    f"the domain of {model.short(name)} is {model.short(subject)}, a datatype; literals have no"
                    " properties: name a class of things",
                )
            _check_kind(model, name, object_)
        _check_unmixed(model, name, {*pairs, *(pair for above in properties[name] for pair in ends[above])})


def check_disjoint(model: Concepts, pairs: Iterable[tuple[str, str]]) -> None:
    below: dict[str, frozenset[str]] = {}
    pairs = list(pairs)
    members = _members(model, {each for pair in pairs for each in pair})
    for one, other in pairs:
        for each in (one, other):
            below.setdefault(each, model.classes_below(each) | members.get(each, set()))
        if shared := below[one] & below[other]:
            raise Refusal(
                "bad-ontology",
                f"{model.short(min(shared))} is a {model.short(one)} and a {model.short(other)}, which are disjoint;"
                " keep one of the three statements out",
            )


def _check_statements(
    classes: Set[str], properties: Set[str], statements: Iterable[MetaStatement], short: Short
) -> None:
    for said in statements:
        if said.property not in properties:
            why = f"a restriction of {short(said.subject)} is on it"
            raise _undefined("property", said.property, properties, why, short)
        for term, what in ((said.subject, "domain"), (said.object, "range")):
            if term not in classes:
                raise _undefined("class", term, classes, f"it is the {what} of {short(said.property)}", short)


def _undefined(kind: str, term: str, known: Set[str], why: str, short: Short) -> Refusal:
    names = known_names(short(term), sorted(map(short, known)))
    return Refusal("bad-ontology", f"the {kind} {short(term)} is not defined in any ontology, but {why}; {names}")


def _check_kind(model: Concepts, name: str, object_: str) -> None:
    wrong, kind = (
        (OBJECT_PROPERTY, "a datatype") if model.is_datatype(object_) else (DATATYPE_PROPERTY, "a class of things")
    )
    if wrong in model.properties_above(name):
        declared = "an owl:ObjectProperty" if wrong == OBJECT_PROPERTY else "an owl:DatatypeProperty"
        raise Refusal(
            "bad-ontology", f"{model.short(name)} is {declared}, but its range {model.short(object_)} is {kind}"
        )


def _check_unmixed(model: Concepts, name: str, pairs: Collection[tuple[str, str]]) -> None:
    literals = {subject: object_ for subject, object_ in sorted(pairs) if model.is_datatype(object_)}
    things = {subject: object_ for subject, object_ in sorted(pairs) if not model.is_datatype(object_)}
    if not (literals and things):
        return
    # Who states no range permits everything, and says nothing that others could contradict.
    unstated = {subject for subject, object_ in pairs if object_ == THING and (subject, LITERAL) in pairs}
    for one, other in ((literals, things), (things, literals)):
        for subject in sorted(one.keys() - unstated):
            for above in sorted(model.classes_above(subject) & other.keys() - unstated):
                raise _mixed(model, name, subject, one[subject], other[above])


def _mixed(model: Concepts, name: str, subject: str, one: str, other: str) -> Refusal:
    literal, thing = (one, other) if model.is_datatype(one) else (other, one)
    return Refusal(
        "bad-ontology",
        f"the range of {model.short(name)} is {model.short(literal)}, a datatype, and {model.short(thing)}, a class of"
        f" things, both for {model.short(subject)}; no value can be both: keep one, or make it two properties",
    )


def _members(model: Concepts, of: set[str]) -> dict[str, set[str]]:
    made: dict[str, set[str]] = {}
    if of:
        for individual in model.individuals:
            for each in model.classes_of(individual):
                for above in model.classes_above(each) & of:
                    made.setdefault(above, set()).add(individual)
    return made
