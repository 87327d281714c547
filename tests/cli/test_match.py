"""match: a dry run of semantic matching."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.inside import inside as tocsin

DEMO = Path(__file__).parents[2] / "src" / "tocsin" / "semantics" / "demo"
ONTOLOGY, SUBSCRIPTIONS, EVENTS = (
    DEMO / each for each in ("auction.ttl", "auction-subscriptions.jsonl", "auction-events.nq")
)


def lines(*arguments: str) -> list[Any]:
    return [json.loads(each) for each in tocsin("match", *arguments).stdout.splitlines()]


def files(subscriptions: Path = SUBSCRIPTIONS, events: Path = EVENTS, ontology: Path = ONTOLOGY) -> list[str]:
    return ["--ontology", str(ontology), "--subscriptions", str(subscriptions), "--events", str(events)]


def wrong(*arguments: str) -> str:
    done = tocsin("match", *arguments, check=False)
    assert done.returncode == 2 and not done.stdout
    return done.stderr.replace("\n", " ")


def test_the_demo() -> None:
    found = {each["event"].rpartition(":")[2]: each["subscriptions"] for each in lines("--demo")}
    assert found["figure-1"] == ["disk-of-the-same-maker"]
    assert found["notebook-350"] == ["figure-3", "figure-3-sparql", "telephone"]
    assert lines(*files()) == lines("--demo", "--json")


def test_words_go_to_standard_error() -> None:
    done = tocsin("match", "--demo")
    assert "15 classes" in done.stderr and "6 events, 8 matches" in done.stderr


def test_explained_as_a_tree() -> None:
    told = tocsin("match", "--demo", "--explain").stderr
    assert "figure-3 does not match" in told and "is not < 400" in told
    assert "?1, the target of _:H, a Computer: _:productnotebook350 (NotebookPC)" in told
    assert "no telephoneNumber leads from ?1" in told


def test_explained_as_json() -> None:
    by_event = {each["event"].rpartition(":")[2]: each["explained"] for each in lines("--demo", "--explain", "--json")}
    found = {each["subscription"]: each for each in by_event["notebook-350"]}
    assert found["figure-3"]["matches"] and found["figure-3"]["bindings"]["?1"] == "_:productnotebook350"
    missing = found["disk-of-the-same-maker"]
    assert not missing["matches"] and missing["failed"] == "?3"
    assert missing["reasons"] == ["no contains leads from ?1"] and missing["mapping"]["?2"] == "_:makernotebook350"


def test_many_are_found_by_the_index(tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    asked = [json.loads(each) for each in SUBSCRIPTIONS.read_text().splitlines()]
    rows = [json.dumps(each | {"id": f"{each['id']}-{copy}"}) for copy in range(20) for each in asked]
    many.write_text("\n".join(rows))
    for one, several in zip(lines(*files()), lines(*files(many)), strict=True):
        assert several["subscriptions"] == [f"{name}-{copy}" for copy in range(20) for name in one["subscriptions"]]


def test_another_syntax_and_plain_sparql(tmp_path: Path) -> None:
    asked = tmp_path / "asked.jsonl"
    query = "SELECT * { _:H a:seller ?one . _:H a:seller ?other }"
    both = [{"id": name, "sparql": query, "prefixes": {"a": "urn:tocsin:demo:auction#"}} for name in ("own", "plain")]
    asked.write_text("\n".join(json.dumps(each | {"plain": each["id"] == "plain"}) for each in both))
    found = lines(*files(asked, ontology=DEMO / "auction-daml.rdf"))
    assert {name for each in found for name in each["subscriptions"]} == {"plain"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not a JSON object"),
        ('{"id": "a"}', "and a pattern or sparql"),
        ('{"id": "a", "pattern": "x", "sparql": "y"}', "and a pattern or sparql"),
        ('{"id": 1, "pattern": "x"}', "id must be str"),
        ('{"id": "a", "pattern": "x", "kind": 1}', "'kind' is not known"),
        ('{"id": "a", "pattern": "(_:H, ?1, (Selling, target, Aeroplane))"}', "Aeroplane"),
        ('{"id": "a", "pattern": "(_:H, ?1"}', "position"),
        ('{"id": "a", "sparql": "CONSTRUCT {} {}"}', "position"),
        ('{"id": "first", "sparql": "ASK { _:H ?p 1 }"}', "position"),
    ],
)
def test_a_wrong_subscription_is_told_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    asked = tmp_path / "asked.jsonl"
    asked.write_text(f'{{"id": "first", "pattern": "(_:H, ?1, (Selling, target, Computer))"}}\n\n{line}\n')
    told = wrong(*files(asked))
    assert f"{asked}:3: " in told and words in told


def test_an_id_is_there_once(tmp_path: Path) -> None:
    asked = tmp_path / "asked.jsonl"
    asked.write_text(2 * '{"id": "same", "pattern": "(_:H, ?1, (Selling, target, Computer))"}\n')
    assert f"{asked}:2: the id 'same' was there before" in wrong(*files(asked))


def test_a_wrong_event_is_told_with_its_name(tmp_path: Path) -> None:
    events = tmp_path / "events.nq"
    a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    events.write_text(f"_:H {a} <urn:nothing> <urn:e> .\n")
    done = tocsin("match", *files(events=events), check=False)
    assert done.returncode == 2 and f"{events}: the event urn:e: " in done.stderr and "urn:nothing" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--demo", "--events", "x"], "--demo brings its own"),
        (["--events", "x"], "or see --demo"),
        (files(ontology=Path("/nowhere.ttl")), "/nowhere.ttl: No such file"),
        (files(ontology=EVENTS), "not readable"),
    ],
)
def test_wrong_use(arguments: list[str], words: str) -> None:
    assert words in wrong(*arguments)
