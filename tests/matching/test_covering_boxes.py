from math import inf, nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.spaces import boxes, inside, points, spaces
from tests.pace import within

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.covering import covers, covers_all
from tocsin.matching.index.boxes import boxes_cover
from tocsin.model.content_topic import parse_box
from tocsin.model.filters import AllOf, AnyOf, InBox, Not
from tocsin.model.space import WHOLE, Coordinate, Dimension, InformationSpace, Interval, Like, OneOf, Side

WEATHER = InformationSpace(
    "weather",
    (
        Dimension("place", "string"),
        Dimension("temperature", "number", -90.0, 60.0),
        Dimension("sky", "enumeration", values=("clear", "grey", "rain")),
    ),
)
KNOWN = Catalogue([WEATHER])


def box(text: str) -> InBox:
    return parse_box(f"weather:{text}", WEATHER)


def edges(side: Side) -> set[Coordinate]:
    """Coordinates at which it begins and ends, and just beyond."""
    match side:
        case OneOf(values):
            return {*values, "zz"}
        case Like(prefix, suffix):
            whole = {prefix + between + suffix for between in ("", "z", "a", "b", "ab")}
            return {*whole, *(prefix + suffix[n:] for n in range(len(suffix))), prefix[:-1], suffix[1:], "z"}
        case Interval(low, high):
            near = {each for end in (low, high) for each in (end, nextafter(end, inf), nextafter(end, -inf))}
            return {*near, (low + high) / 2, low + 1, high - 1}


def at(dimension: Dimension, sides: list[Side]) -> list[Coordinate]:
    """What the space has of them: enough to tell two sides apart."""
    found = {each for side in sides for each in edges(side)}
    match dimension.kind:
        case "string":
            ends = [each for each in found if isinstance(each, str)]
            return [each for each in {*ends, *(one + other for one in ends for other in ends)} if each]
        case "enumeration":
            return list(dimension.values)
    low, high = dimension.ends
    return [each for each in {*found, low, high} if isinstance(each, float) and low <= each <= high]


@given(st.data())
@settings(max_examples=examples(200))
def test_a_box_covers_another_exactly_when_no_point_is_in_that_alone(data: st.DataObject) -> None:
    space = data.draw(spaces())
    wide, narrow = data.draw(boxes(space)), data.draw(boxes(space))
    columns = zip(space.dimensions, wide.sides, narrow.sides, strict=True)
    tried = [(one, other, [c for c in at(each, [one, other]) if c in other]) for each, one, other in columns]
    is_empty = any(not inner for _, _, inner in tried)
    expected = all(all(c in one for c in inner) for one, _, inner in tried)
    if not is_empty:
        assert boxes_cover([wide], narrow, space) == expected
        assert covers(wide, narrow, Catalogue([space])) == expected
        assert not boxes_cover([wide], narrow) or expected


@given(st.data())
@settings(max_examples=examples(150))
def test_boxes_together_cover_no_more_than_they_are(data: st.DataObject) -> None:
    space = data.draw(spaces())
    some = st.lists(boxes(space), min_size=1, max_size=4)
    wide, narrow = data.draw(some), data.draw(boxes(space))
    is_covered = boxes_cover(wide, narrow, space)
    for point in data.draw(st.lists(points(space), min_size=5, max_size=10)):
        if is_covered and inside(point, narrow):
            assert any(inside(point, each) for each in wide)


@given(st.data())
@settings(max_examples=examples(150))
def test_in_one_dimension_together_they_cover_all_that_they_are(data: st.DataObject) -> None:
    dimension = data.draw(spaces()).dimensions[0]
    space = InformationSpace("s", (dimension,))
    wide, narrow = data.draw(st.lists(boxes(space), min_size=2, max_size=4)), data.draw(boxes(space))
    tried = [(each,) for each in at(dimension, [*(each.sides[0] for each in wide), narrow.sides[0]])]
    missing = [each for each in tried if inside(each, narrow) and not any(inside(each, one) for one in wide)]
    assert boxes_cover(wide, narrow, space) == (not missing)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("*/>=-90/clear|grey|rain", "*/*/*"),
        ("a*/*/*", "ab*c/1/clear"),
        ("*,NJ/>25/*", "Piscataway,NJ/25.5..30/clear"),
        ("*/<=60/*", "*/*/*"),
        ("*/-90..60/*", "*/-1e9..1e9/*"),
        ("*/>25/*", "*/25.000000000000004..60/*"),
    ],
)
def test_covered(wide: str, narrow: str) -> None:
    assert covers(box(wide), box(narrow), KNOWN)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("*/>-90/*", "*/*/*"),
        ("ab*/*/*", "a*/*/*"),
        ("ab*ba/*/*", "aba/*/*"),
        ("a|b/*/*", "a*/*/*"),
        ("*/>25/*", "*/25..26/*"),
        ("*/*/clear|grey", "*/*/*"),
        ("*/1/*", "*/*/clear"),
    ],
)
def test_not_covered(wide: str, narrow: str) -> None:
    assert not covers(box(wide), box(narrow), KNOWN)


