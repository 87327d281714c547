"""What is counted by classes of services is what the machines do, one by one."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.routing.worlds import Sketch, of, sketches

from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.protocols import PROTOCOLS
from tocsin.semantics.interest.changes import PutCategory, PutEdge, PutRules, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World
from tocsin.sim import counting
from tocsin.sim.counting import Count, Population, TopicGraph
from tocsin.sim.implicit import Tally, disseminate

EVERY = sorted(PROTOCOLS)


def counted(world: World, root: str, topic: str, protocol: str, limit: int) -> Count:
    population = Population.of(world)
    graph = TopicGraph(world.interests, world.categories, population, topic)
    return graph.count(sorted(world.services).index(root), protocol, limit)


def tallied(world: World, root: str, topic: str, protocol: str, limit: int) -> Count:
    tally = Tally(world, lambda names: len(list(names)))
    tally.publish(root, topic, protocol, limit=limit)
    tally.clock.run()
    result = disseminate(world, root, topic, protocol, limit=limit)
    assert (tally.notifications, tally.repetitions, tally.hops, len(tally.reached)) == (
        result.notifications,
        result.repetitions,
        result.hops,
        len(result.receivers),
    )
    return Count.of(tally)


def crowd(random: Random, services: int = 14, categories: int = 5) -> World:
    """Several services a category, in several categories, whose names are mixed up; loops and inherited readings."""
    world = World.of([PutRules(random.random() < 0.3, random.random() < 0.3)])
    for letter, put in (("t", PutTopic), ("c", PutCategory)):
        for number in range(2 if letter == "t" else categories):
            above = f"{letter}{random.randrange(number)}" if number and random.random() < 0.3 else None
            world.apply(put(f"{letter}{number}", above))
    for name in random.sample(range(100), random.randint(2, services)):
        chosen = random.sample(range(categories), random.choice((1, 1, 1, 2, 3)))
        world.apply(PutService(Service(f"s{name}", tuple(f"c{each}" for each in chosen))))
    for _ in range(random.randint(1, 9)):
        source, target = (f"c{random.randrange(categories)}" for _ in range(2))
        world.apply(PutEdge(Edge(source, f"t{random.randrange(2)}", target)))
    return world


@given(sketches(), st.sampled_from(EVERY), st.integers(1, 4))
@settings(max_examples=examples(300), deadline=None)
def test_it_counts_as_the_machines_do(sketch: Sketch, protocol: str, limit: int) -> None:
    asked = sketch.world(), sketch.root, sketch.topic, protocol, limit
    assert counted(*asked) == tallied(*asked)


@given(st.integers(0, 2**32), st.sampled_from(EVERY), st.integers(1, 3))
@settings(max_examples=examples(400), deadline=None)
def test_it_counts_crowds_as_the_machines_do(seed: int, protocol: str, limit: int) -> None:
    random = Random(seed)
    world = crowd(random)
    asked = world, random.choice(sorted(world.services)), "t0", protocol, limit
    assert counted(*asked) == tallied(*asked)


@pytest.mark.parametrize("protocol", EVERY)
def test_a_larger_crowd_with_the_usual_limit(protocol: str) -> None:
    world = crowd(Random(7), services=60, categories=12)
    root = max(world.services, key=lambda name: len(world.neighbours(name, "t0")))
    asked = world, root, "t0", protocol, 16 if protocol != "bin" else 4
    found = counted(*asked)
    assert found == tallied(*asked) and found.receivers


@pytest.mark.parametrize(
    ("protocol", "notifications", "repetitions"),
    [("bin", 6, 2), ("cin", 4, 0), ("din", 5, 1), ("hin", 6, 2), ("hin-din", 5, 1)],
)
def test_figure_13(protocol: str, notifications: int, repetitions: int) -> None:
    found = counted(of("1>2 1>3 2>4 3>4 4>5").world(), "N1", "T", protocol, 16)
    assert (found.notifications, found.repetitions, found.receivers, found.hops) == (notifications, repetitions, 4, 3)


@pytest.mark.parametrize("protocol", EVERY)
def test_nobody_is_told_where_no_edge_leaves(protocol: str) -> None:
    world = of("1>2").world()
    assert counted(world, "N2", "T", protocol, 16) == tallied(world, "N2", "T", protocol, 16) == Count()


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(Refusal, match="'gossip' is no protocol"):
        counted(of("1>2").world(), "N1", "T", "gossip", 16)


def test_hin_is_not_counted_where_classes_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_FOLLOWED", 2)
    world = of("1>2 2>3").world()
    with pytest.raises(Refusal, match="hin follows the copies of each class of services, of which there are 3"):
        counted(world, "N1", "T", "hin", 16)
    assert counted(world, "N1", "T", "hin-din", 16).receivers == 2


def test_copies_that_no_machine_number_holds() -> None:
    """A million services that all tell each other: BIN passes on 16 of the million copies that each gets."""
    world = World.of([PutTopic("T"), PutCategory("C"), PutEdge(Edge("C", "T", "C"))])
    graph = TopicGraph(world.interests, world.categories, Population.alike([(("C",), 1_000_000)]), "T")
    others = 999_999
    assert graph.count(0, "din", 16).notifications == 1_000_000 * others
    found = graph.count(0, "bin", 16)
    assert found.notifications == 16 * 1_000_000 * others
    assert found.withheld == (found.notifications - 15 - 16 * others) * others
