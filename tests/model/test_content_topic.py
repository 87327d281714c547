from dataclasses import dataclass
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.model.content_topic import parse_box, parse_point, point_in, space_of, write_box, write_point
from tocsin.model.filters import InBox
from tocsin.model.refusal import Refusal
from tocsin.model.space import WHOLE, Dimension, InformationSpace, Interval, Like, OneOf, Point, Side

WEATHER = InformationSpace(
    "weather",
    (
        Dimension("location", "string"),
        Dimension("temperature", "number", -90.0, 60.0),
        Dimension("humidity", "number", 0.0, 100.0),
    ),
)
ALARM = InformationSpace(
    "alarm",
    (
        Dimension("level", "enumeration", values=("low", "high", "a/b")),
        Dimension("when", "time", 0.0, 4e9),
        Dimension("value", "number"),
    ),
)
TEXTS = st.text(st.sampled_from("aü/|*%<>. \n\0€"), min_size=1, max_size=5)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
TIMES = st.integers(0, 4_000_000_000_000_000).map(lambda microseconds: microseconds / 1e6)


def test_the_papers_own_examples() -> None:
    box = parse_box("weather:*,NJ/>25/<50", WEATHER)
    assert box == InBox(
        "weather", (Like("", ",NJ"), Interval(25.0, low_open=True), Interval(high=50.0, high_open=True))
    )
    assert parse_point("weather:Piscataway,NJ/29/48.9", WEATHER) == ("Piscataway,NJ", 29.0, 48.9)
    assert space_of("weather:*,NJ/>25/<50") == "weather"
    assert space_of("weather") == ""


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("weather:*/*/*", (WHOLE, WHOLE, WHOLE)),
        ("weather:b|a|b/1..2/>=3", (OneOf(("a", "b")), Interval(1.0, 2.0), Interval(3.0))),
        ("weather:a*b/-1.5e1/<=3", (Like("a", "b"), Interval(-15.0, -15.0), Interval(high=3.0))),
        (" weather:a*/.5...7/+3\n", (Like("a"), Interval(0.5, 0.7), Interval(3.0, 3.0))),
        ("weather:%2a%C3%BC%2F/0..90/*", (OneOf(("*ü/",)), Interval(0.0, 90.0), WHOLE)),
        ("weather:St. Paul.*D.C./*/*", (Like("St. Paul.", "D.C."), WHOLE, WHOLE)),
    ],
)
def test_sides(text: str, sides: tuple[Side, ...]) -> None:
    assert parse_box(text, WEATHER).sides == sides


def test_sides_of_enumerations_and_times() -> None:
    box = parse_box("alarm:a%2Fb|low/>2020-01-01T01:00:00.5+01:00/*", ALARM)
    assert box.sides == (OneOf(("low", "a/b")), Interval(1577836800.5, low_open=True), WHOLE)
    between = parse_box("alarm:*/2020-01-01T00:00:00Z..2020-01-01T00:01:00Z/*", ALARM)
    assert between.sides[1] == Interval(1577836800.0, 1577836860.0)


@dataclass
class Bad:
    text: str
    at: int
    why: str
    space: InformationSpace = WEATHER
    is_point: bool = False


@pytest.mark.parametrize(
    "bad",
    [
        Bad("weather", 7, "colon"),
        Bad("climate:a/1/2", 0, "'weather' was expected"),
        Bad("weather:a/1", 11, "missing.*location, temperature, humidity"),
        Bad("weather:a/1/2/3", 14, "no such dimension"),
        Bad("weather:a//2", 10, "nothing is said of temperature"),
        Bad("weather:a|/1/2", 10, "value is expected"),
        Bad("weather:a|b*/1/2", 11, "%2A"),
        Bad("weather:*a*/1/2", 10, "second"),
        Bad("weather:>a/1/2", 8, "%3E"),
        Bad("weather:a../1/2", 9, "%2E"),
        Bad("weather:%4/1/2", 8, "%25"),
        Bad("weather:a%FF/1/2", 9, "UTF-8"),
        Bad("weather:a/x/2", 10, "temperature is a number"),
        Bad("weather:a/nan/2", 10, "is a number"),
        Bad("weather:a/>inf/2", 11, "is a number"),
        Bad("weather:a/1e999/2", 10, "is a number"),
        Bad("weather:a/٣/2", 10, "is a number"),
        Bad("weather:a/1_0/2", 10, "is a number"),
        Bad("weather:a/>50../2", 11, "is a number"),
        Bad("weather:a/1../2", 13, "is a number"),
        Bad("weather:a/50..25/2", 10, "no point"),
        Bad("weather:a/>60/2", 10, "between -90 and 60"),
        Bad("weather:a/1/<0", 12, "no point"),
        Bad("weather:a/1/200..300", 12, "no point"),
        Bad("weather:" + "|".join(["a"] * 257) + "/1/2", 8, "256"),
        Bad("weather:" + "a" * 8190, 8192, "8192 are allowed"),
        Bad("alarm:medium/*/1", 6, "one of low, high", ALARM),
        Bad("alarm:low|/*/1", 10, "value is expected", ALARM),
        Bad("alarm:lo*/*/1", 8, "%2A", ALARM),
        Bad("alarm:*/>2020-01-01T00:00:00/1", 28, "zone", ALARM),
        Bad("alarm:*/2020-02-30T00:00:00Z/1", 8, "no such time", ALARM),
        Bad("alarm:*/0001-01-01T00:00:00+14:00/1", 8, "years", ALARM),
        Bad("alarm:*/2020/1", 8, "is a time", ALARM),
        Bad("alarm:*/<1970-01-01T00:00:00Z/1", 8, "1970-01-01T00:00:00Z", ALARM),
        Bad("alarm:*/*/>1.7976931348623157e308", 10, "no point", ALARM),
        Bad("weather:*/1/2", 8, "%2A", is_point=True),
        Bad("weather:/1/2", 8, "value is expected", is_point=True),
        Bad("weather:a/61/2", 10, "outside", is_point=True),
        Bad("weather:a/>1/2", 10, "is a number", is_point=True),
        Bad("alarm:medium/2020-01-01T00:00:00Z/1", 6, "one of", ALARM, is_point=True),
        Bad("alarm:low/2520-01-01T00:00:00Z/1", 10, "outside", ALARM, is_point=True),
    ],
)
def test_what_is_wrong_and_where(bad: Bad) -> None:
    with pytest.raises(Refusal, match=f"position {bad.at}: .*{bad.why}") as refused:
        (parse_point if bad.is_point else parse_box)(bad.text, bad.space)
    assert refused.value.reason == "bad-topic-expression"
    assert point_in(bad.space, bad.text) is None


