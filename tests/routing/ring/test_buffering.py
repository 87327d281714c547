"""Paper 004 s5.A: nothing waits longer than it may, what is slow does not wait, periods are those of the formulas."""

import math
from collections import defaultdict
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.routing.ring.buffering import (
    BURST,
    OVERHEAD,
    WINDOW,
    BufferManager,
    Buffers,
    BufferSettings,
    period_of,
)

LATENCIES = st.sampled_from([0.01, 0.25, 1.0, 7.0, 60.0])
GAPS = st.one_of(st.just(0.0), st.floats(0.0, 0.1), st.floats(0.0, 3.0), st.sampled_from([1e-9, 0.05, 1.0, 100.0, 1e6]))
SIZES = st.integers(0, 20_000)
FLOWS = st.lists(st.tuples(GAPS, SIZES), min_size=1, max_size=60)


def regular(manager: BufferManager, rate: float, size: int, seconds: float, begin: float = 0.0) -> float:
    """Each group goes when it must, or is taken by the message that came later; when the last one came."""
    now = begin
    for number in range(round(seconds * rate)):
        now = begin + number / rate
        if manager.waiting and manager.due <= now:
            manager.left()
        if manager.arrived(size, now) <= now:
            manager.left()
    return now


# The formulas


def test_equations_by_hand() -> None:
    assert period_of(20, 0, OVERHEAD, 1.0) == 1.0
    assert period_of(2, 3584, OVERHEAD, 1.0) == 1.0 - 0.5 * 0.5
    assert period_of(1.0, 10, OVERHEAD, 1.0) == period_of(0.3, 10, OVERHEAD, 1.0) == 0.0


def test_the_373_seconds_of_the_paper_are_milliseconds_and_of_a_larger_overhead() -> None:
    assert period_of(20, 10_000, 3584, 1.0) == pytest.approx(0.3007, abs=1e-4)
    assert period_of(20, 10_000, 5150, 1.0) == pytest.approx(0.373, abs=1e-3)


@given(st.floats(1e-6, 1e6), SIZES, st.floats(0, 10_000), LATENCIES)
def test_a_period_lies_between_the_next_message_and_the_maximum(
    rate: float, payload: int, overhead: float, latency: float
) -> None:
    period = period_of(rate, payload, overhead, latency)
    assert period == 0.0 or 1 / rate * (1 - 1e-7) <= period <= latency
    assert (period == 0.0) == (rate * latency <= 1.0)


def test_small_payloads_wait_longer() -> None:
    periods = [period_of(20, size, OVERHEAD, 1.0) for size in (10, 100, 500, 1000, 5000, 10_000)]
    assert periods == sorted(periods, reverse=True)


# One flow


@given(FLOWS, LATENCIES, st.integers(1, 10))
@settings(max_examples=examples(300))
def test_no_message_waits_longer_than_the_maximum_latency(
    flow: list[tuple[float, int]], latency: float, together: int
) -> None:
    manager, now, first = BufferManager(latency, together=together), 0.0, 0.0
    for gap, size in flow:
        now += gap
        if manager.waiting and manager.due <= now:
            manager.left()
        first = first if manager.waiting else now
        due = manager.arrived(size, now)
        assert 0.0 <= manager.period <= latency
        assert due <= first + latency
        assert manager.waiting < together or due <= now
        if due <= now:
            manager.left()


@given(st.lists(st.tuples(st.floats(1.0001, 1e6), SIZES), max_size=60), LATENCIES)
def test_a_flow_slower_than_the_maximum_latency_is_never_delayed(flow: list[tuple[float, int]], latency: float) -> None:
    manager, now = BufferManager(latency), 0.0
    for gap, size in flow:
        now += gap * latency
        assert manager.arrived(size, now) == now
        manager.left()


@given(st.floats(1.2, 200), SIZES.filter(bool), LATENCIES)
@settings(max_examples=examples(40))
def test_of_a_regular_flow_rate_payload_and_period_are_found(rate: float, size: int, latency: float) -> None:
    manager = BufferManager(latency)
    regular(manager, rate / latency, size, 60 * latency)
    assert manager.rate == pytest.approx(rate / latency, rel=0.01)
    assert manager.payload == pytest.approx(size)
    wanted = period_of(rate / latency, size, OVERHEAD, latency)
    assert abs(manager.period - wanted) * rate / latency < 1.02, "off by less than a message"


