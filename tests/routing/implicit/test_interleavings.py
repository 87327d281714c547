"""Lemmas, termination and who is told, whatever the order in which things arrive, with crashes and a changing world.

Every property is of the notifiers and the central history themselves; `tests/routing/stage.py` plays the nodes.
"""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.routing.stage import Luck, Script, Stage, in_any_order, plays, scripts
from tests.routing.worlds import Sketch, of, reached, sketches

from tocsin.model.identity import MessageId
from tocsin.routing.implicit.protocols import PROTOCOLS
from tocsin.routing.implicit.result import Dissemination
from tocsin.semantics.interest.changes import PutEdge, RemoveEdge, RemoveService
from tocsin.semantics.interest.ino import Edge

EVERY = sorted(PROTOCOLS)
WITH_HISTORY = ["cin", "dht-cin", "din", "hin-din"]  # these are not bounded, and reach everybody


def pairs(stage: Stage, message: MessageId) -> Counter[tuple[str, str]]:
    return Counter((copy.sender, copy.to) for copy in stage.copies(message))


def played(sketch: Sketch, script: Script, protocol: str, limit: int = 2) -> tuple[Stage, MessageId, Dissemination]:
    stage = Stage(sketch)
    message = stage.publish(protocol, limit)
    stage.run(script)
    return stage, message, stage.result(message)


@given(sketches(), scripts())
@settings(max_examples=examples(100))
def test_exactly_those_who_must_know_are_told(sketch: Sketch, script: Script) -> None:
    for protocol in PROTOCOLS:
        stage, _, result = played(sketch, script, protocol)
        told = {name for name, _ in stage.told}
        assert told == set(result.receivers) <= sketch.must_know()
        assert told == sketch.must_know() or result.stopped
        assert result.complete and not result.gone
        assert not (result.stopped and protocol in WITH_HISTORY)


@given(sketches(), scripts())
@settings(max_examples=examples(80))
def test_every_neighbour_is_told_or_it_is_said_why_not(sketch: Sketch, script: Script) -> None:
    graph = sketch.graph()
    for protocol in PROTOCOLS:
        stage, _, _ = played(sketch, script, protocol, limit=2)
        for report in stage.handled:
            told = [to for _, to in report.forwarded]
            suppressed = [each.to for each in report.suppressed]
            assert sorted([*told, *suppressed, *report.withheld]) == (
                [] if report.dropped else sorted(graph[report.at])
            )
            assert {each.why for each in report.suppressed} <= {"history" if "cin" in protocol else "header"}


@given(plays())
@settings(max_examples=examples(200))
def test_who_stayed_connected_is_told_and_nobody_who_never_was(play: tuple[Sketch, Script]) -> None:
    """A way of the same services over links that stand all the time is enough; one that is pieced together from links
    of different times may be."""
    for protocol in PROTOCOLS:
        stage, message, result = played(*play, protocol)
        assert result.complete
        assert set(result.receivers) == {name for name, _ in stage.told} <= stage.ever_connected(message)
        assert stage.stayed_connected(message) <= set(result.receivers) or result.stopped
        assert not (result.stopped and protocol in WITH_HISTORY)


@given(plays())
@settings(max_examples=examples(200))
def test_cin_sends_one_copy_to_each_whatever_happens(play: tuple[Sketch, Script]) -> None:
    """Lemma 1, and more than it says: nobody at all sends to one who is told, and never to the root."""
    for protocol in ("cin", "dht-cin"):
        stage, message, result = played(*play, protocol)
        copies = Counter(copy.to for copy in stage.copies(message))
        assert set(copies.values()) <= {1}
        assert stage.sketch.root not in copies
        assert result.repetitions == 0
        assert max(Counter(name for name, _ in stage.told).values(), default=1) == 1


@given(plays())
@settings(max_examples=examples(150))
def test_with_a_local_history_nobody_forwards_twice_to_a_neighbour(play: tuple[Sketch, Script]) -> None:
    """Lemma 2; and Lemma 3 for HIN with DIN. A service is told once, however many copies come."""
    for protocol in ("din", "hin-din"):
        stage, message, _ = played(*play, protocol)
        assert set(pairs(stage, message).values()) <= {1}
        assert max(Counter(name for name, _ in stage.told).values(), default=1) == 1


