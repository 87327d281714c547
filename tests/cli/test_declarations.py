"""spaces, types and producers against a running broker."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.inside import inside as tocsin

from tocsin.cli.output import MOST_BRANCHES, hierarchy

WHEN = "when:time:..2100-01-01T00:00:00Z"
PLACE = "http://p.example/a?x=1#y"


def said(*arguments: str) -> Any:
    return json.loads(tocsin(*arguments, "--json").stdout)


@pytest.mark.broker
def test_spaces(broker: str, tmp_path: Path) -> None:
    at = ("--broker", broker)
    assert "spaces declare" in tocsin("spaces", "list", *at).stderr
    wanted = (
        "place:string",
        "temperature:number:-50..60",
        "sky:enumeration:clear|cloudy",
        "when:time:..2100-01-01T00:00:00Z",
    )
    made = said("spaces", "declare", "weather", *wanted, *at)
    assert made["dimensions"][1:] == [
        {"name": "temperature", "kind": "number", "low": -50.0, "high": 60.0},
        {"name": "sky", "kind": "enumeration", "values": ["clear", "cloudy"]},
        {"name": "when", "kind": "time", "high": "2100-01-01T00:00:00Z"},
    ]
    assert said("spaces", "list", *at)["items"] == [made] == [said("spaces", "show", "weather", *at)]
    listed = tocsin("spaces", "list", *at).stderr
    assert "weather" in listed and "temperature (number -50.0..60.0), sky (clear|cloudy)" in listed
    shown = tocsin("spaces", "show", "weather", *at).stderr
    assert "2100-01-01T00:00:00Z" in shown and "clear|cloudy" in shown
    file = tmp_path / "space.json"
    file.write_text('{"dimensions": [{"name": "x", "kind": "number"}]}')
    assert "line:x" in tocsin("spaces", "declare", "line", "--file", str(file), *at).stderr
    assert "withdrawn" in tocsin("spaces", "withdraw", "line", *at).stderr
    again = tocsin("spaces", "withdraw", "line", *at, check=False)
    assert again.returncode == 1 and "no information space 'line'" in again.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        ("x",),
        ("x:colour",),
        ("x:number:3",),
        ("x:number:a..b",),
        ("x:number:nan..5",),
        ("x:number:1e400..2",),
        ("x:number:1..inf",),
        ("x:string:a..b",),
    ],
)
def test_a_dimension_that_is_none_is_not_even_sent(wrong: tuple[str, ...]) -> None:
    done = tocsin("spaces", "declare", "s", *wrong, "--broker", "http://127.0.0.1:9", check=False)
    assert done.returncode == 2 and "place:string" in done.stderr


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("sky:enumeration:clear,rain", "'sky:enumeration:clear|rain'"),
        ("place:strin", "choose one of string, number, enumeration, time"),
    ],
)
def test_what_was_meant_by_a_dimension_is_told(wrong: str, words: str) -> None:
    done = tocsin("spaces", "declare", "s", wrong, "--broker", "http://127.0.0.1:9", check=False)
    assert done.returncode == 2 and words in done.stderr.replace("\n", " ")


@pytest.mark.broker
def test_types_are_drawn_as_a_tree(broker: str, tmp_path: Path) -> None:
    at = ("--broker", broker)
    assert "types set" in tocsin("types", "list", *at).stderr
    file = tmp_path / "types.json"
    file.write_text('{"parents": {"{urn:x}flood": ["alert", "water"], "alert": ["thing"]}}')
    assert "declared 2 types" in tocsin("types", "declare", str(file), *at).stderr
    assert "kind of alert" in tocsin("types", "set", "fire", "alert", *at).stderr
    assert said("types", "set", "{urn:x}flood", "alert", *at)["parents"] == {
        "alert": ["thing"],
        "fire": ["alert"],
        "{urn:x}flood": ["alert"],
    }
    tree = tocsin("types", "list", *at).stderr
    assert "thing\n└── alert\n    ├── fire\n    └── {urn:x}flood" in tree
    assert said("types", "set", "fire", *at)["parents"].keys() == {"alert", "{urn:x}flood"}
    cycle = tocsin("types", "set", "thing", "alert", *at, check=False)
    assert cycle.returncode == 1 and "alert -> thing -> alert" in cycle.stderr


@pytest.mark.broker
def test_producers(broker: str, tmp_path: Path) -> None:
    at = ("--broker", broker)
    assert "producers declare" in tocsin("producers", "list", *at).stderr
    properties, description = tmp_path / "p.xml", tmp_path / "d.ttl"
    properties.write_text("<can><fly/></can>")
    description.write_text("<> a <urn:Z> .")
    files = ("--properties", str(properties), "--description", str(description))
    made = said("producers", "declare", PLACE, "--category", "hospital", "--category", "fast", *files, *at)
    assert (made["address"], made["categories"], made["of_world"]) == (PLACE, ["hospital", "fast"], False)
    assert said("producers", "list", *at)["items"] == [made] == [said("producers", "show", PLACE, *at)]
    assert "hospital, fast" in tocsin("producers", "list", *at).stderr
    shown = tocsin("producers", "show", PLACE, *at).stderr
    assert "<can><fly/></can>" in shown and "<urn:Z> ." in shown
    tocsin("producers", "declare", "/s", *at)
    found = said("producers", "list", "--limit", "1", *at)
    assert len(found["items"]) == 1 and found["more"]
    categories = tmp_path / "c.json"
    categories.write_text('{"parents": {"hospital": ["care"]}}')
    assert "care\n└── hospital" in tocsin("producers", "categories", str(categories), *at).stderr
    assert said("producers", "categories", *at) == {"parents": {"hospital": ["care"]}, "of_world": False}
    tocsin("producers", "withdraw", PLACE, *at)
    missing = tocsin("producers", "show", PLACE, *at, check=False)
    assert missing.returncode == 1 and "no producer" in missing.stderr
    properties.write_text("<can>")
    refused = tocsin("producers", "declare", PLACE, "--properties", str(properties), *at, check=False)
    assert refused.returncode == 1 and "not well-formed" in refused.stderr


def test_a_hierarchy_with_ever_more_ways_is_drawn_to_an_end() -> None:
    """A lattice of twenty storeys has a million ways down."""
    parents = {f"{row}{side}": [f"{row - 1}a", f"{row - 1}b"] for row in range(1, 20) for side in "ab"}

    def count(tree: Any) -> int:
        return sum(1 + count(each) for each in tree.children)

    assert MOST_BRANCHES <= count(hierarchy(parents)) <= MOST_BRANCHES + 2
