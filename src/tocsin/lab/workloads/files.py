"""Workloads as values for the engine and as files for other engines; notifications aimed at subscriptions."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from tocsin.lab.workloads.alerts import HIGHEST
from tocsin.lab.workloads.texts import (
    ADDRESSES,
    HAZARDS,
    TOWNS,
    TYPES,
    FilterText,
    Kind,
    NotificationText,
    Producers,
    SubscriptionText,
    notifications,
    subscriptions,
)
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.matching.filters import satisfies_all
from tocsin.mediation.ce import cloudevents
from tocsin.model import names
from tocsin.model.content_topic import CONTENT_TOPIC, parse_box, parse_point, space_of, write_point
from tocsin.model.declarations import Declaration, Hierarchy, Producer
from tocsin.model.filters import Content, Filter, ProducerIs, TopicIs, TypeIs
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.notification import Notification, Payload
from tocsin.model.space import Coordinate, Dimension, InformationSpace, Interval, OneOf, Side
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

BEGUN = 1_700_000_000_000_000_000
EXPECTED = 10  # notifications whose matches are written
Advance = Callable[[str, int], None]  # what is being made, and how many of it there are by now
_FORM, _SINCE = Form(cloudevents.NAME), Position(Node("n"), 0)
_CONSUMER = Endpoint("http://consumer.example.org/in")

README = """\
A workload of kind {kind}, seed {seed}: {subscriptions} subscriptions, {notifications} notifications.
Made by `tocsin bench workload`; the same seed makes the same bytes.

subscriptions.jsonl  one subscription a line: {{"id", "filters"}}. All its filters hold, or it is not told.
  A filter has one of
    topic      a WS-Topics 1.3 topic expression, Full dialect; prefixes by "namespaces"
    xpath      XPath 1.0 over the payload, as a boolean; prefixes by "namespaces"
    box        a box of an information space: the name, a colon, a side for each dimension between slashes.
               A side is * (any), a..b (numbers, both included), a string, pre* or *suf, or a|b|c (one of these)
    type       one of these types, or a subtype by declarations.json
    producer   one of these "addresses", or a producer of one of these "categories" or a subcategory
    sql        CloudEvents SQL 1.0 over "attributes"
notifications.jsonl  one notification a line: "id", "topic" (Clark notation: {{namespace}}root/child/grandchild),
  "type", "producer" (its address), "attributes" (of which "contenttopic" is its point in an information space, written
  as a box is), "media_type" and "payload" (a text).
declarations.json    "spaces" with their dimensions, the parents of "types" and of "categories", and "producers".
matches.jsonl        of the first {expected} notifications who wants them, found one by one:
  {{"notification", "subscriptions"}}, in the order of their ids. Of these notifications every second is made for a
  subscription, the first for the first, so that some are wanted among few subscriptions too; all others are by chance.
