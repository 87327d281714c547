"""What is said of a message, from reports in whatever order and however often they come."""

from random import Random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.routing.stage import Luck, Script, Stage, plays
from tests.routing.worlds import Sketch, of

from tocsin.model.identity import Instant, MessageId
from tocsin.routing.implicit.messages import Handled, Suppressed
from tocsin.routing.implicit.protocols import PROTOCOLS
from tocsin.routing.implicit.result import Dissemination, dissemination

MESSAGE = MessageId("m")


def of_reports(reports: list[Handled]) -> Dissemination:
    return dissemination("din", "N1", Instant(0), reports)


def said(
    copy: str, sender: str, at: str, *forwarded: tuple[str, str], when: int = 0, hop: int = 1, dropped: bool = False
) -> Handled:
    return Handled(MESSAGE, copy, sender, at, hop, Instant(when), dropped, forwarded)


@given(plays(), st.randoms(use_true_random=False), st.sampled_from(sorted(PROTOCOLS)))
@settings(max_examples=examples(100))
def test_neither_the_order_of_reports_nor_their_number_matters(
    play: tuple[Sketch, Script], random: Random, protocol: str
) -> None:
    stage = Stage(play[0])
    message = stage.publish(protocol)
    stage.run(play[1])
    first, doubled = stage.result(message), [*stage.handled, *stage.handled[::2]]
    random.shuffle(doubled)
    assert dissemination(protocol, stage.sketch.root, Instant(0), doubled) == first


@given(plays(), st.sampled_from(sorted(PROTOCOLS)))
@settings(max_examples=examples(100))
def test_it_counts_what_happened(play: tuple[Sketch, Script], protocol: str) -> None:
    stage = Stage(play[0])
    message = stage.publish(protocol, 3)
    stage.run(play[1])
    result, copies = stage.result(message), stage.copies(message)
    arrived = [each for each in stage.handled if each.copy and not each.gone]
    reached = {each.at for each in arrived} - {stage.sketch.root}
    assert result.notifications == len(copies) == len(arrived) + len(result.gone)
    assert result.repetitions == len(arrived) - len(reached)
    assert set(result.receivers) == reached and len(result.receivers) == len(reached)
    assert sorted((step.sender, step.to, step.hop) for step in result.trace) == sorted(
        (each.sender, each.at, each.hop) for each in arrived
    )
    assert result.hops == max((step.hop for step in result.trace if not step.repeated), default=0)
    assert len(result.suppressed) == sum(len(each.suppressed) for each in stage.handled)


@given(plays(), st.sampled_from(["din", "hin-din"]))
@settings(max_examples=examples(60))
def test_what_a_local_history_knew_is_what_counts_as_repeated(play: tuple[Sketch, Script], protocol: str) -> None:
    stage = Stage(play[0])
    message = stage.publish(protocol)
    stage.run(play[1])
    dropped = sorted((each.sender, each.at, each.hop) for each in stage.handled if each.dropped)
    assert dropped == sorted((s.sender, s.to, s.hop) for s in stage.result(message).trace if s.repeated)


@given(plays(), st.integers(0, 30), st.sampled_from(sorted(PROTOCOLS)))
@settings(max_examples=examples(100))
def test_it_is_complete_exactly_when_nothing_is_on_its_way(
    play: tuple[Sketch, Script], turns: int, protocol: str
) -> None:
    """At every moment, not only at the end: the root's node asks while copies travel."""
    stage = Stage(play[0])
    message = stage.publish(protocol, 20)
    for turn in play[1][:turns]:
        heard = {each.copy for each in stage.handled}
        unheard = {copy.to for copy in stage.copies(message) if copy.id not in heard}
        assert set(stage.result(message).waiting) == unheard | ({stage.sketch.root} if "" not in heard else set())
        stage.run_only([turn])


def test_before_the_root_has_said_anything_it_is_waited_for() -> None:
    """CIN asks the central history first: that nothing was sent yet does not mean that nobody is to be told."""
    stage = Stage(of("1>2"))
    message = stage.publish("cin")
    assert stage.result(message).waiting == ("N1",) and not stage.result(message).complete
    stage.run([])
    assert stage.result(message).complete


def test_a_report_that_is_missing_leaves_its_service_waiting() -> None:
    reports = [said("", "", "N1", ("x", "N2"), ("y", "N3"), hop=0), said("x", "N1", "N2")]
    found = of_reports(reports)
    assert (found.notifications, found.receivers, found.waiting, found.complete) == (2, ("N2",), ("N3",), False)


def test_a_report_whose_cause_is_missing_counts_already() -> None:
    found = of_reports([said("y", "N2", "N3", hop=2)])
    assert (found.notifications, found.receivers, found.waiting) == (1, ("N3",), ("N1",))


def test_who_left_is_no_receiver() -> None:
    left = Handled(MESSAGE, "x", "N1", "N2", 1, Instant(5), gone=True)
    found = of_reports([said("", "", "N1", ("x", "N2"), hop=0), left])
    assert (found.notifications, found.receivers, found.gone, found.complete) == (1, (), ("N2",), True)


def test_of_two_copies_at_one_instant_the_one_that_was_new_is_the_first() -> None:
    new, old = said("b", "N3", "N4", when=7, hop=2), said("a", "N2", "N4", when=7, hop=2, dropped=True)
    assert [(step.sender, step.repeated) for step in of_reports([old, new]).trace] == [("N3", False), ("N2", True)]


def test_what_is_told_to_the_root_is_a_repetition_and_no_receiver() -> None:
    found = of_reports([said("", "", "N1", ("x", "N2"), hop=0), said("x", "N2", "N1", dropped=True, hop=2)])
    assert (found.repetitions, found.receivers) == (1, ())


def test_time_is_until_the_last_service_is_told_for_the_first_time() -> None:
    reports = [
        said("", "", "N1", ("x", "N2"), hop=0),
        said("x", "N1", "N2", ("y", "N2"), when=2_000_000),
        said("y", "N2", "N2", when=9_000_000, dropped=True),
    ]
    assert of_reports(reports).ms == 2.0


def test_who_is_not_told_again_is_said_with_the_reason() -> None:
    report = Handled(MESSAGE, "", "", "N1", 0, Instant(0), suppressed=(Suppressed("N2", "header"),), withheld=("N3",))
    found = of_reports([report])
    assert [(each.at, each.to, each.why) for each in found.suppressed] == [("N1", "N2", "header")]
    assert (found.withheld, found.stopped) == (1, "limit")


def test_as_json_a_step_says_from() -> None:
    found = of_reports([said("", "", "N1", ("x", "N2"), hop=0), said("x", "N1", "N2")])
    trace = msgspec.json.decode(msgspec.json.encode(found))["trace"]
    assert [(step["from"], step["to"], step["hop"]) for step in trace] == [("N1", "N2", 1)]


def test_nothing_but_the_publication_when_nobody_is_interested() -> None:
    for protocol in PROTOCOLS:
        stage = Stage(of("2>1"))
        message = stage.publish(protocol)
        stage.run([(Luck.FINE, 0)])
        result = stage.result(message)
        assert (result.notifications, result.receivers, result.complete, result.stopped) == (0, (), True, None)
