"""ontology and ontology lifting, against a running broker and without one."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.inside import inside as tocsin

AUCTION = Path(__file__).parents[2] / "src" / "tocsin" / "semantics" / "demo" / "auction.ttl"
PREFIXES = "@prefix g: <urn:g#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
TREE, RAKE = f"{PREFIXES} g:Tree a owl:Class .", f"{PREFIXES} g:Rake a owl:Class ."
LIFTING = {"syntax": "json", "types": ["offer"], "class": "Selling", "properties": {"target": {"named": "units:x"}}}


def said(*arguments: str) -> Any:
    return json.loads(tocsin(*arguments, "--json").stdout)


@pytest.mark.broker
def test_ontologies(broker: str, tmp_path: Path) -> None:
    at, file = ("--broker", broker), tmp_path / "garden.ttl"
    assert "ontology declare" in tocsin("ontology", "list", *at).stderr
    told = tocsin("ontology", "declare", "auction", str(AUCTION), *at).stderr
    assert "declared auction: 15 classes, 15 properties" in told
    file.write_text(TREE)
    assert said("ontology", "declare", "garden", str(file), *at)["classes"] == 1
    listed = tocsin("ontology", "list", *at).stderr.splitlines()
    assert listed[0].split() == ["ontology", "classes", "properties", "statements", "individuals"]
    assert listed[2].split() == ["garden", "1", "0", "0", "0"]
    assert [each["name"] for each in said("ontology", "list", *at)["items"]] == ["auction", "garden"]
    assert said("ontology", "show", "garden", *at)["classes"] == {"urn:g#Tree": []}
    shown = tmp_path / "again.ttl"
    shown.write_text(tocsin("ontology", "show", "auction", *at).stdout)
    assert "15 classes" in tocsin("ontology", "declare", "auction", str(shown), "--dry-run", *at).stderr
    missing = tocsin("ontology", "show", "gardn", *at, check=False)
    assert missing.returncode == 1 and "garden" in missing.stderr

    consumer = ("--to", "http://127.0.0.1:9/", *at)
    made = said("subscribe", *consumer, "--pattern", "(_:H, ?1, (Selling, target, owl:Thing))")
    gone = said("subscribe", *consumer, "--sparql", "ASK { _:H a g:Tree }", "--namespace", "g=urn:g#", "--plain")
    shown_whole = tocsin("subscriptions", "show", made["id"], *at).stderr
    assert '{"urn:tocsin:dialect:graph-pattern":' in shown_whole
    file.write_text(RAKE)
    would = tocsin("ontology", "declare", "garden", str(file), "--dry-run", *at).stderr
    assert "would declare garden" in would and "a subscription would be suspended" in would and gone["id"] in would
    done = tocsin("ontology", "declare", "garden", str(file), *at).stderr
    assert "a subscription is suspended" in done and gone["id"] in done and "Tree" in done and made["id"] not in done
    assert said("status", gone["id"], *at)["state"] == "suspended"
    assert "withdrawn" in tocsin("ontology", "withdraw", "garden", *at).stderr


@pytest.mark.broker
def test_liftings(broker: str, tmp_path: Path) -> None:
    at, file = ("--broker", broker), tmp_path / "offers.json"
    tocsin("ontology", "declare", "auction", str(AUCTION), *at)
    file.write_text(json.dumps(LIFTING))
    refused = tocsin("ontology", "lifting", "declare", "offers", str(file), *at, check=False)
    assert refused.returncode == 1 and "units" in refused.stderr
    file.write_text(json.dumps(LIFTING | {"properties": {"target": {"path": "$.pc", "class": "NotebookPC"}}}))
    assert "declared offers" in tocsin("ontology", "lifting", "declare", "offers", str(file), *at).stderr
    assert tocsin("ontology", "lifting", "list", *at).stderr.splitlines()[1].split() == ["offers", "json", "offer"]
    shown = json.loads(tocsin("ontology", "lifting", "show", "offers", *at).stdout)
    assert shown["class"] == "<urn:tocsin:demo:auction#Selling>"
    assert said("ontology", "lifting", "withdraw", "offers", *at) == {
        "name": "offers",
        "suspended": [],
        "dry_run": False,
    }
    assert "there are no liftings" in tocsin("ontology", "lifting", "list", *at).stderr


def test_checked_without_a_broker(tmp_path: Path) -> None:
    more, wrong, lifting = (tmp_path / name for name in ("more.ttl", "wrong.ttl", "lifting.json"))
    more.write_text(TREE)
    assert "classes" in tocsin("ontology", "check", str(AUCTION), str(more)).stderr
    wrong.write_text(f"{PREFIXES} g:Tree a owl:Class ; <http://www.w3.org/2000/01/rdf-schema#subClassOf> g:Plant .")
    done = tocsin("ontology", "check", str(wrong), check=False)
    assert done.returncode == 2 and f"{wrong}: " in done.stderr and "Plant" in done.stderr
    lifting.write_text(json.dumps(LIFTING | {"properties": {"target": {"path": "$.pc", "class": "NotebookPC"}}}))
    told = tocsin("ontology", "lifting", "check", str(lifting), "--ontology", str(AUCTION)).stderr
    assert "lifts json of offer" in told
    lifting.write_text(json.dumps(LIFTING | {"class": "Nothing"}))
    done = tocsin("ontology", "lifting", "check", str(lifting), "--ontology", str(AUCTION), check=False)
    assert done.returncode == 2 and "Nothing" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--plain",), "--plain goes with --sparql"),
        (("--deliver-as", "rdfa"), "turtle, n-quads"),
        (("--pattern", "a", "--pattern", "b"), "--pattern is said 2 times"),
        (("--sparql", " "), "--sparql: the sparql filter is empty"),
    ],
)
def test_wrong_use_is_not_even_sent(arguments: tuple[str, ...], words: str) -> None:
    done = tocsin("subscribe", "--to", "http://c/", "--broker", "http://127.0.0.1:9", *arguments, check=False)
    assert done.returncode == 2 and words in done.stderr.replace("\n", " ")
