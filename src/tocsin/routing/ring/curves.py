"""Information spaces on the circle: a point has a key, a box has a span (DHT broker s3, Squid)."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tocsin.model.space import InformationSpace, Point, Side
from tocsin.routing.ring.axes import axis_of
from tocsin.routing.ring.hilbert import MOST_DIMENSIONS
from tocsin.routing.ring.identifiers import BITS, LAST, identifier_of
from tocsin.routing.ring.spans import NOWHERE, Box, Span, curve_of

MOST_REMEMBERED = 1_024  # spaces


class SpaceCurve:
    """Of the first dimensions of a space; the others do not matter for the place. Spaces begin at different places, so
    that what is common in many of them is not all at one node."""

    def __init__(self, space: InformationSpace) -> None:
        dimensions = space.dimensions[:MOST_DIMENSIONS]
        self._size, self._curve = len(space.dimensions), curve_of(len(dimensions))
        self._axes = [axis_of(each, self._curve.bits) for each in dimensions]
        self._cells: list[Callable[[Any], int]] = [each.cell for each in self._axes]
        self._spare = BITS - len(dimensions) * self._curve.bits
        self.start = identifier_of(space.name)

    def key(self, point: Point) -> int:
        cells = [cell(each) for cell, each in zip(self._cells, point, strict=False)]
        return (self._curve.index(cells) << self._spare) + self.start & LAST

    def span(self, sides: Sequence[Side]) -> Span:
        """A box of a space that was declared otherwise since has no points in it."""
        if len(sides) != self._size:
            return NOWHERE
        cells = tuple(axis.cells(side) for axis, side in zip(self._axes, sides, strict=False))
        return Box(self.start, cells) if all(cells) else NOWHERE


@lru_cache(MOST_REMEMBERED)
def curve_through(space: InformationSpace) -> SpaceCurve:
    return SpaceCurve(space)
