"""The interface node: what it may leave, and what makes it relay again."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.filters import TopicIs
from tocsin.model.identity import SECOND, Instant
from tocsin.model.names import QName
from tocsin.routing.machine import Answer
from tocsin.routing.ring.relay import LEAVE, RELAY, Relay, RelaySettings
from tocsin.routing.ring.relay_messages import (
    Answered,
    Arc,
    Flow,
    Handover,
    PeerMessage,
    Question,
    Registered,
    Tell,
    Told,
    Unwanted,
    Wanting,
)
from tocsin.sim.relay import flow_of, matches

A, B = flow_of("a"), flow_of("b")
SETTINGS = RelaySettings(lease=10, refresh=60, patience=2, caches=3, near=2)
LEASE, FOREVER = 8 * SECOND, None


def at(seconds: float) -> Instant:
    return Instant(round(seconds * SECOND))


def relay(settings: RelaySettings = SETTINGS) -> Relay:
    return Relay("i", 1000, 7, matches, settings)


def wanting(name: str = "s", topics: str = "a", lasts: int | None = FOREVER, version: int = 1) -> Wanting:
    return Wanting(name, version, (TopicIs(tuple((QName("", each),) for each in topics)),), lasts)


def question(asked: Relay, flow: Flow, when: Instant) -> Question:
    verdict = asked.wanted(flow, when)
    assert verdict.relay and verdict.question is not None
    return verdict.question


def nobody(asked: Question, lease: int = LEASE, epoch: int = 7) -> Answered:
    return Answered(asked.flow, asked.number, epoch, (), lease)


def test_the_first_is_relayed_and_asks_and_those_meanwhile_are_relayed() -> None:
    interface = relay()
    asked = question(interface, A, at(0))
    assert (asked.node, asked.flow, asked.epoch) == ("i", A, 7)
    assert interface.wanted(A, at(1.9)) is RELAY
    assert question(interface, A, at(2)).number > asked.number


def test_what_nobody_wants_is_left_until_the_lease_has_passed_since_it_was_asked() -> None:
    interface = relay()
    interface.step(nobody(question(interface, A, at(0))), at(1.5))
    assert interface.wanted(A, at(1.6)) is LEAVE and interface.leaves(A, at(1.6))
    assert interface.wanted(A, at(7.999)) is LEAVE
    assert not interface.leaves(A, at(8))
    assert question(interface, A, at(8))


def test_a_lease_is_never_longer_than_the_ring_has_it() -> None:
    interface = relay()
    interface.step(nobody(question(interface, A, at(0)), lease=3600 * SECOND), at(0))
    assert interface.leaves(A, at(9.999)) and not interface.leaves(A, at(10))


def test_what_was_told_before_the_answer_came_is_not_hidden_by_it() -> None:
    interface = relay()
    answer = nobody(question(interface, A, at(0)))
    assert interface.step(Tell(5, wanting(), (A,)), at(0.5)) == [Answer(Told(5))]
    assert interface.step(answer, at(1)) == []
    assert interface.wanted(A, at(1)) is RELAY


def test_an_answer_to_an_earlier_question_or_process_is_none() -> None:
    interface = relay()
    early = nobody(question(interface, A, at(0)))
    question(interface, A, at(3))
    interface.step(early, at(3.1))
    assert interface.wanted(A, at(3.2)) is RELAY
    again = Relay("i", 2000, 7, matches, SETTINGS)
    again.wanted(A, at(0))
    again.step(early, at(0.1))
    assert again.wanted(A, at(0.2)) is RELAY


def test_another_roster_ends_what_was_held_and_what_was_asked() -> None:
    interface = relay()
    interface.step(nobody(question(interface, A, at(0))), at(0))
    underway = nobody(question(interface, B, at(0)))
    interface.moved(8)
    assert question(interface, A, at(1)).epoch == 8
    interface.step(underway, at(1))
    assert not interface.leaves(B, at(1))


@pytest.mark.parametrize("answer", [{"lease": 0}, {"epoch": 8}, {"epoch": 6}])
def test_what_was_not_promised_is_not_held(answer: dict[str, int]) -> None:
    interface = relay()
    interface.step(nobody(question(interface, A, at(0)), **answer), at(0))
    assert interface.wanted(A, at(1.9)) is RELAY
    assert question(interface, A, at(2))


def test_subscriptions_expire_in_the_cache_and_then_it_is_asked_again() -> None:
    interface = relay()
    asked = question(interface, A, at(0))
    both = (wanting("s", lasts=3 * SECOND), wanting("t", lasts=5 * SECOND))
    interface.step(Answered(A, asked.number, 7, both), at(1))
    assert interface.wanted(A, at(5.999)) is RELAY
    assert question(interface, A, at(6))


def test_one_without_an_end_is_asked_about_again_after_a_while() -> None:
    interface = relay()
    interface.step(Answered(A, question(interface, A, at(0)).number, 7, (wanting(),)), at(0))
    assert interface.wanted(A, at(59)) is RELAY
    assert question(interface, A, at(60))


def test_caches_of_other_topics_are_looked_at_before_it_is_asked() -> None:
    interface = relay()
    found = Answered(A, question(interface, A, at(0)).number, 7, (wanting(topics="ab", lasts=3 * SECOND),))
    interface.step(found, at(0))
    assert interface.wanted(B, at(1)) is RELAY
    assert question(interface, B, at(3))


def test_what_is_no_longer_wanted_is_relayed_once_more_with_a_question() -> None:
    interface = relay()
    interface.step(Answered(A, question(interface, A, at(0)).number, 7, (wanting(topics="ab"),)), at(0))
    assert interface.step(Unwanted("s", (A, B)), at(1)) == [Answer(Told(0))]
    assert question(interface, A, at(2)) and question(interface, B, at(2))


def test_that_nobody_wants_it_any_more_takes_no_question_back() -> None:
    interface = relay()
    asked = question(interface, A, at(0))
    interface.step(Unwanted("s", (A,)), at(0))
    interface.step(nobody(asked), at(0.1))
    assert interface.leaves(A, at(0.2))


def test_of_two_versions_the_later_is_kept() -> None:
    interface = relay()
    interface.step(Tell(1, wanting(topics="a", version=2), (A,)), at(0))
    interface.step(Tell(2, wanting(topics="ab", version=1), (A,)), at(0))
    assert question(interface, B, at(1))


def test_caches_are_bounded_and_the_oldest_is_asked_about_again() -> None:
    interface = relay()
    for topic in "abcd":
        interface.step(nobody(question(interface, flow_of(topic), at(0))), at(0))
    assert len(interface) == 3
    assert [interface.leaves(flow_of(topic), at(1)) for topic in "abcd"] == [False, True, True, True]


def test_what_has_passed_is_collected() -> None:
    interface = relay()
    for topic, when in (("a", 0), ("b", 5)):
        interface.step(nobody(question(interface, flow_of(topic), at(when))), at(when))
    interface.collect(at(9))
    assert len(interface) == 1 and interface.leaves(B, at(9))


FLOWS = st.builds(Flow, st.sampled_from(["topics", "space x"]), st.integers(0, 2**64 - 1), st.text(max_size=5))
WANTING = st.builds(wanting, st.text(max_size=3), st.sampled_from(["a", "ab"]), st.none() | st.integers(0, 2**62))
MESSAGES = st.one_of(
    st.builds(Question, st.text(max_size=3), st.integers(0, 2**62), FLOWS, st.integers(0, 99)),
    st.builds(Answered, FLOWS, st.integers(0, 2**62), st.integers(0, 99), st.lists(WANTING, max_size=2).map(tuple)),
    st.builds(Tell, st.integers(0, 99), WANTING, st.lists(FLOWS, max_size=3).map(tuple)),
    st.builds(Unwanted, st.text(max_size=3), st.lists(FLOWS, max_size=3).map(tuple)),
    st.builds(Told, st.integers(0, 99)),
    st.builds(
        Handover,
        st.builds(Arc, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
        st.lists(st.builds(Registered, st.text(max_size=3), FLOWS, st.integers(0, 2**62)), max_size=3).map(tuple),
    ),
)


@given(MESSAGES)
def test_messages_travel(message: PeerMessage) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=PeerMessage) == message
