"""A tree of nodes: whatever order they come, ask and go in, each gets what its subscriptions match, once."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.test_engine import notification

from tocsin.model.filters import Filter, Not
from tocsin.model.identity import Instant
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.topics import parse_topic_expression
from tocsin.routing.tree.interest import EVERYTHING, Interest
from tocsin.routing.tree.messages import Join, Joined, Own, Remove, Unknown
from tocsin.routing.tree.node import TreeNode
from tocsin.sim.network import between
from tocsin.sim.tree import TreeNetwork, started, wants

NAMES = [f"n{number}" for number in range(6)]
TOPICS = [("a",), ("a", "b"), ("a", "c"), ("b",), ("b", "b")]
ASKED: list[tuple[Filter, ...]] = [
    *((parse_topic_expression(text, "full", {}),) for text in ("a", "a/b", "a//.", "b", "b/*", "*", "a|b/b")),
    (Not(parse_topic_expression("a//.", "full", {})),),
    (),
]
NODES = st.integers(0, len(NAMES) - 1)
STEPS = st.one_of(
    st.tuples(st.just("start"), NODES, st.none() | NODES),
    st.tuples(st.just("subscribe"), NODES, st.sampled_from("xy"), st.sampled_from(ASKED)),
    st.tuples(st.just("unsubscribe"), NODES, st.sampled_from("xy")),
    st.tuples(st.just("crash"), NODES),
    st.tuples(st.just("run"), st.sampled_from([0.001, 0.02, 0.1, 1, 40])),
    st.tuples(st.just("publish"), NODES, st.sampled_from(TOPICS)),
)
LONG = 120.0  # seconds in which all have heard of all


def told(topic: tuple[str, ...]) -> Notification:
    return notification(Topic(tuple(QName("", step) for step in topic)), 1, 100)


def act(network: TreeNetwork, step: tuple[Any, ...]) -> None:
    """A parent has a smaller number: there are no circles."""
    running = [name for name in NAMES if name in network.positions]
    match step:
        case ("start", number, parent):
            network.start(NAMES[number], NAMES[parent] if parent is not None and parent < number else "")
        case ("run", seconds):
            network.run_for(seconds)
        case (_, number, *_) if NAMES[number] not in running:
            return
        case ("subscribe", number, name, filters):
            network.subscribe(NAMES[number], name, filters)
        case ("unsubscribe", number, name):
            network.unsubscribe(NAMES[number], name)
        case ("crash", number):
            network.crash(NAMES[number])
        case ("publish", number, topic):
            network.publish(NAMES[number], told(topic))


def tree_of(network: TreeNetwork, node: str) -> set[str]:
    """Those that are joined with it, by way of nodes that run."""

    def root(name: str) -> str:
        parent = network.positions[name].parent
        return root(parent) if parent in network.positions else name

    return {name for name in network.positions if root(name) == root(node)}


@given(st.lists(STEPS, max_size=30), st.integers(0, 1000))
@settings(max_examples=examples(150), deadline=None)
def test_each_gets_what_its_subscriptions_match_once(steps: list[tuple[Any, ...]], seed: int) -> None:
    network = TreeNetwork(ask=between(seed, 1, 60_000_000))
    for step in steps:
        act(network, step)
    network.run_for(LONG)
    for name in network.positions:
        machine = network.machines[name]
        assert isinstance(machine, TreeNode)
        parent = network.positions[name].parent
        assert machine.is_heard == (parent in network.positions)
        for topic in TOPICS:
            message, mates = told(topic), tree_of(network, name)
            had, _ = network.publish(name, message)
            wanting = {each for each in mates if any(wants(one, message) for one in network.own[each].values())}
            assert wanting <= set(had) <= mates
            assert set(had.values()) == {1}


@given(st.lists(STEPS, max_size=20), st.integers(0, 1000))
@settings(max_examples=examples(50), deadline=None)
def test_who_started_again_is_as_before(steps: list[tuple[Any, ...]], seed: int) -> None:
    network = TreeNetwork(ask=between(seed, 1, 60_000_000))
    for step in steps:
        act(network, step)
    network.run_for(LONG)
    before = {name: dict(neighbours) for name, neighbours in network.neighbours.items()}
    for name in network.positions:
        network.crash(name)
    network.run_for(LONG)
    assert {name: dict(neighbours) for name, neighbours in network.neighbours.items()} == before


def machine(network: TreeNetwork, name: str) -> TreeNode:
    found = network.machines[name]
    assert isinstance(found, TreeNode)
    return found


def test_a_parent_is_told_only_of_what_it_does_not_know() -> None:
    network = TreeNetwork()
    network.start("p")
    network.start("c", "p")
    network.subscribe("c", "wide", ASKED[2])
    network.run_for(1)
    asked = network.asked
    for number, each in enumerate((ASKED[0], ASKED[1], ASKED[2])):
        network.subscribe("c", f"covered {number}", each)
    network.run_for(1)
    assert network.asked - asked <= 1  # that nothing changed is found out when it would be told
    for number in range(50):
        network.subscribe("c", f"many {number}", (parse_topic_expression(f"t{number}", "full", {}),))
    network.run_for(1)
    assert network.asked - asked <= 3  # what comes together is told together
    assert machine(network, "c").is_heard
    assert network.neighbours["p"]["c"] == machine(network, "c").interest.filters()


def test_no_more_children_than_there_is_room_for() -> None:
    network = TreeNetwork()
    network.start("p", most=2)
    for name in ("a", "b", "c"):
        network.start(name, "p")
        network.run_for(1)
    assert sorted(network.neighbours["p"]) == ["a", "b"]
    assert "p has 2 children" in machine(network, "c").trouble and machine(network, "c").joined is None
    assert network.publish("c", told(("a",)))[0] == {"c": 1}
    network.take("p", Remove("a"))
    network.run_for(LONG)
    assert sorted(network.neighbours["p"]) == ["b", "c"] and machine(network, "c").trouble == ""
    assert "was removed" in machine(network, "a").trouble  # until it is started again
    assert not machine(network, "p").takes_from("a")
    network.start("p", most=3)
    network.start("a", "p")
    network.run_for(LONG)
    assert sorted(network.neighbours["p"]) == ["a", "b", "c"]


def test_who_is_no_child_cannot_be_removed() -> None:
    network = TreeNetwork()
    network.start("p")
    with pytest.raises(Refusal, match="no child"):
        network.take("p", Remove("x"))


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_circle_is_found_and_opened(size: int) -> None:
    network, names = TreeNetwork(), NAMES[:size]
    for number, name in enumerate(names):
        network.start(name, names[(number + 1) % size])
    network.run_for(600)
    assert any("circle" in machine(network, name).trouble for name in names)
    had, _ = network.publish(names[0], told(("a",)))
    assert set(had.values()) == {1}
    network.start(names[-1])  # as it is told, without a parent
    network.run_for(600)
    assert [machine(network, name).trouble for name in names] == [""] * size
    assert network.publish(names[0], told(("a",)))[0].keys() == set(names)


def test_a_child_that_changes_its_parent_leaves_the_former() -> None:
    network = TreeNetwork()
    for name in ("p", "q"):
        network.start(name)
    network.start("c", "p")
    network.subscribe("c", "x", ())
    network.run_for(1)
    assert network.neighbours == {"p": {"c": ()}, "c": {"p": ()}}
    network.start("c", "q")
    assert machine(network, "c").takes_from("p")  # it is not left before the other is joined
    network.run_for(LONG)
    assert network.neighbours == {"p": {}, "q": {"c": ()}, "c": {"q": ()}}
    assert machine(network, "c").formers() == [] and not machine(network, "c").takes_from("p")
    network.start("c")
    network.run_for(LONG)
    assert network.neighbours == {"p": {}, "q": {}, "c": {}}


def test_a_former_parent_that_is_gone_is_given_up() -> None:
    network = TreeNetwork()
    for name in ("p", "q"):
        network.start(name)
    network.start("c", "p")
    network.run_for(1)
    del network.positions["p"], network.machines["p"]
    network.start("c", "q")
    network.run_for(LONG)
    assert machine(network, "c").formers() == ["p"] and machine(network, "c").joined is not None
    network.run_for(90_000)
    assert machine(network, "c").formers() == []


def test_a_parent_that_forgot_everything_is_told_again() -> None:
    network = TreeNetwork()
    network.start("p")
    network.start("c", "p")
    network.subscribe("c", "x", ASKED[0])
    network.run_for(1)
    network.rows["p"].clear()
    network.neighbours["p"].clear()
    network.start("p")
    network.run_for(LONG)
    assert network.neighbours["p"] == {"c": ASKED[0]}


def join(version: int, interest: Interest | None, session: int = 1, name: str = "c", before: str = "") -> Join:
    return Join("c2" if before else "c", name, "p", Instant(session), version, interest, before)


def test_an_old_version_never_replaces_a_newer_one() -> None:
    network = TreeNetwork()
    network.start("p")
    assert network.take("p", join(5, None)) == [Unknown()]
    assert network.take("p", join(5, EVERYTHING)) == [Joined(5, ("p",))]
    assert network.take("p", join(4, Interest())) == [Joined(5, ("p",))]
    assert network.neighbours["p"] == {"c": ()}
    assert network.take("p", join(6, None)) == [Unknown()]
    network.crash("p")
    assert network.take("p", join(5, None)) == [Joined(5, ("p",))]


def test_a_clock_that_was_set_back_does_not_silence_a_child() -> None:
    network = TreeNetwork()
    network.start("p")
    network.take("p", Join("c", "c", "p", Instant(0), 10**18, Interest()))
    network.start("c", "p")
    network.subscribe("c", "x", ASKED[0])
    network.run_for(1)
    assert network.neighbours["p"] == {"c": ASKED[0]} and machine(network, "c").is_heard


def test_a_child_that_moved_is_the_same_and_another_at_its_address_is_not() -> None:
    network = TreeNetwork()
    network.start("p", most=1)
    network.take("p", join(5, EVERYTHING))
    network.take("p", join(6, EVERYTHING, before="c"))
    assert network.neighbours["p"].keys() == {"c2"}
    network.start("p", most=2)
    network.take("p", join(7, EVERYTHING))
    network.take("p", join(8, EVERYTHING, name="other", before="c"))
    assert network.neighbours["p"].keys() == {"c", "c2"}


def test_what_is_asked_goes_through_a_whole_tree() -> None:
    network = TreeNetwork()
    names = started(network, 2, 3)
    network.subscribe(names[-1], "x", ASKED[0])
    network.run_for(1)
    had, requests = network.publish(names[7], told(("a",)))
    assert had.keys() == {names[7], names[3], names[1], names[0], names[2], names[6], names[14]} and requests == 6
    had, requests = network.publish(names[7], told(("b",)))
    assert had.keys() == {names[7], names[3], names[1], names[0]} and requests == 3


def test_who_has_no_parent_asks_for_nothing() -> None:
    network = TreeNetwork()
    network.start("p")
    network.take("p", Own("x", ((),)))
    network.run_for(LONG)
    assert network.asked == 0 and machine(network, "p").interest == Interest()
