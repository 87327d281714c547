"""The figures of the paper by every protocol, the header's bound, the direct protocol, and a notifier by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.routing.stage import Luck, Script, Stage, in_any_order, plays
from tests.routing.worlds import Sketch, of, sketches

from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import (
    HISTORY,
    Claim,
    Copy,
    Granted,
    Had,
    Handled,
    Join,
    Leave,
    Membership,
    Message,
    Publish,
    Waiting,
)
from tocsin.routing.implicit.notifier import Notifier
from tocsin.routing.implicit.protocols import DEFAULT, DIRECT, PROTOCOLS, protocol
from tocsin.routing.machine import Ask, Deliver, Effect, Expire, Forget, Remember, Report, Send, Started
from tocsin.semantics.interest.ino import Service

LOOP = of("1>2 2>3", {"N1": "C1 C3", "N2": "C2", "N3": "C3", "N4": "C3"})
DOUBLE = of("1>2 1>3 3>2", {"N1": "C1", "N2": "C2", "N3": "C2", "N4": "C3", "N5": "C3"})
NOW = Instant(7)
FIGURES = [  # notifications and repetitions; none where it has no end
    ("Fig. 7", LOOP, "bin", None),
    ("Fig. 7", LOOP, "cin", (3, 0)),
    ("Fig. 7", LOOP, "din", (4, 1)),
    ("Fig. 7", LOOP, "hin", (3, 0)),
    ("Fig. 7", LOOP, "hin-din", (3, 0)),
    ("Fig. 8", DOUBLE, "bin", (8, 4)),
    ("Fig. 9", DOUBLE, "cin", (4, 0)),
    ("Fig. 10", DOUBLE, "din", (8, 4)),
    ("Fig. 12", DOUBLE, "hin", (4, 0)),
    ("Fig. 12", DOUBLE, "hin-din", (4, 0)),
    ("Fig. 13", of("1>2 1>3 2>4 3>4 4>5"), "bin", (6, 2)),
    ("Fig. 13", of("1>2 1>3 2>4 3>4 4>5"), "cin", (4, 0)),
    ("Fig. 13", of("1>2 1>3 2>4 3>4 4>5"), "din", (5, 1)),
    ("Fig. 13", of("1>2 1>3 2>4 3>4 4>5"), "hin", (6, 2)),
    ("Fig. 13", of("1>2 1>3 2>4 3>4 4>5"), "hin-din", (5, 1)),
    ("Fig. 18 a", of("1>2 1>3 2>3 2>4 3>4"), "bin", (6, 3)),
    ("Fig. 18 a", of("1>2 1>3 2>3 2>4 3>4"), "cin", (3, 0)),
    ("Fig. 18 a", of("1>2 1>3 2>3 2>4 3>4"), "din", (5, 2)),
    ("Fig. 18 a", of("1>2 1>3 2>3 2>4 3>4"), "hin", (4, 1)),
    ("Fig. 18 a", of("1>2 1>3 2>3 2>4 3>4"), "hin-din", (4, 1)),
    ("Fig. 18 b", of("1>2 1>3 2>4 3>4"), "bin", (4, 1)),
    ("Fig. 18 b", of("1>2 1>3 2>4 3>4"), "cin", (3, 0)),
    ("Fig. 18 b", of("1>2 1>3 2>4 3>4"), "din", (4, 1)),
    ("Fig. 18 b", of("1>2 1>3 2>4 3>4"), "hin", (4, 1)),
    ("Fig. 18 b", of("1>2 1>3 2>4 3>4"), "hin-din", (4, 1)),
]


@pytest.mark.parametrize(("figure", "sketch", "name", "counts"), FIGURES)
def test_counts_of_the_figures(figure: str, sketch: Sketch, name: str, counts: tuple[int, int] | None) -> None:
    stage = Stage(sketch)
    message = stage.publish(name)
    stage.run([])
    result = stage.result(message)
    assert (counts is None) == (result.stopped is not None)
    assert counts in (None, (result.notifications, result.repetitions)), figure
    assert set(result.receivers) == set(sketch.services) - {"N1"}


@given(sketches(), in_any_order(), st.integers(0, 3))
@settings(max_examples=examples(150))
def test_a_header_that_may_not_grow_leaves_nobody_out(sketch: Sketch, script: Script, most_names: int) -> None:
    """Who is left out of it may be told again: local histories end that, and without them the bound does."""
    for name in ("hin", "hin-din"):
        stage = Stage(sketch, most_names)
        message = stage.publish(name, 40)
        stage.run(script)
        result = stage.result(message)
        assert all(len(copy.notified) <= most_names for copy in stage.sent.values())
        assert set(result.receivers) == sketch.must_know() or result.stopped
        assert not result.stopped or name == "hin"


def test_a_full_header_keeps_the_latest_names() -> None:
    stage = Stage(of("1>2 2>3 3>4 4>5"), most_names=2)
    stage.publish("hin")
    stage.run([])
    assert [copy.notified for copy in stage.sent.values()] == [("N2",), ("N2", "N3"), ("N3", "N4"), ("N4", "N5")]


def test_the_root_is_known_however_full_the_header_is() -> None:
    stage = Stage(of("1>2 2>3 3>1"), most_names=0)
    message = stage.publish("hin")
    stage.run([])
    assert stage.result(message).notifications == 2


@given(sketches(), in_any_order())
@settings(max_examples=examples(60))
def test_a_loop_is_cut_by_the_header_alone(sketch: Sketch, script: Script) -> None:
    """HIN with a header that may grow ends by itself: each copy names more than the one that caused it."""
    stage = Stage(sketch, most_names=None)
    message = stage.publish("hin", limit=10**9)
    stage.run(script)
    assert not stage.result(message).stopped
    assert all(copy.hop <= len(sketch.services) for copy in stage.sent.values())


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 100])
def test_two_that_tell_each_other_use_the_bound_to_the_last(limit: int) -> None:
    stage = Stage(of("1>2 2>1"))
    message = stage.publish("bin", limit)
    stage.run([])
    result = stage.result(message)
    assert (result.notifications, result.withheld, result.stopped) == (2 * limit, 1, "limit")


def test_where_a_message_comes_once_the_bound_is_never_met() -> None:
    """A long chain in which everybody also tells three others: no repetition is possible."""
    edges = [f"{at}>{at + 1} {at}>{at + 100} {at}>{at + 200} {at}>{at + 300}" for at in range(1, 40)]
    stage = Stage(of(" ".join(edges)))
    for name in ("bin", "hin"):
        message = stage.publish(name, 1)
        stage.run([])
        result = stage.result(message)
        assert (result.notifications, result.stopped, len(result.receivers)) == (4 * 39, None, 4 * 39)


def test_what_was_passed_on_long_ago_is_forgotten() -> None:
    notifier = Notifier("N1", lambda _: ["N2"])
    copies = [Copy(str(number), message_of("hin"), "N3", "N1", 1, (), 1) for number in range(3)]
    passed = [any(isinstance(each, Send) for each in notifier.step(copy, NOW)) for copy in copies[:2]]
    notifier.step(Expire(Instant(NOW + 1)), NOW)
    assert [*passed, any(isinstance(each, Send) for each in notifier.step(copies[2], NOW))] == [True, False, True]


@given(plays())
@settings(max_examples=examples(60))
def test_every_copy_is_one_hop_further_than_its_cause(play: tuple[Sketch, Script]) -> None:
    stage = Stage(play[0])
    for name in PROTOCOLS:
        stage.publish(name, 2)
    stage.run(play[1])
    for report in stage.handled:
        for copy, to in report.forwarded:
            sent = stage.sent[copy]
            assert (sent.sender, sent.to, sent.hop) == (report.at, to, report.hop + 1)
            assert (sent.most is None) != protocol(sent.message.protocol).bounded


@given(plays(), st.lists(st.sampled_from(["N1", "N2", "N3", "N4"]), max_size=5))
@settings(max_examples=examples(100))
def test_direct_tells_those_named_and_nobody_further(play: tuple[Sketch, Script], only: list[str]) -> None:
    stage = Stage(play[0])
    message = stage.publish(DIRECT.name, only=tuple(only))
    stage.run(play[1])
    result = stage.result(message)
    assert sorted(copy.to for copy in stage.copies(message)) == sorted(set(only) - {stage.sketch.root})
    assert {*result.receivers, *result.gone} == set(only) - {stage.sketch.root}
    assert result.hops <= 1 and result.complete and not result.stopped and not result.repetitions


def test_those_named_pass_it_on_by_any_other_protocol() -> None:
    for name in PROTOCOLS:
        stage = Stage(of("1>2 2>3 1>4", {"N1": "C1", "N2": "C2", "N3": "C3", "N4": "C4"}))
        message = stage.publish(name, only=("N2",))
        stage.run([(Luck.FINE, 0)])
        assert stage.result(message).receivers == ("N2", "N3")


def test_there_is_no_other_protocol() -> None:
    assert protocol(DEFAULT) is PROTOCOLS["hin-din"]
    with pytest.raises(Refusal, match="'gossip' is no protocol; there are: bin, cin, din, hin, hin-din"):
        protocol("gossip")


def message_of(name: str, root: str = "N1") -> Message:
    return Message(MessageId("m"), name, root, "T", Payload("text/plain", b"!"), NOW)


def forwarded(name: str, neighbours: list[str], incoming: Publish | Copy) -> list[Copy]:
    effects = Notifier(name, lambda _: neighbours).step(incoming, NOW)
    return [each.message for each in effects if isinstance(each, Send)]


def reported(effects: list[Effect]) -> Handled:
    [found] = [each.what for each in effects if isinstance(each, Report)]
    assert isinstance(found, Handled)
    return found


def test_who_starts_again_gives_its_copies_the_same_names_whoever_has_joined() -> None:
    before, joined, left = (
        {copy.to: copy.id for copy in forwarded("N1", names, Publish(message_of("din")))}
        for names in (["N2", "N5"], ["N2", "N3", "N5"], ["N5"])
    )
    assert before["N5"] == joined["N5"] == left["N5"] and before["N2"] == joined["N2"]
    assert len(set(joined.values())) == 3


def test_no_message_can_take_the_names_of_anothers_copies() -> None:
    """Whoever publishes may choose its id: that of a copy that is on its way, too."""
    [first] = forwarded("N1", ["N2"], Publish(message_of("din")))
    [second] = forwarded("N2", ["N3"], first)
    other = Message(MessageId(first.id), "din", "N2", "T", Payload("text/plain", b"?"), NOW)
    [forged] = forwarded("N2", ["N3"], Publish(other))
    assert forged.id != second.id


def test_what_is_remembered_is_said_with_what_is_sent() -> None:
    """In one list of effects, so that a node can write them down in one transaction."""
    notifier = Notifier("N2", lambda _: ["N3"])
    copy = Copy("x", message_of("din"), "N1", "N2", 1)
    remember, deliver, forward, handled = notifier.step(copy, NOW)
    assert (remember, deliver) == (Remember("had:m", Had(NOW)), Deliver(copy))
    assert isinstance(forward, Send) and isinstance(handled, Report)
    assert notifier.remembered() == 1
    again = notifier.step(Copy("y", copy.message, "N4", "N2", 3), NOW)
    assert again == [Report(Handled(MessageId("m"), "y", "N4", "N2", 3, NOW, dropped=True))]


def test_a_notifier_that_was_read_again_knows_what_it_had() -> None:
    notifier = Notifier("N2", lambda _: ["N3"], {"had:m": Had(NOW)})
    assert reported(notifier.step(Copy("x", message_of("hin-din"), "N1", "N2", 1), NOW)).dropped
    assert notifier.step(Expire(NOW), NOW) == []
    assert notifier.step(Expire(Instant(NOW + 1)), NOW) == [Forget("had:m")]
    assert notifier.remembered() == 0


def test_a_copy_is_handled_when_it_is_received_not_when_the_history_has_answered() -> None:
    """Notification time is until a service has the message (s6), not until its notifier knows whom else to tell."""
    notifier = Notifier("N2", lambda _: ["N3"])
    notifier.step(Copy("x", message_of("cin"), "N1", "N2", 1), NOW)
    effects = notifier.step(Granted(MessageId("m"), "x", "N2", ("N3",), ()), Instant(NOW + 1000))
    assert reported(effects).when == NOW


def test_an_answer_nobody_waits_for_does_nothing() -> None:
    notifier = Notifier("N2", lambda _: ["N3"])
    answer = Granted(MessageId("m"), "x", "N2", ("N3",), ())
    assert notifier.step(answer, NOW) == []
    notifier.step(Copy("x", message_of("cin"), "N1", "N2", 1), NOW)
    sent, _, forgotten = notifier.step(answer, NOW)
    assert isinstance(sent, Send) and forgotten == Forget("waits:x")
    assert notifier.step(answer, NOW) == []


def test_a_notifier_that_waits_for_the_history_asks_again_when_it_is_started_whoever_has_joined() -> None:
    neighbours, copy = ["N3"], Copy("x", message_of("cin"), "N1", "N2", 1)
    first = Notifier("N2", lambda _: neighbours)
    deliver, remember, ask = first.step(copy, NOW)
    assert deliver == Deliver(copy) and remember == Remember("waits:x", Waiting(copy, NOW))
    assert ask == Ask(HISTORY, Claim(MessageId("m"), "x", "N2", ("N3",)))
    neighbours.append("N4")
    again = Notifier("N2", lambda _: neighbours, {"waits:x": Waiting(copy, NOW)})
    assert again.step(Started(), NOW) == [Ask(HISTORY, Claim(MessageId("m"), "x", "N2", ("N3", "N4")))]
    assert again.step(Granted(MessageId("m"), "x", "N2", ("N3",), ()), NOW) == []
    effects = again.step(Granted(MessageId("m"), "x", "N2", ("N3", "N4"), ()), NOW)
    assert [each.to for each in effects if isinstance(each, Send)] == ["N3", "N4"]


def test_who_leaves_is_no_more_once_it_has_used_what_it_waits_for() -> None:
    member = Membership(Service("N2", ("C",)), "s")
    notifier = Notifier("N2", lambda _: ["N3"])
    assert notifier.step(Join(member), NOW) == [Remember("", member)] and notifier.membership == member
    notifier.step(Copy("y", message_of("din"), "N1", "N2", 1), NOW)
    notifier.step(Copy("x", message_of("cin"), "N1", "N2", 1), NOW)
    assert notifier.step(Leave(), NOW) == [Forget(""), Forget("had:m")] and notifier.membership is None
    effects = notifier.step(Granted(MessageId("m"), "x", "N2", ("N3",), ()), NOW)
    assert [each.to for each in effects if isinstance(each, Send)] == ["N3"] and effects[-1] == Forget()
    notifier.step(Join(member), NOW)
    assert notifier.step(Leave(), NOW) == [Forget()]


def test_the_roots_own_service_is_not_told_of_what_it_published() -> None:
    for name in PROTOCOLS:
        effects = Notifier("N1", lambda _: []).step(Copy("x", message_of(name), "N2", "N1", 2), NOW)
        assert not any(isinstance(each, Deliver) for each in effects)


def test_of_what_came_from_outside_the_first_to_be_told_is_its_own_service() -> None:
    effects = Notifier("N1", lambda _: ["N2"]).step(Publish(message_of("din"), own=True), NOW)
    assert [each.message.to for each in effects if isinstance(each, Deliver)] == ["N1"]
    assert [each.to for each in effects if isinstance(each, Send)] == ["N2"]


def test_a_history_is_kept_only_where_the_protocol_reads_it() -> None:
    """What nobody reads would be written to disk with every message all the same."""
    for name, rules in PROTOCOLS.items():
        notifier = Notifier("N2", lambda _: ["N3"])
        effects = notifier.step(Copy("x", message_of(name), "N1", "N2", 1), NOW)
        kept = [each.row for each in effects if isinstance(each, Remember)]
        assert notifier.remembered() == sum(isinstance(each, Had) for each in kept) == rules.local
