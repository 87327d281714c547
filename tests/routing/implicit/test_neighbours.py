"""GetNeighbors, which answers from indexes, against Table 1 read literally, after every change of the world."""

from hypothesis import given, settings
from tests.effort import examples
from tests.routing.stage import Script, Stage, plays
from tests.routing.worlds import Sketch

from tocsin.semantics.interest.world import World


def agree(world: World, sketch: Sketch) -> None:
    for topic in sketch.topics:
        for name in sketch.services:
            found = world.neighbours(name, topic)
            assert list(found) == sorted(sketch.neighbours(name, topic))


@given(plays())
@settings(max_examples=examples(150))
def test_neighbours_are_those_of_table_1(play: tuple[Sketch, Script]) -> None:
    """In the order of their names: whoever starts again tells them in the same one."""
    stage = Stage(play[0])
    agree(stage.world, stage.sketch)
    for change in play[1]:
        if not isinstance(change, tuple):
            stage.change(change)
            agree(stage.world, stage.sketch)


@given(plays())
@settings(max_examples=examples(60))
def test_a_world_made_anew_from_its_changes_has_the_same_neighbours(play: tuple[Sketch, Script]) -> None:
    stage = Stage(play[0])
    for change in play[1]:
        if not isinstance(change, tuple):
            stage.change(change)
    agree(World.of(stage.world.changes()), stage.sketch)
