"""Which data directories one job may read, and what it says of those that come and go; without Spark."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.pipeline.conftest import Recorder
from tests.pipeline.stage import Told, storage_of

from tocsin.model.identity import Node
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.nodes import NotedNodes, Others, noted
from tocsin.pipeline.run import RunSettings, publishing
from tocsin.pipeline.source import Offsets
from tocsin.store.database import Store

READ: Offsets = {"log": 5, "outcomes": 0, "log/b": 7, "outcomes/b": 1}


@pytest.fixture
def nodes(tmp_path: Path) -> dict[str, Path]:
    made = {name: Recorder(tmp_path / name, "embedded", Node(name)) for name in "abc"}
    for each in made.values():
        each.save()
    return {name: each.data for name, each in made.items()}


def told(home: Path, directories: list[Path], end: Offsets) -> list[str]:
    """What a job says when it begins."""
    said: list[str] = []
    with Others(home, directories, storage_of(home), end, said.append) as others:
        others.look()
    return said


def test_one_that_is_not_there_is_waited_for_and_said_once(nodes: dict[str, Path], tmp_path: Path) -> None:
    a, b, new = nodes["a"], nodes["b"], tmp_path / "new"
    said: list[str] = []
    with Others(a, [b, new], storage_of(a), {}, said.append) as others:
        others.look()
        new.mkdir()
        others.look()
        assert noted(a) == NotedNodes({"b": str(b)})
        Recorder(new, "embedded", Node("d")).save()
        others.look()
        assert noted(a) == NotedNodes({"b": str(b), "d": str(new)})
        assert others.met({}).keys() == {"b", "d"}
    waits = "it is read from when it is there, and the others meanwhile"
    assert said == [f"{new} is not there; {waits}", f"{new} is not a data directory: no node has used it yet; {waits}"]


def test_one_that_was_read_and_is_away_is_not_taken_for_one_that_is_named_no_more(nodes: dict[str, Path]) -> None:
    a, b, c = (nodes[name] for name in "abc")
    assert told(a, [b, c], READ) == []
    away = b.rename(b.with_name("away"))
    for _ in range(2):
        assert [each.split(";")[0] for each in told(a, [b, c], READ)] == [f"{b} is not there"]
        assert noted(a) == NotedNodes({"c": str(c)}, {"b": str(b)})
    (said,) = told(a, [c], READ)
    assert said.startswith("b was read up to record 7 and is named no more: its rows stay")
    away.rename(b)
    assert told(a, [c, b], READ) == []
    (said,) = told(a, [], READ)
    assert said.startswith("b was read up to record 7") and noted(a) == NotedNodes()


def test_who_may_not_be_read_beside_others(nodes: dict[str, Path], tmp_path: Path) -> None:
    a, b, c = (nodes[name] for name in "abc")
    delivering = Recorder(tmp_path / "d", "spark", Node("d")).data
    copied, sharing = (Recorder(tmp_path / name, "embedded", Node("b")).data for name in ("copied", "sharing"))
    with closing(Store.open(sharing / "tocsin.db")) as store:
        store.set_meta("shared", "kafka://k:9092/name")
    wrong = {
        "belongs to the Spark engine, which delivers for one node alone": (a, b, delivering),
        "belongs to the Spark engine": (delivering, a),
        "are both b's: a copy of a data directory is no other node": (a, b, copied),
        "shares a log in Kafka": (a, sharing),
        "a data directory is named twice": (a, b, b.parent / "c" / ".." / "b"),
    }
    for reason, (first, *rest) in wrong.items():
        with pytest.raises(PipelineError, match=reason), publishing(RunSettings(first, others=tuple(rest)), Told()):
            pass
    assert told(a, [b], {}) == []
    with pytest.raises(PipelineError, match="has the tables of several nodes already: name it first"):
        told(c, [a], {})
