"""What costly and failing expressions may take; time is the test's."""

import pytest

from tocsin.model.filters import Content
from tocsin.store.judge.judge import (
    ASIDE_SECONDS,
    BURST,
    LOOP_BURST,
    LOOP_SHARE,
    REST_SECONDS,
    SHARE,
    TOO_COSTLY,
    TRIES,
    Costs,
    LoopTime,
)

SECONDS = 0.1
CHEAP, COSTLY, OTHER = (Content("xpath", text) for text in ("cheap()", "costly()", "other()"))


@pytest.fixture
def costs() -> Costs:
    return Costs(SECONDS)


def test_cheap_ones_are_never_refused(costs: Costs) -> None:
    for number in range(10_000):
        assert costs.refusal(CHEAP, number * 0.009) is None
        costs.decided(CHEAP, 0.009, number * 0.009)


def test_costly_ones_get_their_share_and_no_more(costs: Costs) -> None:
    now, spent = 100.0, 0.0
    while now < 120.0:
        if costs.refusal(COSTLY, now) is None:
            now, spent = now + 0.05, spent + 0.05
            costs.decided(COSTLY, 0.05, now)
        else:
            assert costs.refusal(COSTLY, now) == TOO_COSTLY
            assert costs.refusal(CHEAP, now) is None
            now += 0.01
    assert SHARE * 20 <= spent <= SHARE * 20 + 2 * BURST


def test_one_that_was_costly_once_is_cheap_again(costs: Costs) -> None:
    for _ in range(30):
        costs.decided(COSTLY, 0.09, 1.0)
    costs.decided(OTHER, 0.02, 1.0)
    assert costs.refusal(OTHER, 1.0) == TOO_COSTLY
    costs.decided(OTHER, 0.001, 1.0)
    assert costs.refusal(OTHER, 1.0) is None
    assert costs.refusal(COSTLY, 1.0) == TOO_COSTLY


def test_one_that_is_ended_again_and_again_rests(costs: Costs) -> None:
    for number in range(TRIES):
        assert costs.refusal(COSTLY, 100.0 * number) is None
        costs.ended(COSTLY, "too slow", 100.0 * number)
    last = 100.0 * (TRIES - 1)
    assert costs.refusal(COSTLY, last + 1) == "too slow"
    assert costs.refusal(OTHER, last + 1) is None
    assert costs.refusal(COSTLY, last + REST_SECONDS) is None
    costs.ended(COSTLY, "still too slow", last + REST_SECONDS)
    assert costs.refusal(COSTLY, last + REST_SECONDS + 1) == "still too slow"


def test_an_answer_between_makes_it_begin_anew(costs: Costs) -> None:
    for number in range(2 * TRIES):
        costs.ended(COSTLY, "too slow", 100.0 * number)
        costs.decided(COSTLY, 0.001, 100.0 * number)
    assert costs.refusal(COSTLY, 200.0 * TRIES) is None


def test_a_loop_has_so_much_time_for_one_notification() -> None:
    time = LoopTime(SECONDS)
    time.spend(0.06, 1.0)
    assert time.left(1.0) == pytest.approx(0.04)
    time.spend(0.06, 1.0)
    assert time.left(1.0) == 0.0
    time.begin()
    assert time.left(1.0) == SECONDS


def test_a_loop_waits_for_a_share_of_its_time_and_no_more() -> None:
    time, now, spent = LoopTime(SECONDS), 100.0, 0.0
    while now < 140.0:
        time.begin()
        if time.left(now):
            now, spent = now + 0.02, spent + 0.02
            time.spend(0.02, now)
        else:
            now += 0.01
    assert LOOP_SHARE * 40 <= spent <= LOOP_SHARE * 40 + 2 * LOOP_BURST


def test_what_was_costly_to_a_loop_goes_aside_for_a_while() -> None:
    time = LoopTime(SECONDS)
    time.took(COSTLY, 0.02, 1.0)
    time.took(CHEAP, 0.001, 1.0)
    assert [time.goes_aside(each, 2.0) for each in (COSTLY, CHEAP, OTHER)] == [True, False, False]
    assert not time.goes_aside(COSTLY, 1.0 + ASIDE_SECONDS)


def test_many_that_had_to_be_ended_once_are_no_better_than_one_that_is_ended_again_and_again(costs: Costs) -> None:
    many, costly = [Content("xpath", f"slow({number})") for number in range(9)], COSTLY
    costs.decided(costly, 0.05, 1.0)
    for each in many:
        assert costs.refusal(each, 1.0) is None
        costs.ended(each, "too slow", 1.0)
    assert {costs.refusal(each, 1.0) for each in many} == {TOO_COSTLY}
    assert [costs.refusal(each, 1.0) for each in (costly, CHEAP, OTHER)] == [None] * 3
    assert {costs.refusal(each, 9.0) for each in many} == {None}
