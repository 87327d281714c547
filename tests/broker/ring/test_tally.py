"""What a node has to do, by keys: against all of them."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.broker.ring.tally import SAMPLES, Tally
from tocsin.model.notification import Notification
from tocsin.routing.ring.identifiers import SIZE


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Said(str):
    """A notification of which nothing matters but its key."""

    way = None


def keys(notification: Notification) -> Sequence[tuple[str, int]]:
    return (("topics", int(str(notification))),)


def told(tally: Tally, after: int = 0, upto: int = 0) -> Counter[int]:
    found: Counter[int] = Counter()
    for key, weight in tally.marks(after, upto):
        found[key] += weight  # type: ignore[assignment]
    return found


def add(tally: Tally, key: int, many: int) -> None:
    tally.add(Said(key), many)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 500)), max_size=400))
def test_the_sum_is_right_and_each_key_about(said: list[tuple[int, int]]) -> None:
    clock = Clock()
    tally = Tally(keys, clock)
    for key, many in said:
        add(tally, key, many)
    clock.now = 10.0
    expected: Counter[int] = Counter()
    for key, many in said:
        expected[key] += 1 + many
    found, total = told(tally), expected.total()
    assert abs(sum(found.values()) - total / 10) < 1e-6 * (1 + total)
    for key in expected:
        assert abs(found[key] - expected[key] / 10) <= max(0.1 * total, 30) / 10


def test_one_key_that_many_want_weighs_what_many_weigh() -> None:
    clock = Clock()
    tally = Tally(keys, clock)
    add(tally, 5, 1_000_000)
    for _ in range(1000):
        add(tally, 7, 0)
    clock.now = 1.0
    found = told(tally)
    assert found[5] > 0.95 * sum(found.values())
    assert len(tally.marks(0, 0)) <= SAMPLES


def test_yesterdays_load_does_not_count() -> None:
    clock = Clock()
    tally = Tally(keys, clock)
    for key in (1, 2, 3):
        for _ in range(60):
            add(tally, key, 0)
        clock.now += 30.0
        tally.turn()
    clock.now += 30.0
    assert told(tally) == {3: pytest.approx(1.0)}


def test_only_what_lies_in_the_arc_is_told_in_its_order() -> None:
    clock = Clock()
    tally = Tally(keys, clock)
    for key in (SIZE - 5, 3, 90, 200):
        add(tally, key, 0)
    clock.now = 2.0
    assert tally.marks(SIZE - 10, 100) == ((SIZE - 5, 0.5), (3, 0.5), (90, 0.5))


def test_what_is_counted_elsewhere_is_told_with_it() -> None:
    assert Tally(keys, Clock()).marks(0, 500, [(700, 1.0), (400, 2.0), (30, 3.0)]) == ((30, 3.0), (400, 2.0))
