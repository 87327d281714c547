"""Explains filters of the payload: of content, the values at their paths and the comparison that decided; of graph
patterns, the vertexes they matched, or how far a match got and what was missing."""

from typing import assert_never

from tocsin.markup.cesql_terms import EvaluationError, Term, names_in, value_of
from tocsin.markup.conditions import (
    Attribute,
    Compare,
    Computed,
    Condition,
    Constant,
    Every,
    Exists,
    ExpressionError,
    JsonPath,
    Negated,
    Path,
    Some,
    XmlPath,
)
from tocsin.markup.content import Values, ValuesAt, compares, condition_of, holds, number
from tocsin.markup.graphs.graph_pattern import HOME
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.evidence import Evidence
from tocsin.matching.explain.explanation import Composer, Part, PartBudget, leaf
from tocsin.matching.explain.wording import (
    Prefixes,
    Short,
    condition_text,
    constant_text,
    filter_text,
    listed,
    path_text,
    term_text,
    test_text,
    vertex_text,
)
from tocsin.matching.filters import document_for, values_for
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
from tocsin.model.filters import Content, Graph
from tocsin.model.subscription import Subscription
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

_ASKED_OF = {"xpath": "XML", "items": "XML", "jsonpath": "JSON"}
_OVER = {
    "payload": "the payload",
    "envelope": "the message as it would be delivered",
    "attributes": "its attributes",
    "producer": "what its producer declared",
}


def content_part(evidence: Evidence, asked: Content, subscription: Subscription, room: PartBudget) -> Part:
    what = filter_text(asked)
    try:
        condition = condition_of(asked)
        if condition is None:
            document = document_for(evidence, asked, subscription)
            if document is None:
                return _inapplicable(evidence, asked, what)
            is_so = evidence.judged(asked, document)
            return leaf(what, is_so, f"it {'holds' if is_so else 'does not hold'} of {_OVER[asked.over]}")
        values = values_for(evidence, asked, subscription)
        if values is None:
            return _inapplicable(evidence, asked, what)
        prefixes = {uri: prefix for prefix, uri in asked.namespaces}
        return _Conditions(values, prefixes, room).part(condition, what)
    except (ExpressionError, Undecided) as problem:
        return Part(what, "undecided", f"it could not be evaluated: {problem}")


def _inapplicable(evidence: Evidence, asked: Content, what: str) -> Part:
    return Part(what, "does not apply", _why_inapplicable(evidence, asked))


def _why_inapplicable(evidence: Evidence, asked: Content) -> str:
    match asked.over:
        case "producer":
            address = evidence.notification.producer
            if evidence.producer is None:
                return f"nothing is declared of the producer {address!r}" if address else "it names no producer"
            kind = "description" if asked.language == "sparql" else "properties"
            return f"the producer {address!r} is declared without {kind}"
        case "envelope":
            return "as it would be delivered it is not XML"
    media_type, kind = evidence.notification.payload.media_type, _ASKED_OF.get(asked.language, "something else")
    if kind.lower() in media_type:
        return f"the payload is {media_type}, but cannot be read as {kind}"
    return f"the payload is {media_type or 'of no known kind'}, and this is asked of {kind}"


class _Conditions:
    def __init__(self, values: ValuesAt, prefixes: Prefixes, room: PartBudget) -> None:
        self._values, self._prefixes = values, prefixes
        self._telling = Composer[Condition](room, self.part, lambda each: "yes" if holds(each, values) else "no")

    def part(self, condition: Condition, what: str = "") -> Part:
        """`what` has it as it was written, which need not be put together again."""
        what = what or condition_text(condition, self._prefixes)
        match condition:
            case Compare():
                return self._compare(condition, what)
            case Exists(path):
                found, place = self._values(path), path_text(path, self._prefixes)
                return leaf(what, bool(found), f"{place} is there" if found else _nothing_at(path, place))
            case Every(conditions):
                return self._telling.all_of(what, conditions)
            case Some(conditions):
                return self._telling.any_of(what, conditions)
            case Negated(negated):
                return self._telling.negation(what, negated)
            case Computed(term):
                return leaf(what, holds(condition, self._values), _computed(term, self._values))
            case _:
                assert_never(condition)

    def _compare(self, asked: Compare, what: str) -> Part:
        path, found, place = asked.path, self._values(asked.path), path_text(asked.path, self._prefixes)
        held = next((each for each in found if compares(path, each, asked.how, asked.value)), _NONE)
        if held is not _NONE:
            return leaf(what, True, f"{place} is {_shown(path, held)}")
        return leaf(what, False, _uncompared(path, place, found, asked.how, asked.value))


_NONE = object()


def _computed(term: Term, values: ValuesAt) -> str:
    """An error passes no filter (CloudEvents SQL s1.2), and is the reason then."""
    found = {name: values(Attribute(name)) for name in names_in(term)}
    told = {name: str(each[0]) for name, each in found.items() if each}
    try:
        value_of(term, told.get)
    except EvaluationError as problem:
        return f"it fails: {problem}"
    shown = (
        f"{name} is {constant_text(told[name])}" if name in told else _nothing_at(Attribute(name), name)
        for name in found
    )
    return listed(shown) or "it is about no attribute"


def _uncompared(path: Path, place: str, found: Values, how: str, constant: Constant) -> str:
    if not found:
        return _nothing_at(path, place)
    shown, asked = listed(_shown(path, each) for each in found), constant_text(constant)
    if how == "=":
        return f"{place} is {shown}, {'not' if len(found) == 1 else 'never'} {asked}"
    if how == "!=":
        return f"{place} is {shown}, and nothing else"
    if all(_incomparable(path, each, constant) for each in found):
        return f"{place} is {shown}, which cannot be compared with {asked}"
    return f"{place} is {shown}, which is not {how} {asked}"


def _incomparable(path: Path, value: Constant, constant: Constant) -> bool:
    """What is ordered is of one kind; XPath compares numbers only (XPath 1.0 s3.4)."""
    if isinstance(path, XmlPath):
        return number(value) != number(value)
    return not any(compares(path, value, how, constant) for how in ("<", "<=", ">", ">="))


def _shown(path: Path, value: object) -> str:
    assert value is None or isinstance(value, str | float | bool)
    if isinstance(path, JsonPath) and value != value:
        return "an object or an array"
    return constant_text(value)


def _nothing_at(path: Path, place: str) -> str:
    return f"it has no attribute {place}" if isinstance(path, Attribute) else f"nothing stands at {place}"


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
