"""Evidence: all that filters may ask about one notification, each worked out at most once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from tocsin.markup import xml
from tocsin.markup.conditions import Attribute, ExpressionError, JsonPath, Path, XmlPath
from tocsin.markup.content import Values, json_values, values_at
from tocsin.markup.graphs.queries import query_of
from tocsin.markup.xml import Element, MarkupError
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.graphs.search import VertexSets, has_pattern
from tocsin.matching.judge import Judge, Undecided
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import BY_NAME, customise
from tocsin.mediation.soap.namespaces import TOCSIN
from tocsin.mediation.soap.payloads import XML_TYPE
from tocsin.mediation.soap.soap import action_of
from tocsin.mediation.soap.templates import as_element
from tocsin.model.areas import Area, areas_in
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.declarations import Producer
from tocsin.model.filters import Content, Graph
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_documents import read_event, syntax_of
from tocsin.semantics.events.event_graph import EventGraph
from tocsin.semantics.events.lifting import lift

MISSING = msgspec.UNSET
ARC = 40  # bytes that are written in the time in which a search looks at an arc
T = TypeVar("T")


class NobodyJudges:
    """The judge where there is none: expressions that no index holds are undecided."""

    def judge(self, asked: Content, document: bytes) -> bool:
        del document
        raise Undecided(f"nothing here can evaluate the {asked.language} expression {asked.text[:80]!r}")

    def begin(self) -> None:
        """Nobody waits."""

    def written(self, size: int) -> None:
        """Nor here."""


class Evidence:
    def __init__(
        self, notification: Notification, catalogue: Catalogue, judge: Judge | None = None, base_url: str = ""
    ) -> None:
        self.notification, self.catalogue = notification, catalogue
        self._judge, self._envelopes = judge or NobodyJudges(), Envelopes(notification, base_url)
        self._judged: dict[Content | Graph, bool | Undecided] = {}
        self._values: dict[Path, Values] = {}
        self._areas: dict[str, tuple[Area, ...]] = {}

    @property
    def is_xml(self) -> bool:
        return "xml" in self.notification.payload.media_type

    @cached_property
    def document(self) -> Element | None:
        """The payload's element; None when it is not XML."""
        return parsed(self.notification.payload.data) if self.is_xml else None

    @cached_property
    def json(self) -> object:
        """The payload's value; `MISSING` when it is not JSON."""
        payload = self.notification.payload
        if "json" not in payload.media_type:
            return MISSING
        try:
            return msgspec.json.decode(payload.data)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            return MISSING

    @cached_property
    def context(self) -> Mapping[str, str]:
        """The attributes as a CloudEvents subscriber would be told them."""
        return cloudevents.context_of(self.notification)

    @cached_property
    def action(self) -> str:
        return action_of(self.notification)

    @cached_property
    def types(self) -> frozenset[str]:
        kind = self.notification.type
        return frozenset() if kind is None else self.catalogue.types_of(str(kind))

    @cached_property
    def categories(self) -> frozenset[str]:
        return self.catalogue.categories_of(self.notification.producer)

    @property
    def producer(self) -> Producer | None:
        return self.catalogue.producers.get(self.notification.producer)

    @cached_property
    def properties(self) -> Element | None:
        """Of its producer; None when it has none declared."""
        producer = self.producer
        return None if producer is None or not producer.properties else parsed(producer.properties)

    @cached_property
    def content_topic(self) -> str | None:
        return self.notification.attribute(CONTENT_TOPIC)

    @property
    def graph(self) -> EventGraph | None:
        """The payload as an event graph; None when it is none."""
        found = self._event_graph
        return None if isinstance(found, str) else found

    @property
    def no_graph(self) -> str:
        """Why it is none; empty when it is one."""
        found = self._event_graph
        return found if isinstance(found, str) else ""

    @cached_property
    def _event_graph(self) -> EventGraph | str:
        # or why there is none. What the door let through is not refused for properties that no ontology has.
        payload = self.notification.payload
        try:
            if syntax_of(payload.media_type) is not None:
                return read_once(payload.data, payload.media_type, self.catalogue.concepts)
            if self.document is not None and self.document.tag == _RDF_ROOT:
                return read_once(payload.data, _RDF_XML, self.catalogue.concepts)
            return _lifted(self)
        except Refusal as refusal:
            return f"the payload is no event graph: {refusal.text}"

    def areas(self, space: str) -> tuple[Area, ...]:
        """Where it lies in an information space; nowhere when it lies in no such space as it is declared now."""
        if space not in self._areas:
            declared, text = self.catalogue.spaces.get(space), self.content_topic
            self._areas[space] = () if declared is None or text is None else areas_in(declared, text)
        return self._areas[space]

    def values(self, path: Path) -> Values:
        """What stands there: strings of XML and attributes, whatever JSON has; nothing when nothing is there."""
        found = self._values.get(path)
        if found is None:
            found = self._values[path] = self._find(path)
        return found

    def _find(self, path: Path) -> Values:
        match path:
            case XmlPath():
                return () if self.document is None else tuple(values_at(self.document, path))
            case Attribute(name):
                value = self.context.get(name)
                return () if value is None else (value,)
            case JsonPath(steps):
                return json_values(self.json, steps)

    def envelope(self, subscription: Subscription) -> bytes:
        """As it would be delivered (WSE 2004/08 s2.2: the filter sees the whole message)."""
        return self._for_one(self._envelopes.written, subscription)

    def envelope_tree(self, subscription: Subscription) -> Element | None:
        """The same, until the next is asked for."""
        return self._for_one(self._envelopes.tree, subscription)

    def _for_one(self, write: Callable[[Subscription], T], subscription: Subscription) -> T:
        """It is another for each subscriber, so each costs as much as the message is long, and none is kept."""
        self._judge.written(len(self.notification.payload.data))
        try:
            return write(subscription)
        except Refusal as refusal:
            raise Undecided(f"the message cannot be written for its subscriber: {refusal.text}") from None

    def judged(self, asked: Content, document: bytes) -> bool:
        """What is about the message itself, and not about an envelope, is the same for all who ask."""
        if asked.over == "envelope":
            return self._judge.judge(asked, document)
        return self._once(asked, lambda: self._judge.judge(asked, document))

    def has(self, asked: Graph) -> bool:
        """Whether its event graph has the pattern, for who needs to know it of that one alone."""
        return self._once(asked, lambda: self._searched(asked))

    def _searched(self, asked: Graph) -> bool:
        try:
            query = query_of(asked)
        except ExpressionError as problem:  # accepted under other rules than today's
            raise Undecided(str(problem)) from None
        if self.graph is None:
            return False
        self._judge.written(0)
        return has_pattern(self._vertex_sets, query, self._spend)

    def _spend(self, work: int) -> None:
        """What is done is done: when that was too much, the next will be told so."""
        with suppress(Undecided):
            self._judge.written(ARC * work)

    @cached_property
    def _vertex_sets(self) -> VertexSets:
        assert self.graph is not None
        return VertexSets(self.graph, self.catalogue.concepts)

    def _once(self, asked: Content | Graph, decide: Callable[[], bool]) -> bool:
        found = self._judged.get(asked)
        if found is None:
            try:
                found = decide()
            except Undecided as problem:
                found = problem
            self._judged[asked] = found
        if isinstance(found, Undecided):
            raise found
        return found


