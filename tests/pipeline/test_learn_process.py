"""`tocsin pipeline learn` as a person runs it: proposals in the world of a node, for people to confirm."""

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import SparkSession
from tests.cli.commands import TOCSIN, process
from tests.cli.inside import inside
from tests.pipeline.stage import catch_up
from tests.pipeline.test_learn import QUAKE, keep_world, quakes, wanting

from tocsin.cli.pipeline import show_learned
from tocsin.pipeline.learn import Learned
from tocsin.pipeline.learning import Example, Proposal, Unused
from tocsin.pipeline.run import RunSettings
from tocsin.semantics.interest.changes import PutEdge
from tocsin.semantics.interest.ino import Edge

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = [pytest.mark.spark, pytest.mark.broker]


@pytest.mark.long
def test_what_is_learned_waits_in_the_world_to_be_confirmed(embedded: "Recorder", spark: SparkSession) -> None:
    keep_world(embedded, PutEdge(Edge("Labs", "Sea Quake", "Press")))
    subscriptions = [wanting(embedded, name, QUAKE) for name in ("port0", "port1")]
    for offset in quakes(embedded):
        for name in ("port0", "port1"):
            embedded.outcome(name, offset, "delivered")
    for each in subscriptions:
        embedded.end(each)
    embedded.save()
    catch_up(spark, RunSettings(embedded.data, once=True))
    data = ("--data", str(embedded.data))
    command = ("pipeline", "learn", *data, "--master", "local[1]")
    serve = (*TOCSIN, "serve", "--workers", "1", "--port", "0", *data, "--json")
    with subprocess.Popen(serve, stdout=subprocess.PIPE) as node:
        assert node.stdout is not None
        try:
            at = ("--broker", json.loads(node.stdout.readline())["url"])
            told = json.loads(process(*command, *at, "--apply", "--json").stdout)
            edges = {each["target"]: each for each in _edges(*at)}
        finally:
            node.send_signal(signal.SIGTERM)
            node.communicate(timeout=60)
    assert [each["target"] for each in told["proposals"]] == ["Ports"] and told["applied"]
    assert told["unused"][0] | {"why": ""} == {
        "source": "Labs", "topic": "Sea Quake", "target": "Press", "published": 6, "why": ""
    }  # fmt: skip
    assert (edges["Ports"]["confidence"], edges["Ports"]["counts"], edges["Ports"]["proposed_by"]) == (
        1,
        False,
        "learn",
    )
    assert "12 of 12 told in 6 publications" in edges["Ports"]["note"]
    assert (edges["Press"]["disagree"], edges["Press"]["counts"]) == (1, True)


def test_it_is_shown_in_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    examples = (Example("n1", "lab", "Sea Quake", "port0"),)
    proposals = [Proposal("Labs", "Sea Quake", name, 0.2, 0.91, 12.3, 1200, 1318, 60, examples) for name in ("A", "B")]
    found = Learned(60, 6000, tuple(proposals), (Unused("Labs", "Sea Quake", "Press", 6),))
    monkeypatch.setenv("COLUMNS", "120")
    show_learned(found, applied=False)
    shown = capsys.readouterr().err
    assert "Labs  Sea Quake  A       20.00          91.0  12.3  1,200  1,318         60  lab told port0" in shown
    assert "Labs  Sea Quake  Press  6 published, nobody under Press told" in shown
    assert "2 edges to propose, 1 edge to remove; nothing was changed" in shown
    monkeypatch.setenv("COLUMNS", "60")
    show_learned(found, applied=True)
    shown = capsys.readouterr().err
    assert (
        "Labs Sea Quake B\n" in shown and "confidence % 91.0" in shown and "2 edges proposed, 1 edge disputed" in shown
    )


def _edges(*at: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(inside("ino", *at, "--json").stdout)["edges"]
    return found


def test_without_a_world_it_says_so(embedded: "Recorder") -> None:
    embedded.save()
    done = process("pipeline", "learn", "--data", str(embedded.data), check=False)
    assert done.returncode == 1 and "has no services" in done.stderr and "Traceback" not in done.stderr
