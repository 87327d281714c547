"""All that filters may ask about one notification, found out at most once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from math import inf, nan
from typing import TypeVar

import msgspec

from tocsin.markup.conditions import Attribute, Constant, ExpressionError, JsonPath, Path, XmlPath
from tocsin.markup.graphs.reading import query_of
from tocsin.markup.xml import Element
from tocsin.matching.envelopes import Envelopes, parsed
from tocsin.matching.event_graphs import event_graph_of
from tocsin.matching.graph_searching import has_pattern
from tocsin.matching.graphs.vertex_sets import VertexSets
from tocsin.matching.judging import Judge, Undecided
from tocsin.matching.known import Known
from tocsin.matching.xml_values import values_at
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.soap.actions import action_of
from tocsin.model.content_topic import CONTENT_TOPIC, point_in
from tocsin.model.declared import Producer
from tocsin.model.filters import Content, Graph
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.space import Point
from tocsin.model.subscription import Subscription
from tocsin.semantics.events.event_graph import EventGraph

MISSING = msgspec.UNSET
Values = tuple[Constant, ...]
ARC = 40  # bytes that are written in the time in which a search looks at an arc
T = TypeVar("T")


class NobodyJudges:
    """Where expressions of no index cannot be evaluated."""

    def judge(self, asked: Content, document: bytes) -> bool:
        del document
        raise Undecided(f"nothing here can evaluate the {asked.language} expression {asked.text[:80]!r}")

    def written(self, size: int) -> None:
        """Nobody waits."""


class Evidence:
    def __init__(
        self, notification: Notification, known: Known, judge: Judge | None = None, base_url: str = ""
    ) -> None:
        self.notification, self.known = notification, known
        self._judge, self._envelopes = judge or NobodyJudges(), Envelopes(notification, base_url)
        self._judged: dict[Content | Graph, bool | Undecided] = {}
        self._values: dict[Path, Values] = {}
        self._points: dict[str, Point | None] = {}

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
        return frozenset() if kind is None else self.known.types_of(str(kind))

    @cached_property
    def categories(self) -> frozenset[str]:
        return self.known.categories_of(self.notification.producer)

    @property
    def producer(self) -> Producer | None:
        return self.known.producers.get(self.notification.producer)

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
        return event_graph_of(self)

    def point(self, space: str) -> Point | None:
        """Where it lies in an information space; None when it lies in no such space as it is declared now."""
        if space not in self._points:
            declared, text = self.known.spaces.get(space), self.content_topic
            self._points[space] = None if declared is None or text is None else point_in(declared, text)
        return self._points[space]

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
                return _at(self.json, steps)

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
        return VertexSets(self.graph, self.known.concepts)

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


def _at(value: object, steps: tuple[str | int, ...]) -> Values:
    for step in steps:
        value = _below(value, step)
    return () if value is MISSING else (constant_of(value),)


def constant_of(value: object) -> Constant:
    """What it is compared as; objects and arrays are equal to no constant."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _as_float(value)
    return value if value is None or isinstance(value, str | float | bool) else STRUCTURE


def _below(value: object, step: str | int) -> object:
    if isinstance(step, str):
        return value.get(step, MISSING) if isinstance(value, dict) else MISSING
    return value[step] if isinstance(value, list) and -len(value) <= step < len(value) else MISSING


def _as_float(value: int) -> float:
    """JSON bounds no number."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


STRUCTURE = nan  # what equals no constant, and is neither above nor below any
