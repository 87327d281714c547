"""HTTP 1.1 Web Hooks for Event Delivery 1.0.2 s4, as the sender."""

import pytest

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.consent import (
    BROKER,
    Answered,
    CalledBack,
    Consent,
    ConsentMachine,
    Consumer,
    End,
    Ended,
    Given,
    Patience,
    Question,
    rate_of,
)
from tocsin.routing.machine import Ask, Effect, Forget, Remember, Report, SetTimer, Started, Unanswered, Woken

PATIENCE = Patience(wait=100.0, first_delay=1.0, longest_delay=8.0)
A, T = "http://a/", "token"


def at(seconds: float) -> Instant:
    return Instant(round(seconds * SECOND))


def asked() -> ConsentMachine:
    machine = ConsentMachine("s", "broker.example", PATIENCE)
    effects = machine.step(Consumer(A, T), at(0))
    assert effects == [Remember("asked", Consent(T, A)), SetTimer(None), Ask(A, Question(T))]
    return machine


def given(effects: list[Effect]) -> Consent:
    """What it remembers and reports."""
    match effects:
        case [Remember("given", Consent() as kept), Forget("asked"), SetTimer(None), Report(Given("s", told))]:
            assert kept == told
            return kept
    raise AssertionError(effects)


def refused(effects: list[Effect]) -> str:
    match effects:
        case [SetTimer(None), Ask("", End(reason))]:
            return reason
    raise AssertionError(effects)


@pytest.mark.parametrize("origin", ["*", "broker.example", "Broker.Example"])
@pytest.mark.parametrize("status", [200, 204, 405, 500])
def test_s4_2_1_the_header_is_the_consent_whatever_the_status(origin: str, status: int) -> None:
    machine = asked()
    assert given(machine.step(Answered(T, status, origin, "120"), at(1))) == Consent(T, A, 120)
    assert machine.state == "given"
    assert machine.step(CalledBack(T), at(2)) == []


def test_s4_2_another_origin_is_a_refusal() -> None:
    machine = asked()
    assert "other.example" in refused(machine.step(Answered(T, 200, "other.example"), at(1)))
    assert machine.step(CalledBack(T), at(2)) == []


@pytest.mark.parametrize(("status", "never"), [(403, False), (404, False), (405, False), (0, True)])
def test_who_does_not_know_the_question_has_not_consented(status: int, never: bool) -> None:
    answer = Answered(T, status, error="it is our own address", refused=never)
    assert (f"HTTP {status}" if status else "our own address") in refused(asked().step(answer, at(1)))


def test_s4_1_3_without_headers_it_may_call_back() -> None:
    machine = asked()
    assert machine.step(Answered(T, 200), at(1)) == [SetTimer(at(100))]
    assert machine.state == "waiting"
    assert given(machine.step(CalledBack(T, "60"), at(50))).rate == 60


def test_a_call_may_come_before_the_answer() -> None:
    machine = asked()
    assert given(machine.step(CalledBack(T), at(0.5))).rate is None
    assert machine.step(Answered(T, 200), at(1)) == []


def test_who_never_calls_back_has_refused() -> None:
    machine = asked()
    machine.step(Answered(T, 200), at(1))
    assert machine.step(Woken(), at(99)) == [SetTimer(at(100))]
    reason = refused(machine.step(Woken(), at(100)))
    assert reason == "the consumer did not consent to be sent to: it gave no consent within 100 s"


def test_who_is_down_is_asked_again_ever_more_seldom_and_given_up_in_the_end() -> None:
    machine, now, waits = asked(), 0, list[float]()
    down = Unanswered(Question(T), "refused")
    while True:
        (timer,) = machine.step(Answered(T, 503) if len(waits) % 2 else down, Instant(now))
        assert isinstance(timer, SetTimer) and timer.when is not None
        waits.append((timer.when - now) / SECOND)
        now = timer.when
        effects = machine.step(Woken(), Instant(now))
        if effects != [Ask(A, Question(T))]:
            break
    assert waits[:5] == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert now == at(100) and "within 100 s" in refused(effects)


def test_a_refusal_is_told_until_the_subscription_has_ended() -> None:
    machine = asked()
    reason = refused(machine.step(Answered(T, 405), at(1)))
    assert machine.step(Unanswered(End(reason)), at(2)) == [SetTimer(at(3))]
    assert machine.step(Woken(), at(3)) == [Ask(BROKER, End(reason))]
    assert machine.step(Ended(), at(4)) == [Forget()]


def test_consent_is_for_one_address_and_what_waits_for_another_goes_there() -> None:
    machine = asked()
    first = given(machine.step(Answered(T, 200, "*"), at(1)))
    assert machine.step(Consumer(A, "x"), at(2)) == []
    assert Ask("http://b/", Question("u")) in machine.step(Consumer("http://b/", "u"), at(2))
    assert machine.given == first and list(machine.consenting) == [A] and machine.tokens == (T, "u")
    assert machine.step(CalledBack(T), at(3)) == machine.step(Answered(T, 405), at(3)) == []
    assert given(machine.step(CalledBack("u"), at(4))) == Consent("u", "http://b/", None, (A,))
    assert machine.consenting == ("http://b/", A)


@pytest.mark.parametrize("address", ["", A])
def test_nobody_waits_for_an_answer_that_is_not_needed(address: str) -> None:
    machine = asked()
    given(machine.step(CalledBack(T), at(1)))
    machine.step(Consumer("http://b/", "u"), at(2))
    assert machine.step(Consumer(address), at(3)) == [Forget("asked"), SetTimer(None)]
    assert machine.state == "given" and machine.step(Answered("u", 405), at(4)) == []


def test_who_did_not_answer_is_asked_again_after_a_restart_by_the_same_token() -> None:
    machine = ConsentMachine("s", "broker.example", PATIENCE, {"asked": Consent(T, A)})
    assert machine.step(Started(), at(5)) == [SetTimer(None), Ask(A, Question(T))]
    assert machine.step(Consumer(A, "new"), at(5)) == []
    sure = ConsentMachine("s", "broker.example", PATIENCE, {"given": Consent(T, A)})
    assert sure.step(Started(), at(5)) == [] and sure.consenting == (A,)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("120", 120),
        (" 1 ", 1),
        ("*", None),
        ("", None),
        ("0", None),
        ("-5", None),
        ("x", None),
        ("٣", None),
        ("9" * 40, None),
    ],
)
def test_s4_2_2_rates(text: str, rate: int | None) -> None:
    assert rate_of(text) == rate
