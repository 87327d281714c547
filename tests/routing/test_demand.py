"""The machine of demand-based publishing, step by step and over seeded publishers."""

import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.effort import examples

from tocsin.model.filters import NOTHING, ActionIs, AllOf, AnyOf, Filter, Not, TopicIs
from tocsin.model.identity import SECOND, Instant, Node, SubscriptionId, after
from tocsin.model.names import QName, Topic
from tocsin.model.subscription import Endpoint, Form, Position, Registration, State, Subscription
from tocsin.routing.demand import (
    FAREWELLS,
    LONGEST_DELAY,
    SHORTEST_LEASE,
    Demand,
    Destroy,
    Failed,
    Message,
    Operation,
    Register,
    Request,
    Subscribed,
    Succeeded,
    Upstream,
    Wanted,
    may_want,
)
from tocsin.routing.machine import Ask, Effect, Forget, Remember, SetTimer, Started, Unanswered, Woken

HERE = "http://broker/broker"
PUBLISHER, MANAGER = Endpoint("http://publisher/"), Endpoint("http://publisher/1")
START = Instant(1_000 * SECOND)
HOUR = after(START, 3_600)
ON_DEMAND = Registration("r", None, PUBLISHER, (), True, Form("wsn-1.3", "1.2"), START, None)


class Clocked(Demand):
    """Knows its timer, as a runtime does."""

    wake: Instant | None = None

    def step(self, message: Message, now: Instant) -> list[Effect]:
        if isinstance(message, Woken):
            self.wake = None
        effects = super().step(message, now)
        for each in effects:
            if isinstance(each, SetTimer):
                self.wake = each.when
        return [each for each in effects if not isinstance(each, SetTimer)]


def sent(effects: Sequence[Effect]) -> list[Operation]:
    return [each.question.operation for each in effects if isinstance(each, Ask)]


def asked(operation: Operation, to: Endpoint) -> Ask:
    return Ask(to.address, Request(operation, to, ON_DEMAND))


def kept(upstream: Upstream) -> Remember:
    return Remember("upstream", upstream)


def fresh() -> Clocked:
    return Clocked(HERE, ON_DEMAND)


def subscribed(wanted: bool, **known: object) -> Clocked:
    return Clocked(HERE, ON_DEMAND, Upstream(MANAGER, HERE, START, HOUR, **known), wanted)  # type: ignore[arg-type]


def test_it_subscribes_at_once_and_pauses_while_nobody_wants() -> None:
    demand = Clocked(HERE)
    registered = demand.step(Register(ON_DEMAND, wanted=False), START)
    assert registered == [Remember("registration", ON_DEMAND), asked("subscribe", PUBLISHER)]
    effects = demand.step(Subscribed(MANAGER, HOUR), START)
    assert effects == [kept(Upstream(MANAGER, HERE, START, HOUR)), asked("pause", MANAGER)]
    assert sent(demand.step(Succeeded("pause"), START)) == []
    assert demand.upstream.paused


def test_started_it_waits_until_it_knows_whether_it_is_wanted() -> None:
    demand = Clocked(HERE, ON_DEMAND, Upstream(MANAGER, HERE, START, HOUR))
    assert demand.step(Started(), after(START, 2_000)) == [] and demand.wake is None
    assert sent(demand.step(Wanted(True), after(START, 2_000))) == ["renew"]


def test_who_publishes_whether_it_is_wanted_or_not_is_asked_for_nothing_and_ends_with_its_lease() -> None:
    plain = replace(ON_DEMAND, demand=False, publisher=None, expires=HOUR)
    demand = Clocked(HERE)
    assert demand.step(Register(plain, wanted=False), START) == [Remember("registration", plain)]
    assert demand.wake == HOUR and demand.step(Woken(), after(HOUR, -1)) == [] and demand.wake == HOUR
    assert demand.step(Woken(), HOUR)[-1] == Forget()
    again = Clocked(HERE, plain)
    assert again.step(Started(), START) == [] and again.wake == HOUR
    assert again.step(Destroy(), START)[-1] == Forget()


