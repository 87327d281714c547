"""The rendezvous: nobody is acknowledged before all who might leave what it wants know of it."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.routing.ring.test_relay import A, B, at, wanting

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.machine import Ask, Deliver, Effect, SetTimer, Unanswered, Woken
from tocsin.routing.ring import demand
from tocsin.routing.ring.demand import Demand, DemandSettings
from tocsin.routing.ring.identifiers import SIZE, within
from tocsin.routing.ring.registrations import Registration, Registrations
from tocsin.routing.ring.relay_messages import (
    Answered,
    Arc,
    Flow,
    Handover,
    Question,
    Settled,
    Tell,
    Told,
    Unsettled,
    Unwanted,
    Wanting,
)
from tocsin.sim.relay import Keys, flow_of, matches

SETTINGS = DemandSettings(lease=10, held=20, again=1, margin=0.1, registrations=3, most=2)
KEPT = 11  # seconds: a lease and the margin
CIRCLE = Arc(5, 5)
NOTHING = Handover(CIRCLE)


class Stage:
    """A rendezvous, and what is stored there."""

    def __init__(self, owned: Arc = CIRCLE, handed: Handover | None = NOTHING) -> None:
        self.stored: list[Wanting] = []
        self.demand = Demand(7, self._wanted, matches, SETTINGS)
        self.demand.took_over(owned, at(0), handed)

    def _wanted(self, flow: Flow) -> list[Wanting]:
        return [each for each in self.stored if matches(each.filters, flow)]

    def ask(self, node: str, flow: Flow, when: float, number: int = 1, epoch: int = 7) -> Answered:
        return self.demand.asked(Question(node, number, flow, epoch), at(when))

    def change(self, when: float, each: Wanting | None = None, name: str = "c") -> list[Effect]:
        self.stored.append(each or wanting())
        return self.demand.changed(name, self.stored[-1], at(when))

    def end(self, each: Wanting, when: float) -> list[Effect]:
        self.stored.remove(each)
        return self.demand.ended(each, at(when))

    def told(self, tell: Tell, when: float) -> list[Effect]:
        return self.demand.step(Told(tell.number), at(when))


def tells(effects: Iterable[Effect]) -> dict[str, Tell]:
    return {each.of: each.question for each in effects if isinstance(each, Ask)}


def delivered(effects: Iterable[Effect]) -> list[Any]:
    return [each.message for each in effects if isinstance(each, Deliver)]


def timer(effects: Iterable[Effect]) -> Instant | None:
    return [each.when for each in effects if isinstance(each, SetTimer)][-1]


def test_a_change_is_settled_at_once_when_nobody_asked() -> None:
    assert delivered(Stage().change(1)) == [Settled("c")]


def test_who_asked_is_told_before_a_change_is_settled_and_once() -> None:
    stage = Stage()
    assert stage.ask("i", A, 0).lease == 10 * SECOND
    stage.ask("j", A, 0), stage.ask("k", B, 0)
    effects = stage.change(1)
    asked = tells(effects)
    assert set(asked) == {"i", "j"} and asked["i"].flows == (A,) and asked["i"].wanting == wanting()
    assert not delivered(effects)
    assert not delivered(stage.told(asked["i"], 2))
    assert delivered(stage.told(asked["j"], 2)) == [Settled("c")]
    assert stage.change(3, wanting("t"), "d") == [Deliver(Settled("d"))], "a registration is deleted once used"


def test_who_was_told_hears_of_the_end() -> None:
    stage, first = Stage(), wanting()
    stage.ask("i", A, 0)
    stage.told(tells(stage.change(1, first))["i"], 2)
    assert stage.end(first, 3) == [Ask("i", Unwanted("s", (A,)))]


def test_who_was_told_too_late_hears_of_the_end_at_once() -> None:
    stage, first = Stage(), wanting()
    stage.ask("i", A, 0)
    tell = tells(stage.change(1, first))["i"]
    assert stage.end(first, 2) == []
    assert Ask("i", Unwanted("s", (A,))) in stage.told(tell, 3)


def test_what_one_node_asked_is_told_in_one_message() -> None:
    stage = Stage()
    stage.ask("i", A, 0), stage.ask("i", B, 0)
    (tell,) = tells(stage.change(1, wanting(topics="ab"))).values()
    assert set(tell.flows) == {A, B}


def test_many_are_told_in_several_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demand, "TOGETHER", 2)
    stage = Stage()
    for topic in "abc":
        stage.ask("i", flow_of(topic), 0)
    asked = [each.question for each in stage.change(1, wanting(topics="abc")) if isinstance(each, Ask)]
    assert sorted(len(each.flows) for each in asked) == [1, 2]
    assert [delivered(stage.told(each, 2)) for each in asked] == [[], [Settled("c")]]


def test_who_cannot_be_reached_is_waited_for_until_its_lease_has_passed() -> None:
    stage = Stage()
    stage.ask("i", A, 0)
    effects = stage.change(1)
    assert timer(effects) == at(KEPT)
    tell = tells(effects)["i"]
    assert timer(stage.demand.step(Unanswered(tell), at(3))) == at(4)
    assert tells(stage.demand.step(Woken(), at(4))) == {"i": tell}
    stage.demand.step(Unanswered(tell), at(10.9))
    assert not delivered(stage.demand.step(Woken(), at(10.999)))
    last = stage.demand.step(Woken(), at(KEPT))
    assert delivered(last) == [Settled("c")] and not tells(last)
    assert not [each for each in last if isinstance(each, SetTimer)] and len(stage.demand) == 0


def test_asked_again_the_lease_is_counted_anew() -> None:
    stage = Stage()
    stage.ask("i", A, 0), stage.ask("i", A, 5)
    assert timer(stage.change(6)) == at(5 + KEPT)


def test_a_second_change_waits_for_what_is_being_told_already() -> None:
    stage = Stage()
    stage.ask("i", A, 0)
    tell = tells(stage.change(1))["i"]
    second = stage.change(2, wanting("t"), "d")
    assert not tells(second) and not delivered(second)
    assert delivered(stage.told(tell, 3)) == [Settled("c"), Settled("d")]


def test_what_was_promised_while_a_tell_was_underway_is_not_used_by_its_answer() -> None:
    stage, first = Stage(), wanting()
    stage.ask("i", A, 0)
    early = tells(stage.change(1, first))["i"]
    stage.end(first, 2)
    assert stage.ask("i", A, 2, number=2).lease
    effects = stage.change(3, wanting("t"), "d")
    assert set(tells(effects)) == {"i"}
    assert delivered(stage.told(early, 4)) == [Settled("c")]
    assert delivered(stage.told(tells(effects)["i"], 5)) == [Settled("d")]


def test_a_change_that_is_said_again_waits_again() -> None:
    stage = Stage()
    stage.ask("i", A, 0)
    tell = tells(stage.change(1))["i"]
    again = stage.demand.changed("c", wanting(), at(2))
    assert not tells(again) and not delivered(again)
    assert delivered(stage.told(tell, 3)) == [Settled("c")]
    assert not delivered(stage.told(tell, 3))


def test_those_who_want_are_in_the_answer_also_before_they_are_acknowledged() -> None:
    stage = Stage()
    stage.ask("i", A, 0)
    stage.change(1)
    answer = stage.ask("j", A, 2)
    assert answer.wanting == (wanting(),) and not answer.lease
    stage.stored += [wanting("t"), wanting("u")]
    assert len(stage.ask("j", A, 3).wanting) == SETTINGS.most


def test_the_end_of_the_last_is_told_once_and_nobody_waits() -> None:
    stage, first, second = Stage(), wanting("s"), wanting("t")
    stage.stored += [first, second]
    stage.ask("i", A, 0)
    assert stage.end(first, 1) == []
    assert stage.end(second, 2) == [Ask("i", Unwanted("t", (A,)))]
    stage.stored.append(first)
    assert stage.end(first, 3) == []
    assert stage.demand.step(Told(0), at(4)) == [] == stage.demand.step(Unanswered(Unwanted("t", (A,))), at(4))


@pytest.mark.parametrize("epoch", [6, 8])
def test_nothing_is_promised_to_who_knows_another_roster(epoch: int) -> None:
    stage = Stage()
    assert stage.ask("i", A, 0, epoch=epoch) == Answered(A, 1, 7)
    assert len(stage.demand) == 0


def test_nothing_is_promised_for_what_another_owns_or_may_own_by_now() -> None:
    stage = Stage(Arc(A.key, A.key + 1))
    assert not stage.ask("i", A, 0).lease and not stage.demand.owns(A.key, at(0))
    stage = Stage()
    stage.demand.confirm(at(3))
    assert stage.ask("i", A, 2.9).lease and not stage.ask("j", A, 3).lease


def test_more_registrations_than_there_is_room_for_are_not_promised() -> None:
    stage = Stage()
    assert [bool(stage.ask(each, A, 0).lease) for each in "ijkl"] == [True, True, True, False]
    assert stage.ask("l", A, KEPT).lease, "the others have passed"
    assert len(stage.demand) == 1


def test_those_who_relay_make_room_for_later_ones() -> None:
    stage = Stage()
    stage.stored.append(wanting())
    for node in "ijkl":
        stage.ask(node, A, 0)
    assert set(tells(stage.end(wanting(), 1))) == {"j", "k", "l"}
    stage.stored.append(wanting())
    stage.ask("i", A, 2)
    stage.demand.collect(at(22))
    assert len(stage.demand) == 0


def test_what_came_from_one_that_crashed_waits_a_lease() -> None:
    stage = Stage(handed=None)
    effects = stage.change(1)
    assert not delivered(effects) and timer(effects) == at(KEPT)
    assert delivered(stage.demand.step(Woken(), at(KEPT))) == [Settled("c")]
    assert delivered(stage.change(12, wanting("t"), "d")) == [Settled("d")]


def test_only_what_meets_the_moved_range_waits() -> None:
    low, high = sorted((A, B), key=lambda each: each.key)
    stage = Stage(Arc(low.key, high.key))
    assert stage.demand.took_over(Arc(high.key, low.key), at(0)) == at(KEPT)
    kept = stage.demand.changed("kept", wanting(topics=high.topic), at(1), {"topics": Keys([high.topic])})
    moved = stage.demand.changed("moved", wanting(topics=low.topic), at(1), {"topics": Keys([low.topic])})
    assert delivered(kept) == [Settled("kept")] and not delivered(moved)
    assert stage.demand.owned == Arc(high.key, high.key)


def test_what_is_handed_over_is_told_by_the_next_owner() -> None:
    former, stage = Stage(), Stage()
    former.ask("i", A, 0)
    assert not delivered(former.change(1))
    handed, effects = former.demand.gave_up(CIRCLE, at(4))
    assert delivered(effects) == [Unsettled("c")]
    assert former.demand.owned is None and not former.ask("j", A, 4).lease
    later = Demand(8, lambda flow: [wanting()], matches, SETTINGS)
    assert later.took_over(CIRCLE, at(100), handed) == at(100)
    effects = later.changed("c", wanting(), at(101))
    assert set(tells(effects)) == {"i"} and timer(effects) == at(100 + KEPT - 4)
    assert delivered(stage.change(1)) == [Settled("c")]


def test_who_waits_itself_hands_the_rest_of_its_wait_over() -> None:
    stage = Stage(handed=None)
    handed, _ = stage.demand.gave_up(CIRCLE, at(4))
    assert handed.wait == (KEPT - 4) * SECOND


KEYS = st.integers(0, 30)


class Some:
    def __init__(self, keys: Iterable[int]) -> None:
        self.keys = sorted(keys)

    def next_key(self, key: int) -> int | None:
        place = bisect_left(self.keys, key)
        return self.keys[place] if place < len(self.keys) else None


@given(
    st.lists(st.tuples(st.sampled_from("pq"), KEYS, st.sampled_from("xy"), st.sampled_from("ij"), st.booleans())),
    st.sets(KEYS),
)
def test_registrations_are_found_by_the_keys_of_a_span(
    steps: list[tuple[str, int, str, str, bool]], keys: set[int]
) -> None:
    table, model = Registrations(), dict[tuple[str, Flow], Registration]()
    for number, (plane, key, topic, node, is_put) in enumerate(steps):
        flow = Flow(plane, key, topic)
        if is_put:
            model[node, flow] = Registration(number, node, flow, Instant(number))
            table.put(model[node, flow])
        else:
            model.pop((node, flow), None)
            table.discard(node, flow)
    assert len(table) == len(model)
    found = list(table.spanned({"p": Some(keys), "r": Some(keys)}))
    assert len(found) == len(set(found))
    assert set(found) == {each for each in model.values() if each.flow.plane == "p" and each.flow.key in keys}
    assert set(table.spanned(None)) == set(model.values())
    arc = Arc(10, 20)
    assert set(table.within(arc)) == {each for each in model.values() if 10 < each.flow.key <= 20}
    table.collect(Instant(len(steps)))
    assert len(table) == 0 and not list(table.spanned(None))


ENDS = st.sampled_from([0, 1, 5, 10, 29, 30, SIZE - 1])


@given(ENDS, ENDS, st.sets(KEYS | st.just(SIZE - 1)))
def test_an_arc_meets_a_span_when_they_share_a_key(after: int, upto: int, keys: set[int]) -> None:
    assert Arc(after, upto).meets(Some(keys)) is any(within(each, after, upto) for each in keys)
