"""Every kind of span against its runs of keys, written out."""

from functools import cache
from itertools import product
from unittest.mock import Mock

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.routing.ring.cells import is_inside, ranges

from tocsin.routing.ring import descent
from tocsin.routing.ring.descent import Sides
from tocsin.routing.ring.hilbert import HilbertCurve
from tocsin.routing.ring.identifiers import BITS, LAST, SIZE, within
from tocsin.routing.ring.ranges import Range, Ranges, cover, meet, merged, next_beside, next_in
from tocsin.routing.ring.spans import EVERYWHERE, NOWHERE, Arcs, Box, Keys, Several, Span, clusters, curve_of, union

COARSE = 2  # bits of the boxes whose runs can be written out: their sides end where coarse cells do
PLACES = st.integers(0, LAST) | st.sampled_from([0, 1, SIZE // 2, LAST - 1, LAST])


@cache
def coarse(dimensions: int) -> list[tuple[int, ...]]:
    every = product(range(1 << COARSE), repeat=dimensions)
    return sorted(every, key=HilbertCurve(dimensions, COARSE).index)


def runs_of_box(start: int, sides: Sides) -> Ranges:
    cells, width = coarse(len(sides)), SIZE >> COARSE * len(sides)
    inside = (at for at, cell in enumerate(cells) if is_inside(cell, sides))
    turned = ((start + at * width) % SIZE for at in inside)
    return merged(each for first in turned for each in on_circle(first, first + width - 1))


def on_circle(first: int, last: int) -> list[Range]:
    return [(first, last)] if last <= LAST else [(first, LAST), (0, last - SIZE)]


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Span, Ranges]:
    start, dimensions = draw(PLACES), draw(st.integers(1, 4))
    bits = BITS // dimensions
    sides = tuple(draw(ranges((1 << COARSE) - 1)) for _ in range(dimensions))
    finer = bits - COARSE
    exact = tuple(tuple((first << finer, (last + 1 << finer) - 1) for first, last in side) for side in sides)
    return Box(start, exact), runs_of_box(start, sides)


ARCS = st.lists(st.tuples(PLACES, PLACES).map(lambda ends: (min(ends), max(ends))), max_size=3).map(merged)
KEYS = st.lists(PLACES, max_size=4, unique=True).map(lambda keys: tuple(sorted(keys)))
KINDS = st.one_of(
    st.just((EVERYWHERE, ((0, LAST),))),
    KEYS.map(lambda keys: (Keys(keys), merged((each, each) for each in keys))),
    ARCS.map(lambda arcs: (Arcs(arcs), arcs)),
    boxes(),
)
SEVERAL = st.lists(KINDS, max_size=3).map(
    lambda some: (Several(tuple(span for span, _ in some)), merged(each for _, runs in some for each in runs))
)
SPANS: st.SearchStrategy[tuple[Span, Ranges]] = KINDS | SEVERAL


def edges(runs: Ranges) -> list[int]:
    near = {0, LAST} | {end + by for run in runs[:20] for end in run for by in (-1, 0, 1)}
    return sorted(each for each in near if 0 <= each <= LAST)


@given(SPANS, PLACES)
@settings(max_examples=examples(200))
def test_a_span_has_the_keys_of_its_runs(case: tuple[Span, Ranges], somewhere: int) -> None:
    span, runs = case
    for at in (*edges(runs), somewhere):
        gap = next_beside(runs, at)
        assert span.next_key(at) == next_in(runs, at)
        assert span.next_gap(at) == (gap if gap <= LAST else None)
        assert (at in span) == cover(runs, at, at)
    assert span.next_key(SIZE) is None


@given(SPANS, PLACES, PLACES)
def test_it_meets_what_has_one_of_its_keys(case: tuple[Span, Ranges], one: int, other: int) -> None:
    span, runs = case
    first, last = sorted((one, other))
    assert span.meets(first, last) == meet(runs, first, last)
    for after, upto in ((one, other), (other, one), (one, one), (LAST, other), (one, 0)):
        arc = [(after + 1, upto)] if after < upto else [(after + 1, LAST), (0, upto)]
        assert span.meets_arc(after, upto) == any(meet(runs, *part) for part in arc if part[0] <= part[1])


@given(PLACES, PLACES, PLACES)
def test_an_arc_is_that_of_the_circle(key: int, after: int, upto: int) -> None:
    assert Keys((key,)).meets_arc(after, upto) == within(key, after, upto)


@given(SPANS, st.integers(0, 8))
def test_clusters_are_the_first_runs(case: tuple[Span, Ranges], most: int) -> None:
    span, runs = case
    found = clusters(span, most)
    assert found.runs == runs[:most]
    assert found.more == (len(runs) > most)


@given(SPANS)
def test_spans_travel(case: tuple[Span, Ranges]) -> None:
    span, _ = case
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(span), type=Span) == span


@pytest.mark.parametrize("sides", [(), (((0, 1),), ()), (((0, 1),),) * 9])
def test_what_is_no_box_does_not_come_in(sides: Sides) -> None:
    with pytest.raises(msgspec.ValidationError, match="a box has 1 to 8 sides, none of them empty"):
        msgspec.msgpack.decode(msgspec.msgpack.encode({"type": "box", "start": 1, "sides": sides}), type=Span)


@given(st.lists(SPANS, max_size=4))
def test_a_union_has_the_keys_of_all(cases: list[tuple[Span, Ranges]]) -> None:
    span, runs = union(each for each, _ in cases), merged(run for _, runs in cases for run in runs)
    assert clusters(span, 600).runs == runs[:600]


def test_a_union_is_as_simple_as_can_be() -> None:
    box = Box(7, (((0, 3),),))
    assert union(()) == NOWHERE
    assert union((Keys((5,)), Keys((1, 5)))) == Keys((1, 5))
    assert union((Keys((5,)), Arcs(((6, 9),)))) == Arcs(((5, 9),))
    assert union((box, Several((box, NOWHERE)))) == box
    assert union((box, Keys((1,)))) == Several((box, Keys((1,))))
    assert union((box, Several((Keys((1,)), EVERYWHERE)))) == EVERYWHERE


@given(st.integers(1, 8), PLACES, PLACES, st.data())
def test_of_any_box_nothing_is_left_out(dimensions: int, start: int, at: int, data: st.DataObject) -> None:
    """Where runs cannot be written out: cells of the box, and what is said to be next."""
    curve = curve_of(dimensions)
    spare = BITS - dimensions * curve.bits
    sides = tuple(data.draw(ranges((1 << curve.bits) - 1)) for _ in range(dimensions))
    cell = [data.draw(st.sampled_from([end for each in side for end in each])) for side in sides]
    box, key = Box(start, sides), ((curve.index(cell) << spare) + start) % SIZE
    found = box.next_key(at)
    assert key in box
    assert found is not None or key < at
    assert found is None or (found >= at and found in box and (key < at or found <= key))


@pytest.mark.parametrize("dimensions", [2, 3, 8])
def test_a_box_of_ever_so_many_clusters_costs_two_looks_a_level(
    dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bits, looks = 64 // dimensions, Mock(side_effect=descent._meeting)
    middle, nearly_all = ((1 << bits - 1, 1 << bits - 1),), ((1, (1 << bits) - 2),)
    box = Box(123, (middle, *(nearly_all,) * (dimensions - 1)))
    found = clusters(box, 50)
    assert found.more
    assert len(found.runs) == 50
    monkeypatch.setattr(descent, "_meeting", looks)
    for at in range(123, SIZE, SIZE // 50):
        looks.reset_mock()
        assert box.next_key(at) != at
        assert looks.call_count <= 2 * bits
