"""The papers' scenarios as files, and the demo world: what each protocol sends (paper 000, Fig. 7 to 18)."""

from pathlib import Path

import pytest

from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.world_forms import demo
from tocsin.sim.implicit import disseminate

SCENARIOS = Path(__file__).parents[2] / "examples" / "scenarios"
ENDLESS = -1
# notifications and repetitions, by protocol
COUNTS: dict[str, dict[str, tuple[int, int]]] = {
    "fig-7": {"bin": (ENDLESS, 0), "cin": (3, 0), "din": (4, 1), "hin": (3, 0), "hin-din": (3, 0), "dht-cin": (3, 0)},
    "fig-8": {"bin": (8, 4), "cin": (4, 0), "din": (8, 4), "hin": (4, 0), "hin-din": (4, 0), "dht-cin": (4, 0)},
    "fig-13": {"bin": (6, 2), "cin": (4, 0), "din": (5, 1), "hin": (6, 2), "hin-din": (5, 1), "dht-cin": (4, 0)},
    "fig-18a": {"bin": (6, 3), "cin": (3, 0), "din": (5, 2), "hin": (4, 1), "hin-din": (4, 1), "dht-cin": (3, 0)},
    "fig-18b": {"bin": (4, 1), "cin": (3, 0), "din": (4, 1), "hin": (4, 1), "hin-din": (4, 1), "dht-cin": (3, 0)},
    "fig-16": {
        "bin": (ENDLESS, 0),
        "cin": (5, 0),
        "din": (15, 10),
        "hin": (5, 0),
        "hin-din": (5, 0),
        "dht-cin": (5, 0),
    },
}
FIG_16 = {"CARE", "UnitedNationsDRB", "USNationalGov", "USGS", "USPEER"}


def scenario(name: str) -> world_json.Document:
    return world_json.read((SCENARIOS / f"{name}.json").read_bytes())


@pytest.mark.parametrize("protocol", ["bin", "cin", "din", "hin", "hin-din", "dht-cin"])
@pytest.mark.parametrize("name", COUNTS)
def test_each_protocol_sends_what_the_paper_counts(name: str, protocol: str) -> None:
    document = scenario(name)
    assert document.publish is not None
    world, root = document.world(), document.publish.root
    result = disseminate(world, root, document.publish.topic, protocol, limit=500)
    notifications, repetitions = COUNTS[name][protocol]
    if notifications == ENDLESS:
        assert result.stopped == "limit"
    else:
        assert (result.notifications, result.repetitions, result.stopped) == (notifications, repetitions, None)
    assert set(result.receivers) == world.services.keys() - {root}


def test_every_scenario_is_counted() -> None:
    assert {path.stem for path in SCENARIOS.glob("fig-*.json")} == COUNTS.keys()


@pytest.mark.parametrize("protocol", ["bin", "cin", "din", "hin", "hin-din", "dht-cin"])
def test_in_the_demo_world_the_message_of_fig_16_reaches_exactly_five(protocol: str) -> None:
    result = disseminate(demo(), "IDER", "Disaster Info", protocol, limit=500)
    assert set(result.receivers) == FIG_16


def test_the_demo_world_is_that_of_the_paper() -> None:
    world = demo()
    assert (len(world.services), len(world.categories), len(world.topics), len(world.edges)) == (20, 7, 4, 18)
    assert world.services["DetroitTV"].categories == ("NewsMedia",)
    assert {each.name for each in world.members("NationalOrgs")} == {"USNationalGov"}
    assert all(world.members(category) for category in world.categories)
    assert scenario("fig-16").world().edges == world.edges
