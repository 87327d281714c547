from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tocsin.sim.network import Clock, between, constant


@given(st.lists(st.integers(0, 5), max_size=30))
def test_what_was_put_off_is_done_by_time_and_ties_as_they_came(delays: list[int]) -> None:
    clock, done = Clock(), list[tuple[int, int]]()
    for number, delay in enumerate(delays):
        clock.after(delay, partial(done.append, (delay, number)))
    assert len(clock) == len(delays)
    clock.run()
    assert done == sorted(done) and len(done) == len(delays) and len(clock) == 0


def test_time_passes_only_with_what_happens() -> None:
    clock, seen = Clock(), list[int]()
    clock.after(5, lambda: clock.after(3, lambda: seen.append(clock.now)))
    assert clock.step() and clock.now == 5 and not seen
    assert clock.step() and seen == [8]
    assert not clock.step() and clock.now == 8


def test_what_is_put_off_by_nothing_comes_after_what_waits_for_this_instant() -> None:
    clock, done = Clock(), list[str]()
    clock.after(0, lambda: clock.after(0, lambda: done.append("later")))
    clock.after(0, lambda: done.append("first"))
    clock.run()
    assert done == ["first", "later"]


@given(st.integers(), st.integers(0, 100), st.integers(0, 100))
def test_delays_keep_to_their_bounds_and_come_again_with_the_seed(seed: int, least: int, more: int) -> None:
    one, other = between(seed, least, least + more), between(seed, least, least + more)
    delays = [one() for _ in range(20)]
    assert delays == [other() for _ in range(20)]
    assert all(least <= each <= least + more for each in delays)


def test_a_constant_delay() -> None:
    delay = constant(7)
    assert [delay(), delay()] == [7, 7]
    assert constant()() == 1_000_000
