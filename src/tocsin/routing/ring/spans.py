"""Spans: sets of keys on the circle, as they travel between nodes. All is asked of them by one question: which of your
keys is the next?"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Protocol, Union

from msgspec import Struct

from tocsin.routing.ring.descent import Sides, next_inside, next_outside
from tocsin.routing.ring.hilbert import MOST_DIMENSIONS, HilbertCurve
from tocsin.routing.ring.identifiers import BITS, LAST, SIZE
from tocsin.routing.ring.ranges import Range, Ranges, merged, next_beside, next_in


class _Asked(Protocol):
    def next_key(self, at: int) -> int | None: ...


class _Span(Struct, frozen=True):
    """What all kinds can say once they say which key is the next, and which is not one of theirs."""

    def __contains__(self: _Asked, key: int) -> bool:
        return self.next_key(key) == key

    def meets(self: _Asked, first: int, last: int) -> bool:
        """Whether a key lies between the two, both included."""
        found = self.next_key(first)
        return found is not None and found <= last

    def meets_arc(self: _Asked, after: int, upto: int) -> bool:
        """Whether a key lies in the arc (after, upto] of the circle."""
        found = self.next_key(after + 1)
        if after < upto:
            return found is not None and found <= upto
        if found is not None:
            return True
        found = self.next_key(0)
        return found is not None and found <= upto


class Everywhere(_Span, frozen=True, tag="everywhere"):
    def next_key(self, at: int) -> int | None:
        return at if at <= LAST else None

    def next_gap(self, at: int) -> int | None:
        return _on_circle(max(at, SIZE))


class Keys(_Span, frozen=True, tag="keys"):
    """Single keys, from the smallest on."""

    keys: tuple[int, ...]

    def next_key(self, at: int) -> int | None:
        ahead = bisect_left(self.keys, at)
        return self.keys[ahead] if ahead < len(self.keys) else None

    def next_gap(self, at: int) -> int | None:
        return _on_circle(next_beside(merged((each, each) for each in self.keys), at))


class Arcs(_Span, frozen=True, tag="arcs"):
    """Both ends of each are in it. One that passes the end of the circle is two."""

    arcs: Ranges

    def next_key(self, at: int) -> int | None:
        return next_in(self.arcs, at)

    def next_gap(self, at: int) -> int | None:
        return _on_circle(next_beside(self.arcs, at))


class Box(_Span, frozen=True, tag="box"):
    """Cells of an information space, in the order in which Hilbert's curve passes them, from `start` on and round the
    circle. A side is some ranges of cells, at least one."""

    start: int
    sides: Sides

    def __post_init__(self) -> None:
        if not 1 <= len(self.sides) <= MOST_DIMENSIONS or not all(self.sides):
            raise ValueError(f"a box has 1 to {MOST_DIMENSIONS} sides, none of them empty")

    def next_key(self, at: int) -> int | None:
        return self._turned(at, next_inside)

    def next_gap(self, at: int) -> int | None:
        return self._turned(at, next_outside)

    def _turned(self, at: int, search: "_Search") -> int | None:
        """On the circle the curve ends before its start."""
        if at < self.start:
            found = self._along(at - self.start + SIZE, search)
            if found is not None:
                return found + self.start - SIZE
        found = self._along(max(at - self.start, 0), search) if at <= LAST else None
        return None if found is None else _on_circle(found + self.start)

    def _along(self, at: int, search: "_Search") -> int | None:
        """Where dimensions do not divide the bits of a key, several keys are of one cell."""
        curve = curve_of(len(self.sides))
        spare = BITS - curve.dimensions * curve.bits
        found = search(curve, self.sides, at >> spare)
        return None if found is None else max(at, found << spare)


class Several(_Span, frozen=True, tag="several"):
    """The keys of any of them."""

    spans: "tuple[Span, ...]"

    def next_key(self, at: int) -> int | None:
        found = [key for each in self.spans if (key := each.next_key(at)) is not None]
        return min(found, default=None)

    def next_gap(self, at: int) -> int | None:
        gap: int | None = at
        while gap is not None and (inside := next((each for each in self.spans if gap in each), None)) is not None:
            gap = inside.next_gap(gap)
        return gap


Span = Union[Everywhere, Keys, Arcs, Box, Several]  # noqa: UP007 - msgspec reads it
EVERYWHERE, NOWHERE = Everywhere(), Keys(())
_Search = Callable[[HilbertCurve, Sides, int], int | None]


@cache
def curve_of(dimensions: int) -> HilbertCurve:
    """That which gives as many bits to each dimension as a key has."""
    return HilbertCurve(dimensions, BITS // dimensions)


def union(spans: Iterable[Span]) -> Span:
    """As few as say the same."""
    parts = dict.fromkeys(_parts(spans))
    if EVERYWHERE in parts:
        return EVERYWHERE
    ranges = merged(each for part in parts for each in _ranges(part))
    boxes: list[Span] = [each for each in parts if isinstance(each, Box)]
    if ranges or not boxes:
        is_keys = all(first == last for first, last in ranges)
        boxes.append(Keys(tuple(first for first, _ in ranges)) if is_keys else Arcs(ranges))
    return boxes[0] if len(boxes) == 1 else Several(tuple(boxes))


def _parts(spans: Iterable[Span]) -> Iterator[Span]:
    for each in spans:
        if isinstance(each, Several):
            yield from _parts(each.spans)
        else:
            yield each


def _ranges(span: Span) -> Iterable[Range]:
    match span:
        case Keys(keys):
            return ((each, each) for each in keys)
        case Arcs(arcs):
            return arcs
    return ()


class Clusters(Struct, frozen=True):
    """Runs of keys, both ends included; `more` when there are others after them."""

    runs: Ranges
    more: bool


def clusters(span: Span, most: int) -> Clusters:
    """The maximal runs of consecutive keys, from the smallest key on; one that passes the end of the circle is two."""
    found = tuple(islice(_runs(span), most + 1))
    return Clusters(found[:most], len(found) > most)


def _runs(span: Span) -> Iterator[Range]:
    at: int | None = 0
    while at is not None and (first := span.next_key(at)) is not None:
        at = span.next_gap(first)
        yield first, LAST if at is None else at - 1


def _on_circle(key: int) -> int | None:
    return key if key <= LAST else None