def test_a_registration_on_demand_that_ends_with_its_lease_unsubscribes() -> None:
    demand = Clocked(HERE, replace(ON_DEMAND, expires=after(START, 60)), Upstream(MANAGER, HERE, START, HOUR), True)
    assert demand.step(Started(), START) == [] and demand.wake == after(START, 60)
    assert sent(demand.step(Woken(), after(START, 60))) == ["unsubscribe"] and demand.ending


def test_what_nobody_answers_is_as_a_publisher_that_is_down() -> None:
    demand = fresh()
    (ask,) = demand.step(Wanted(True), START)
    assert isinstance(ask, Ask)
    assert demand.step(Unanswered(ask.question), START) == [] and demand.wake == after(START, 1)


def test_it_resumes_when_somebody_wants_and_pauses_again() -> None:
    demand = subscribed(False, paused=True)
    assert sent(demand.step(Wanted(True), START)) == ["resume"]
    assert demand.step(Wanted(False), START) == []  # one request at a time
    assert sent(demand.step(Succeeded("resume"), START)) == ["pause"]
    assert sent(demand.step(Wanted(True), START)) == []
    assert sent(demand.step(Succeeded("pause"), START)) == ["resume"]


def test_it_renews_half_way_and_looks_by_itself_then() -> None:
    demand = subscribed(True)
    assert sent(demand.step(Woken(), START)) == []
    assert demand.wake == after(START, 1_800)
    assert sent(demand.step(Woken(), after(START, 1_800))) == ["renew"]
    assert demand.wake is None
    later = after(START, 5_400)
    assert demand.step(Succeeded("renew", later), after(START, 1_800))[0] == kept(demand.upstream)
    assert (demand.upstream.ends, demand.wake) == (later, after(START, 3_600))


def test_a_renewal_that_fails_is_tried_until_the_end_then_it_subscribes_anew() -> None:
    demand, now, tries = subscribed(True), after(START, 1_800), 0
    effects = demand.step(Woken(), now)
    while sent(effects) == ["renew"]:
        tries += 1
        assert sent(demand.step(Failed("renew", "unreachable"), now)) == []
        assert demand.wake is not None and demand.wake > now
        now = demand.wake
        effects = demand.step(Woken(), now)
    assert now >= HOUR and tries > 5
    assert effects == [kept(Upstream(consumer=HERE)), asked("subscribe", PUBLISHER)]


def test_a_publisher_that_is_down_is_tried_ever_more_slowly() -> None:
    demand, now, pauses = fresh(), START, []
    assert sent(demand.step(Wanted(True), now)) == ["subscribe"]
    for _ in range(12):
        assert sent(demand.step(Failed("subscribe", "unreachable"), now)) == []
        assert sent(demand.step(Woken(), now)) == []
        assert demand.wake is not None
        pauses.append((demand.wake - now) / SECOND)
        now = demand.wake
        assert sent(demand.step(Woken(), now)) == ["subscribe"]
    assert pauses[:4] == [1, 2, 4, 8]
    assert max(pauses) == pauses[-1] == LONGEST_DELAY


def test_a_publisher_that_cannot_pause_is_left_and_joined() -> None:
    demand = subscribed(False)
    assert sent(demand.step(Woken(), START)) == ["pause"]
    assert sent(demand.step(Failed("pause", "refused"), START)) == ["unsubscribe"]
    assert sent(demand.step(Succeeded("unsubscribe"), START)) == []
    assert demand.upstream == Upstream(consumer=HERE, pausable=False)
    assert sent(demand.step(Wanted(True), START)) == ["subscribe"]
    assert sent(demand.step(Subscribed(MANAGER, HOUR), START)) == []
    assert sent(demand.step(Wanted(False), START)) == ["unsubscribe"]


