"""The part of the world that a node knows answers for its own services as the whole world would."""

from hypothesis import given
from tests.routing.worlds import Sketch, sketches

from tocsin.semantics.interest.changes import PutCategory, PutService, PutTopic
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.partition import Entry, part_of
from tocsin.semantics.interest.world import World


@given(sketches())
def test_neighbours_are_those_of_the_world(sketch: Sketch) -> None:
    world = sketch.world()
    for name, service in world.services.items():
        part = part_of(world, [service])
        for topic in sketch.topics:
            assert part.neighbours(name, topic) == world.neighbours(name, topic)


@given(sketches())
def test_nobody_is_known_but_those_who_are_told_and_oneself(sketch: Sketch) -> None:
    world = sketch.world()
    for name, service in world.services.items():
        told = {other for topic in sketch.topics for other in world.neighbours(name, topic)}
        assert set(part_of(world, [service]).entries) == told | {name}
        assert set(part_of(world, [service]).told) == set(service.categories)


def test_whom_a_service_tells_by_its_own_rule_is_known_too() -> None:
    world = World.of(
        [PutTopic("T"), PutCategory("C"), PutService(Service("A", ("C",), notifier="http://a/x", node="http://a"))]
    )
    world.apply(PutService(Service("B", ("C",), tells={"T": "A"})))
    part = part_of(world, [world.services["B"]])
    assert part.entries["A"] == Entry("http://a/x", "http://a")
    assert (part.version, part.topics) == (world.version, {"T": None})