@given(plays())
@settings(max_examples=examples(100))
def test_of_each_received_copy_nobody_is_sent_one_who_is_in_its_header(play: tuple[Sketch, Script]) -> None:
    """Lemma 3 as far as it holds for HIN: for each copy that a notifier receives."""
    for protocol in ("hin", "hin-din"):
        stage, _, _ = played(*play, protocol)
        for report in stage.handled:
            header = stage.sent[report.copy].notified if report.copy else ()
            told = tuple(to for _, to in report.forwarded)
            assert len(told) == len(set(told)) and not {stage.sketch.root, *header} & set(told)
            assert {each.to for each in report.suppressed} <= {stage.sketch.root, *header}
            assert all(stage.sent[copy].notified == header + told for copy, _ in report.forwarded)


@given(sketches(), in_any_order(), st.integers(1, 4))
@settings(max_examples=examples(80))
def test_without_a_history_the_bound_ends_it_and_leaves_nobody_out(sketch: Sketch, script: Script, limit: int) -> None:
    for protocol in ("bin", "hin"):
        stage, _, result = played(sketch, script, protocol, limit)
        passes = Counter(each.at for each in stage.handled if each.forwarded)
        assert max(passes.values(), default=0) <= limit
        assert (result.stopped == "limit") == (result.withheld > 0) == any(each.withheld for each in stage.handled)
        assert set(result.receivers) == sketch.must_know()


@given(plays())
@settings(max_examples=examples(60))
def test_without_a_history_it_ends_whatever_happens(play: tuple[Sketch, Script]) -> None:
    for protocol in ("bin", "hin"):
        assert played(*play, protocol)[2].complete


