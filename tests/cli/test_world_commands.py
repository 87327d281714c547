"""`ino` and `notifiers` against a running broker."""

import json
import re
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
    asked = refused("ino", "load", str(table), *at)
    assert "category 'Media'" in asked and "--create" in asked
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


def test_a_table_holds_a_part_and_says_so(at: tuple[str, str], tmp_path: Path) -> None:
    told = inside("ino", "save", str(tmp_path / "w.csv"), *at).stderr
    assert "the edges only; --table services and --table taxonomies write the rest" in told
    told = inside("ino", "save", str(tmp_path / "w.tsv"), "--table", "taxonomies", *at).stderr
    assert "the taxonomies only; --table edges and --table services write" in told
    assert (tmp_path / "w.tsv").read_text().startswith("Kind\tName\tParent\tOwner")
    assert said("ino", "load", str(tmp_path / "w.tsv"), *at)["changed"] == 0
    assert "only" not in inside("ino", "save", str(tmp_path / "w.json"), *at).stderr


def test_wrong_use_ends_with_two(at: tuple[str, str], tmp_path: Path) -> None:
    publish = ("notifiers", "publish", "IDER", "--topic", "Earthquake")
    (tmp_path / "world.doc").write_text("x")
    for arguments, told in (
        (("ino", "load", str(tmp_path / "none.json")), "No such file"),
        (("ino", "load", str(tmp_path / "world.doc")), "json"),
        (("ino", "save", str(tmp_path / "world.doc")), "json"),
        (publish, "--data TEXT"),
        ((*publish, "--data", "@/nowhere"), "No such file"),
        ((*publish, "--data", "x", "--protocol", "gossip"), "there are: bin"),
    ):
        done = inside(*arguments, *at, check=False)
        assert done.returncode == 2 and told in done.stderr, (arguments, done.stderr)


def test_names_that_are_not_there_are_told_with_those_that_are(at: tuple[str, str]) -> None:
    assert "did you mean 'Media'? there are: Orgs, Research, Media" in refused(
        "ino", "add", "Medea", "Fire", "Zoo", *at
    )


def test_who_proposes_and_confirms_is_counted_once(at: tuple[str, str]) -> None:
    said("ino", "add", *EDGE, "--by", "bob", *at)
    said("ino", "confirm", *EDGE, "--by", "bob", *at)
    told = said("ino", "confirm", *EDGE, "--by", "cleo", *at)
    assert (told["counts"], told["brief"]) == (False, "bob, 2 of 3") and "waits for 1 more" in told["why"]
    assert "2 edges" not in (shown := inside("ino", *at).stderr) and "does not count: bob, 2 of 3" in shown
    assert "3 edges, 1 does not count" in shown


def test_tables_fit_a_terminal(broker: str) -> None:
    at = ("--broker", broker)
    assert broker in tocsin("ino", "demo", *at).stderr
    said("ino", "add", "GlobalOrgs", "Disaster Info", "NewsMedia", "--by", "bob", *at)
    for columns in (80, 120):
        tables = tocsin("ino", "--tables", *at, COLUMNS=str(columns)).stderr
        listed = tocsin("notifiers", *at, COLUMNS=str(columns)).stderr
        assert all(len(line) <= columns for line in (tables + listed).splitlines())
        assert "/notifiers/" not in tables and f"all run at {broker}" in tables
        assert re.search(r"^GlobalOrgs +Disaster Info +NewsMedia +no +bob, 1 of 3 *$", tables, re.MULTILINE)
        assert re.search(r"^IDER +ResearchOrgs +pull point +0 +0$", listed, re.MULTILINE)
    tree = tocsin("ino", *at, COLUMNS="80").stderr
    assert "MedicineFoodSupplies  CleanWaterDepot, HarvestFoods, MedicalAirBridge and 1 more\n" in tree


def test_an_edge_is_proposed_confirmed_and_disputed(at: tuple[str, str]) -> None:
    proposed = said("ino", "add", *EDGE, "--by", "ann", "--note", "they asked", *at)
    assert (proposed["counts"], proposed["proposed_by"], proposed["note"]) == (False, "ann", "they asked")
    assert "--by NAME" in refused("ino", "confirm", *EDGE, *at)
    assert not said("ino", "confirm", *EDGE, "--by", "bob", *at)["counts"]
    assert "counts: ann proposed it, and a quorum of 3" in inside("ino", "confirm", *EDGE, "--by", "cleo", *at).stderr
    assert said("ino", "dispute", *EDGE, "--by", "cleo", "--note", "no more", *at)["disagree"] == 1
    shown = inside("ino", *at).stderr
    assert "-Earthquake-> Research  does not count" in shown and "1 does not count" in shown
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
    tree = inside(
        "notifiers", "publish", "IDER", "--topic", "Earthquake", "--protocol", "cin", "--data", "", *at
    ).stderr
    assert "USGS  hop 1" in tree and "published as urn:uuid:" in tree
    directly = ("notifiers", "publish", "IDER", "--topic", "Earthquake", "--protocol", "direct", "--data", "x")
    assert "`only` names" in refused(*directly, *at)
    assert said(*directly, "--only", "TV", "--wait", "60", *at)["receivers"] == ["TV"]
    assert "the rule of 'TV' for the topic 'Earthquake' tells 'IDER'" in refused("notifiers", "remove", "IDER", *at)
    assert "TV tells USGS of 'Earthquake'" in inside("notifiers", "tell", "TV", "Earthquake", "USGS", *at).stderr
    assert said("notifiers", "list", *at)["items"][1]["tells"] == {"Earthquake": "USGS"}
    changed = said("notifiers", "tell", "TV", "Earthquake", "--nobody", "--by", "ann", *at)
    assert (changed["tells"], changed["qualities"], changed["policies"]) == ({}, {"price": 2.5}, ["live"])
    assert said("notifiers", "remove", "USGS", *at)["removed"]
    assert said("notifiers", "remove", "TV", *at)["removed"]
    assert "TV" in refused("notifiers", "remove", "TV", *at)


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("publish", "Nobody", "--topic", "Earthquake", "--data", ""), "Nobody"),
    (("create", "X", "--category", "Zoo"), "no category 'Zoo'"),
    (("create", "a/b", "--category", "Media"), "slash"),
    (("create", "X"), "--category"),
    (("create", "X", "--category", "Media", "--owner", "x" * 257), "owner"),
    (("create", "X", "--category", "Media", "--quality", "price"), "NAME=VALUE"),
    (("create", "X", "--category", "Media", "--quality", "price=nan"), "no number"),
    (("create", "X", "--category", "Media", "--tells", "Earthquake=Zoo"), "Zoo"),
    (("create", "X", "--category", "Media", "--address", "http://127.0.0.1:9/", "--dialect", "smoke"), "smoke"),
    (("result", "urn:nothing"), "urn:nothing"),
    (("tell", "Nobody", "Earthquake", "--nobody"), "no service 'Nobody'"),
    (("tell", "Nobody", "Earthquake"), "--nobody"),
    (("tell", "Nobody", "Earthquake", "IDER", "--nobody"), "--nobody"),
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
    told = said("notifiers", "publish", "IDER", "--topic", "Disaster Info", "--data", "x", "--wait", "60", *at)
    assert sorted(told["receivers"]) == ["CARE", "USGS", "USNationalGov", "USPEER", "UnitedNationsDRB"]
    assert (told["notifications"], told["repetitions"], told["stopped"]) == (5, 0, None)