_HOLE = Payload(XML_TYPE, f'<Hole xmlns="{TOCSIN}"/>'.encode())


class Envelopes:
    """A notification as the messages its subscribers would be sent, as trees. The payload is parsed once and put into
    one envelope at a time."""

    def __init__(self, notification: Notification, base_url: str) -> None:
        self._notification, self._base_url = notification, base_url

    def written(self, subscription: Subscription) -> bytes:
        return customise(self._notification, subscription, self._base_url)[1]

    def tree(self, subscription: Subscription) -> Element | None:
        """Until the next is asked for; None for what is not XML."""
        dialect = BY_NAME.get(subscription.form.dialect)
        if dialect is None or not dialect.is_soap or self._payload is None:
            return parsed(self.written(subscription))
        root = xml.parse(customise(self._without_payload, subscription, self._base_url)[1])
        *_, hole = root.iter(f"{{{TOCSIN}}}Hole")  # a consumer may have had one put into the headers
        above = hole.getparent()
        assert above is not None
        above.replace(hole, self._payload)
        return root

    @cached_property
    def _payload(self) -> Element | None:
        return parsed(as_element(self._notification))

    @cached_property
    def _without_payload(self) -> Notification:
        return replace(self._notification, payload=_HOLE)


def parsed(document: bytes) -> Element | None:
    try:
        return xml.parse(document)
    except MarkupError:
        return None


_RDF_XML = "application/rdf+xml"
_RDF_ROOT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}RDF"


def read_once(data: bytes, media_type: str, model: ConceptModel) -> EventGraph:
    """For the door, for those who ask for patterns, and for each who is sent the graph; with unknown properties."""
    return (_read_small if len(data) <= SMALL else _read_large)(data, media_type, model)


def _read(data: bytes, media_type: str, model: ConceptModel) -> EventGraph:
    return read_event(data, media_type, model, unknown_properties=True)


SMALL = 8 << 10  # bytes: a graph takes many times the memory of its text
_read_small, _read_large = lru_cache(512)(_read), lru_cache(8)(_read)


def _lifted(evidence: Evidence) -> EventGraph | str:
    told = evidence.notification
    kind = None if told.type is None else str(told.type)
    whole, syntax = (evidence.json, "json") if evidence.document is None else (evidence.document, "xml")
    if whole is MISSING:
        return f"the payload is {told.payload.media_type or 'of no known kind'}, which is not RDF, XML or JSON"
    lifting = evidence.catalogue.lifting_for(kind, syntax)
    if lifting is None:
        return f"no lifting is declared for {'what has no type' if kind is None else f'the type {kind}'}"
    return lift(whole, lifting, evidence.catalogue.concepts, evidence.context)