def test_of_a_random_flow_the_rate_is_a_little_too_low() -> None:
    random, manager, now, seen = Random(4), BufferManager(1.0), 0.0, list[float]()
    for _ in range(20_000):
        now += random.expovariate(10)
        manager.arrived(100, now)
        manager.left()
        seen.append(manager.rate)
    mean = sum(seen[1000:]) / len(seen[1000:])
    assert 9.2 < mean < 10


def test_it_begins_at_zero_and_learns_most_of_a_rate_within_the_window() -> None:
    manager = BufferManager(1.0)
    assert manager.arrived(10, 0.0) == 0.0
    manager.left()
    assert manager.arrived(10, 0.001) == 0.001, "two do not make a flow"
    manager.left()
    regular(manager, 20, 10, 2.0, 0.05)
    assert manager.period > 0.9
    regular(manager, 20, 10, WINDOW, 2.05)
    assert 20 * 2 / 3 < manager.rate < 20


def test_after_a_silence_however_long_it_learns_as_at_the_beginning() -> None:
    fresh, resumed = BufferManager(1.0), BufferManager(1.0)
    last = regular(resumed, 20, 10, 30)
    for manager, begin in ((fresh, 0.0), (resumed, last + 1e6)):
        regular(manager, 5, 10, 4.0, begin)
    assert resumed.rate == pytest.approx(fresh.rate)
    assert resumed.period == pytest.approx(fresh.period)


def test_what_is_sparse_is_not_held_in_vain_after_a_burst() -> None:
    """A mean over the same window, that counts each message, would hold all that comes in the next twenty seconds."""
    manager, now, counted = BufferManager(1.0), regular(BufferManager(1.0), 0.5, 100, 100), 0.0
    regular(manager, 0.5, 100, 100)
    for number in range(200):
        manager.arrived(100, now + number / 20_000)
        manager.left()
        counted += 1 / WINDOW
    assert counted > 20 and manager.rate < 0.6
    for number in range(20):
        at = now + 2.0 * (1 + number)
        assert manager.arrived(100, at) == at
        manager.left()


def test_a_burst_counts_by_its_length() -> None:
    manager = BufferManager(1.0)
    now = regular(manager, 2, 100, 60)
    before = manager.rate
    for number in range(1, 1001):
        manager.arrived(100, now + number / 100_000)
        manager.left()
    assert manager.rate < before * (1 + BURST * 0.01)


def test_a_rate_that_stays_is_followed() -> None:
    manager = BufferManager(1.0)
    now = regular(manager, 2, 5000, 60)
    slow = manager.period
    now = regular(manager, 50, 5000, 4 * WINDOW, now + 0.02)
    assert manager.rate == pytest.approx(50, rel=0.05) and manager.period < slow - 0.1
    regular(manager, 0.5, 5000, 60, now + 2)
    assert manager.period == 0.0 and manager.rate == pytest.approx(0.5, rel=0.05)


@given(FLOWS, st.integers(0, 2**32))
def test_the_period_changes_only_by_a_message_or_to_zero(flow: list[tuple[float, int]], seed: int) -> None:
    manager, now, random = BufferManager(1.0), 0.0, Random(seed)
    regular(manager, 20, 1000, 3)
    for gap, size in flow:
        now, before = now + gap * random.random(), manager.period
        manager.arrived(size, 3 + now)
        manager.left()
        if manager.period not in (before, 0.0):
            assert abs(manager.period - before) * manager.rate >= 1.0


def test_a_group_goes_when_it_has_so_many_or_so_much() -> None:
    manager = BufferManager(1.0, together=3, most_bytes=1000)
    now = regular(manager, 100, 10, 5) + 0.01
    manager.left()
    assert [manager.arrived(10, now) > now for _ in range(3)] == [True, True, False]
    manager.left()
    assert manager.arrived(999, now) > now
    assert manager.arrived(1, now) == now


def test_what_did_not_fit_is_due_as_it_was() -> None:
    manager = BufferManager(1.0, together=3)
    now = regular(manager, 100, 10, 5) + 0.01
    manager.left()
    due = [manager.arrived(10, now) for _ in range(3)][-1]
    manager.left(1)
    assert manager.waiting == 1 and manager.due == due == now
    assert manager.arrived(10, now + 0.5) == due


