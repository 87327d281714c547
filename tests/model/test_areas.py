import pytest
from tests.model.test_content_topic import ALARM, WEATHER

from tocsin.model.areas import Area, areas_in, meets, parse_area, said_in, spaces_in
from tocsin.model.content_topic import parse_box
from tocsin.model.filters import InBox
from tocsin.model.refusal import Refusal
from tocsin.model.space import InformationSpace, Interval, Like, OneOf

NJ = "weather:*,NJ/29/48.9"  # the paper's own example of a span
HOUR, THEN = "2020-01-01T01:00:00Z", 1577840400.0


def test_the_papers_own_example() -> None:
    area = parse_area(NJ, WEATHER)
    assert area == InBox("weather", (Like("", ",NJ"), Interval(29.0, 29.0), Interval(48.9, 48.9)))
    assert meets(area, parse_box("weather:Piscataway,NJ/>25/<50", WEATHER).sides)
    assert meets(area, parse_box("weather:Pis*/*/*", WEATHER).sides)
    assert not meets(area, parse_box("weather:*,NY/>25/<50", WEATHER).sides)
    assert not meets(area, parse_box("weather:*/>29/*", WEATHER).sides)


@pytest.mark.parametrize(
    ("text", "space", "area"),
    [
        ("weather:a/1/2", WEATHER, ("a", 1.0, 2.0)),
        ("weather:a..b/1..1/2", WEATHER, ("a..b", 1.0, 2.0)),
        ("weather:a/*/>=0", WEATHER, InBox("weather", (OneOf(("a",)), Interval(-90.0, 60.0), Interval(0.0, 100.0)))),
        ("weather:*/0..900/2", WEATHER, InBox("weather", (Like(), Interval(0.0, 60.0), Interval(2.0, 2.0)))),
        (
            f"alarm:*/{HOUR}/1",
            ALARM,
            InBox("alarm", (OneOf(("low", "high", "a/b")), Interval(THEN, THEN), Interval(1.0, 1.0))),
        ),
    ],
)
def test_sides_have_no_more_than_their_dimensions(text: str, space: InformationSpace, area: Area) -> None:
    assert parse_area(text, space) == area
    assert areas_in(space, text) == (area,)


def test_several_are_told_apart_and_each_counts_once() -> None:
    text = f"{NJ} || alarm:low/{HOUR}/1||weather:Troy,NY/1/2|| {NJ}"
    assert [each.strip() for each in said_in(text)] == [NJ, f"alarm:low/{HOUR}/1", "weather:Troy,NY/1/2", NJ]
    assert spaces_in(text) == ["weather", "alarm"]
    assert areas_in(WEATHER, text) == (parse_area(NJ, WEATHER), ("Troy,NY", 1.0, 2.0))
    assert areas_in(ALARM, text) == (("low", THEN, 1.0),)
    assert spaces_in("weather:a/1/2") == ["weather"]


def test_what_is_wrong_is_left_out_of_what_is_matched() -> None:
    assert areas_in(WEATHER, "weather:*/5..1/2 || weather:a/1/2 || weather:a/1 || nothing") == (("a", 1.0, 2.0),)
    assert areas_in(WEATHER, "||".join(["weather:a/1/2"] * 17)) == ()
    assert areas_in(WEATHER, "weather:a/1/2||" + "b" * 8192) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("weather:*/50..25/2", "position 10: no point lies in it: temperature has its smaller end first"),
        ("weather:*/61..70/2", "no point lies in it: temperature is between -90 and 60"),
        ("weather:*/1/2/3", "there is no such dimension; 3 are expected: location, temperature, humidity"),
        ("weather:*/1", "a dimension is missing"),
        ("weather:a*b*/1/2", "a second"),
        ("weather:a/warm/2", "temperature is a number"),
        ("weather:*//2", "nothing is said of temperature"),
    ],
)
def test_what_is_wrong_is_refused_at_the_door(text: str, why: str) -> None:
    with pytest.raises(Refusal, match=why) as refused:
        parse_area(text, WEATHER)
    assert refused.value.reason == "bad-topic-expression"


def test_a_message_is_about_so_much_and_no_more() -> None:
    with pytest.raises(Refusal, match="17 content topics, 16 are allowed"):
        said_in("||".join(["weather:a/1/2"] * 17))
    with pytest.raises(Refusal, match="8192 are allowed"):
        said_in("||".join([f"weather:{'a' * 5000}/1/2"] * 2))
