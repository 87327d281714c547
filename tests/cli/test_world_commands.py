"""`ino` and `notifiers` against a running broker."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import tocsin
from tests.cli.inside import inside

WORLD = {
    "topics": {"Disaster Info": None, "Earthquake": "Disaster Info"},
    "categories": {"Orgs": None, "Research": "Orgs", "Media": "Orgs"},
    "edges": [["Research", "Disaster Info", "Media"], ["Research", "Earthquake", "Research"]],
}
EDGE = ("Media", "Earthquake", "Research")
TABLE = "CategorySender,Topic,CategoryReceiver\nMedia,Fire,Zoo\n"
pytestmark = pytest.mark.broker


def said(*arguments: str) -> Any:
    return json.loads(inside(*arguments, "--json").stdout)


def refused(*arguments: str) -> str:
    done = inside(*arguments, check=False)
    assert done.returncode and not done.stdout and "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture
def at(broker: str, tmp_path: Path) -> tuple[str, str]:
    """A broker with a small world."""
    path = tmp_path / "world.json"
    path.write_text(json.dumps(WORLD))
    at = ("--broker", broker)
    assert said("ino", "load", str(path), *at)["changed"] == 7
    return at


def test_the_world_from_nothing_to_a_picture(broker: str, tmp_path: Path) -> None:
    at = ("--broker", broker)
    assert "ino demo" in tocsin("ino", *at).stderr
    table = tmp_path / "edges.csv"
    table.write_text(TABLE)
    assert "category 'Media'" in refused("ino", "load", str(table), *at)
    assert (
        "made; now 1 topic, 0 services, 1 edge, 2 categories"
        in inside("ino", "load", str(table), "--create", *at).stderr
    )
    shown = inside("ino", *at).stderr
    assert "Media\n└── -Fire-> Zoo\n" in shown and "0 services, 1 edge" in shown
    assert "/nowhere.json: No such file" in refused("ino", "load", "/nowhere.json", *at)
    strange = tmp_path / "world.doc"
    strange.write_text("x")
    assert "json" in refused("ino", "load", str(strange), *at)


def test_every_form_can_be_saved_and_loaded(at: tuple[str, str], tmp_path: Path) -> None:
    whole = said("ino", *at)
    assert {"version", "rules", "topics", "categories", "services", "edges"} == whole.keys()
    for ending in ("json", "ttl", "rdf"):
        path = str(tmp_path / f"saved.{ending}")
        inside("ino", "save", path, *at)
        assert said("ino", "load", path, "--replace", *at)["changed"] == 0
    assert inside("ino", "save", "-", "--form", "csv", "--table", "taxonomies", *at).stdout.startswith("Kind,Name")
    assert "No such file" in refused("ino", "save", "/no/where.ttl", *at)


def test_an_edge_is_proposed_confirmed_and_disputed(at: tuple[str, str]) -> None:
    proposed = said("ino", "add", *EDGE, "--by", "ann", "--note", "they asked", *at)
    assert (proposed["counts"], proposed["proposed_by"], proposed["note"]) == (False, "ann", "they asked")
    assert "--by NAME" in refused("ino", "confirm", *EDGE, *at)
    assert not said("ino", "confirm", *EDGE, "--by", "bob", *at)["counts"]
    assert "counts: ann proposed it, and a quorum of 3" in inside("ino", "confirm", *EDGE, "--by", "cleo", *at).stderr
    assert said("ino", "dispute", *EDGE, "--by", "cleo", "--note", "no more", *at)["disagree"] == 1
    shown = inside("ino", *at).stderr
    assert "-Earthquake-> Research  does not count" in shown and "1 do not count" in shown
    assert "Media is owned by dora" in inside("ino", "own", "Media", "dora", *at).stderr
    assert said("ino", "confirm", *EDGE, "--by", "dora", *at)["counts"]
    assert said("ino", "own", "Media", "-", *at)["owner"] is None
    assert "no category 'Zoo'" in refused("ino", "own", "Zoo", "dora", *at)
    assert "cleo disputes Media -Earthquake-> Research: no more" in inside("ino", "history", *at).stderr
    assert [each["version"] for each in said("ino", "history", "--after", "7", "--limit", "2", *at)["items"]] == [8, 9]
    assert said("ino", "rules", "--quorum", "1", "--inherit", "topics", *at)["quorum"] == 1
    assert "quorum of 1 decides over an edge; topics inherited" in inside("ino", "rules", *at).stderr
    assert not said("ino", "rules", "--no-inherit", *at)["inherit_topics"]
    assert said("ino", "remove", *EDGE, *at)["removed"]
    assert "no edge" in refused("ino", "remove", *EDGE, *at)
    assert "no category 'Zoo'" in refused("ino", "add", "Media", "Earthquake", "Zoo", *at)


def test_notifiers_are_made_told_and_removed(at: tuple[str, str], tmp_path: Path) -> None:
    assert "notifiers create" in inside("notifiers", *at).stderr
    ider = said("notifiers", "create", "IDER", "--category", "Research", *at)
    assert ider["notifier"].endswith("/notifiers/IDER") and ider["address"] == ""
    made = said(
        *("notifiers", "create", "TV", "--category", "Media", "--category", "Orgs", "--quality", "price=2.5"),
        *("--policy", "live", "--tells", "Earthquake=IDER", *at),
    )
    assert (made["categories"], made["qualities"], made["tells"]) == (
        ["Media", "Orgs"],
        {"price": 2.5},
        {"Earthquake": "IDER"},
    )
    assert "pull point" in inside("notifiers", "create", "USGS", "--category", "Research", *at).stderr
    assert [each["name"] for each in said("notifiers", "list", *at)["items"]] == ["IDER", "TV", "USGS"]
    assert "pull point" in inside("notifiers", *at).stderr
    assert [each["name"] for each in said("ino", "neighbours", "IDER", "Disaster Info", *at)["items"]] == ["TV", "USGS"]
    assert "Research -Disaster Info-> Media" in inside("ino", "neighbours", "IDER", "Disaster Info", *at).stderr
    assert "tells nobody" in inside("ino", "neighbours", "TV", "Earthquake", *at).stderr
    alert = tmp_path / "alert.xml"
    alert.write_text("<quake/>")
    told = said(
        *("notifiers", "publish", "IDER", "--topic", "Disaster Info", "--data", f"@{alert}"),
        *("--media-type", "application/xml", "--wait", "60", *at),
    )
    assert (sorted(told["receivers"]), told["protocol"], told["waiting"]) == (["TV", "USGS"], "hin-din", [])
    assert "<quake/>" in inside("pull", made["subscription"], "--json", *at).stdout
    shown = inside("notifiers", "result", told["id"], *at).stderr
    assert "IDER  publishes Disaster Info" in shown and "TV  hop 1" in shown
    assert "not again: the header names it" in shown
    tree = inside("notifiers", "publish", "IDER", "--topic", "Earthquake", "--protocol", "cin", *at).stderr
    assert "USGS  hop 1" in tree and "published as urn:uuid:" in tree
    assert "'IDER' is used by TV" in refused("notifiers", "remove", "IDER", *at)
    assert said("notifiers", "remove", "TV", *at)["removed"]
    assert "TV" in refused("notifiers", "remove", "TV", *at)


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("publish", "Nobody", "--topic", "Earthquake"), "Nobody"),
    (("create", "X", "--category", "Zoo"), "no category 'Zoo'"),
    (("create", "a/b", "--category", "Media"), "slash"),
    (("create", "X"), "--category"),
    (("create", "X", "--category", "Media", "--quality", "price"), "NAME=VALUE"),
    (("create", "X", "--category", "Media", "--quality", "price=nan"), "no number"),
    (("create", "X", "--category", "Media", "--tells", "Earthquake=Zoo"), "Zoo"),
    (("create", "X", "--category", "Media", "--address", "http://127.0.0.1:9/", "--dialect", "smoke"), "smoke"),
    (("result", "urn:nothing"), "urn:nothing"),
]


def test_what_cannot_be_done_with_notifiers(at: tuple[str, str]) -> None:
    before = said("ino", *at)
    for arguments, told in WRONG:
        assert told in refused("notifiers", *arguments, *at), arguments
    assert said("ino", *at) == before


def test_the_demo_reaches_exactly_the_five_of_the_paper(broker: str) -> None:
    at = ("--broker", broker)
    assert "created 20 notifiers" in inside("ino", "demo", *at).stderr
    assert said("ino", "demo", *at) == {"notifiers": []}
    told = said("notifiers", "publish", "IDER", "--topic", "Disaster Info", "--wait", "60", *at)
    assert sorted(told["receivers"]) == ["CARE", "USGS", "USNationalGov", "USPEER", "UnitedNationsDRB"]
    assert (told["notifications"], told["repetitions"], told["stopped"]) == (5, 0, None)
