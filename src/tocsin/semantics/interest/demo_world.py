"""The demo: disaster management as in paper 000, with the interests of its Fig. 14 and twenty services."""

from importlib.resources import files

from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.changes import Change
from tocsin.semantics.interest.world import World


def demo_changes() -> tuple[Change, ...]:
    data = files("tocsin.semantics").joinpath("demo", "disaster.json").read_bytes()
    return world_json.read(data).changes


def demo() -> World:
    return World.of(demo_changes())