def test_a_subscription_the_publisher_forgot_is_made_again() -> None:
    demand = subscribed(True, paused=True)
    assert sent(demand.step(Woken(), START)) == ["resume"]
    assert demand.step(Failed("resume", "unknown"), START) == [kept(Upstream(consumer=HERE))]
    assert demand.wake == after(START, 1)
    assert sent(demand.step(Woken(), after(START, 1))) == ["subscribe"]


def test_a_publisher_that_grants_what_it_does_not_know_is_not_asked_ever_faster() -> None:
    demand, now = fresh(), START
    demand.step(Wanted(False), now)
    waits = []
    for _ in range(6):
        assert sent(demand.step(Subscribed(MANAGER, now), now)) in (["pause"], [])
        while demand.wake is not None and not sent(demand.step(Woken(), demand.wake)):
            pass
        demand.step(Failed("pause", "unknown"), now)
        assert demand.wake is not None
        waits.append(demand.wake - now)
        now = demand.wake
        assert sent(demand.step(Woken(), now)) == ["subscribe"]
    assert waits == sorted(waits) and waits[-1] > waits[0]


def test_a_lease_that_is_over_when_it_is_granted_lasts_a_while() -> None:
    demand = fresh()
    demand.step(Wanted(True), START)
    assert sent(demand.step(Subscribed(MANAGER, Instant(0)), START)) == []
    assert demand.upstream.ends == after(START, SHORTEST_LEASE)


def test_destroyed_it_unsubscribes_and_is_forgotten() -> None:
    demand = subscribed(True)
    effects = demand.step(Destroy(), START)
    assert effects == [kept(demand.upstream), asked("unsubscribe", MANAGER)]
    assert demand.upstream.ending
    assert demand.step(Succeeded("unsubscribe"), START)[-1] == Forget()


def test_destroyed_while_it_subscribes_it_unsubscribes_what_it_gets() -> None:
    demand = fresh()
    demand.step(Wanted(True), START)
    assert sent(demand.step(Destroy(), START)) == []
    assert sent(demand.step(Subscribed(MANAGER, HOUR), START)) == ["unsubscribe"]
    assert demand.step(Failed("unsubscribe", "unknown"), START)[-1] == Forget()


def test_destroyed_without_a_subscription_it_is_forgotten_at_once() -> None:
    assert fresh().step(Destroy(), START)[-1] == Forget()


def test_after_a_restart_it_goes_on_to_unsubscribe() -> None:
    assert sent(subscribed(False, ending=True).step(Wanted(False), START)) == ["unsubscribe"]


def test_a_publisher_that_stays_down_is_left_in_the_end() -> None:
    demand, now, tries = subscribed(True), START, 1
    assert sent(demand.step(Destroy(), now)) == ["unsubscribe"]
    while Forget() not in (effects := demand.step(Failed("unsubscribe", "unreachable"), now)):
        assert effects == [] and demand.wake is not None
        now, tries = demand.wake, tries + 1
        assert sent(demand.step(Woken(), now)) == ["unsubscribe"]
    assert tries == FAREWELLS


def test_at_another_address_after_a_restart_it_subscribes_anew() -> None:
    demand = Clocked("http://moved/broker", ON_DEMAND, Upstream(MANAGER, HERE, START, HOUR))
    assert sent(demand.step(Wanted(True), START)) == ["unsubscribe"]
    assert sent(demand.step(Succeeded("unsubscribe"), START)) == ["subscribe"]