"""


def subscription(wanting: SubscriptionText, catalogue: Catalogue) -> Subscription:
    filters = tuple(asked_filter(each, catalogue) for each in wanting.filters)
    return Subscription(SubscriptionId(wanting.id), None, _CONSUMER, None, _FORM, filters, _SINCE, None)


def asked_filter(asked: FilterText, catalogue: Catalogue) -> Filter:
    if asked.topic:
        return _topic(asked.topic, tuple(asked.namespaces.items()))
    if asked.xpath:
        return Content("xpath", asked.xpath, "payload", tuple(asked.namespaces.items()))
    if asked.box:
        return parse_box(asked.box, catalogue.spaces[space_of(asked.box)])
    if asked.producer is not None:
        return ProducerIs(asked.producer.addresses, asked.producer.categories)
    return TypeIs(asked.type) if asked.type else Content("cesql", asked.sql, "attributes")


@lru_cache(maxsize=65_536)
def _topic(text: str, namespaces: tuple[tuple[str, str], ...]) -> TopicIs:
    return parse_topic_expression(text, "full", dict(namespaces))


def notification(telling: NotificationText, number: int) -> Notification:
    """As an event that was accepted; its topic is read from the text, equal to others and the same as none."""
    topic = names.topic(telling.topic)
    assert topic is not None
    return Notification(
        MessageId(telling.id),
        Position(Node("n"), number + 1),
        0,
        Instant(BEGUN + number * 1_000_000),
        cloudevents.NAME,
        telling.id,
        telling.producer,
        topic,
        telling.type,
        tuple(telling.attributes.items()),
        Payload(telling.media_type, telling.payload.encode()),
    )


def drawn_subscriptions(kind: Kind, count: int, seed: int) -> tuple[Catalogue, list[Subscription]]:
    known = Catalogue(kind.declared)
    return known, [subscription(each, known) for each in subscriptions(kind, count, seed)]


def drawn_notifications(kind: Kind, count: int, seed: int) -> list[Notification]:
    return [notification(each, number) for number, each in enumerate(notifications(kind, count, seed))]


def one_by_one(asking: Iterable[Subscription], event: Notification, catalogue: Catalogue) -> list[str]:
    """The oracle over many."""
    evidence = Evidence(event, catalogue)
    return sorted(each.id for each in asking if satisfies_all(evidence, each.filters, each))


def write(
    folder: Path, kind: Kind, counts: tuple[int, int], seed: int, advance: Advance, expected: int = EXPECTED
) -> None:
    """`counts` are of the subscriptions and of the notifications."""
    folder.mkdir(parents=True, exist_ok=True)
    known, expected = Catalogue(kind.declared), min(expected, counts[1])
    wanting = _lines(folder / "subscriptions.jsonl", subscriptions(kind, counts[0], seed), "subscriptions", advance)
    asking = [subscription(each, known) for each in wanting if expected]
    telling = _lines(
        folder / "notifications.jsonl", _notifications(kind, counts, seed, expected), "notifications", advance
    )
    events = [each for number, each in enumerate(telling) if number < expected]
    (folder / "declarations.json").write_bytes(msgspec.json.format(msgspec.json.encode(declarations(kind.declared))))
    matches = _matches(asking, events, known)
    for _ in _lines(folder / "matches.jsonl", matches, "notifications with expected matches", advance):
        pass
    described = {"kind": kind.name, "seed": seed, "subscriptions": counts[0], "notifications": counts[1]}
    (folder / "README.txt").write_text(README.format(expected=expected, **described))


def _notifications(kind: Kind, counts: tuple[int, int], seed: int, expected: int) -> Iterator[NotificationText]:
    """Those of the benchmarks, but of the first ones, whose matches are written, every second is wanted by somebody."""
    aims = list(subscriptions(kind, min(counts[0], (expected + 1) // 2), seed))
    random = Random(f"{kind.name} aims {seed}")
    return aimed(notifications(kind, counts[1], seed), aims, Catalogue(kind.declared), random)


def _lines(path: Path, values: Iterable[Any], what: str, advance: Advance) -> Iterator[Any]:
    with path.open("wb") as file:
        for number, each in enumerate(values, 1):
            file.write(msgspec.json.encode(each) + b"\n")
            advance(what, number)
            yield each


def _matches(
    asking: list[Subscription], events: Iterable[NotificationText], catalogue: Catalogue
) -> Iterator[dict[str, object]]:
    for number, each in enumerate(events):
        found = one_by_one(asking, notification(each, number), catalogue)
        yield {"notification": each.id, "subscriptions": found}


def declarations(declared: Iterable[Declaration]) -> dict[str, object]:
    found: dict[str, Any] = {"spaces": [], "types": {}, "categories": {}, "producers": []}
    for each in declared:
        match each:
            case InformationSpace(name, dimensions):
                found["spaces"].append({"name": name, "dimensions": list(map(_dimension, dimensions))})
            case Hierarchy(of, parents):
                found[of] = dict(parents)
            case Producer(address, categories):
                found["producers"].append({"address": address, "categories": categories})
    return found


def _dimension(dimension: Dimension) -> dict[str, object]:
    drawn_notifications: dict[str, object] = {"name": dimension.name, "kind": dimension.kind}
    if dimension.kind in ("number", "time"):
        return drawn_notifications | {"low": dimension.low, "high": dimension.high}
    return drawn_notifications | {"values": dimension.values} if dimension.values else drawn_notifications


def read(folder: Path, catalogue: Catalogue) -> tuple[list[Subscription], list[Notification]]:
    """What was written, for who declares the same."""
    wanting = [msgspec.json.decode(line, type=SubscriptionText) for line in _file_lines(folder / "subscriptions.jsonl")]
    telling = [msgspec.json.decode(line, type=NotificationText) for line in _file_lines(folder / "notifications.jsonl")]
    events = [notification(each, number) for number, each in enumerate(telling)]
    return [subscription(each, catalogue) for each in wanting], events


def _file_lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


_EQUALITY = re.compile(r"(\w+) = '([^']*)'")
_BOUND = re.compile(r"(\w+) ([<>])=? ([0-9.]+)")


def aimed(
    telling: Iterable[NotificationText], aims: Sequence[SubscriptionText], known: Catalogue, random: Random
) -> Iterator[NotificationText]:
    """Every second notification satisfies the next of `aims`, as long as there are some."""
    for number, each in enumerate(telling):
        at, odd = divmod(number, 2)
        yield each if odd or at >= len(aims) else _satisfying(each, aims[at], known, random)


def _satisfying(telling: NotificationText, aim: SubscriptionText, known: Catalogue, random: Random) -> NotificationText:
    """The filters of one subscription are of different kinds: what one asks for does not undo another."""
    for asked in aim.filters:
        telling = _with(telling, asked, known, random)
    return telling


def _with(telling: NotificationText, asked: FilterText, known: Catalogue, random: Random) -> NotificationText:
    if asked.topic:
        return replace(telling, topic=_aimed_topic(telling.topic, asked.topic.partition("|")[0]))
    if asked.xpath:
        return replace(telling, payload=_payload(telling.payload, asked.xpath))
    if asked.box:
        text = telling.attributes[CONTENT_TOPIC]
        space = known.spaces[space_of(asked.box)]
        own, sides = parse_point(text, space), parse_box(asked.box, space).sides
        inside = (had if had in side else _inside(side, random) for had, side in zip(own, sides, strict=True))
        point = write_point(tuple(inside), space)
        return replace(telling, attributes={**telling.attributes, CONTENT_TOPIC: point})
    if asked.producer is not None:
        return replace(telling, producer=_address(asked.producer, known, random))
    if asked.type:
        kinds = [each for each in TYPES if known.types_of(each).intersection(asked.type)]
        return replace(telling, type=random.choice(kinds))
    return replace(telling, attributes={**telling.attributes, **dict(_EQUALITY.findall(asked.sql))})


def _aimed_topic(topic: str, expression: str) -> str:
    """Where any step is allowed, that of the topic stays."""
    own = topic.removeprefix(f"{{{HAZARDS}}}").split("/")
    head, descends, last = expression.removeprefix("h:").partition("//")
    steps = head.split("/")
    if descends:
        steps += ["*"] * (2 - len(steps)) + ["*" if last == "." else last]
    return f"{{{HAZARDS}}}" + "/".join(had if step in ("", "*") else step for step, had in zip(steps, own, strict=True))


def _payload(payload: str, xpath: str) -> str:
    """Names in an alert are unique; a number is put midway between its bounds."""
    for name, value in _EQUALITY.findall(xpath):
        payload = _put(payload, name, value)
    bounds: dict[str, tuple[float, float]] = {}
    for name, sign, text in _BOUND.findall(xpath):
        low, high = bounds.get(name, (0.0, float(HIGHEST)))
        bounds[name] = (float(text), high) if sign == ">" else (low, float(text))
    for name, (low, high) in bounds.items():
        payload = _put(payload, name, f"{(low + high) / 2:.3f}")
    return payload


def _put(payload: str, name: str, value: str) -> str:
    return re.sub(rf'(<cap:{name}>|<[^>]* {name}=")[^<"]*', lambda found: f"{found[1]}{value}", payload, count=1)


def _inside(side: Side, random: Random) -> Coordinate:
    match side:
        case Interval(low, high):
            return round(random.uniform(low, high), 3)
        case OneOf(values):
            return random.choice(values)
    return random.choice([each for each in TOWNS if each in side])


def _address(asked: Producers, known: Catalogue, random: Random) -> str:
    wanted = set(asked.categories)
    return random.choice(asked.addresses or [each for each in ADDRESSES if known.categories_of(each) & wanted])
