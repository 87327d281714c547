"""A dissemination over a whole world in one process."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.routing.stage import Stage
from tests.routing.worlds import Sketch, of, sketches

from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import is_history
from tocsin.routing.implicit.protocols import PROTOCOLS
from tocsin.routing.implicit.result import Dissemination
from tocsin.routing.machine import Expire
from tocsin.routing.ring.identifiers import LAST
from tocsin.semantics.interest.changes import RemoveService
from tocsin.sim.implicit import NotifierNetwork, disseminate
from tocsin.sim.network import MILLISECOND, between, constant

EVERY = st.sampled_from(sorted(PROTOCOLS))


def run(sketch: Sketch, protocol: str, seed: int | None = None, limit: int = 3) -> Dissemination:
    send, ask = (None, None) if seed is None else (between(seed, 1, 50), between(seed + 1, 0, 20))
    network = NotifierNetwork(sketch.world(), send=send, ask=ask)
    message = network.publish(sketch.root, sketch.topic, protocol, limit=limit)
    network.clock.run()
    return network.result(message)


@given(sketches(), EVERY, st.integers(0, 1000))
@settings(max_examples=examples(100))
def test_the_same_seed_gives_the_same_run(sketch: Sketch, protocol: str, seed: int) -> None:
    assert run(sketch, protocol, seed) == run(sketch, protocol, seed)


@given(sketches(), EVERY, st.none() | st.integers(0, 1000))
@settings(max_examples=examples(200))
def test_those_who_must_know_are_told_at_whatever_speed(sketch: Sketch, protocol: str, seed: int | None) -> None:
    result = run(sketch, protocol, seed)
    assert set(result.receivers) == sketch.must_know()
    assert result.complete and sketch.root not in result.receivers


@given(sketches(), EVERY)
@settings(max_examples=examples(60))
def test_it_counts_as_nodes_do(sketch: Sketch, protocol: str) -> None:
    """The stage delivers in the order of sending when it has no script, and so does a constant delay."""
    stage = Stage(sketch)
    message = stage.publish(protocol, 3)
    stage.run([])
    mine, theirs = run(sketch, protocol), stage.result(message)
    assert (mine.notifications, mine.repetitions, mine.withheld) == (
        theirs.notifications,
        theirs.repetitions,
        theirs.withheld,
    )
    assert set(mine.receivers) == set(theirs.receivers)


@given(sketches(), st.lists(EVERY, min_size=2, max_size=4))
@settings(max_examples=examples(60))
def test_several_messages_at_once_go_as_each_alone(sketch: Sketch, protocols: list[str]) -> None:
    together = NotifierNetwork(sketch.world())
    messages = [
        together.publish(sketch.root, sketch.topic, each, limit=3, number=number)
        for number, each in enumerate(protocols)
    ]
    together.clock.run()
    for message, protocol in zip(messages, protocols, strict=True):
        assert together.result(message) == run(sketch, protocol)


@given(sketches(), EVERY)
@settings(max_examples=examples(60))
def test_hops_take_as_long_as_they_say(sketch: Sketch, protocol: str) -> None:
    """CIN asks the central history, there and back, before each hop."""
    network = NotifierNetwork(sketch.world(), send=constant(3 * MILLISECOND), ask=constant(5 * MILLISECOND))
    message = network.publish(sketch.root, sketch.topic, protocol, limit=3)
    network.clock.run()
    each = 3.0 + (10.0 if "cin" in protocol else 0.0)
    assert all(step.ms == step.hop * each for step in network.result(message).trace)


PLACES = st.lists(st.integers(0, LAST), min_size=1, max_size=8, unique=True)


def counts(result: Dissemination) -> tuple[int, int, set[str]]:
    return result.notifications, result.repetitions, set(result.receivers)


@given(sketches(), PLACES, st.none() | st.integers(0, 1000))
@settings(max_examples=examples(150))
def test_histories_on_any_number_of_nodes_count_as_the_central_one(
    sketch: Sketch, nodes: list[int], seed: int | None
) -> None:
    send, ask = (None, None) if seed is None else (between(seed, 1, 50), between(seed + 1, 0, 20))
    network = NotifierNetwork(sketch.world(), send=send, ask=ask, nodes=nodes)
    message = network.publish(sketch.root, sketch.topic, "dht-cin")
    network.clock.run()
    assert counts(network.result(message)) == counts(run(sketch, "cin", seed))
    if seed is None:
        assert network.result(message).trace == run(sketch, "cin").trace


@given(sketches(), PLACES, st.integers(0, 1000), st.integers(0, 40))
@settings(max_examples=examples(150))
def test_a_node_is_lost_and_its_successor_goes_on_from_a_copy(
    sketch: Sketch, nodes: list[int], seed: int, steps: int
) -> None:
    """Lemma 1: nobody is told twice, also by those who claim again."""
    network = NotifierNetwork(sketch.world(), send=between(seed, 1, 50), ask=between(seed, 0, 20), nodes={*nodes, 7})
    messages = [network.publish(sketch.root, sketch.topic, "dht-cin", number=number) for number in range(3)]
    for each in nodes:
        for _ in range(steps):
            network.clock.step()
        if len(network.nodes) > 1:
            network.lose(each)
    network.clock.run()
    for message in messages:
        assert counts(network.result(message)) == (len(sketch.must_know()), 0, sketch.must_know())


def test_histories_of_many_messages_are_shared_among_the_nodes_and_end_with_their_time() -> None:
    network = NotifierNetwork(of("1>2 2>3").world(), nodes=[LAST // 4 * quarter for quarter in range(4)])
    for number in range(40):
        network.publish("N1", "T", "dht-cin", number=number)
    network.clock.run()
    histories = [name for name in network.machines if is_history(name)]
    assert len(histories) == 40 and {network.node_of(name) for name in histories} == set(network.nodes)
    for name in histories:
        network.take(name, Expire(Instant(network.clock.now + 1)))
    assert not any(is_history(name) for name in (*network.machines, *network.rows))


def test_one_message_from_publication_to_end() -> None:
    sketch = of("1>2 2>3")
    result = disseminate(sketch.world(), "N1", "T", "cin", data=b"!")
    assert (result.receivers, result.hops, result.ms) == (("N2", "N3"), 2, 6.0)


def test_what_is_told_has_the_data() -> None:
    network = NotifierNetwork(of("1>2").world())
    network.publish("N1", "T", "hin", data=b"shakes")
    network.clock.run()
    assert [(copy.to, copy.message.data.data) for copy in network.told] == [("N2", b"shakes")]
    assert [copy.notified for copy in network.told] == [("N2",)]


def test_who_leaves_on_the_way_is_gone_and_those_behind_it_are_not_told() -> None:
    for protocol in PROTOCOLS:
        network = NotifierNetwork(of("1>2 2>3").world(), ask=constant(0))
        message = network.publish("N1", "T", protocol)
        while network.clock.now == 0 and len(network.clock) and not network.handled:
            network.clock.step()
        network.world.apply(RemoveService("N2"))
        network.clock.run()
        result = network.result(message)
        assert (result.gone, result.receivers, result.complete) == (("N2",), (), True)


def test_a_claimant_that_leaves_is_answered() -> None:
    """Else nobody would tell those it was granted, and the message would never be complete."""
    network = NotifierNetwork(of("1>2 2>3").world(), ask=constant(5))
    message = network.publish("N1", "T", "cin")
    while not network.told:
        network.clock.step()
    network.world.apply(RemoveService("N2"))
    network.clock.run()
    assert network.result(message).receivers == ("N2", "N3") and network.result(message).complete


@pytest.mark.parametrize(
    ("root", "topic", "protocol", "why"),
    [
        ("N9", "T", "din", "there is no service 'N9'"),
        ("N1", "U", "din", "there is no topic 'U'"),
        ("N1", "T", "gossip", "'gossip' is no protocol"),
    ],
)
def test_what_cannot_be_published_is_refused(root: str, topic: str, protocol: str, why: str) -> None:
    network = NotifierNetwork(of("1>2").world())
    with pytest.raises(Refusal, match=why):
        network.publish(root, topic, protocol)
    assert not len(network.clock) and not network.handled
