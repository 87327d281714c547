from dataclasses import dataclass
from math import inf, nan

import pytest

from tocsin.model.refusal import Refusal
from tocsin.model.space import Dimension, InformationSpace, Interval, Like, check_space

NUMBER = Dimension("x", "number", 0.0, 5.0)


@dataclass
class Bad:
    why: str
    dimensions: tuple[Dimension, ...]
    name: str = "s"


@pytest.mark.parametrize(
    "bad",
    [
        Bad("dimensions", ()),
        Bad("dimensions", tuple(Dimension(f"x{n}", "string") for n in range(17))),
        Bad("same name", (NUMBER, Dimension("x", "string"))),
        Bad("smaller", (Dimension("x", "number", 5.0, 5.0),)),
        Bad("smaller", (Dimension("x", "time", nan, 5.0),)),
        Bad("years", (Dimension("x", "time", 0.0, 1e15),)),
        Bad("values", (Dimension("x", "enumeration"),)),
        Bad("values", (Dimension("x", "enumeration", values=tuple(map(str, range(4097)))),)),
        Bad("once", (Dimension("x", "enumeration", values=("a", "b", "a")),)),
        Bad("once", (Dimension("x", "enumeration", values=("a", "")),)),
        Bad("values", (Dimension("x", "number", values=("a",)),)),
        Bad("range", (Dimension("x", "string", 0.0),)),
        Bad("range", (Dimension("x", "enumeration", high=1.0, values=("a",)),)),
        Bad("NCName", (Dimension("1x", "string"),)),
        Bad("NCName", (NUMBER,), "a:b"),
        Bad("NCName", (NUMBER,), "a" * 257),
    ],
)
def test_a_bad_declaration_is_refused(bad: Bad) -> None:
    with pytest.raises(Refusal, match=bad.why):
        check_space(InformationSpace(bad.name, bad.dimensions))


def test_a_good_declaration_is_not() -> None:
    kinds = (
        NUMBER,
        Dimension("t", "time", 0.0),
        Dimension("e", "enumeration", values=("a",)),
        Dimension("ü", "string"),
    )
    check_space(InformationSpace("weather", kinds))


@pytest.mark.parametrize("side", [Interval(1.0, 2.0), Interval(1.0, 2.0, True, True), Interval(-inf, 0.0, False, True)])
def test_closed_ends_are_the_first_and_the_last_inside(side: Interval) -> None:
    low, high = side.closed
    assert (low in side) and (high in side)
    assert side.low_open == (side.low not in side)
    assert side.high_open == (side.high not in side)


def test_beginning_and_end_do_not_overlap() -> None:
    assert "aba" not in Like("ab", "ba")
    assert "abba" in Like("ab", "ba")
    assert 1.0 not in Like("a")
    assert 1.0 in Like()
