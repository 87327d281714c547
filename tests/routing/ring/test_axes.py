"""Cells keep the order of what is in them, and a side has the cells of all that is inside."""

from collections.abc import Callable
from itertools import pairwise
from math import inf, nextafter
from sys import float_info
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.model.space import FIRST_TIME, LAST_TIME, WHOLE, Coordinate, Dimension, Interval, Like, OneOf, Side
from tocsin.routing.ring import codes
from tocsin.routing.ring.axes import MOST_RANGES, axis_of
from tocsin.routing.ring.codes import code_of_number, code_of_string, codes_of_prefix
from tocsin.routing.ring.ranges import cover

TINY, HUGE = nextafter(0.0, 1.0), float_info.max
ODD = [0.0, -0.0, TINY, -TINY, 1.0, -1.0, HUGE, -HUGE, inf, -inf, codes.SMALL, codes.LARGE, float_info.min]
FLOATS = st.sampled_from(ODD) | st.floats(allow_nan=False)
TEXTS = st.text("ab", max_size=4) | st.text(
    "abzAZ059 ,-_~\x00\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff", max_size=40
)
BITS = st.sampled_from([8, 9, 10, 12, 16, 21, 32, 64])
BOUNDS = [(0.0, 5.0), (-90.0, 60.0), (-HUGE, HUGE), (0.0, TINY), (-TINY, TINY), (1.0, nextafter(1.0, 2)), (0.0, inf)]
NUMBERS = [Dimension("n", "number"), *(Dimension("n", "number", *each) for each in BOUNDS)]
TIMES = [Dimension("t", "time"), Dimension("t", "time", 0.0), Dimension("t", "time", 0.0, 1e6)]
LISTED = [Dimension("e", "enumeration", values=tuple(f"v{n}" for n in range(size))) for size in (1, 2, 17, 300)]
DIMENSIONS = st.sampled_from([Dimension("s", "string"), *NUMBERS, *TIMES, *LISTED])


