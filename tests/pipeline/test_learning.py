"""From counted rules to proposals, without Spark."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tocsin.model.identity import Instant
from tocsin.pipeline.learning import OWN, SHARED, Rule, Thresholds, proposed, removed_by_people, voted_down
from tocsin.semantics.interest.changes import (
    CastVote,
    Change,
    Changing,
    PutCategory,
    PutEdge,
    PutRules,
    PutService,
    PutTopic,
    RemoveEdge,
)
from tocsin.semantics.interest.ino import Edge, Key, Service, Vote
from tocsin.semantics.interest.world import World

LEARNED = Edge("Labs", "Quake", "Ports", support=0.1, confidence=0.9)


@pytest.fixture
def world() -> World:
    """Coast has four kinds under it, and a service of its own."""
    world = World()
    for name, parent in {"Labs": None, "Schools": None, "Coast": None}.items():
        world.apply(PutCategory(name, parent))
    for name in ("Ports", "Piers", "Docks", "Lights"):
        world.apply(PutCategory(name, "Coast"))
    for name, parent in {"Alarm": None, "Quake": "Alarm"}.items():
        world.apply(PutTopic(name, parent))
    for category in world.categories:
        for number in range(2):
            world.apply(PutService(Service(f"{category}-{number}", (category,))))
    return world


def rules(told: Mapping[str, int], source: str = "Labs", topic: str = "Quake") -> list[Rule]:
    """Ten publications, two services in each part: twenty chances each."""
    parts = {name: Rule(source, topic, name, count, 20, 10, 1000, 50, 1000) for name, count in told.items()}
    coast = sum(count for name, count in told.items() if name not in ("Labs", "Schools"))
    return [*parts.values(), Rule(source, topic, "Coast", coast, 100, 10, 1000, 250, 5000)]


def keys(found: list[Rule], world: World, *removed: Key) -> set[Key]:
    return {rule.key for rule in proposals(found, world, *removed)}


def proposals(found: list[Rule], world: World, *removed: Key) -> list[Rule]:
    published = {(rule.source, rule.topic): rule.published for rule in found}
    return proposed(found, published, world, removed, Thresholds())


def test_a_rule_has_its_figures() -> None:
    rule = Rule("Labs", "Quake", "Ports", 18, 20, 10, 360, 90, 1000)
    assert (rule.support, rule.confidence) == (0.05, 0.9)
    assert rule.lift == pytest.approx(10.0)


def test_what_is_told_is_proposed(world: World) -> None:
    assert keys(rules({"Ports": 18, "Piers": 2}), world) == {("Labs", "Quake", "Ports")}


def test_chance_is_not(world: World) -> None:
    few = Rule("Labs", "Quake", "Ports", 2, 2, 1, 1000, 50, 1000)
    unlikely = Rule("Labs", "Quake", "Schools", 11, 20, 10, 1000, 50, 1000)
    once = Rule("Schools", "Quake", "Docks", 18, 20, 1, 1000, 50, 1000)
    assert not proposals([few, unlikely, once], world)


def test_where_most_parts_are_told_the_whole_is_proposed(world: World) -> None:
    most = {"Ports": 18, "Piers": 17, "Docks": 19, f"Coast{OWN}": 18}
    assert keys(rules(most), world) == {("Labs", "Quake", "Coast")}
    few = {"Ports": 18, "Piers": 17, "Docks": 1}
    assert keys(rules(few), world) == {("Labs", "Quake", "Ports"), ("Labs", "Quake", "Piers")}


def test_not_over_a_part_that_was_voted_down(world: World) -> None:
    world.apply(PutEdge(LEARNED))
    world.apply(CastVote(*LEARNED.key, Vote("ann", agrees=False)))
    found = keys(rules({"Ports": 18, "Piers": 17, "Docks": 19, "Lights": 18, f"Coast{OWN}": 18}), world)
    assert found == {("Labs", "Quake", each) for each in ("Piers", "Docks", "Lights")}


def test_what_was_removed_is_not_proposed_again(world: World) -> None:
    assert not keys(rules({"Ports": 18}), world, ("Labs", "Quake", "Ports"))


def test_what_the_world_has_is_left_alone(world: World) -> None:
    world.apply(PutEdge(Edge("Labs", "Quake", "Coast")))
    assert not keys(rules({"Ports": 18}), world)


def test_what_somebody_proposed_waits_as_it_is(world: World) -> None:
    world.apply(PutEdge(Edge("Labs", "Quake", "Ports", proposed_by="bob")))
    assert not keys(rules({"Ports": 18}), world)


def test_what_was_learned_and_waits_is_proposed_with_new_figures(world: World) -> None:
    world.apply(PutEdge(LEARNED))
    assert keys(rules({"Ports": 18}), world) == {LEARNED.key}
    for name in ("ann", "bob", "cleo"):
        world.apply(CastVote(*LEARNED.key, Vote(name, agrees=True)))
    assert not keys(rules({"Ports": 18}), world)


def test_a_narrow_topic_explains_the_broad_one(world: World) -> None:
    both = [*rules({"Ports": 18}), *rules({"Ports": 19}, topic="Alarm")]
    assert keys(both, world) == {("Labs", "Quake", "Ports")}
    more = [*rules({"Ports": 18}), *rules({"Ports": 19, "Schools": 18}, topic="Alarm")]
    assert keys(more, world) == {("Labs", "Quake", "Ports"), ("Labs", "Alarm", "Schools")}


def test_and_the_broad_one_the_narrow_where_topics_are_inherited(world: World) -> None:
    world.apply(PutRules(inherit_topics=True))
    world.apply(PutEdge(Edge("Labs", "Alarm", "Ports")))
    assert not keys(rules({"Ports": 18}), world)


def test_of_the_categories_of_a_producer_the_one_that_others_share_explains_it(world: World) -> None:
    world.apply(PutService(Service("Both", ("Labs", "Schools"))))
    shared = rules({"Ports": 18}, source=f"Schools{SHARED}")
    assert keys([*rules({"Ports": 18}), *shared], world) == {("Labs", "Quake", "Ports")}
    assert keys(shared, world) == {("Schools", "Quake", "Ports")}
    more = [replace(rule, source=f"Labs{SHARED}", published=11) for rule in shared]
    assert keys([*shared, *more], world) == {("Labs", "Quake", "Ports")}
    assert not keys([*rules({"Piers": 1}, source="Schools"), *shared], world)


def test_the_surest_comes_first(world: World) -> None:
    found = proposals(rules({"Ports": 16, "Piers": 19}), world)
    assert [rule.target for rule in found] == ["Piers", "Ports"]


@pytest.mark.parametrize(("votes", "down"), [("-", True), ("+-", False), ("+--", True), ("", False), ("+++", False)])
def test_what_more_dispute_than_confirm_is_voted_down(world: World, votes: str, down: bool) -> None:
    cast = tuple(Vote(f"v{number}", sign == "+") for number, sign in enumerate(votes))
    world.apply(PutEdge(Edge(*LEARNED.key, votes=cast, support=0.1)))
    assert (LEARNED.key in voted_down(world)) is down


def test_the_owner_alone_votes_it_down(world: World) -> None:
    world.apply(PutCategory("Labs", None, "ann"))
    votes = Vote("ann", False), Vote("bob", True), Vote("cleo", True)
    world.apply(PutEdge(Edge(*LEARNED.key, votes=votes, support=0.1)))
    assert voted_down(world) == {LEARNED.key}


def test_what_was_put_back_is_not_removed() -> None:
    made: list[Change] = [PutEdge(LEARNED), RemoveEdge(*LEARNED.key), RemoveEdge("A", "T", "B"), PutEdge(LEARNED)]
    history = [Changing(number, Instant(0), "ann", change) for number, change in enumerate(made, 1)]
    assert removed_by_people(history) == {("A", "T", "B")}
