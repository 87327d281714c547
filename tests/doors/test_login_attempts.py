import pytest

from tocsin.doors.gate import FORGIVEN_AFTER, FREE, LONGEST_WAIT, MOST_REMEMBERED, Attempts
from tocsin.model.refusal import Refusal

ANN = ("ann", "10.0.0.1")


def failing(times: int, now: float = 0.0) -> Attempts:
    attempts = Attempts()
    for _ in range(times):
        attempts.failed(ANN, now)
    return attempts


def test_a_few_failures_cost_nothing() -> None:
    failing(FREE - 1).check(ANN, 0.0)


@pytest.mark.parametrize(("failures", "wait"), [(FREE, 1.0), (FREE + 3, 8.0), (FREE + 40, LONGEST_WAIT)])
def test_each_further_one_waits_longer(failures: int, wait: float) -> None:
    attempts = failing(failures)
    with pytest.raises(Refusal, match="try again in"):
        attempts.check(ANN, wait - 0.5)
    attempts.check(ANN, wait)


def test_others_are_not_locked_out() -> None:
    attempts = failing(FREE + 5)
    attempts.check(("ann", "10.0.0.2"), 0.0)
    attempts.check(("ben", "10.0.0.1"), 0.0)


def test_success_and_time_forgive() -> None:
    attempts = failing(FREE + 5)
    attempts.succeeded(ANN)
    attempts.check(ANN, 0.0)
    attempts = failing(FREE + 5)
    attempts.failed(ANN, FORGIVEN_AFTER + 1)
    attempts.check(ANN, FORGIVEN_AFTER + 1)


def test_the_memory_is_bounded() -> None:
    attempts = Attempts()
    for number in range(MOST_REMEMBERED + 10):
        attempts.failed((str(number), ""), 0.0)
    assert len(attempts._failures) == MOST_REMEMBERED
