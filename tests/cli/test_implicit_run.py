"""`implicit run`: the counts of the paper's scenarios, what is read wrong, and what people see."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import tocsin
from tests.cli.inside import inside

SCENARIOS = Path(__file__).parents[2] / "examples" / "scenarios"
# sent and repeated, by protocol; None where it does not end by itself
COUNTS: dict[str, dict[str, tuple[int, int] | None]] = {
    "fig-7": {"bin": None, "cin": (3, 0), "din": (4, 1), "hin": (3, 0), "hin-din": (3, 0), "dht-cin": (3, 0)},
    "fig-8": {"bin": (8, 4), "cin": (4, 0), "din": (8, 4), "hin": (4, 0), "hin-din": (4, 0), "dht-cin": (4, 0)},
    "fig-13": {"bin": (6, 2), "cin": (4, 0), "din": (5, 1), "hin": (6, 2), "hin-din": (5, 1), "dht-cin": (4, 0)},
    "fig-18a": {"bin": (6, 3), "cin": (3, 0), "din": (5, 2), "hin": (4, 1), "hin-din": (4, 1), "dht-cin": (3, 0)},
    "fig-18b": {"bin": (4, 1), "cin": (3, 0), "din": (4, 1), "hin": (4, 1), "hin-din": (4, 1), "dht-cin": (3, 0)},
    "fig-16": {"bin": None, "cin": (5, 0), "din": (15, 10), "hin": (5, 0), "hin-din": (5, 0), "dht-cin": (5, 0)},
}
WORLD: dict[str, Any] = {
    "topics": {"Disaster": None, "Fire": "Disaster"},
    "categories": {"C1": None, "C2": None, "C3": "C2"},
    "edges": [["C1", "Disaster", "C2"]],
    "services": {"A": ["C1"], "B": ["C3"]},
    "publish": {"root": "A", "topic": "Disaster", "data": "x"},
}


def written(folder: Path, **changed: object) -> str:
    path = folder / "scenario.json"
    path.write_text(json.dumps(WORLD | changed))
    return str(path)


@pytest.mark.parametrize("name", COUNTS)
def test_the_counts_of_the_paper(name: str) -> None:
    done = inside("implicit", "run", str(SCENARIOS / f"{name}.json"), "--protocol", "all", "--json")
    found = {each["protocol"]: each for each in json.loads(done.stdout)["results"]}
    assert found.keys() == COUNTS[name].keys()
    for protocol, counts in COUNTS[name].items():
        said = found[protocol]
        assert (said["stopped"] == "limit") == (counts is None)
        assert counts in (None, (said["notifications"], said["repetitions"]))
        assert said["root"] not in said["receivers"]
        assert set(said["receivers"]) == set(found["cin"]["receivers"])


def test_one_protocol_answers_with_the_keys_that_others_read() -> None:
    said = json.loads(tocsin("implicit", "run", str(SCENARIOS / "fig-16.json"), "--protocol", "hin", "--json").stdout)
    assert {"protocol", "notifications", "repetitions", "receivers", "trace", "stopped"} <= said.keys()
    assert sorted(said["receivers"]) == ["CARE", "USGS", "USNationalGov", "USPEER", "UnitedNationsDRB"]
    assert {"from", "to", "hop"} <= said["trace"][0].keys() and said["trace"][0]["from"] == "IDER"


def test_people_see_a_tree(tmp_path: Path) -> None:
    done = inside("implicit", "run", str(SCENARIOS / "fig-13.json"), "--protocol", "din")
    assert done.stdout == "" and "4 services told, 5 notifications, 1 repetition" in done.stderr
    tree = done.stderr.splitlines()[1:]
    assert tree[0].startswith("N1  publishes T")
    assert any("N5  hop 3" in line for line in tree) and any("N4 again: a repetition" in line for line in tree)
    kept = inside("implicit", "run", str(SCENARIOS / "fig-8.json"), "--protocol", "cin").stderr
    assert "N2 not again: the central history has it" in kept
    looping = inside("implicit", "run", str(SCENARIOS / "fig-7.json"), "--protocol", "bin", "--limit", "60").stderr
    assert "stopped by the limit" in looping and "times" in looping
    alone = inside("implicit", "run", written(tmp_path, edges=[]), "--protocol", "din").stderr
    assert "nobody is told" in alone


def test_all_protocols_are_compared_in_a_table() -> None:
    lines = inside("implicit", "run", str(SCENARIOS / "fig-8.json"), "--protocol", "all").stderr.splitlines()
    sent = {name: counts for name, counts in COUNTS["fig-8"].items() if counts is not None}
    assert [line.split()[:3] for line in lines[1:]] == [[name, *map(str, counts)] for name, counts in sent.items()]


def test_another_order_of_arrival_can_be_seen_again() -> None:
    def steps(*options: str) -> Any:
        command = ("implicit", "run", str(SCENARIOS / "fig-16.json"), "--protocol", "din", "--json")
        return json.loads(inside(*command, *options).stdout)["trace"]

    assert steps("--seed", "3") == steps("--seed", "3") != steps("--seed", "4")
    assert {step["ms"] for step in steps("--delay", "5") if step["hop"] == 1} == {5.0}
    assert all(1 <= step["ms"] <= 40 for step in steps("--delay", "1-20", "--seed", "1"))


def test_inheritance_is_asked_for_by_name(tmp_path: Path) -> None:
    fire = written(tmp_path, publish={"root": "A", "topic": "Fire", "data": ""})
    (tmp_path / "other").mkdir()
    below = written(tmp_path / "other", services={"A": ["C3"], "B": ["C1"]}, edges=[["C2", "Disaster", "C1"]])
    for path, what in ((fire, "topics"), (below, "categories")):
        command = ("implicit", "run", path, "--protocol", "hin-din", "--json")
        assert json.loads(inside(*command).stdout)["receivers"] == []
        assert json.loads(inside(*command, "--inherit", what).stdout)["receivers"] == ["B"]


def test_a_scenario_may_come_by_standard_input() -> None:
    done = inside("implicit", "run", "-", "--protocol", "din", "--json", text=json.dumps(WORLD))
    assert json.loads(done.stdout)["receivers"] == ["B"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"edges": [["C1", "Disaster", "Zoo"]]}, ("edges[0]", "no category 'Zoo'")),
        ({"topics": {"Disaster": "Fire", "Fire": "Disaster"}}, ("topic", "cycle")),
        ({"services": {"A": [], "B": ["C3"]}}, ("A", "no category")),
        ({"publish": {"root": "Z", "topic": "Fire"}}, ("publish.root", "'Z' is no service")),
        ({"publish": {"root": "A", "topic": "Zoo"}}, ("Zoo",)),
        ({"publish": None}, ("publish",)),
        ({"edges": 7}, ("edges",)),
    ],
)
def test_what_is_wrong_in_the_file_is_told(tmp_path: Path, changed: dict[str, object], words: tuple[str, ...]) -> None:
    path = written(tmp_path, **changed)
    done = inside("implicit", "run", path, "--protocol", "din", "--json", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(word in done.stderr for word in (path, *words)) and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--protocol", "smoke"), "hin-din"),
        (("--protocol", "din", "--delay", "soon"), "milliseconds"),
        (("--protocol", "din", "--delay", "9-1"), "smaller number"),
        (("--protocol", "din", "--limit", "0"), "--limit"),
        (("--protocol", "din", "--inherit", "money"), "--inherit"),
    ],
)
def test_what_is_asked_wrongly_is_told(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    done = inside("implicit", "run", written(tmp_path), *options, check=False)
    assert done.returncode == 2 and words in done.stderr


def test_a_file_that_is_not_there() -> None:
    done = inside("implicit", "run", "/nowhere.json", "--protocol", "din", check=False)
    assert done.returncode == 2 and "No such file" in done.stderr
