"""Filters as they were said become filters: what they name is looked up among what was declared."""

from collections.abc import Iterable

from msgspec.structs import replace

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.mediation.expressions import BoxAsSaid
from tocsin.model.content_topic import parse_box, write_box
from tocsin.model.filters import AllOf, AnyOf, Content, Filter, Graph, InBox, Not
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form, Subscription
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.pattern_checks import check_query

SHOWN = 5


def resolve(filters: Iterable[Filter], catalogue: Catalogue) -> tuple[Filter, ...]:
    """Types and producers may be declared later, or never; a box means nothing without its space, and a graph pattern
    nothing without its classes and properties."""
    return tuple(_resolved(each, catalogue) for each in filters)


def check_envelopes(filters: Iterable[Filter], form: Form) -> None:
    """What is asked of an envelope could never match where none is sent."""
    if form.soap is None and any(map(_is_of_envelope, filters)):
        raise Refusal("bad-filter", "only SOAP subscribers are sent an envelope; ask of the payload")


def _is_of_envelope(asked: Filter) -> bool:
    match asked:
        case Content(over="envelope"):
            return True
        case AllOf(filters) | AnyOf(filters):
            return any(map(_is_of_envelope, filters))
        case Not(negated):
            return _is_of_envelope(negated)
    return False


def _resolved(asked: Filter, catalogue: Catalogue) -> Filter:
    match asked:
        case BoxAsSaid():
            return _box(asked, catalogue)
        case Graph():
            return _graph(asked, catalogue.concepts)
        case AllOf(filters):
            return AllOf(resolve(filters, catalogue))
        case AnyOf(filters):
            return AnyOf(resolve(filters, catalogue))
        case Not(negated):
            return Not(_resolved(negated, catalogue))
    return asked


def as_said(subscription: Subscription, catalogue: Catalogue) -> Subscription:
    """The way back: with boxes in words, for which their spaces are needed."""
    if not any(map(_has_box, subscription.filters)):
        return subscription
    return replace(subscription, filters=tuple(_said(each, catalogue) for each in subscription.filters))


def _has_box(asked: Filter) -> bool:
    match asked:
        case InBox():
            return True
        case AllOf(filters) | AnyOf(filters):
            return any(map(_has_box, filters))
        case Not(negated):
            return _has_box(negated)
    return False


def _said(asked: Filter, catalogue: Catalogue) -> Filter:
    match asked:
        case InBox(name, sides) if (space := catalogue.spaces.get(name)) is not None:
            return BoxAsSaid(name, sides, write_box(asked, space))
        case AllOf(filters):
            return AllOf(tuple(_said(each, catalogue) for each in filters))
        case AnyOf(filters):
            return AnyOf(tuple(_said(each, catalogue) for each in filters))
        case Not(negated):
            return Not(_said(negated, catalogue))
    return asked


def _box(asked: BoxAsSaid, catalogue: Catalogue) -> InBox:
    space = catalogue.spaces.get(asked.space)
    if space is None:
        names = sorted(catalogue.spaces)
        listed = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "") or "none"
        how = "declare it with PUT /api/spaces/{name}, or `tocsin spaces declare`"
        raise Refusal(
            "unknown-topic", f"there is no information space {asked.space[:80]!r}; declared are {listed}; {how}"
        )
    return parse_box(asked.text, space)


def _graph(asked: Graph, model: ConceptModel) -> Graph:
    """With the prefixes that it needs: its meaning does not change when ontologies do."""
    known = {**model.prefixes, **dict(asked.prefixes)}
    named = {prefix: known[prefix] for prefix in sorted(known) if prefix and f"{prefix}:" in asked.text}
    found = replace(asked, prefixes=tuple(named.items()))
    if "" in known and not _reads(found):
        found = replace(asked, prefixes=(("", known[""]), *named.items()))
    try:
        check_query(query_of(found), model)
    except ExpressionError as problem:
        language = "graph pattern" if asked.language == "pattern" else "SPARQL graph pattern"
        raise Refusal("bad-filter", f"this is no {language}: {problem}") from None
    return found


def _reads(asked: Graph) -> bool:
    try:
        query_of(asked)
    except ExpressionError:
        return False
    return True
