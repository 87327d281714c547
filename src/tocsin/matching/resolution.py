"""Resolves the names in filters (spaces, prefixes, classes) against the catalogue, and writes boxes back as text."""

from collections.abc import Iterable

from msgspec.structs import replace

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.mediation.expressions import BoxAsSaid
from tocsin.model.content_topic import parse_box, write_box
from tocsin.model.filters import Content, Filter, Graph, InBox, leaves, rewritten
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form, Subscription
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.pattern_checks import check_query

SHOWN = 5


def resolve(filters: Iterable[Filter], catalogue: Catalogue) -> tuple[Filter, ...]:
    """Types and producers may be declared later, or never; a box means nothing without its space, and a graph pattern
    nothing without its classes and properties."""
    return rewritten(filters, lambda each: _resolved(each, catalogue))


def check_envelopes(filters: Iterable[Filter], form: Form) -> None:
    """What is asked of an envelope could never match where none is sent."""
    of_envelope = (isinstance(each, Content) and each.over == "envelope" for each in leaves(filters))
    if form.soap is None and any(of_envelope):
        raise Refusal("bad-filter", "only SOAP subscribers are sent an envelope; ask of the payload")


def _resolved(asked: Filter, catalogue: Catalogue) -> Filter:
    match asked:
        case BoxAsSaid():
            return _box(asked, catalogue)
        case Graph():
            return _graph(asked, catalogue.concepts)
    return asked


def as_said(subscription: Subscription, catalogue: Catalogue) -> Subscription:
    """The way back: with boxes in words, for which their spaces are needed."""
    if not any(isinstance(each, InBox) for each in leaves(subscription.filters)):
        return subscription
    return replace(subscription, filters=rewritten(subscription.filters, lambda each: _said(each, catalogue)))


def _said(asked: Filter, catalogue: Catalogue) -> Filter:
    match asked:
        case InBox(name, sides) if (space := catalogue.spaces.get(name)) is not None:
            return BoxAsSaid(name, sides, write_box(asked, space))
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
