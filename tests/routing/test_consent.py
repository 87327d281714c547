"""HTTP 1.1 Web Hooks for Event Delivery 1.0.2 s4, as the sender."""

import pytest

from tocsin.routing.consent import (
    Answered,
    Ask,
    Begin,
    CalledBack,
    ConsentMachine,
    Give,
    Nothing,
    Patience,
    Refuse,
    Wait,
    Woken,
    rate_of,
)

PATIENCE = Patience(wait=100.0, first_delay=1.0, longest_delay=8.0)


def asked() -> ConsentMachine:
    machine = ConsentMachine("broker.example", PATIENCE)
    assert machine.step(Begin(), 0.0) == Ask()
    return machine


@pytest.mark.parametrize("origin", ["*", "broker.example", "Broker.Example"])
@pytest.mark.parametrize("status", [200, 204, 405, 500])
def test_s4_2_1_the_header_is_the_consent_whatever_the_status(origin: str, status: int) -> None:
    machine = asked()
    assert machine.step(Answered(status, origin, "120"), 1.0) == Give(120)
    assert machine.state == "given"
    assert machine.step(CalledBack(), 2.0) == Nothing()


def test_s4_2_another_origin_is_a_refusal() -> None:
    machine = asked()
    effect = machine.step(Answered(200, "other.example"), 1.0)
    assert isinstance(effect, Refuse) and "other.example" in effect.reason
    assert machine.step(CalledBack(), 2.0) == Nothing()


@pytest.mark.parametrize(("status", "refused"), [(403, False), (404, False), (405, False), (0, True)])
def test_who_does_not_know_the_question_has_not_consented(status: int, refused: bool) -> None:
    effect = asked().step(Answered(status, error="it is our own address", refused=refused), 1.0)
    assert isinstance(effect, Refuse)
    assert (f"HTTP {status}" if status else "our own address") in effect.reason


def test_s4_1_3_without_headers_it_may_call_back() -> None:
    machine = asked()
    assert machine.step(Answered(200), 1.0) == Wait(100.0)
    assert machine.state == "waiting"
    assert machine.step(CalledBack("60"), 50.0) == Give(60)


def test_a_call_may_come_before_the_answer() -> None:
    machine = asked()
    assert machine.step(CalledBack(), 0.5) == Give(None)
    assert machine.step(Answered(200), 1.0) == Nothing()


def test_who_never_calls_back_has_refused() -> None:
    machine = asked()
    machine.step(Answered(200), 1.0)
    assert machine.step(Woken(), 99.0) == Wait(100.0)
    effect = machine.step(Woken(), 100.0)
    assert effect == Refuse("the consumer did not consent to be sent to: it gave no consent within 100 s")


def test_who_is_down_is_asked_again_ever_more_seldom_and_given_up_in_the_end() -> None:
    machine, now, waits = asked(), 0.0, list[float]()
    while True:
        effect = machine.step(Answered(503) if len(waits) % 2 else Answered(0, error="refused"), now)
        assert isinstance(effect, Wait)
        waits.append(effect.until - now)
        now = effect.until
        effect = machine.step(Woken(), now)
        if isinstance(effect, Refuse):
            break
        assert effect == Ask()
    assert waits[:5] == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert now == 100.0 and "within 100 s" in effect.reason


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