@given(plays(), st.lists(st.integers(0, 89), min_size=2, max_size=4))
@settings(max_examples=examples(120))
def test_messages_do_not_disturb_each_other(play: tuple[Sketch, Script], numbers: list[int]) -> None:
    stage = Stage(play[0])
    roots, topics = sorted(stage.sketch.services), sorted(stage.sketch.topics)
    for number in numbers:
        root, topic = roots[number // 5 % len(roots)], topics[number // 30 % len(topics)]
        stage.publish(EVERY[number % 5], 2, root, topic)
    stage.run(play[1])
    for message in stage.messages:
        result = stage.result(message)
        assert result.complete
        assert stage.stayed_connected(message) <= set(result.receivers) or result.stopped
        assert set(result.receivers) <= stage.ever_connected(message)
        assert "cin" not in result.protocol or result.repetitions == 0


@given(sketches(), in_any_order(), in_any_order())
@settings(max_examples=examples(100))
def test_the_order_of_arrival_changes_no_receiver(sketch: Sketch, one: Script, other: Script) -> None:
    """And with CIN and DIN no number of notifications; with a header it may."""
    for protocol in WITH_HISTORY:
        (_, _, first), (_, _, second) = (played(sketch, script, protocol) for script in (one, other))
        assert set(first.receivers) == set(second.receivers)
        assert first.notifications == second.notifications or protocol == "hin-din"


@given(sketches(), in_any_order())
@settings(max_examples=examples(100))
def test_notifications_counted_by_hand(sketch: Sketch, script: Script) -> None:
    """CIN: one for each who must know. DIN: each who has it tells all its neighbours, once. HIN+DIN lies between."""
    counts = {name: played(sketch, script, name)[2].notifications for name in WITH_HISTORY}
    graph = sketch.graph()
    assert counts["cin"] == len(sketch.must_know())
    assert counts["din"] == sum(len(graph[name]) for name in {sketch.root} | sketch.must_know())
    assert counts["cin"] <= counts["hin-din"] <= counts["din"]


@given(sketches(), in_any_order(), st.integers(0, 20))
@settings(max_examples=examples(100))
def test_what_comes_after_all_is_forgotten_counts_as_new(sketch: Sketch, script: Script, turns: int) -> None:
    """Retention: nobody is left out by it, and it ends; but who was told may be told again."""
    for protocol in WITH_HISTORY:
        stage = Stage(sketch)
        message = stage.publish(protocol)
        stage.run_only(script[:turns])
        stage.forget()
        stage.run(script[turns:])
        assert set(stage.result(message).receivers) == sketch.must_know()
        assert sketch.root not in {name for name, _ in stage.told}


def test_a_very_late_copy_is_told_again_once_the_history_is_forgotten() -> None:
    """N2 and N3 tell each other: N2's own copy from N3 comes when N2 knows nothing of it any more."""
    stage = Stage(of("1>2 2>3 3>2"))
    message = stage.publish("din")
    stage.turn(Luck.FINE, 0)
    stage.turn(Luck.FINE, 0)
    stage.forget()
    stage.run([])
    assert [name for name, _ in stage.told].count("N2") == 2
    assert stage.result(message).repetitions == 3  # N2, then N3, then N2 once more, which drops it


def test_cin_tells_again_once_the_central_history_is_forgotten() -> None:
    stage = Stage(of("1>2 2>3 3>2"))
    message = stage.publish("cin")
    for _ in range(4):  # claim and answer of N1, the copy to N2, the claim of N2
        stage.turn(Luck.FINE, 0)
    stage.forget()
    stage.run([])
    assert pairs(stage, message) == {("N1", "N2"): 1, ("N2", "N3"): 1, ("N3", "N2"): 1}
    assert stage.result(message).repetitions == 1


def test_lemma_3_fails_for_plain_hin() -> None:
    """Fig. 13: N4 has the message from N2 and from N3, cannot know it, and sends it twice to N5."""
    for protocol, times in (("hin", 2), ("hin-din", 1)):
        stage = Stage(of("1>2 1>3 2>4 3>4 4>5"))
        message = stage.publish(protocol)
        stage.run([])
        assert pairs(stage, message)["N4", "N5"] == times


def test_two_messages_wait_for_the_central_history_at_one_root() -> None:
    """Neither publication's answer may be taken for the other's."""
    stage = Stage(of("1>2 2>3"))
    first, second = stage.publish("cin"), stage.publish("cin")
    stage.run([])
    for message in (first, second):
        assert stage.result(message).receivers == ("N2", "N3")


def test_a_claimant_that_leaves_still_tells_whom_it_was_granted() -> None:
    """N2 is granted N4 and leaves; N3, who stays and would tell it too, is refused."""
    stage = Stage(of("1>2 1>3 2>4 3>4"))
    message = stage.publish("cin")
    for _ in range(2):
        stage.turn(Luck.FINE, 0)
    stage.turn(Luck.FINE, 0)  # N2 receives, and claims
    stage.turn(Luck.FINE, 1)  # its claim is granted
    stage.change(RemoveService("N2"))
    stage.run([])
    assert set(stage.result(message).receivers) == {"N2", "N3", "N4"}
    assert stage.result(message).complete


def test_who_starts_again_without_the_edge_still_tells_whom_it_was_granted() -> None:
    stage = Stage(of("1>2 1>3 2>4 3>4"))
    message = stage.publish("cin")
    for place in (0, 0, 0):
        stage.turn(Luck.FINE, place)
    stage.turn(Luck.FINE, 1)
    stage.change(RemoveEdge("C2", "T", "C4"))
    stage.turn(Luck.CRASH_WITHIN, 1)
    stage.run([])
    assert set(stage.result(message).receivers) == {"N2", "N3", "N4"}
    assert pairs(stage, message)["N2", "N4"] == 1


def test_an_answer_from_before_the_crash_does_not_stand_for_what_was_asked_since() -> None:
    """N2 asks for nobody, is killed, then asks for N4: the first answer refuses nobody, and grants nobody either."""
    stage = Stage(of("1>2 1>3 3>4", {"N1": "C1", "N2": "C2", "N3": "C3", "N4": "C4"}))
    message = stage.publish("cin")
    for place in (0, 0, 0):
        stage.turn(Luck.FINE, place)
    stage.turn(Luck.FINE, 1)  # the answer to N2 is on its way
    stage.change(PutEdge(Edge("C2", "T", "C4")))
    stage.turn(Luck.CRASH_BEFORE, 1)  # N2 starts anew, claims, and gets the old answer
    stage.turn(Luck.FINE, 1)
    stage.run([])
    assert set(stage.result(message).receivers) == {"N2", "N3", "N4"}


def test_who_joins_while_a_message_travels_is_told_by_those_who_have_it_later() -> None:
    stage = Stage(of("1>2 2>3"))
    message = stage.publish("din")
    stage.change(PutEdge(Edge("C2", "T", "C1")))
    stage.change(RemoveService("N3"))
    stage.run([])
    result = stage.result(message)
    assert result.receivers == ("N2",) and result.repetitions == 1  # N1 is told of its own message, and drops it


def test_a_copy_for_one_who_left_is_said_to_be_gone() -> None:
    for protocol in EVERY:
        stage = Stage(of("1>2 2>3"))
        message = stage.publish(protocol)
        while not any(copy.to == "N2" for copy in stage.copies(message)):
            stage.turn(Luck.FINE, 0)
        stage.change(RemoveService("N2"))
        stage.run([])
        result = stage.result(message)
        assert (result.gone, result.receivers, result.complete) == (("N2",), (), True)


def test_the_oracle_knows_what_the_paper_says_of_a_loop() -> None:
    """Fig. 7: N1 is in C1 and C3."""
    sketch = of("1>2 2>3", {"N1": "C1 C3", "N2": "C2", "N3": "C3", "N4": "C3"})
    assert sketch.must_know() == {"N2", "N3", "N4"}
    assert reached({}, "N1") == set()
