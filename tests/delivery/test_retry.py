from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.retry import delay, describe, judge, judge_of_node
from tocsin.delivery.settings import DeliverySettings
from tocsin.wire.answer import Answer

SETTINGS = DeliverySettings(attempts=4, first_delay=1.0, longest_delay=10.0, longest_retry_after=60.0)


@pytest.mark.parametrize(
    ("status", "first", "last"),
    [
        (200, "delivered", "delivered"),
        (202, "delivered", "delivered"),
        (204, "delivered", "delivered"),
        (302, "retry", "dead"),
        (400, "dead", "dead"),
        (404, "dead", "dead"),
        (410, "dead", "dead"),
        (408, "retry", "dead"),
        (425, "retry", "dead"),
        (429, "retry", "dead"),
        (500, "retry", "dead"),
        (503, "retry", "dead"),
        (0, "retry", "dead"),
    ],
)
def test_what_an_answer_means(status: int, first: str, last: str) -> None:
    assert judge(Answer(status), 1, SETTINGS) == first
    assert judge(Answer(status), 4, SETTINGS) == last


def test_a_refused_address_is_dead_at_once() -> None:
    assert judge(Answer(0, error="loopback", refused=True), 1, SETTINGS) == "dead"


@pytest.mark.parametrize(
    ("status", "means"),
    [(200, "delivered"), (0, "retry"), (403, "retry"), (421, "retry"), (503, "retry"), (400, "dead"), (413, "dead")],
)
def test_a_node_is_waited_for(status: int, means: str) -> None:
    """A key may be put right, a child be joined again; what it cannot read it never will."""
    assert judge_of_node(Answer(status)) == means


@given(st.integers(1, 2000), st.integers())
def test_the_delay_is_below_a_doubling_ceiling(attempt: int, seed: int) -> None:
    ceiling = min(10.0, 2.0 ** min(attempt - 1, 10))
    assert 0 <= delay(Answer(500), attempt, SETTINGS, Random(seed)) <= ceiling


def test_the_jitter_is_full_and_comes_from_the_given_random() -> None:
    delays = [delay(Answer(500), 3, SETTINGS, Random(seed)) for seed in range(200)]
    assert min(delays) < 0.5 < 3.5 < max(delays)
    assert delays == [delay(Answer(500), 3, SETTINGS, Random(seed)) for seed in range(200)]


@given(st.floats(0, 1e6), st.integers())
def test_retry_after_is_honoured_up_to_a_cap(asked: float, seed: int) -> None:
    assert delay(Answer(503, retry_after=asked), 1, SETTINGS, Random(seed)) >= min(asked, 60.0)
    assert delay(Answer(503, retry_after=asked), 1, SETTINGS, Random(seed)) <= 60.0


def test_what_a_dead_letter_says() -> None:
    assert describe(Answer(0, error="Connection refused")) == "Connection refused"
    assert describe(Answer(202)) == "HTTP 202"
    assert describe(Answer(400, b"no\n such  \xff thing" + b"." * 500)).startswith("HTTP 400: no such � thing..")
