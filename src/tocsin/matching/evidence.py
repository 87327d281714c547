"""All that filters may ask about one notification, found out at most once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import inf, nan
from typing import TypeVar

import msgspec

from tocsin.markup.conditions import Attribute, Constant, JsonPath, Path, XmlPath
from tocsin.markup.xml import Element
from tocsin.matching.envelopes import Envelopes, parsed
from tocsin.matching.judging import Judge, Undecided
from tocsin.matching.known import Known
from tocsin.matching.xml_values import values_at
from tocsin.mediation import cloudevents
from tocsin.mediation.actions import action_of
from tocsin.model.content_topic import CONTENT_TOPIC, point_in
from tocsin.model.declared import Producer
from tocsin.model.filters import Content
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.space import Point
from tocsin.model.subscription import Subscription

MISSING = msgspec.UNSET
Values = tuple[Constant, ...]
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
        self._judged: dict[Content, bool | Undecided] = {}
        self._values: dict[Path, Values] = {}
        self._points: dict[str, Point | None] = {}

    @cached_property
    def document(self) -> Element | None:
        """The payload's element; None when it is not XML."""
        payload = self.notification.payload
        return parsed(payload.data) if "xml" in payload.media_type else None

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
        found = self._judged.get(asked)
        if found is None:
            try:
                found = self._judge.judge(asked, document)
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
