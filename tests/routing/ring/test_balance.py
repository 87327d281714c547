"""Where a node joins that wants to relieve another."""

from hypothesis import given
from hypothesis import strategies as st
from tests.routing.ring.test_table import PLACES

from tocsin.routing.ring.balance import Load, place_by_load
from tocsin.routing.ring.identifiers import within


def test_the_busiest_is_relieved_of_half() -> None:
    assert place_by_load([Load(0, 10, 3, 4), Load(20, 50, 9, 31), Load(50, 60, 4, 55)], 77) == 31
    assert place_by_load([], 77) == 77


def test_who_has_nothing_to_give_away_is_left_alone() -> None:
    for load in (Load(0, 10, 1, 4), Load(0, 10, 9, 10), Load(0, 10, 9, 11)):
        assert place_by_load([load], 77) == 77


@given(st.lists(st.builds(Load, PLACES, PLACES, st.integers(0, 9), PLACES), max_size=5), PLACES)
def test_it_stands_in_one_of_the_arcs_or_where_it_would(loads: list[Load], otherwise: int) -> None:
    place = place_by_load(loads, otherwise)
    assert place == otherwise or any(within(place, each.after, each.upto) and place != each.upto for each in loads)
