"""Whatever happens in whatever order: nothing is left that somebody wants who was acknowledged."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace
from tests.effort import brief, examples
from tests.sim.relay_storm import LEASE, NAMES, NARROW, SHORT, TOPICS, Storm, blow

from tocsin.model.identity import Instant
from tocsin.routing.machine import Answer, Deliver, Effect
from tocsin.routing.ring.demand import Demand
from tocsin.routing.ring.identifiers import identifier_of
from tocsin.routing.ring.registrations import Registration, Spans
from tocsin.routing.ring.relay import Message, Relay
from tocsin.routing.ring.relay_messages import Answered, Arc, Handover, Settled, Tell, Told, Wanting
from tocsin.sim.network import MILLISECOND
from tocsin.sim.relay_nodes import Links, Machines
from tocsin.sim.relay_roster import Membership


@pytest.mark.parametrize("machines", [SHORT, NARROW], ids=["roomy", "narrow"])
@pytest.mark.parametrize("seed", brief(range(60), *range(12)))
def test_nothing_is_hidden_and_all_is_done_in_the_end(seed: int, machines: Machines) -> None:
    storm = blow(seed, 300, machines)
    storm.calm()
    assert storm.ring.hidden == []
    assert not storm.ring.unacknowledged and not storm.ring.underway


class Orders(RuleBasedStateMachine):
    """What happens, and how long after the last, is Hypothesis' to choose; what becomes of each message, the seed's."""

    nodes, topics = st.integers(0, len(NAMES) - 1), st.integers(0, len(TOPICS) - 1)
    subscriptions = st.integers(0, 5)
    lasts = st.none() | st.sampled_from([0.2, 1.0, 5.0])

    @initialize(
        seed=st.integers(0, 1000),
        most=st.sampled_from([2, 300, 2000]),
        lost=st.sampled_from([0.0, 0.2]),
        machines=st.sampled_from([SHORT, NARROW]),
    )
    def begin(self, seed: int, most: int, lost: float, machines: Machines) -> None:
        self.storm = Storm(seed, Links(MILLISECOND, most * MILLISECOND, lost, lost / 2, 7200.0, 0.04), machines)

    @rule(node=nodes, topic=topics)
    def notify(self, node: int, topic: int) -> None:
        self.storm.act("notify", node, topic, 0)

    @rule(what=st.sampled_from(["subscribe", "renew"]), node=nodes, topic=topics, number=subscriptions, lasts=lasts)
    def change(self, what: str, node: int, topic: int, number: int, lasts: float | None) -> None:
        self.storm.act(what, node, topic, number, lasts)

    @rule(what=st.sampled_from(["pause", "unsubscribe"]), node=nodes, number=subscriptions)
    def end(self, what: str, node: int, number: int) -> None:
        self.storm.act(what, node, 0, number)

    @rule(what=st.sampled_from(["crash", "restart", "cut", "heal", "join", "leave"]), node=nodes)
    def disturb(self, what: str, node: int) -> None:
        self.storm.act(what, node, 0, 0)

    @rule(seconds=st.sampled_from([0.01, 0.3, 1.0, LEASE, 1.2 * LEASE]))
    def run(self, seconds: float) -> None:
        self.storm.ring.run_for(seconds)

    @invariant()
    def nothing_is_hidden(self) -> None:
        if hasattr(self, "storm"):
            assert self.storm.ring.hidden == []

    def teardown(self) -> None:
        if hasattr(self, "storm"):
            self.storm.calm()
            assert self.storm.ring.hidden == []
            assert not self.storm.ring.unacknowledged and not self.storm.ring.underway


TestOrders = Orders.TestCase
TestOrders.settings = settings(max_examples=examples(40), stateful_step_count=30, deadline=None)


# That the storms would find what is wrong: each takes one thing away


class Hasty(Demand):
    """It tells, and acknowledges meanwhile."""

    def changed(self, change: str, wanting: Wanting, now: Instant, spans: Spans | None = None) -> list[Effect]:
        return [*super().changed(change, wanting, now, spans), Deliver(Settled(change))]


class Silent(Hasty):
    def _tell(self, wanting: Wanting, registrations: Iterable[Registration]) -> list[Effect]:
        del wanting, registrations
        return []


class Careless(Demand):
    """Who does not answer is taken for told."""

    def _unanswered(self, number: int, now: Instant) -> list[Effect]:
        return [*self._told(number, now), *self._settle(now)]


class Newcomer(Demand):
    """What the former owner promised is nothing to it."""

    def took_over(self, arc: Arc, now: Instant, handed: Handover | None = None) -> Instant:
        return super().took_over(arc, now, handed or Handover(arc))


class Forgetful(Demand):
    """What it promised is not handed over."""

    def gave_up(self, arc: Arc, now: Instant) -> tuple[Handover, list[Effect]]:
        return Handover(arc), super().gave_up(arc, now)[1]


class Undead(Demand):
    """It takes itself for the owner until it hears that it is not."""

    def confirm(self, until: Instant) -> None: ...


class Lumping(Demand):
    """What was promised while a node was being told is taken for told."""

    def _told(self, number: int, now: Instant) -> list[Effect]:
        if (telling := self._tells.get(number)) is not None:
            for flow in telling.tell.flows:
                self._nobody.discard(telling.node, flow)
        return super()._told(number, now)


class Believing(Relay):
    """An answer that was underway is believed, whatever was told meanwhile."""

    def step(self, message: Message, now: Instant) -> list[Effect]:
        match message:
            case Tell(number, wanting, flows):
                known = [flow for flow in flows if (cache := self._caches.get(flow)) is None or not cache.number]
                super().step(Tell(number, wanting, tuple(known)), now)
                return [Answer(Told(number))]
        return super().step(message, now)


class Late(Relay):
    """A lease is counted from the answer."""

    def _answered(self, answer: Answered, now: Instant) -> None:
        if (cache := self._caches.get(answer.flow)) is not None:
            cache.asked = now
        super()._answered(answer, now)


class Indifferent(Relay):
    """An answer to any question is one to the last."""

    def _answered(self, answer: Answered, now: Instant) -> None:
        cache = self._caches.get(answer.flow)
        super()._answered(replace(answer, number=cache.number) if cache is not None else answer, now)


SHORTER = replace(SHORT, demand_settings=replace(SHORT.demand_settings, margin=-0.2))


WRONG = {
    "silent": (replace(SHORT, demand=Silent), [0, 1, 2]),
    "hasty": (replace(SHORT, demand=Hasty), [1, 2]),
    "careless": (replace(SHORT, demand=Careless), [28]),
    "newcomer": (replace(SHORT, demand=Newcomer), [33]),
    "forgetful": (replace(SHORT, demand=Forgetful), [110]),
    "undead": (replace(SHORT, demand=Undead), [33]),
    "lumping": (replace(SHORT, demand=Lumping), [249]),
    "believing": (replace(SHORT, relay=Believing), [13]),
    "late": (replace(SHORT, relay=Late), [253]),
    "indifferent": (replace(SHORT, relay=Indifferent), [368]),
    "shorter": (SHORTER, [2, 8]),
}


@pytest.mark.parametrize(("machines", "seeds"), WRONG.values(), ids=WRONG)
def test_storms_find_what_is_wrong(machines: Machines, seeds: Sequence[int]) -> None:
    for seed in seeds:
        assert blow(seed, 300, machines).ring.hidden != [], seed
        assert blow(seed, 300).ring.hidden == [], seed


def calm(**more: Any) -> Membership:
    return Membership(0, Links(), SHORT, **more).start(NAMES[:3])


def owner(members: Membership, topic: str) -> str:
    return members.owner(identifier_of(topic), members.epoch)


def test_what_nobody_wants_is_relayed_once_a_lease() -> None:
    members = calm()
    ring, node = members.ring, next(each for each in NAMES if each != owner(members, "a"))
    relayed = []
    for _ in range(20):
        relayed.append(ring.notify(node, "a"))
        ring.run_for(LEASE / 10)
    assert [place for place, is_relayed in enumerate(relayed) if is_relayed] == [0, 10]
    assert ring.counts["relays"] == ring.counts["questions"] == 2


def test_a_subscription_is_known_before_it_is_acknowledged_and_its_end_soon() -> None:
    members = calm()
    ring, node = members.ring, next(each for each in NAMES if each != owner(members, "a"))
    ring.notify(node, "a")
    ring.run_for(0.1)
    ring.subscribe(node, "s", "a")
    ring.run_for(0.1)
    assert "s" in ring.promised and ring.counts["Tell"] == 1
    ring.pause("s")
    assert ring.notify(node, "a"), "for one that is paused it waits"
    ring.run_for(0.1)
    ring.unsubscribe(node, "s")
    ring.run_for(0.1)
    assert ring.notify(node, "a")
    ring.run_for(0.1)
    assert not ring.notify(node, "a")
    assert ring.counts["relays"] == 3


def test_who_is_cut_off_delays_an_acknowledgement_by_its_lease_at_most() -> None:
    members = calm()
    ring, node = members.ring, next(each for each in NAMES if each != owner(members, "a"))
    other = next(each for each in NAMES[:3] if each not in (node, owner(members, "a")))
    ring.notify(node, "a")
    ring.run_for(0.1)
    members.nodes.named[node].cut = True
    ring.subscribe(other, "s", "a")
    ring.run_for(LEASE - 0.5)
    assert ring.unacknowledged == {"s"} and not ring.notify(node, "a")
    ring.run_for(1)
    assert not ring.unacknowledged and ring.notify(node, "a") and not ring.hidden
