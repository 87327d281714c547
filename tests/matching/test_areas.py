"""Notifications about spans and about several content topics, against brute force: which coordinates are in both."""

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.anything import SPACE, known
from tests.matching.spaces import DIMENSIONS, boxes, points, sides, spaces
from tests.matching.test_boxes import WEATHER, many, mapped, small_blocks
from tests.matching.test_covering_boxes import at
from tests.matching.test_explain import said

from tocsin.matching.engine import Engine, matches
from tocsin.matching.index.boxes import BoxIndex
from tocsin.model.areas import BETWEEN, areas_in, meets, parse_area
from tocsin.model.content_topic import parse_box, write_box, write_point
from tocsin.model.filters import AllOf, Filter, InBox, Not
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.refusal import Refusal
from tocsin.model.space import Dimension, InformationSpace, overlap, within
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

__all__ = ["small_blocks"]  # a fixture


def brute(space: InformationSpace, told: InBox, asked: InBox) -> bool:
    """Whether a point is in both: of each dimension all coordinates are tried that can tell two sides apart."""
    columns = zip(space.dimensions, told.sides, asked.sides, strict=True)
    return all(any(c in one and c in other for c in at(each, [one, other])) for each, one, other in columns)


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=lambda each: each.name)
@given(data=st.data())
@settings(max_examples=examples(150))
def test_two_sides_overlap_when_a_coordinate_is_in_both(dimension: Dimension, data: st.DataObject) -> None:
    side, told = data.draw(sides(dimension)), data.draw(sides(dimension))
    tried, narrowed = at(dimension, [side, told]), within(dimension, told)
    assume(any(each in told for each in tried))
    assert all((each in narrowed) == (each in told) for each in tried)
    assert overlap(side, narrowed) == any(each in side and each in told for each in tried)


@st.composite
def areas(draw: st.DrawFn, space: InformationSpace) -> str:
    if draw(st.booleans()):
        return write_point(draw(points(space)), space)
    text = write_box(draw(boxes(space)), space)
    try:
        parse_area(text, space)
    except Refusal:  # nothing is between its ends
        assume(False)
    return text


@given(st.data())
@settings(max_examples=examples(250))
def test_the_index_finds_each_box_once_that_any_of_them_meets(data: st.DataObject) -> None:
    space = data.draw(spaces())
    index, standing = BoxIndex(space), dict[int, InBox]()
    for atom, box in enumerate(data.draw(st.lists(boxes(space), max_size=12))):
        index.add(atom, box)
        standing[atom] = box
        if data.draw(st.integers(0, 3)) == 0:
            gone = data.draw(st.sampled_from(sorted(standing)))
            index.remove(gone, standing.pop(gone))
    texts = data.draw(st.lists(areas(space), min_size=1, max_size=3))
    found, told = areas_in(space, f" {BETWEEN} ".join(texts)), [parse_box(text, space) for text in texts]
    expected = [atom for atom, box in standing.items() if any(brute(space, each, box) for each in told)]
    assert sorted(index.about(found).tolist()) == expected
    assert [atom for atom, box in standing.items() if any(meets(each, box.sides) for each in found)] == expected


@pytest.mark.usefixtures("small_blocks")
def test_large_indexes_and_mapped_ones_find_the_same(tmp_path: Path) -> None:
    index, standing = BoxIndex(WEATHER), dict(enumerate(many(2000)))
    for atom, box in standing.items():
        index.add(atom, box)
    for atom in range(0, 2000, 3):
        index.remove(atom, standing.pop(atom))
    kept, sizes = mapped(index, tmp_path), set[int]()
    for asked in many(40, seed=11):
        try:
            area = parse_area(write_box(asked, WEATHER), WEATHER)
        except Refusal:
            continue
        expected = [atom for atom, box in standing.items() if meets(area, box.sides)]
        assert sorted(index.about((area,)).tolist()) == sorted(kept.about((area,)).tolist()) == expected
        sizes.add(len(expected))
    assert len(sizes) > 10


def box(text: str) -> InBox:
    return parse_box(f"weather:{text}", SPACE)


WANTING: dict[str, tuple[Filter, ...]] = {
    "both": (box("P/*/*"), box("*/>25/*")),
    "neither": (box("P/*/*"), box("*/>30/*")),
    "not": (Not(box("X/25/clear")),),
    "not-there": (Not(box("X/31/clear")),),
    "together": (AllOf((box("P/3/rain"), box("X/20/snow"))),),
}


def test_each_filter_is_asked_of_all_that_it_is_about() -> None:
    """A conjunction may meet it in two points; what is negated must hold of none."""
    told, engine = said(contenttopic="weather:P/3/rain || weather:X/20..30/*"), Engine(known())
    asking = [wanting(name, *filters) for name, filters in WANTING.items()]
    for each in asking:
        engine.apply(each)
    found = [each.id for each in engine.match(told).wanted]
    assert found == ["both", "not-there", "together"]
    assert found == [each.id for each in asking if matches(each, told, known())]


def wanting(name: str, *filters: Filter) -> Subscription:
    form, since = Form("wsn-1.3"), Position(Node("n"), 0)
    return Subscription(SubscriptionId(name), None, Endpoint("http://c/"), None, form, filters, since, None)


def test_points_are_found_as_before() -> None:
    index = BoxIndex(WEATHER)
    for atom, each in enumerate(many(300)):
        index.add(atom, each)
    point = ("town1,NJ", 20.0, 5e5)
    assert index.about((point,)).tolist() == index.match(point).tolist()
