"""Workloads of subscriptions and notifications as texts, which any engine can read.

The first thousand of a million are the same as of a thousand.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from random import Random
from typing import NamedTuple

from msgspec import Struct

from tocsin.lab.workloads.alerts import CAP, alert, filter_text, part_text
from tocsin.model.content_topic import CONTENT_TOPIC, write_box, write_point
from tocsin.model.declarations import Declaration, Hierarchy, Producer
from tocsin.model.filters import InBox
from tocsin.model.space import (
    WHOLE,
    Coordinate,
    Dimension,
    InformationSpace,
    Interval,
    Like,
    OneOf,
    Point,
    Side,
)

HAZARDS = "http://example.org/hazards"
NAMESPACES = {"cap": CAP, "h": HAZARDS}
XML = "application/xml"


class Producers(Struct, frozen=True, omit_defaults=True):
    """One of these addresses, or one of these categories or a subcategory."""

    addresses: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class FilterText(Struct, frozen=True, omit_defaults=True):
    """One filter: one of these, and the namespaces that the prefixes of a topic or an XPath stand for."""

    topic: str = ""
    xpath: str = ""
    box: str = ""
    type: tuple[str, ...] = ()
    producer: Producers | None = None
    sql: str = ""
    namespaces: Mapping[str, str] = {}


class SubscriptionText(Struct, frozen=True):
    """A subscription: all its filters hold."""

    id: str
    filters: tuple[FilterText, ...]


class NotificationText(Struct, frozen=True):
    """A notification."""

    id: str
    topic: str
    type: str
    producer: str
    attributes: Mapping[str, str]
    media_type: str
    payload: str


class Kind(NamedTuple):
    """`filters` and `notification` take their next one from a generator of random numbers."""

    name: str
    declared: tuple[Declaration, ...]
    filters: Callable[[Random], tuple[FilterText, ...]]
    notification: Callable[[Random, str], NotificationText]


def subscriptions(kind: Kind, count: int, seed: int) -> Iterator[SubscriptionText]:
    random = Random(f"{kind.name} subscriptions {seed}")
    return (SubscriptionText(f"s{number:07d}", kind.filters(random)) for number in range(count))


def notifications(kind: Kind, count: int, seed: int) -> Iterator[NotificationText]:
    random = Random(f"{kind.name} notifications {seed}")
    return (kind.notification(random, f"n{number:07d}") for number in range(count))


ROOTS = [f"hazard{number}" for number in range(20)]
AREAS = [f"area{number}" for number in range(20)]
EVENTS = [f"event{number}" for number in range(40)]


def topic_text(random: Random, event: str = "") -> str:
    """One of 16,000, as Clark notation writes it: the root topic is in the namespace, the others in none."""
    return f"{{{HAZARDS}}}{random.choice(ROOTS)}/{random.choice(AREAS)}/{event or random.choice(EVENTS)}"


def topic_expression(random: Random) -> str:
    """Half of them with wildcards: a step that may be any, an area with all below it, an event anywhere."""
    root, area, event = f"h:{random.choice(ROOTS)}", random.choice(AREAS), random.choice(EVENTS)
    share = random.random()
    for below, text in (
        (0.44, f"{root}/{area}/{event}"),
        (0.50, f"{root}/{area}/{event}|h:{random.choice(ROOTS)}/{random.choice(AREAS)}/{random.choice(EVENTS)}"),
        (0.68, f"{root}/*/{event}"),
        (0.76, f"{root}/{area}/*"),
        (0.84, f"{root}/{area}//."),
        (0.98, f"{root}//{event}"),
        (0.99, f"h:*/{area}/{event}"),
        (0.999, f"h://{event}"),
    ):
        if share < below:
            return text
    return f"{root}//."


def _topic(random: Random) -> FilterText:
    return FilterText(topic=topic_expression(random), namespaces={"h": HAZARDS})


def _xpath(text: str) -> FilterText:
    return FilterText(xpath=text, namespaces={"cap": CAP})


TYPES = [f"org.example.{one}.{two}.{three}" for one, two, three in product("abcd", "efg", "hijkl")]
_INNER_TYPES = sorted({each.rpartition(".")[0] for each in TYPES} | {each.rsplit(".", 2)[0] for each in TYPES})
_CATEGORIES = [f"{one}-{two}" for one, two in product(("police", "fire", "health", "water", "power"), "abcdef")]
ADDRESSES = [f"http://station-{number}.example.org/events" for number in range(300)]
_TENANTS = [f"tenant-{number}" for number in range(200)]
_STAGES = ["draft", "test", "exercise", "actual"]
TOWNS = [f"{one}{two},{state}" for one, two, state in product(
    ("Pis", "New", "Old", "East", "West", "North"), ("cataway", "ton", "ville", "burg", "field"), ("NJ", "NY", "CT"),
)]  # fmt: skip
_SKIES = ("clear", "cloudy", "rain", "snow", "fog", "storm", "hail", "dust")
WEATHER = InformationSpace(
    "weather",
    (
        Dimension("town", "string"),
        Dimension("degrees", "number", -50, 60),
        Dimension("sky", "enumeration", values=_SKIES),
        Dimension("wind", "number", 0, 250),
    ),
)
DECLARED: tuple[Declaration, ...] = (
    WEATHER,
    Hierarchy(
        "types", tuple((each, (each.rpartition(".")[0],)) for each in (*_INNER_TYPES, *TYPES) if each.count(".") > 2)
    ),
    Hierarchy("categories", tuple((each, (each.partition("-")[0],)) for each in _CATEGORIES)),
    *(Producer(each, (_CATEGORIES[at % len(_CATEGORIES)],)) for at, each in enumerate(ADDRESSES)),
)


NARROW, WIDE = (0.01, 0.06), (0.05, 0.4)  # of a dimension


def numbers(dimensions: int) -> InformationSpace:
    names = (f"d{number}" for number in range(dimensions))
    return InformationSpace(f"numbers{dimensions}", tuple(Dimension(each, "number", 0, 1000) for each in names))


def box_in(space: InformationSpace, random: Random) -> InBox:
    """Of numbers alone a few per cent a side, else more; one side in thirty is the whole dimension."""
    widths = NARROW if all(each.kind == "number" for each in space.dimensions) else WIDE
    return InBox(space.name, tuple(_side(each, random, widths) for each in space.dimensions))


def point_of(space: InformationSpace, random: Random) -> Point:
    return tuple(_coordinate(each, random) for each in space.dimensions)


def _side(dimension: Dimension, random: Random, widths: tuple[float, float]) -> Side:
    if random.random() < 1 / 30:
        return WHOLE
    match dimension.kind:
        case "enumeration":
            chosen = set(random.sample(dimension.values, random.choice((1, 1, 2, 3))))
            return OneOf(tuple(each for each in dimension.values if each in chosen))
        case "string":
            return _string_side(random)
    extent = dimension.high - dimension.low
    width = extent * random.uniform(*widths)
    low = round(random.uniform(dimension.low, dimension.high - width), 3)
    return Interval(low, round(low + width, 3))


def _string_side(random: Random) -> Side:
    town, share = random.choice(TOWNS), random.random()
    if share < 0.6:
        return OneOf((town,))
    if share < 0.75:
        return Like(prefix=town[: random.randrange(3, 8)])
    if share < 0.9:
        return Like(suffix=town[-random.randrange(3, 8) :])
    return OneOf(tuple(sorted(random.sample(TOWNS, 3))))


def _coordinate(dimension: Dimension, random: Random) -> Coordinate:
    match dimension.kind:
        case "enumeration":
            return random.choice(dimension.values)
        case "string":
            return random.choice(TOWNS)
    return round(random.uniform(dimension.low, dimension.high), 3)


def _box(space: InformationSpace, random: Random) -> FilterText:
    return FilterText(box=write_box(box_in(space, random), space))


def _producer(random: Random) -> FilterText:
    share = random.random()
    if share < 0.7:
        return FilterText(producer=Producers(addresses=tuple(random.sample(ADDRESSES, random.choice((1, 1, 2))))))
    category = random.choice(_CATEGORIES)
    return FilterText(producer=Producers(categories=(category if share < 0.95 else category.partition("-")[0],)))


def _type(random: Random) -> FilterText:
    return FilterText(type=(random.choice(TYPES if random.random() < 0.85 else _INNER_TYPES),))


def _attribute(random: Random) -> FilterText:
    text = f"tenant = '{random.choice(_TENANTS)}'"
    return FilterText(sql=text if random.random() < 0.7 else f"{text} AND stage = '{random.choice(_STAGES)}'")


_MIXED: tuple[Callable[[Random], FilterText], ...] = (
    _topic,
    lambda random: _xpath(part_text(random)),
    _type,
    _producer,
    lambda random: _box(WEATHER, random),
    _attribute,
)


def _conjunction(random: Random) -> tuple[FilterText, ...]:
    """15 % ask for a topic alone, the others for two or three kinds."""
    if random.random() < 0.15:
        return (_topic(random),)
    return tuple(each(random) for each in random.sample(_MIXED, random.choice((2, 3))))


def _bare(random: Random, name: str, *, topic: str = "", space: InformationSpace | None = None) -> NotificationText:
    attributes = {} if space is None else {CONTENT_TOPIC: write_point(point_of(space, random), space)}
    return NotificationText(name, topic or f"{{{HAZARDS}}}{ROOTS[0]}", TYPES[0], ADDRESSES[0], attributes, "", "")


def _alert(random: Random, name: str) -> NotificationText:
    return NotificationText(name, topic_text(random), TYPES[0], ADDRESSES[0], {}, XML, alert(random))


def _whole(random: Random, name: str) -> NotificationText:
    point = write_point(point_of(WEATHER, random), WEATHER)
    attributes = {CONTENT_TOPIC: point, "tenant": random.choice(_TENANTS), "stage": random.choice(_STAGES)}
    kind, producer = random.choice(TYPES), random.choice(ADDRESSES)
    return NotificationText(name, topic_text(random), kind, producer, attributes, XML, alert(random))


def boxes(space: InformationSpace) -> Kind:
    return Kind(
        space.name,
        (space,),
        lambda random: (_box(space, random),),
        lambda random, name: _bare(random, name, space=space),
    )


TOPICS = Kind(
    "topics", (), lambda random: (_topic(random),), lambda random, name: _bare(random, name, topic=topic_text(random))
)
CONTENT = Kind("content", (), lambda random: (_xpath(filter_text(random)),), _alert)
MIXED = Kind("engine", DECLARED, _conjunction, _whole)


def kinds(dimensions: int = 3) -> dict[str, Kind]:
    """By name; `dimensions` are those of the space of numbers."""
    return {
        "topics": TOPICS,
        "content": CONTENT,
        "spaces": boxes(numbers(dimensions)),
        "weather": boxes(WEATHER),
        "engine": MIXED,
    }