def test_without_a_latency_nothing_is_held_and_nothing_estimated() -> None:
    manager = BufferManager(0.0)
    for number in range(50):
        assert manager.arrived(10, number / 100) == number / 100
        manager.left()
    assert manager.rate == manager.payload == manager.period == 0.0


def test_the_unit_of_time_is_the_callers() -> None:
    seconds, nanoseconds = BufferManager(1.0), BufferManager(10**9)
    for number in range(200):
        at = seconds.arrived(10, number / 20)
        assert nanoseconds.arrived(10, number * 50_000_000) == pytest.approx(at * 10**9)
        if at <= number / 20 or number % 7 == 0:
            seconds.left()
            nanoseconds.left()


# All flows of a node

ARRIVALS = st.lists(
    st.tuples(GAPS, st.sampled_from("abc"), st.integers(0, 400), st.sampled_from([math.inf, math.inf, 1.0, 0.25, 0.0])),
    max_size=80,
)


@given(ARRIVALS, st.integers(1, 3), st.integers(1, 6))
@settings(max_examples=examples(300))
def test_all_that_arrives_goes_once_in_order_and_in_time(
    arrivals: list[tuple[float, str, int, float]], many: int, together: int
) -> None:
    asked = BufferSettings(1.0, idle=2.0, many=many, together=together, most_bytes=1000)
    buffers, now = Buffers[str, int](asked), 0.0
    came: dict[str, list[tuple[int, float]]] = defaultdict(list)
    went: dict[str, list[int]] = defaultdict(list)

    def go(key: str, group: list[int], at: float) -> None:
        assert len(group) <= together
        for each in group:
            assert at <= came[key][each][1] + 1.0
            went[key].append(each)

    def until(end: float) -> None:
        while (due := buffers.due()) is not None and due <= end:
            for key, group in buffers.take(due):
                go(key, group, due)

    for gap, key, size, latency in arrivals:
        now += gap
        until(now)
        came[key].append((len(came[key]), now))
        go(key, buffers.arrived(key, len(came[key]) - 1, size, now, latency), now)
        assert len(buffers) <= many
    until(math.inf)
    assert {key: list(range(len(each))) for key, each in came.items()} == dict(went)
    buffers.collect(now + 3.0)
    assert len(buffers) == 0


def flowing(buffers: Buffers[str, int], key: str, begin: float, seconds: float = 3.0) -> float:
    for number in range(round(seconds * 20)):
        begin += 0.05
        buffers.take(begin)
        buffers.arrived(key, number, 10, begin)
    return begin


def test_an_idle_buffer_is_collected_when_nothing_waits_in_it() -> None:
    buffers = Buffers[str, int](BufferSettings(1.0, idle=0.5))
    now = flowing(buffers, "a", 0.0)
    due = buffers.due()
    assert due is not None and due > now
    buffers.collect(now + 0.6)
    assert len(buffers) == 1
    assert buffers.take(due)
    buffers.collect(due + 0.5)
    assert len(buffers) == 0 and buffers.due() is None and buffers.manager("a") is None


def test_what_finds_no_room_goes_at_once_and_the_longest_unheard_makes_room() -> None:
    buffers = Buffers[str, int](BufferSettings(1.0, many=1))
    now = flowing(buffers, "a", 0.0)
    assert buffers.arrived("b", 7, 10, now) == [7] and buffers.manager("b") is None
    assert buffers.take(now + 1.0)
    assert buffers.arrived("b", 8, 10, now + 1.0) == [8]
    assert buffers.manager("b") is not None and buffers.manager("a") is None


def test_the_smaller_maximum_latency_counts() -> None:
    buffers = Buffers[str, int](BufferSettings(1.0))
    buffers.arrived("a", 0, 10, 0.0, 0.25)
    buffers.arrived("b", 0, 10, 0.0, 5.0)
    found = [buffers.manager(key) for key in "ab"]
    assert [each and each.max_latency for each in found] == [0.25, 1.0]


def test_by_default_nothing_is_buffered() -> None:
    buffers = Buffers[str, int](BufferSettings())
    assert [buffers.arrived("a", number, 10, number / 100) for number in range(50)] == [[n] for n in range(50)]
    assert len(buffers) == 0
