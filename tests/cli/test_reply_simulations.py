"""`reply simulate` and `reply plan`: the keys that others read, what people see, and what is asked wrongly."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import tocsin
from tests.cli.inside import inside

KEYS = {
    "receivers",
    "publication_messages",
    "reply_messages",
    "reply_bytes",
    "state_entries",
    "outstanding",
    "histogram",
}
SMALL = ("--branching", "3", "--height", "4", "--values", "6")
RESERVED = ("--branching", "3", "--height", "4", "--publications", "10", "--per-publisher", "2", "--values", "6")


def simulated(*more: str) -> Any:
    return json.loads(inside("reply", "simulate", *SMALL, "--json", *more).stdout)


def planned(*more: str) -> Any:
    return json.loads(inside("reply", "plan", *RESERVED, "--json", *more).stdout)


@pytest.mark.parametrize(("algorithm", "messages"), [("dispatcher", 3 + 9 + 27 + 81), ("message", 81 * 4)])
def test_the_messages_of_the_paper(algorithm: str, messages: int) -> None:
    said = json.loads(tocsin("reply", "simulate", *SMALL, "--algorithm", algorithm, "--json").stdout)
    assert said.keys() >= KEYS
    assert (said["receivers"], said["publication_messages"], said["reply_messages"]) == (81, 120, messages)
    assert (sum(said["histogram"].values()), said["outstanding"], said["state_entries"]) == (81, 0, 6)
    assert [each["nodes"] for each in said["by_depth"]] == [1, 3, 9, 27, 81]
    for name in ("reply_messages", "reply_bytes", "publication_bytes"):
        assert sum(each[name] for each in said["by_depth"]) == said[name]
    assert max(each["state_entries"]["max"] for each in said["by_depth"]) == said["state_entries"]


def test_a_mixed_tree_looks_and_is_exact() -> None:
    said, more = simulated("--algorithm", "mixed"), simulated("--algorithm", "mixed", "--stateless", "0.9")
    assert 120 < said["reply_messages"] < more["reply_messages"] < 324
    assert said["exact"] and said["look_messages"] and said["outstanding"] == 0
    assert not simulated("--algorithm", "message")["exact"]
    assert simulated("--algorithm", "message", "--look")["exact"]


def test_a_seed_is_another_harvest() -> None:
    first, again, other = (simulated("--algorithm", "dispatcher", "--seed", seed) for seed in "112")
    assert first["histogram"] == again["histogram"] != other["histogram"]


def test_a_histogram_may_be_cut_as_nodes_do() -> None:
    said = simulated("--algorithm", "dispatcher", "--most", "2")
    assert len(said["histogram"]) == 2 and sum(said["histogram"].values()) + said["rest"] == 81


def test_people_see_a_table_and_bars() -> None:
    done = inside("reply", "simulate", *SMALL, "--algorithm", "mixed")
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("mixed: 81 receivers behind 40 nodes;") and "0 outstanding" in lines[0]
    assert lines[1].split()[:3] == ["depth", "nodes", "messages"]
    assert [line.split()[:2] for line in lines[2:7]] == [[str(d), str(3**d)] for d in range(5)]
    assert sum("█" in line for line in lines) == 6
    unknown = inside("reply", "simulate", *SMALL, "--algorithm", "message").stderr
    assert "as far as the root knows" in unknown
    many = inside("reply", "simulate", *SMALL[:4], "--values", "1000", "--algorithm", "message", "--most", "30").stderr
    assert "more values" in many and "does not keep" in many


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--branching", "10", "--height", "9", "--values", "5", "--algorithm", "message"), "tocsin reply plan"),
        ((*SMALL, "--algorithm", "message", "--stateless", "0.5"), "--algorithm mixed"),
        ((*SMALL, "--algorithm", "smoke"), "--algorithm"),
        ((*SMALL, "--algorithm", "mixed", "--stateless", "2"), "--stateless"),
        (("--branching", "0", "--height", "9", "--values", "5", "--algorithm", "message"), "--branching"),
    ],
)
def test_what_is_asked_wrongly_is_told(words: tuple[str, ...], said: str) -> None:
    done = inside("reply", "simulate", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr


def test_a_plan_has_mean_and_peak_of_both() -> None:
    said = planned()
    merging, passing = (said["algorithms"][name] for name in ("dispatcher", "message"))
    assert merging["traffic"]["edge"]["messages"] == {"mean": 10, "peak": 2, "total": 10}
    assert merging["traffic"]["node"]["entries"]["peak"] == 2 * 3 * 6
    assert passing["traffic"]["node"]["messages"]["peak"] == 2 * 81, "m |R|: it never merges"
    assert passing["storage"]["entries"]["peak"] == 2 * 6
    assert merging["storage"]["bytes"]["mean"] > 0 and said["entry_bytes"] > 2
    assert said["tree"] is None and said["receivers"] == 81


def test_a_plan_for_people() -> None:
    lines = inside("reply", "plan", *RESERVED).stderr.splitlines()
    row = next(line for line in lines if line.startswith("into a node: messages"))
    assert row.split()[-6:] == ["30", "6", "30", "81", "162", "227"]
    assert any("log² |R|" in line for line in lines)


def test_a_tree_is_classed(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_text(json.dumps({"root": ["a", "b"], "a": ["r1", "r2", "r3", "r4"]}))
    said = planned("--tree", str(path))["tree"]
    assert said["class"] == "degrading" and [each["node"] for each in said["excess"]] == ["a"]
    words = inside("reply", "plan", *RESERVED, "--tree", str(path)).stderr
    assert "degrading" in words and "depth 1, a: it has 4 children" in words and "Nowhere" in words
    path.write_text(json.dumps({"root": ["a", "b"], "a": ["r1", "r2", "r3"]}))
    assert planned("--tree", str(path))["tree"]["class"] == "preserving"
    assert "preserving" in inside("reply", "plan", *RESERVED, "--tree", str(path)).stderr


def test_a_tree_may_be_told_by_its_dimensions() -> None:
    assert planned("--tree", "3x4")["tree"]["class"] == planned("--tree", "1x2")["tree"]["class"] == "preserving"
    said = planned("--tree", "4x5")["tree"]
    assert said["class"] == "degrading" and [each["depth"] for each in said["excess"]] == [0, 5]
    assert said["overloads"][0] == {"node": "the root", "depth": 0, "receivers": 1024, "reserved": 81}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"a": "b"}', "child"),
        ("{", "child"),
        ('{"a": ["a"]}', "not a tree"),
        ("\xff", "child"),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_no_tree_is_told(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "tree.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    done = inside("reply", "plan", *RESERVED, "--tree", str(path), "--json", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr and str(path) in done.stderr


def test_no_plan_for_more_than_there_can_be() -> None:
    words = ("--height", "200", "--publications", "1", "--per-publisher", "1", "--values", "2")
    assert "smaller --height" in inside("reply", "plan", "--branching", "10", *words, check=False).stderr