@given(FLOATS, FLOATS)
def test_numbers_keep_their_order(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= code_of_number(low) <= code_of_number(high) < 1 << 64
    assert code_of_number(low) == code_of_number(high) or low < high


def test_there_is_one_zero() -> None:
    assert code_of_number(-0.0) == code_of_number(0.0) == 1 << 63


def test_numbers_of_every_size_are_told_apart() -> None:
    rising = [-inf, -1e300, -1e9, -1.0, -1e-9, -1e-300, 0.0, 1e-300, 1e-9, 1.0, nextafter(1.0, 2), 1e9, 1e300, inf]
    for one, other in pairwise(map(code_of_number, rising)):
        assert one < other
    usual = code_of_number(1e9) - code_of_number(0.001)
    assert usual > 1 << 61, "an eighth of all is for what people count"


@given(TEXTS, TEXTS)
def test_strings_keep_the_order_of_their_bytes(one: str, other: str) -> None:
    low, high = sorted((one, other), key=lambda text: text.encode())
    assert 0 <= code_of_string(low) <= code_of_string(high) < 1 << 64


@given(TEXTS, TEXTS, st.integers(0, 60))
def test_what_begins_alike_is_together(prefix: str, rest: str, finest: int) -> None:
    low, high = codes_of_prefix(prefix, 1 << finest)
    assert low <= code_of_string(prefix + rest, 1 << finest) <= high


def test_the_shares_of_bytes_are_all_there_is() -> None:
    assert codes_of_prefix("") == (0, (1 << 64) - 1)
    assert sum(codes._widths) == 1 << 12
    letters = "abcdefghijklmnopqrstuvwxyz"
    widths = [high - low for low, high in map(codes_of_prefix, letters + letters.upper() + "0123456789")]
    assert sum(widths) > 0.75 * 2**64


def test_strings_that_are_no_unicode_have_a_code_too() -> None:
    assert code_of_string("a\ud800") <= code_of_string("a\ue000")


def test_very_long_strings_cost_no_more() -> None:
    assert codes_of_prefix("a" * 1_000_000) == codes_of_prefix("a" * 100)


def coordinates(dimension: Dimension) -> st.SearchStrategy[Coordinate]:
    match dimension.kind:
        case "string":
            return TEXTS
        case "enumeration":
            return st.sampled_from(dimension.values)
        case "time":
            low, high = max(dimension.low, FIRST_TIME), min(dimension.high, LAST_TIME)
            return st.floats(low, high) | st.sampled_from([low, high])
    low, high = dimension.ends
    inner = [each for each in ODD if low <= each <= high]
    return st.floats(low, high) | st.sampled_from([low, high, *inner])


def sides(dimension: Dimension) -> st.SearchStrategy[Side]:
    """Also of kinds that a dimension has not: it may have been declared otherwise."""
    likes = st.builds(Like, TEXTS | st.sampled_from(["v1", "a"]), TEXTS | st.just(""))
    texts = TEXTS | st.sampled_from(dimension.values or ("a",))
    sets = st.lists(texts, max_size=20).map(lambda values: OneOf(tuple(values)))
    if dimension.kind in ("string", "enumeration"):
        return st.one_of(st.just(WHOLE), likes, sets)
    ends = FLOATS | coordinates(dimension).map(lambda each: each if isinstance(each, float) else 0.0)
    return st.just(WHOLE) | st.builds(Interval, ends, ends, st.booleans(), st.booleans()) | likes | sets


@given(DIMENSIONS, BITS, st.data())
@settings(max_examples=examples(400))
def test_what_is_in_a_side_lies_in_its_cells(dimension: Dimension, bits: int, data: st.DataObject) -> None:
    axis = axis_of(dimension, bits)
    side, value = data.draw(sides(dimension)), data.draw(coordinates(dimension))
    cells, cell = axis.cells(side), axis.cell(value)  # type: ignore[arg-type]
    assert 0 <= cell < 1 << bits
    assert len(cells) <= MOST_RANGES
    assert all(0 <= first <= last < 1 << bits for first, last in cells)
    assert cover(cells, cell, cell) or value not in side


@given(DIMENSIONS, BITS, st.data())
def test_cells_keep_the_order(dimension: Dimension, bits: int, data: st.DataObject) -> None:
    axis = axis_of(dimension, bits)
    low, high = sorted((data.draw(coordinates(dimension)), data.draw(coordinates(dimension))), key=_rank(dimension))
    assert axis.cell(low) <= axis.cell(high)  # type: ignore[arg-type]


def _rank(dimension: Dimension) -> Callable[[Coordinate], Any]:
    if dimension.kind == "enumeration":
        return dimension.values.index
    return lambda value: value.encode() if isinstance(value, str) else value


def test_ends_of_a_range_are_the_first_and_the_last_cell() -> None:
    axis = axis_of(Dimension("n", "number", -90, 60), 21)
    assert axis.cells(Interval(-90.0, 60.0)) == axis.cells(WHOLE) == ((0, (1 << 21) - 1),)
    assert axis.cells(Interval(-inf, -90.0)) == ((0, 0),)
    assert axis.cells(Interval(5.0, 5.0, low_open=True)) == ()
    ((_, below),) = axis.cells(Interval(high=-15.0, high_open=True))
    ((first, _),) = axis.cells(Interval(low=-15.0))
    assert first - 1 <= below <= first


def test_times_without_a_range_are_in_the_years_1_to_9999() -> None:
    axis = axis_of(Dimension("t", "time"), 21)
    ((first, last),) = axis.cells(Interval(1.9e9, 1.9e9 + 86_400))
    assert last - first <= 1


def test_many_strings_are_one_range_few_are_several() -> None:
    axis = axis_of(Dimension("s", "string"), 21)
    few, many = ([f"{chr(97 + n)}x" for n in range(size)] for size in (16, 17))
    assert len(axis.cells(OneOf(tuple(few)))) == 16
    ((first, last),) = axis.cells(OneOf(tuple(many)))
    assert (first, last) == (axis.cells(OneOf(("ax",)))[0][0], axis.cells(OneOf(("qx",)))[0][1])


@pytest.mark.parametrize("side", [Like("", ",NJ"), WHOLE])
def test_a_suffix_narrows_nothing(side: Side) -> None:
    assert axis_of(Dimension("s", "string"), 21).cells(side) == ((0, (1 << 21) - 1),)
