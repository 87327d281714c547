"""What a notification is about in information spaces (DHT broker s3): a point, a box that spans many, or several of
either, of one space or of more, with `||` between them, which no side of a box can have in it.

`weather:*,NJ/29/48.9 || tides:3` is about all places in NJ, and about a tide. A subscription wants it once, if it asks
for any of that.
"""

import re
from contextlib import suppress

from tocsin.model.content_topic import parse_box, parse_point, point_in, space_of
from tocsin.model.filters import InBox
from tocsin.model.names import LONGEST_TOPIC
from tocsin.model.refusal import Refusal
from tocsin.model.space import Coordinate, InformationSpace, Interval, Like, OneOf, Point, Side, overlap, within

BETWEEN = "||"
MOST_AREAS = 16  # of one notification
Area = Point | InBox

_OF_BOX = re.compile(r"[*|<>]|\.\.")  # in all that is no point, and in some that are


def said_in(text: str) -> list[str]:
    """One by one; `Refusal` for more than are allowed."""
    found = text.split(BETWEEN)
    if len(found) > MOST_AREAS:
        why = f"a message with {len(found)} content topics, {MOST_AREAS} are allowed; publish several messages"
    elif len(text) > LONGEST_TOPIC:
        why = f"content topics of {len(text)} characters, {LONGEST_TOPIC} are allowed"
    else:
        return found
    raise Refusal("bad-topic-expression", why)


def parse_area(text: str, space: InformationSpace) -> Area:
    """The sides of a box have coordinates of their dimensions alone; one that has a single point is that."""
    if _OF_BOX.search(text) is None:
        return parse_point(text, space)
    sides = tuple(map(within, space.dimensions, parse_box(text, space).sides))
    return tuple(map(_only, sides)) if all(map(_is_single, sides)) else InBox(space.name, sides)


def areas_in(space: InformationSpace, text: str) -> tuple[Area, ...]:
    """Those of that space, each once; what is wrong is left out."""
    if _OF_BOX.search(text) is None:  # as nearly always
        point = point_in(space, text)
        return () if point is None else (point,)
    found: list[Area] = []
    with suppress(Refusal):
        for each in said_in(text):
            if space_of(each) == space.name:
                with suppress(Refusal):
                    found.append(parse_area(each, space))
    return tuple(dict.fromkeys(found))


def spaces_in(text: str) -> list[str]:
    """The names of those that it speaks of, each once."""
    return list(dict.fromkeys(map(space_of, text.split(BETWEEN)))) if BETWEEN in text else [space_of(text)]


def meets(area: Area, sides: tuple[Side, ...]) -> bool:
    """Whether a point of it lies in the box. A space that was declared otherwise then is another."""
    told = area.sides if isinstance(area, InBox) else area
    if len(told) != len(sides):
        return False
    if isinstance(area, InBox):
        return all(map(overlap, sides, area.sides))
    return all(each in side for each, side in zip(area, sides, strict=True))


def _is_single(side: Side) -> bool:
    match side:
        case OneOf(values):
            return len(values) == 1
        case Interval(low, high):
            return low == high
        case Like():
            return False


def _only(side: Side) -> Coordinate:
    match side:
        case OneOf(values):
            return values[0]
        case Interval(low):
            return low
        case Like(prefix):
            return prefix
