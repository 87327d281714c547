"""The curve passes every cell once, from each to one beside it; and what it has next in a box is found by descent."""

from bisect import bisect_left
from functools import cache
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.routing.ring.cells import Cell, is_inside, ranges

from tocsin.routing.ring.descent import Sides, next_inside, next_outside
from tocsin.routing.ring.hilbert import HilbertCurve
from tocsin.routing.ring.ranges import cover, meet, merged, next_beside, next_in

SMALL = [(1, 7), (2, 4), (2, 5), (3, 2), (3, 3), (4, 2), (5, 2), (6, 2), (7, 1), (8, 1)]


@cache
def passed(dimensions: int, bits: int) -> list[Cell]:
    """All cells, in the order of their indices."""
    return sorted(product(range(1 << bits), repeat=dimensions), key=HilbertCurve(dimensions, bits).index)


@pytest.mark.parametrize(("dimensions", "bits"), SMALL)
def test_each_cell_has_an_index_of_its_own_and_is_beside_the_next(dimensions: int, bits: int) -> None:
    curve, cells = HilbertCurve(dimensions, bits), passed(dimensions, bits)
    assert [curve.index(each) for each in cells] == list(range(1 << dimensions * bits))
    for one, other in pairwise(cells):
        assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1


@given(st.integers(1, 8), st.data())
def test_a_finer_curve_passes_the_same_cubes_in_the_same_order(dimensions: int, data: st.DataObject) -> None:
    bits = 64 // dimensions
    coarser = data.draw(st.integers(1, bits))
    cells = data.draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=dimensions, max_size=dimensions))
    fine = HilbertCurve(dimensions, bits).index(cells)
    coarse = HilbertCurve(dimensions, coarser).index([each >> bits - coarser for each in cells])
    assert fine >> (bits - coarser) * dimensions == coarse


@st.composite
def boxes(draw: st.DrawFn) -> tuple[int, int, Sides]:
    dimensions, bits = draw(st.sampled_from(SMALL))
    return dimensions, bits, tuple(draw(ranges((1 << bits) - 1)) for _ in range(dimensions))


@given(boxes())
@settings(max_examples=examples(60))
def test_the_next_inside_and_outside_are_found_from_everywhere(box: tuple[int, int, Sides]) -> None:
    dimensions, bits, sides = box
    curve, cells = HilbertCurve(dimensions, bits), passed(dimensions, bits)
    inside = [index for index, cell in enumerate(cells) if is_inside(cell, sides)]
    outside = [index for index, cell in enumerate(cells) if not is_inside(cell, sides)]
    for at in range(0, len(cells), max(1, len(cells) // 150)):
        assert next_inside(curve, sides, at) == next(iter(inside[bisect_left(inside, at) :]), None)
        assert next_outside(curve, sides, at) == next(iter(outside[bisect_left(outside, at) :]), None)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda pair: (min(pair), max(pair))), max_size=5))
def test_merged_ranges_are_the_same_integers(some: list[tuple[int, int]]) -> None:
    members = {each for first, last in some for each in range(first, last + 1)}
    found = merged(some)
    assert {each for first, last in found for each in range(first, last + 1)} == members
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(found))
    for at in range(23):
        assert next_in(found, at) == min((each for each in members if each >= at), default=None)
        assert next_beside(found, at) == min(each for each in range(at, 25) if each not in members)
        for upto in range(at, 23):
            between = set(range(at, upto + 1))
            assert meet(found, at, upto) == bool(between & members)
            assert cover(found, at, upto) == (between <= members)
