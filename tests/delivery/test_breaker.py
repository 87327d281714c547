from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.lane import Breaker
from tocsin.delivery.settings import DeliverySettings

SETTINGS = DeliverySettings(failures_to_open=3, cool_down=1.0, longest_cool_down=5.0)


def opened() -> Breaker:
    breaker = Breaker(SETTINGS)
    for _ in range(3):
        breaker.failed(10.0)
    return breaker


def test_it_opens_after_failures_in_a_row() -> None:
    breaker = Breaker(SETTINGS)
    breaker.failed(0.0)
    breaker.failed(0.0)
    assert breaker.admits(0.0)
    breaker.failed(0.0)
    assert not breaker.admits(0.5)


def test_a_success_between_starts_the_count_again() -> None:
    breaker = Breaker(SETTINGS)
    breaker.failed(0.0)
    breaker.failed(0.0)
    breaker.succeeded()
    breaker.failed(0.0)
    breaker.failed(0.0)
    assert breaker.admits(0.0)


def test_one_probe_passes_after_the_cool_down() -> None:
    breaker = opened()
    assert not breaker.admits(10.9)
    assert breaker.admits(11.0)
    assert not breaker.admits(100.0)


def test_a_probe_that_succeeds_closes_it() -> None:
    breaker = opened()
    assert breaker.admits(11.0)
    breaker.succeeded()
    assert breaker.until is None
    assert breaker.admits(11.0)
    assert breaker.admits(11.0)


def test_a_probe_that_fails_doubles_the_cool_down_to_the_cap() -> None:
    breaker, now, waits = opened(), 11.0, []
    for _ in range(5):
        assert breaker.admits(now)
        breaker.failed(now)
        assert breaker.until is not None
        waits.append(breaker.until - now)
        now = breaker.until
    assert waits == [2.0, 4.0, 5.0, 5.0, 5.0]


def test_late_failures_of_requests_sent_before_do_not_prolong_it() -> None:
    breaker = opened()
    breaker.failed(10.9)
    assert breaker.until == 11.0


def test_the_cool_down_is_short_again_after_a_success() -> None:
    breaker = opened()
    assert breaker.admits(11.0)
    breaker.failed(11.0)
    breaker.succeeded()
    for _ in range(3):
        breaker.failed(20.0)
    assert breaker.until == 21.0


@given(st.lists(st.tuples(st.sampled_from(["admit", "succeed", "fail"]), st.floats(0.0, 3.0)), max_size=60))
def test_open_it_never_lets_two_pass_and_always_lets_one_pass_in_the_end(steps: list[tuple[str, float]]) -> None:
    breaker, now, probes = Breaker(SETTINGS), 0.0, 0
    for step, wait in steps:
        now += wait
        if step == "admit" and breaker.admits(now):
            probes += breaker.until is not None
        elif step == "succeed":
            breaker.succeeded()
            probes = 0
        elif step == "fail":
            was_open = breaker.until is not None
            breaker.failed(now)
            probes = 0 if was_open else probes
        assert probes <= 1
    if not breaker.probing:
        assert breaker.admits(now + SETTINGS.longest_cool_down)