class Publisher:
    """Answers by a seed: it may be down, forget, or not pause; it knows in truth what it would send."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pausable = self.random.random() < 0.7
        self.down = False
        self.leases: dict[str, tuple[Instant, bool]] = {}
        self.made = 0

    def answer(self, send: Request, now: Instant) -> Message:
        operation = send.operation
        if self.down:
            return Failed(operation, "unreachable")
        if operation == "subscribe":
            self.made += 1
            self.leases[str(self.made)] = (after(now, 600), False)
            return Subscribed(Endpoint(str(self.made)), after(now, 600))
        name = send.to.address
        ends, paused = self.leases.get(name, (Instant(0), False))
        if ends <= now:
            return Failed(operation, "unknown")
        if operation in ("pause", "resume"):
            if not self.pausable:
                return Failed(operation, "refused")
            self.leases[name] = (ends, operation == "pause")
            return Succeeded(operation)
        if operation == "renew":
            self.leases[name] = (after(now, 600), paused)
            return Succeeded(operation, after(now, 600))
        del self.leases[name]
        return Succeeded(operation)

    def sends(self, now: Instant) -> int:
        return sum(ends > now and not paused for ends, paused in self.leases.values())


@pytest.mark.parametrize("seed", range(examples(60)))
def test_left_alone_it_has_what_is_wanted_and_no_more(seed: int) -> None:
    """Whatever happened before: when the publisher is up for long enough it sends once if wanted, else not at all."""
    publisher, demand, now = Publisher(seed), fresh(), START
    row, chance = demand.upstream, publisher.random

    def run(effects: list[Effect]) -> None:
        nonlocal row
        for effect in effects:
            match effect:
                case Remember("upstream", upstream):
                    row = upstream
                case Ask(question=Request() as request):
                    run(demand.step(publisher.answer(request, now), now))

    run(demand.step(Wanted(False), now))
    for _ in range(40):
        match chance.randrange(6):
            case 0:
                run(demand.step(Wanted(chance.random() < 0.5), now))
            case 1:
                publisher.down = not publisher.down
            case 2:
                publisher.leases.clear()
            case 3:  # a restart, with what was kept
                demand = Clocked(HERE, ON_DEMAND, row, demand.wanted)
                run(demand.step(Started(), now))
            case _:
                now = after(now, chance.uniform(0, 900))
                run(demand.step(Woken(), now))
    publisher.down = False
    for _ in range(1_000):
        now = after(now, 1)
        run(demand.step(Woken(), now))
    assert publisher.sends(now) == (1 if demand.wanted else 0)
    assert row == demand.upstream


A, B = Topic((QName("", "a"),)), Topic((QName("", "b"),))
IS_A, IS_B = TopicIs((A.steps,)), TopicIs((B.steps,))


@pytest.mark.parametrize(
    ("filters", "state", "topics", "wants"),
    [
        ((), "active", (A,), True),
        ((), "paused", (A,), False),
        ((), "ended", (A,), False),
        ((IS_A,), "active", (A,), True),
        ((IS_A,), "active", (B, A), True),
        ((IS_A,), "active", (B,), False),
        ((IS_A, IS_B), "active", (A, B), False),
        ((IS_A,), "active", (), True),
        ((NOTHING,), "active", (A,), False),
        ((NOTHING,), "active", (), False),
        ((ActionIs(("urn:x",)),), "active", (A,), True),
        ((ActionIs(("urn:x",)), IS_B), "active", (A,), False),
        ((AnyOf((IS_B, IS_A)),), "active", (A,), True),
        ((AllOf((IS_B, IS_A)),), "active", (A,), False),
        ((Not(IS_A),), "active", (A,), False),
        ((Not(IS_A),), "active", (B,), True),
        ((Not(ActionIs(("urn:x",))),), "active", (A,), True),
    ],
)
def test_who_wants_what_a_publisher_has(
    filters: tuple[Filter, ...], state: State, topics: tuple[Topic, ...], wants: bool
) -> None:
    at = Position(Node("n"), 0)
    consumer = Endpoint("http://c")
    asked = Subscription(SubscriptionId("s"), None, consumer, None, Form("wsn-1.3"), filters, at, None, state)
    assert may_want(asked, topics) is wants
