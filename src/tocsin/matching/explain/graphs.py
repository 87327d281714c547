"""Explains graph patterns: the vertexes they matched, or how far a match got and what was missing."""

from typing import assert_never

from tocsin.markup.graphs.graph_pattern import HOME
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.evidence import Evidence
from tocsin.matching.explain.explanation import Part, leaf
from tocsin.matching.explain.wording import Short, filter_text, listed, term_text, test_text, vertex_text
from tocsin.matching.graphs.partial_match import (
    FailedTest,
    NoArc,
    NoClass,
    OtherTerm,
    PartialMatch,
    Reason,
    Unequal,
    Used,
    furthest_match,
)
from tocsin.matching.graphs.search import Bindings, budget_for, find
from tocsin.matching.judge import Undecided
from tocsin.model.filters import Graph
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

LOOKS = 5_000  # at vertexes, to say how far a pattern gets


def graph_part(evidence: Evidence, asked: Graph) -> Part:
    what, event = filter_text(asked), evidence.graph
    try:
        evidence.has(asked)
        if event is None:
            return Part(what, "does not apply", evidence.no_graph)
        query, model = query_of(asked), evidence.catalogue.concepts
        found = find(query, event, model, budget_for(query))
    except Undecided as problem:
        return Part(what, "undecided", f"it could not be evaluated: {problem}")
    if found is not None:
        return leaf(what, True, found_text(found, event, model))
    reached = furthest_match(query, event, model, LOOKS // len(query.alternatives))
    return leaf(what, False, partial_match_text(reached, event, model))


def found_text(found: Bindings, event: EventGraph, model: ConceptModel) -> str:
    pairs = dict(enumerate(found.mapping))
    return f"the event graph has it: {_mapping_text(PartialMatch(found.pattern, pairs), event, model.short)}"


def partial_match_text(found: PartialMatch, event: EventGraph, model: ConceptModel) -> str:
    reasons = listed((reason_text(each, model.short) for each in found.reasons), most=3)
    more = "" if found.complete else "; there may be more, the search was cut short"
    if found.failed is None or not found.mapping:
        return f"{reasons}{more}"
    asked = found.pattern.vertexes[found.failed].name
    return f"{_mapping_text(found, event, model.short)}, but nothing will do for {_name(asked)}: {reasons}{more}"


def _mapping_text(found: PartialMatch, event: EventGraph, short: Short) -> str:
    """What variables stand for; constants stand for themselves."""
    pairs = ((found.pattern.vertexes[asked], event.vertexes[at]) for asked, at in found.mapping.items())
    shown = (
        f"{_name(asked.name)} is {vertex_text(vertex, short)}" for asked, vertex in pairs if asked.constant is None
    )
    return listed(shown, most=10)


def _name(name: str) -> str:
    return "home" if name == HOME else name


def reason_text(reason: Reason, short: Short) -> str:
    match reason:
        case NoArc(source, property_, target):
            return f"no {short(property_)} leads from {_name(source)}{'' if target is None else f' to {_name(target)}'}"
        case NoClass(term, asked, classes):
            return f"{term_text(term, short)} is a {' and a '.join(map(short, classes))}, not a {short(asked)}"
        case OtherTerm(term, asked):
            return f"{term_text(term, short)} is not {term_text(asked, short)}"
        case FailedTest(term, test):
            return f"{term_text(term, short)} is not {test_text(test)}"
        case Unequal(term, to):
            return f"{term_text(term, short)} does not equal what {_name(to)} is"
        case Used(term, by):
            return f"{term_text(term, short)} is what {_name(by)} stands for already"
        case _:
            assert_never(reason)
