"""Deliveries of semantic subscribers: the event graph in place of the payload, and the bindings of variables."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import cast

import msgspec
from msgspec.structs import replace

from tocsin.flow.thin import as_event
from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.matching.graphs.search import budget_for, find
from tocsin.matching.judge import Undecided
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.graph_forms import BINDINGS, SYNTAXES
from tocsin.model.filters import AllOf, AnyOf, Filter, Graph
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Form, Subscription
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_documents import Syntax, write_event
from tocsin.semantics.events.event_graph import EventGraph


def with_meaning(notification: Notification, subscription: Subscription, catalogue: Catalogue) -> Notification:
    """As its subscriber wants it; what has no event graph goes out as it was published."""
    form, event = subscription.form, Evidence(notification, catalogue).graph
    told = notification
    if form.bindings:
        told = _with_bindings(told, form, _bindings(subscription.filters, event, catalogue.concepts))
    if form.graph and event is not None:
        write = _write_small if len(event.vertexes) <= FEW else _write_large
        told = replace(told, payload=Payload(SYNTAXES[form.graph], write(event, form.graph, catalogue.concepts)))
    return told


def _written(event: EventGraph, syntax: str, model: ConceptModel) -> bytes:
    return write_event(event, cast(Syntax, syntax), _used(model.prefixes, event))


FEW = 64  # vertexes
_write_small, _write_large = lru_cache(512)(_written), lru_cache(8)(_written)  # many may want the same


def _used(prefixes: Mapping[str, str], event: EventGraph) -> dict[str, str]:
    iris = {each.property for each in event.arcs}.union(*(each.classes for each in event.vertexes))
    iris |= {each.term[1:-1] for each in event.vertexes if each.term.startswith("<")}
    return {prefix: space for prefix, space in prefixes.items() if any(iri.startswith(space) for iri in iris)}


def _bindings(filters: Iterable[Filter], event: EventGraph | None, model: ConceptModel) -> dict[str, str]:
    """Of all its patterns; where two have a variable of one name, the first counts."""
    found: dict[str, str] = {}
    if event is None:
        return found
    for asked in _graphs(filters):
        try:
            query = query_of(asked)
            there = find(query, event, model, budget_for(query))
        except (Undecided, ExpressionError):
            continue
        found = (there.terms | found) if there is not None else found
    return found


def _graphs(filters: Iterable[Filter]) -> Iterator[Graph]:
    """What is denied binds nothing."""
    for each in filters:
        match each:
            case Graph():
                yield each
            case AllOf(inner) | AnyOf(inner):
                yield from _graphs(inner)


def _with_bindings(told: Notification, form: Form, bindings: dict[str, str]) -> Notification:
    """An attribute, which SOAP writes as a header of its own; whatever a publisher called so is not ours to tell."""
    if form.dialect == cloudevents.NAME:
        told = as_event(told)
    attributes = {name: value for name, value in told.attributes if name != BINDINGS}
    if bindings:
        attributes[BINDINGS] = msgspec.json.encode(bindings).decode()
    return replace(told, attributes=tuple(sorted(attributes.items())))
