"""The event graph of a notification: its payload read as RDF, or lifted by what is declared for its type."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol

from msgspec import UNSET

from tocsin.markup.xml import Element
from tocsin.matching.known import Known
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph
from tocsin.semantics.events.event_reading import read_event, syntax_of
from tocsin.semantics.events.lifting import lift

_RDF_XML = "application/rdf+xml"
_RDF_ROOT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}RDF"


class Said(Protocol):
    """A notification with its payload's element and value of JSON, where it is such, and its attributes."""

    @property
    def notification(self) -> Notification: ...
    @property
    def known(self) -> Known: ...
    @property
    def document(self) -> Element | None: ...
    @property
    def json(self) -> object: ...
    @property
    def context(self) -> Mapping[str, str]: ...


def event_graph_of(said: Said) -> EventGraph | str:
    """Or why there is none. What the door let through is not refused for properties that no ontology has."""
    payload = said.notification.payload
    try:
        if syntax_of(payload.media_type) is not None:
            return read_once(payload.data, payload.media_type, said.known.concepts)
        if said.document is not None and said.document.tag == _RDF_ROOT:
            return read_once(payload.data, _RDF_XML, said.known.concepts)
        return _lifted(said)
    except Refusal as refusal:
        return f"the payload is no event graph: {refusal.text}"


def read_once(data: bytes, media_type: str, model: ConceptModel) -> EventGraph:
    """For the door, for those who ask for patterns, and for each who is sent the graph; with unknown properties."""
    return (_read_small if len(data) <= SMALL else _read_large)(data, media_type, model)


def _read(data: bytes, media_type: str, model: ConceptModel) -> EventGraph:
    return read_event(data, media_type, model, unknown_properties=True)


SMALL = 8 << 10  # bytes: a graph takes many times the memory of its text
_read_small, _read_large = lru_cache(512)(_read), lru_cache(8)(_read)


def _lifted(said: Said) -> EventGraph | str:
    told = said.notification
    kind = None if told.type is None else str(told.type)
    whole, syntax = (said.json, "json") if said.document is None else (said.document, "xml")
    if whole is UNSET:
        return f"the payload is {told.payload.media_type or 'of no known kind'}, which is not RDF, XML or JSON"
    lifting = said.known.lifting_for(kind, syntax)
    if lifting is None:
        return f"no lifting is declared for {'what has no type' if kind is None else f'the type {kind}'}"
    return lift(whole, lifting, said.known.concepts, said.context)
