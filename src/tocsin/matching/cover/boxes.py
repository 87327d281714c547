"""Covering of boxes: whether some boxes together contain all points that lie in each of some others."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, product
from math import inf, nextafter

from tocsin.matching.index.axes import ends
from tocsin.model.filters import InBox
from tocsin.model.space import WHOLE, Coordinate, Dimension, InformationSpace, Interval, Like, OneOf, Side

BUDGET = 20_000  # coordinates and combinations tried; boxes that need more are taken as not covered
_SOME = 200  # of so many combinations the needless ones are looked for
_NUMBER, _STRING = Dimension("", "number"), Dimension("", "string")


def boxes_cover(wide: Sequence[InBox], narrow: Sequence[InBox], space: InformationSpace | None = None) -> bool:
    """True only if every point that is in all of `narrow`, which are some, is in one of `wide`; all of one space.

    Complete for one and one, and for more within the budget, if the space is given. Without it coordinates are taken
    to be any strings, or any numbers where a side is of numbers: no more is covered than there is.
    """
    dimensions = _dimensions([*wide, *narrow], space)
    if dimensions is None:
        return False
    if any(_box_covers(one, other, dimensions) for one in wide for other in narrow):
        return True
    return len(wide) + len(narrow) > 2 and _Trial(BUDGET).cover(wide, narrow, dimensions)


def _dimensions(boxes: Sequence[InBox], space: InformationSpace | None) -> tuple[Dimension, ...] | None:
    """None when boxes are of a space declared otherwise."""
    if space is None:
        columns = zip(*(box.sides for box in boxes), strict=False)
        guessed = tuple(_NUMBER if any(type(side) is Interval for side in sides) else _STRING for sides in columns)
    else:
        guessed = space.dimensions
    return guessed if all(_is_of(box, guessed) for box in boxes) else None


def _is_of(box: InBox, dimensions: tuple[Dimension, ...]) -> bool:
    if len(box.sides) != len(dimensions):
        return False
    pairs = zip(box.sides, dimensions, strict=True)
    return all(side == WHOLE or (type(side) is Interval) == (each.kind in ("number", "time")) for side, each in pairs)


def _box_covers(wide: InBox, narrow: InBox, dimensions: tuple[Dimension, ...]) -> bool:
    return all(map(_side_covers, wide.sides, narrow.sides, dimensions))


def _side_covers(wide: Side, narrow: Side, dimension: Dimension) -> bool:
    if wide in (WHOLE, narrow):
        return True
    match dimension.kind, wide, narrow:
        case "enumeration", _, _:
            return all(value in wide for value in dimension.values if value in narrow)
        case "string", _, OneOf(values):
            return all(value in wide for value in values)
        case "string", Like(), Like(prefix, suffix):
            return prefix.startswith(wide.prefix) and suffix.endswith(wide.suffix)
        case "string", _, _:
            return False
    (low, high), (first, last) = ends(wide), ends(narrow)
    return low <= max(first, dimension.ends[0]) and min(last, dimension.ends[1]) <= high


class _OverBudget(Exception):
    pass


class _Trial:
    """In each dimension one coordinate is tried of every class that no side tells apart."""

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def cover(self, wide: Sequence[InBox], narrow: Sequence[InBox], dimensions: tuple[Dimension, ...]) -> bool:
        """`reached` are the sets of wide boxes, as bits, that a point may still be in after some of the dimensions."""
        try:
            classes = [self._classes(wide, narrow, at, each) for at, each in enumerate(dimensions)]
            reached = {(1 << len(wide)) - 1} if all(classes) else set()  # else a side is empty, and with it the box
            for each in sorted(classes, key=len):
                self._spend(len(each) * len(reached))
                reached = _least(boxes & more for boxes, more in product(reached, each))
            return 0 not in reached
        except _OverBudget:
            return False

    def _classes(self, wide: Sequence[InBox], narrow: Sequence[InBox], at: int, dimension: Dimension) -> set[int]:
        """For each class inside the narrow sides, which wide boxes have it."""
        wides, narrows = [box.sides[at] for box in wide], [box.sides[at] for box in narrow]
        tried = self._tried(dimension, {*wides, *narrows})
        self._spend(len(tried) * len(wides))
        return _least(_having(each, wides) for each in tried if all(each in side for side in narrows))

    def _tried(self, dimension: Dimension, sides: set[Side]) -> set[Coordinate]:
        match dimension.kind:
            case "enumeration":
                return set(dimension.values)
            case "string":
                likes = [(each.prefix, each.suffix) for each in sides if isinstance(each, Like)]
                prefixes, suffixes = {prefix for prefix, _ in likes} | {""}, {suffix for _, suffix in likes} | {""}
                self._spend(sum(1 + min(map(len, pair)) for pair in product(prefixes, suffixes)))
                members = {value for side in sides if isinstance(side, OneOf) for value in side.values}
                return {*members, *_strings(prefixes, suffixes, members)}
        low, high = dimension.ends
        edges = {each for side in sides for first, last in (ends(side),) for each in (first, nextafter(last, inf))}
        return {low, *(each for each in edges if low < each <= high)}

    def _spend(self, amount: int) -> None:
        self._budget -= amount
        if self._budget < 0:
            raise _OverBudget


def _strings(prefixes: set[str], suffixes: set[str], members: set[str]) -> Iterator[str]:
    """With each beginning and each end: one that says no more, and those in which the two touch or overlap."""
    mentioned = set("".join((*prefixes, *suffixes, *members)))
    other = next(character for character in map(chr, count(32)) if character not in mentioned)
    for prefix, suffix in product(prefixes, suffixes):
        yield prefix + other + suffix
        for shared in range(1 + min(len(prefix), len(suffix))):
            if prefix.endswith(suffix[:shared]) and (prefix or suffix):
                yield prefix + suffix[shared:]


def _having(coordinate: Coordinate, sides: Iterable[Side]) -> int:
    return sum((coordinate in side) << at for at, side in enumerate(sides))


def _least(sets: Iterable[int]) -> set[int]:
    """Without those that include another: if that one is covered, so are they."""
    found = set(sets)
    if len(found) > _SOME:
        return found
    return {one for one in found if not any(other != one and other & one == other for other in found)}
