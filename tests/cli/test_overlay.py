"""`overlay simulate`: the keys that others read, the bounds it keeps, what people see, and what is asked wrongly."""

import json
from typing import Any

import pytest
from tests.cli.commands import tocsin
from tests.cli.inside import inside

KEYS = {
    "nodes",
    "hops_mean",
    "hops_p99",
    "touched_over_owners",
    "messages_per_notification",
    "recall",
    "duplicates",
}
SMALL = ("--nodes", "60", "--dimensions", "2", "--subscriptions", "60", "--notifications", "60")


@pytest.fixture(autouse=True)
def _small_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.sim.ring_costs.MOST_RUNNING", 8)


def simulated(*more: str) -> Any:
    return json.loads(inside("overlay", "simulate", *SMALL, "--json", *more).stdout)


def test_all_is_delivered_once_within_the_bounds() -> None:
    said = simulated()
    assert said.keys() >= KEYS and said["nodes"] == 60
    assert said["matches"] > 5 and (said["recall"], said["duplicates"], said["wrong"]) == (1.0, 0, 0)
    assert 1 < said["hops_mean"] <= said["hops_bound"] and said["hops_mean"] <= said["hops_p99"] <= said["hops_max"]
    assert 1 <= said["touched_over_owners"] <= 1.3
    assert said["messages_per_notification"] == pytest.approx(2 * said["hops_mean"])
    assert said["balance"]["max_over_mean_by_load"] < said["balance"]["max_over_mean"]
    assert said["balance"]["max_over_mean_moved"] < said["balance"]["max_over_mean"]
    assert said["messages"]["join"] > 0 and said["messages"]["crash"] > 0


def test_a_seed_is_another_ring() -> None:
    first, again, other = (simulated("--seed", seed) for seed in "112")
    assert {**first, "ms": 0} == {**again, "ms": 0}
    assert first["hops_mean"] != other["hops_mean"]


def test_from_the_command_line_json_stands_alone() -> None:
    done = tocsin("overlay", "simulate", "--nodes", "1", "--subscriptions", "3", "--notifications", "3", "--json")
    said = json.loads(done.stdout)
    assert (said["hops_mean"], said["recall"], said["touched_over_owners"]) == (0, 1, 1) and done.stderr == ""


def test_people_see_a_table() -> None:
    done = inside("overlay", "simulate", *SMALL)
    lines = done.stderr.splitlines()
    assert done.stdout == "" and lines[0].startswith("60 nodes, 2 dimensions; 60 subscriptions, 60 notifications,")
    assert lines[1].split() == ["measured", "to", "reach"]
    assert next(line for line in lines if line.startswith("recall")).split() == ["recall", "1", "1"]
    assert any(line.startswith("balance, places by load") for line in lines)


@pytest.mark.parametrize(("name", "value"), [("--nodes", "0"), ("--dimensions", "17"), ("--subscriptions", "-1")])
def test_what_is_asked_wrongly_is_told(name: str, value: str) -> None:
    done = inside("overlay", "simulate", name, value, check=False)
    assert (done.returncode, done.stdout) == (2, "") and name in done.stderr
