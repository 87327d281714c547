"""The next place of Hilbert's curve that lies in a box, or beside it.

A box meets the curve in runs, of which there may be millions (Squid calls them clusters). They are not made: the cubes
of the curve are descended, and those left out that have nothing of what is looked for. Of each that is left it is
certain that something is found, so there is one way down to `at`, and at most one way down to what follows it: two
looks at each level, whatever the box.
"""

from collections.abc import Callable
from typing import NamedTuple

from tocsin.routing.ring.hilbert import START, HilbertCurve
from tocsin.routing.ring.ranges import Ranges, cover, meet

Sides = tuple[Ranges, ...]  # the cells of a box, none of its sides empty
Corner = tuple[int, ...]
Choose = Callable[[HilbertCurve, Sides, Corner, int], int]


class _Cube(NamedTuple):
    """Entered in a state, with 2^level cells a side from its corner on; `before` it the curve passes so many others."""

    level: int
    state: int
    corner: Corner
    before: int


def next_inside(curve: HilbertCurve, sides: Sides, at: int) -> int | None:
    """The smallest index, not below `at`, of a cell of the box."""
    return _next(curve, sides, at, _meeting)


def next_outside(curve: HilbertCurve, sides: Sides, at: int) -> int | None:
    """The smallest index, not below `at`, of a cell that is not in the box."""
    return _next(curve, sides, at, _sticking_out)


def _next(curve: HilbertCurve, sides: Sides, at: int, choose: Choose) -> int | None:
    cube, ahead = _Cube(curve.bits, START, (0,) * curve.dimensions, 0), list[tuple[_Cube, int, int]]()
    while cube.level:
        children = choose(curve, sides, cube.corner, 1 << cube.level - 1)
        place = at >> (cube.level - 1) * curve.dimensions & curve.last
        if place < curve.last:
            ahead.append((cube, children, place + 1))
        if not children >> curve.row(cube.state).children[place] & 1:
            return _behind(curve, sides, ahead, choose)
        cube = _child(curve, cube, place)
    return at


def _behind(curve: HilbertCurve, sides: Sides, ahead: list[tuple[_Cube, int, int]], choose: Choose) -> int | None:
    """The lowest cube that goes on with something wanted has the next."""
    while ahead:
        cube, children, start = ahead.pop()
        place = curve.first(cube.state, children, start)
        if place is not None:
            return _first(curve, sides, _child(curve, cube, place), choose)
    return None


def _first(curve: HilbertCurve, sides: Sides, cube: _Cube, choose: Choose) -> int:
    while cube.level:
        place = curve.first(cube.state, choose(curve, sides, cube.corner, 1 << cube.level - 1), 0)
        assert place is not None, "a cube that was chosen has what is looked for"
        cube = _child(curve, cube, place)
    return cube.before


def _child(curve: HilbertCurve, cube: _Cube, place: int) -> _Cube:
    row, half = curve.row(cube.state), 1 << cube.level - 1
    child, corner = row.children[place], list(cube.corner)
    for at in range(curve.dimensions):
        if child >> at & 1:
            corner[at] += half
    return _Cube(cube.level - 1, row.states[place], tuple(corner), cube.before << curve.dimensions | place)


def _meeting(curve: HilbertCurve, sides: Sides, corner: Corner, half: int) -> int:
    """The children of a cube that meet the box, if the cube does."""
    found = curve.all
    for ranges, start, (lower, upper) in zip(sides, corner, curve.halves, strict=True):
        middle = start + half
        if len(ranges) == 1:
            if ranges[0][1] < middle:
                found &= lower
            elif ranges[0][0] >= middle:
                found &= upper
        elif not meet(ranges, middle, middle + half - 1):
            found &= lower
        elif not meet(ranges, start, middle - 1):
            found &= upper
    return found


def _sticking_out(curve: HilbertCurve, sides: Sides, corner: Corner, half: int) -> int:
    """The children of a cube that are not wholly in the box."""
    inside = curve.all
    for ranges, start, (lower, upper) in zip(sides, corner, curve.halves, strict=True):
        middle = start + half
        low, high = cover(ranges, start, middle - 1), cover(ranges, middle, middle + half - 1)
        inside &= (lower if low else 0) | (upper if high else 0)
    return curve.all ^ inside
