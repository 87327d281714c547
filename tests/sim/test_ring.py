"""Rings of many nodes: whatever order they come, crash and go in, and wherever the network is cut, one ring is left in
which every key has one owner, whoever is asked."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import brief, examples, long

from tocsin.routing.ring.agenda import Settings
from tocsin.routing.ring.chord_messages import Gone, Heard, Suspected
from tocsin.routing.ring.identifiers import LAST
from tocsin.sim.network import MILLISECOND, between
from tocsin.sim.ring import RingNetwork, Settled, peer_at

NAMES = [f"n{number}" for number in range(14)]
SEED, *OTHERS = NAMES
NODES = st.sampled_from(OTHERS)
STEPS = st.one_of(
    st.tuples(st.just("start"), NODES, NODES),
    st.tuples(st.just("start"), NODES, NODES),
    st.tuples(st.just("stop"), st.sets(NODES, min_size=1, max_size=7)),
    st.tuples(st.just("leave"), NODES),
    st.tuples(st.just("crash"), st.sampled_from(NAMES)),
    st.tuples(st.just("cut"), st.sets(st.sampled_from(NAMES), max_size=7)),
    st.tuples(st.just("run"), st.sampled_from([0.01, 0.3, 2, 20, 90])),
)
LONG = 600.0


def act(network: RingNetwork, step: tuple[Any, ...]) -> None:
    """The first node is one that all are told to join, and stays."""
    match step:
        case ("start", name, other) if name not in network.peers:
            network.start(name, other, SEED)
        case ("stop", names):
            network.stop(*(each for each in names if each in network.peers))
        case ("leave", name) if name in network.peers:
            network.leave(name)
            network.run_for(0.5)
            network.stop(name)
        case ("crash", name) if name in network.peers:
            network.crash(name)
        case ("cut", names):
            network.divide(dict.fromkeys(names, 1))
        case ("run", seconds):
            network.run_for(seconds)


def waits_until(network: RingNetwork, holds: Callable[[], bool], seconds: float = LONG) -> float:
    """How long that took."""
    begun = network.clock.now
    while not holds():
        network.run_for(5)
        assert network.clock.now - begun < seconds * 10**9, "it does not settle"
    return (network.clock.now - begun) / 10**9


def is_whole(network: RingNetwork) -> bool:
    """As stabilisation leaves it, to the last finger; but for who is thought to be dead."""
    made = network.settled()
    tables = ((network.node(each).table, made.table(peer.id)) for each, peer in network.peers.items())
    return network.is_settled() and all(mine.fingers == other.fingers for mine, other in tables)


def agree(network: RingNetwork, keys: list[int]) -> None:
    made = network.settled()
    for key in keys:
        owners = [each for each in network.peers if network.node(each).table.owns(key)]
        assert owners == [made.owner(key).address]
        assert {network.look(each, key).owner for each in network.peers} == {made.owner(key)}


def grown(count: int, seed: int = 1, settings: Settings | None = None) -> RingNetwork:
    network = RingNetwork(settings, ask=between(seed, MILLISECOND, 50 * MILLISECOND))
    for number in range(count):
        network.start(f"n{number}", *(["n0"] if number else []))
        if number % 10 == 9:
            network.run_for(0.5)
    return network


@given(st.lists(STEPS, max_size=30), st.integers(0, 1000), st.lists(st.integers(0, LAST), min_size=1, max_size=3))
@settings(max_examples=examples(40), deadline=None)
def test_one_ring_is_left_whatever_happened(steps: list[tuple[Any, ...]], seed: int, keys: list[int]) -> None:
    network = RingNetwork(ask=between(seed, MILLISECOND, 200 * MILLISECOND))
    network.start(SEED)
    for step in steps:
        act(network, step)
    network.divide({})
    waits_until(network, lambda: is_whole(network))
    agree(network, keys)


@pytest.mark.parametrize("count", brief([1, 2, 3, 8, 9, 10, 40, 150], 1, 2, 9, 40))
def test_stabilisation_ends_with_the_tables_that_are_made_at_once(count: int) -> None:
    network = grown(count)
    waits_until(network, lambda: is_whole(network), 200)
    made = network.settled()
    assert all(network.node(each).table == made.table(peer.id) for each, peer in network.peers.items())
    random = Random(count)
    agree(network, [random.randint(0, LAST) for _ in range(3)])


@pytest.mark.parametrize("seed", brief(range(6)))
def test_as_many_neighbours_may_crash_at_once_as_are_known_but_one(seed: int) -> None:
    network = grown(30, seed)
    waits_until(network, lambda: is_whole(network))
    order = sorted(network.peers, key=lambda each: network.peers[each].id)
    first = Random(seed).randrange(len(order))
    network.stop(*((order * 2)[first : first + 7]))
    assert waits_until(network, network.is_settled) < 60
    assert {type(each) for each in network.reports} == {Suspected}
    agree(network, [0, LAST, network.clock.now])


@pytest.mark.parametrize(("seed", "seconds"), [(1, 300), long(2, 60), (3, 5), long(4, 1000)])
def test_two_halves_become_one_ring_again(seed: int, seconds: float) -> None:
    network, random = grown(24, seed), Random(seed)
    waits_until(network, lambda: is_whole(network))
    network.divide({each: random.randint(0, 1) for each in network.peers})
    network.run_for(seconds)
    if seconds >= 60:
        assert not network.is_settled()
    network.divide({})
    assert waits_until(network, network.is_settled) < 180
    assert seconds < 60 or Heard in {type(each) for each in network.reports}
    waits_until(network, lambda: is_whole(network))
    agree(network, [5, LAST // 2])


def test_who_leaves_is_missed_by_nobody() -> None:
    network = grown(12)
    waits_until(network, lambda: is_whole(network))
    network.leave("n5")
    network.run_for(1)
    network.stop("n5")
    assert waits_until(network, network.is_settled) <= 15
    assert {type(each) for each in network.reports} == {Gone}


def test_who_left_and_came_back_is_known_to_all_again() -> None:
    """Those who heard that it left were not told by itself that it is back."""
    network = grown(8)
    waits_until(network, lambda: is_whole(network))
    network.leave("n5")
    network.run_for(1)
    network.stop("n5")
    network.run_for(60)
    network.start("n5", "n0")
    assert waits_until(network, lambda: is_whole(network)) < 60


def test_a_node_that_is_alone_asks_all_it_was_told_to_join_besides_those_it_misses() -> None:
    network = grown(3)
    waits_until(network, network.is_settled)
    network.divide({"n1": 1, "n2": 1})
    network.run_for(30)
    network.stop("n2")
    network.run_for(30)  # n1 is alone now, and misses n2 and n0
    network.rows["n1"].clear()
    network.start("n1", "n0")
    network.divide({})
    assert waits_until(network, network.is_settled) < 60


def test_all_that_start_again_find_each_other() -> None:
    network = grown(12)
    waits_until(network, lambda: is_whole(network))
    network.run_for(60)
    kept = sorted(network.peers)
    network.stop(*kept)
    network.run_for(5)
    for each in kept:
        network.start(each, "n0")
    assert waits_until(network, network.is_settled) < 120


def test_a_ring_at_rest_asks_little() -> None:
    network = grown(40)
    waits_until(network, lambda: is_whole(network))
    network.run_for(60)
    network.asked.clear()
    network.run_for(100)
    each = {kind: count / 40 / 100 for kind, count in network.asked.items()}
    assert each.keys() <= {"Stabilise", "Find"}
    assert 0.9 < each["Stabilise"] < 1.2 and each["Find"] < 0.4  # a second


def test_tables_are_made_for_any_length_of_list() -> None:
    network = grown(20, settings=Settings(successors=3))
    waits_until(network, lambda: is_whole(network))
    assert {len(network.node(each).table.successors) for each in network.peers} == {3}
    made = Settled([peer_at("a", 5)], 3)
    assert made.owner(77) == made.table(5).own and made.table(5).next_hop(77) is None
