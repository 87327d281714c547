"""The next place of Hilbert's curve that lies in a box, or beside it.

A box meets the curve in runs, of which there may be millions (Squid calls them clusters). They are not made: the cubes
of the curve are descended, and those left out that have nothing of what is looked for. Of each that is left it is
certain that something is found, so there is one way down to `at`, and at most one way down to what follows it: two
looks at each level, whatever the box.
"""

from collections.abc import Callable

from tocsin.routing.ring.hilbert import START, HilbertCurve
from tocsin.routing.ring.ranges import Ranges, cover, meet

Sides = tuple[Ranges, ...]  # the cells of a box, none of its sides empty
Corner = tuple[int, ...]  # the lowest cell of a cube
_Choose = Callable[[HilbertCurve, Sides, Corner, int], int]
_Ahead = list[tuple[int, int, Corner, int]]  # on the way down: level, state, corner, and the children to look at

ENTIRELY = -1  # said of the children of a cube all of which is wanted, down to the last cell


def next_inside(curve: HilbertCurve, sides: Sides, at: int) -> int | None:
    """The smallest index, not below `at`, of a cell of the box."""
    return _next(curve, sides, at, _meeting)


def next_outside(curve: HilbertCurve, sides: Sides, at: int) -> int | None:
    """The smallest index, not below `at`, of a cell that is not in the box."""
    return _next(curve, sides, at, _sticking_out)


def _next(curve: HilbertCurve, sides: Sides, at: int, choose: _Choose) -> int | None:
    level, state, corner, ahead = curve.bits, START, (0,) * curve.dimensions, _Ahead()
    while level:
        level -= 1
        children = choose(curve, sides, corner, 1 << level)
        if children == ENTIRELY:
            return at
        ahead.append((level, state, corner, children))
        place = at >> level * curve.dimensions & curve.last
        if not children >> curve.row(state).children[place] & 1:
            return _behind(curve, sides, at, ahead, choose)
        state, corner = _below(curve, level, state, corner, place)
    return at


def _behind(curve: HilbertCurve, sides: Sides, at: int, ahead: _Ahead, choose: _Choose) -> int | None:
    """Of the cubes that `at` lies in, the smallest that goes on with something wanted has the next."""
    while ahead:
        level, state, corner, children = ahead.pop()
        index = at >> level * curve.dimensions
        place = curve.first(state, children, (index & curve.last) + 1)
        if place is not None:
            state, corner = _below(curve, level, state, corner, place)
            return _first(curve, sides, (level, state, corner), index & ~curve.last | place, choose)
    return None


def _first(curve: HilbertCurve, sides: Sides, cube: tuple[int, int, Corner], index: int, choose: _Choose) -> int:
    """Of a cube with something wanted in it; the index is of the cube itself."""
    level, state, corner = cube
    while level:
        level -= 1
        children = choose(curve, sides, corner, 1 << level)
        if children == ENTIRELY:
            return index << (level + 1) * curve.dimensions
        place = curve.first(state, children, 0)
        assert place is not None, "of a cube that was chosen something is wanted"
        state, corner = _below(curve, level, state, corner, place)
        index = index << curve.dimensions | place
    return index


def _below(curve: HilbertCurve, level: int, state: int, corner: Corner, place: int) -> tuple[int, Corner]:
    """The state and the corner of a child, which is of that level."""
    children, _, states = curve.row(state)
    ends = curve.corners[children[place]]
    return states[place], tuple([start + (end << level) for start, end in zip(corner, ends, strict=True)])


def _meeting(curve: HilbertCurve, sides: Sides, corner: Corner, half: int) -> int:
    """The children of a cube that meet the box, if the cube does."""
    found, entirely = curve.all, True
    for ranges, start, (lower, upper) in zip(sides, corner, curve.halves, strict=True):
        middle = start + half
        first, last = ranges[0]
        if len(ranges) > 1:  # more rarely
            found &= _halves(ranges, start, half, (lower, upper))
            entirely = entirely and cover(ranges, start, middle + half - 1)
        elif last < middle:
            found, entirely = found & lower, False
        elif first >= middle:
            found, entirely = found & upper, False
        elif first > start or last < middle + half - 1:
            entirely = False
    return ENTIRELY if entirely else found


def _halves(ranges: Ranges, start: int, half: int, children: tuple[int, int]) -> int:
    lower, upper = children
    low, high = meet(ranges, start, start + half - 1), meet(ranges, start + half, start + 2 * half - 1)
    return (lower if low else 0) | (upper if high else 0)


def _sticking_out(curve: HilbertCurve, sides: Sides, corner: Corner, half: int) -> int:
    """The children of a cube that are not wholly in the box."""
    inside = curve.all
    for ranges, start, (lower, upper) in zip(sides, corner, curve.halves, strict=True):
        if not meet(ranges, start, start + 2 * half - 1):
            return ENTIRELY
        low, high = cover(ranges, start, start + half - 1), cover(ranges, start + half, start + 2 * half - 1)
        inside &= (lower if low else 0) | (upper if high else 0)
    return curve.all ^ inside
