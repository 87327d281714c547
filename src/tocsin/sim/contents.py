"""What is published and asked for in an information space, drawn from a seed: points, and boxes of all kinds around
them. Numbers gather around a middle and words begin with some letters more often, as what people measure and name."""

from collections.abc import Iterator
from random import Random

from msgspec import Struct

from tocsin.model.filters import InBox
from tocsin.model.space import WHOLE, Coordinate, Dimension, InformationSpace, Interval, Like, OneOf, Point, Side

HIGH = 1000.0
_LETTERS, _OFTEN = "etaoinshrdlucmfwypvbgkjqxz", [12, 9, 8, 8, 7, 7, 6, 6, 6, 4, 4, 3, 3, 2, 2, 2, 2, 2, *[1] * 8]
POINTS, BOXES = 0.3, 0.9  # so many of all ask for one point, and so many for that or a box; the others for a prefix
WIDTHS = 0.05, 0.3  # of a side, as a part of its dimension


def space(dimensions: int) -> InformationSpace:
    """Of numbers; the first dimension is of words, if there are others."""
    word = [Dimension("word", "string")] if dimensions > 1 else []
    rest = (Dimension(f"d{number}", "number", 0, HIGH) for number in range(dimensions - len(word)))
    return InformationSpace("overlay", (*word, *rest))


class Contents(Struct, frozen=True):
    """Of one seed."""

    space: InformationSpace
    seed: int

    def points(self, count: int, part: str = "points") -> Iterator[Point]:
        random = Random(f"{self.seed} {part}")
        return (self._point(random) for _ in range(count))

    def boxes(self, count: int) -> Iterator[InBox]:
        """Around points that may be published: those of the first thousand."""
        random, known = Random(f"{self.seed} boxes"), list(self.points(1000))
        return (self._box(random, random.choice(known)) for _ in range(count))

    def _point(self, random: Random) -> Point:
        return tuple(_coordinate(random, each) for each in self.space.dimensions)

    def _box(self, random: Random, point: Point) -> InBox:
        kind = random.random()
        make = _exactly if kind < POINTS else _around if kind < BOXES else _beginning
        return InBox(self.space.name, tuple(make(random, each) for each in point))


def _coordinate(random: Random, dimension: Dimension) -> Coordinate:
    if dimension.kind == "string":
        return "".join(random.choices(_LETTERS, _OFTEN, k=8))
    return round(min(HIGH, max(0.0, random.gauss(HIGH / 2, HIGH / 5))), 3)


def _exactly(random: Random, value: Coordinate) -> Side:
    del random
    return OneOf((value,)) if isinstance(value, str) else Interval(value, value)


def _around(random: Random, value: Coordinate) -> Side:
    if isinstance(value, str):
        return Like(prefix=value[: random.choice((1, 2))])
    width = HIGH * random.uniform(*WIDTHS)
    low = value - width * random.random()
    return Interval(low, low + width)


def _beginning(random: Random, value: Coordinate) -> Side:
    """A word that begins so, whatever else; among numbers alone all above some."""
    if isinstance(value, str):
        return Like(prefix=value[: random.choice((2, 3))])
    del random
    return WHOLE


def is_in(box: InBox, point: Point) -> bool:
    """By definition: in every dimension."""
    return all(value in side for value, side in zip(point, box.sides, strict=True))