@given(st.tuples(TEXTS, st.floats(-90, 60), st.floats(0, 100)))
@settings(max_examples=examples(200))
def test_points_are_read_as_written(point: Point) -> None:
    assert parse_point(write_point(point, WEATHER), WEATHER) == point
    assert point_in(WEATHER, write_point(point, WEATHER)) == point


@given(st.tuples(st.sampled_from(ALARM.dimensions[0].values), TIMES, NUMBERS))
@settings(max_examples=examples(200))
def test_times_are_read_as_written(point: Point) -> None:
    assert point_in(ALARM, write_point(point, ALARM)) == point


def intervals(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Side]:
    """Those that one text writes, and none of them empty."""
    both = st.tuples(numbers, numbers).map(sorted).map(lambda ends: Interval(ends[0], ends[1]))
    above = st.builds(Interval, numbers, st.just(inf), st.booleans())
    below = st.builds(Interval, st.just(-inf), numbers, st.just(False), st.booleans())
    return st.one_of(st.just(WHOLE), both, above, below)


STRINGS: st.SearchStrategy[Side] = st.one_of(
    st.builds(Like, st.just("") | TEXTS, st.just("") | TEXTS),
    st.lists(TEXTS, min_size=1, unique=True).map(lambda values: OneOf(tuple(sorted(values)))),
)
LEVELS: st.SearchStrategy[Side] = st.sampled_from([OneOf(("low",)), OneOf(("low", "a/b")), WHOLE])
MIDDLE = TIMES.filter(lambda when: 0 < when < 4e9)
SMALL = st.floats(-1e300, 1e300).map(lambda x: x + 0.0)


@given(st.tuples(STRINGS, intervals(st.floats(-89, 59)), intervals(st.floats(1, 99))))
@settings(max_examples=examples(200))
def test_boxes_are_read_as_written(sides: tuple[Side, ...]) -> None:
    box = InBox("weather", sides)
    assert parse_box(write_box(box, WEATHER), WEATHER) == box


@given(st.tuples(LEVELS, intervals(MIDDLE), intervals(SMALL)))
@settings(max_examples=examples(200))
def test_boxes_of_times_are_read_as_written(sides: tuple[Side, ...]) -> None:
    box = InBox("alarm", sides)
    assert parse_box(write_box(box, ALARM), ALARM) == box


def test_two_open_ends_are_written_as_the_coordinates_inside() -> None:
    numbers = parse_box(write_box(InBox("alarm", (WHOLE, WHOLE, Interval(1.0, 2.0, True, True))), ALARM), ALARM)
    assert numbers.sides[2] == Interval(*Interval(1.0, 2.0, True, True).closed)
    times = InBox("alarm", (WHOLE, Interval(1.0, 2.0, True, True), WHOLE))
    assert write_box(times, ALARM) == "alarm:*/1970-01-01T00:00:01.000001Z..1970-01-01T00:00:01.999999Z/*"


@given(st.text("weather:/*|<>=.%2A1-+eTZ\n", max_size=40))
@settings(max_examples=examples(300))
def test_whatever_is_sent_is_read_or_refused(text: str) -> None:
    for space in (WEATHER, ALARM):
        try:
            assert parse_box(f"{space.name}:{text}", space).space == space.name
        except Refusal as refusal:
            assert refusal.reason == "bad-topic-expression"
