"""What costly and failing expressions may take; time is the test's."""

import pytest

from tocsin.model.filters import Content
from tocsin.store.judge_costs import BURST, PATIENCE, REST_SECONDS, SHARE, TOO_COSTLY, Costs

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
    for number in range(PATIENCE):
        assert costs.refusal(COSTLY, 100.0 * number) is None
        costs.ended(COSTLY, "too slow", 100.0 * number)
    last = 100.0 * (PATIENCE - 1)
    assert costs.refusal(COSTLY, last + 1) == "too slow"
    assert costs.refusal(OTHER, last + 1) is None
    assert costs.refusal(COSTLY, last + REST_SECONDS) is None
    costs.ended(COSTLY, "still too slow", last + REST_SECONDS)
    assert costs.refusal(COSTLY, last + REST_SECONDS + 1) == "still too slow"


def test_an_answer_between_makes_it_begin_anew(costs: Costs) -> None:
    for number in range(2 * PATIENCE):
        costs.ended(COSTLY, "too slow", 100.0 * number)
        costs.decided(COSTLY, 0.001, 100.0 * number)
    assert costs.refusal(COSTLY, 200.0 * PATIENCE) is None