def test_without_the_space_a_range_has_no_end() -> None:
    assert not covers(box("*/>=-90/*"), box("*/*/*"))
    assert covers(box("*/>=-90/*"), box("*/>=-80/*"))
    assert covers(box("a*/*/*"), box("ab|ac/1/clear"))


def test_boxes_of_different_spaces_never_cover() -> None:
    other = InformationSpace("climate", WEATHER.dimensions)
    assert not covers(InBox("climate", (WHOLE,) * 3), box("*/*/*"), Catalogue([WEATHER, other]))


def test_boxes_of_a_space_declared_otherwise_are_not_compared() -> None:
    changed = Catalogue([InformationSpace("weather", WEATHER.dimensions[:2])])
    assert not covers(box("*/1..5/*"), box("*/2/*"), changed)
    assert not boxes_cover([InBox("s", (Interval(1.0),))], InBox("s", (OneOf(("a",)),)))


def test_boxes_cover_together_what_none_covers_alone() -> None:
    parts = AnyOf((box("*/<0/*"), box("*/0..60/clear"), box("a*/>=0/*"), box("*/>=0/grey|rain")))
    assert covers(parts, box("*/*/*"), KNOWN)
    assert not covers(AnyOf(parts.filters[:3]), box("*/*/*"), KNOWN)
    assert covers(AnyOf(parts.filters[:3]), box("ab/*/*"), KNOWN)
    assert covers(parts, AnyOf((box("x/*/clear"), box("*/1/grey"))), KNOWN)
    assert not covers(AnyOf((box("*/<0/*"), box("*/>0/*"))), box("*/*/*"), KNOWN)


def test_beginnings_and_ends_that_overlap() -> None:
    """`aba` begins with `ab` and ends with `ba`, and is in neither `ab*ba` nor what is longer."""
    both = (box("ab*/*/*"), box("*ba/*/*"))
    assert not covers_all((box("ab*ba/*/*"),), both, KNOWN)
    assert not covers(AnyOf((box("ab*/*/*"), box("b*/*/*"))), box("*ba/*/*"), KNOWN)
    assert covers(AnyOf((box("ab*/*/*"), box("*ba/*/*"))), AllOf(both), KNOWN)


def test_of_a_conjunction_one_box_alone_must_be_covered() -> None:
    """What is about two points meets `0..2` in one of them and `1..3` in the other."""
    assert not covers_all((box("*/1..2/*"),), (box("*/0..2/*"), box("*/1..3/*")), KNOWN)
    assert covers_all((box("*/0..2/*"),), (box("*/1..2/*"), box("*/1..3/*")), KNOWN)
    assert not covers_all((box("*/1..2/*"),), (box("*/0..3/*"), box("*/1..3/*")), KNOWN)
    assert covers(Not(box("*/1..2/*")), Not(box("*/0..3/*")), KNOWN)
    assert not covers(Not(box("*/0..3/*")), Not(box("*/1..2/*")), KNOWN)


def test_boxes_made_to_be_hard_cost_little_and_are_not_covered() -> None:
    dimensions = tuple(Dimension(f"x{n}", "number", 0.0, 1.0) for n in range(16))
    space = InformationSpace("s", dimensions)
    hard = [
        InBox("s", tuple(Interval(low=n / 64) if at == n % 16 else Interval(high=n / 64) for at in range(16)))
        for n in range(64)
    ]
    long = InBox("t", (Like("ab" * 2000, "ba" * 2000),))
    longs = [InBox("t", (Like("ab" * 2000 + "c" * n, "ba" * (2000 - n)),)) for n in range(20)]
    with within(2_000):
        assert not boxes_cover(hard, InBox("s", (WHOLE,) * 16), space)
        assert not boxes_cover(longs[1:], long, InformationSpace("t", (Dimension("x", "string"),)))
