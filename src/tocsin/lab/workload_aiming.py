"""Notifications of a workload made to be wanted: among few subscriptions, hardly one is by chance."""

import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from msgspec.structs import replace

from tocsin.lab._workload_alerts import HIGHEST
from tocsin.lab.workload import ADDRESSES, HAZARDS, TOWNS, TYPES, Asked, Producers, Telling, Wanting
from tocsin.matching.catalogue import Catalogue
from tocsin.model.content_topic import CONTENT_TOPIC, parse_box, parse_point, space_of, write_point
from tocsin.model.space import Coordinate, Interval, OneOf, Side

_EQUALITY = re.compile(r"(\w+) = '([^']*)'")
_BOUND = re.compile(r"(\w+) ([<>])=? ([0-9.]+)")


def aimed(telling: Iterable[Telling], aims: Sequence[Wanting], known: Catalogue, random: Random) -> Iterator[Telling]:
    """Every second notification satisfies the next of `aims`, as long as there are some."""
    for number, each in enumerate(telling):
        at, odd = divmod(number, 2)
        yield each if odd or at >= len(aims) else _satisfying(each, aims[at], known, random)


def _satisfying(telling: Telling, aim: Wanting, known: Catalogue, random: Random) -> Telling:
    """The filters of one subscription are of different kinds: what one asks for does not undo another."""
    for asked in aim.filters:
        telling = _with(telling, asked, known, random)
    return telling


def _with(telling: Telling, asked: Asked, known: Catalogue, random: Random) -> Telling:
    if asked.topic:
        return replace(telling, topic=_topic(telling.topic, asked.topic.partition("|")[0]))
    if asked.xpath:
        return replace(telling, payload=_payload(telling.payload, asked.xpath))
    if asked.box:
        point = _point(telling.attributes[CONTENT_TOPIC], asked.box, known, random)
        return replace(telling, attributes={**telling.attributes, CONTENT_TOPIC: point})
    if asked.producer is not None:
        return replace(telling, producer=_address(asked.producer, known, random))
    if asked.type:
        kinds = [each for each in TYPES if known.types_of(each).intersection(asked.type)]
        return replace(telling, type=random.choice(kinds))
    return replace(telling, attributes={**telling.attributes, **dict(_EQUALITY.findall(asked.sql))})


def _topic(topic: str, expression: str) -> str:
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


def _point(text: str, box: str, known: Catalogue, random: Random) -> str:
    space = known.spaces[space_of(box)]
    own, sides = parse_point(text, space), parse_box(box, space).sides
    inside = (had if had in side else _inside(side, random) for had, side in zip(own, sides, strict=True))
    return write_point(tuple(inside), space)


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
