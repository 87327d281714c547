"""What a job finds wrong: each time a sentence that says what to do, and no data touched."""

import copy
import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from tests.cli.commands import process
from tests.pipeline.conftest import Recorder
from tests.pipeline.stage import Told, catch_up, rows_of, standing
from tests.pipeline.test_run_process import SECONDS, child, events, fill, outbox_offsets, processes_of, wait_until

from tocsin.model.declarations import Ontology
from tocsin.pipeline.errors import is_lasting, sentence
from tocsin.pipeline.replay import ReplaySettings, replay
from tocsin.pipeline.run import RunSettings, publishing
from tocsin.pipeline.session import SparkSettings
from tocsin.pipeline.status import status
from tocsin.pipeline.tables.storage import Storage
from tocsin.store import snapshots
from tocsin.store.outbox import Outbox

pytestmark = pytest.mark.spark
KEPT = ("log", "outcomes", "checkpoint/commits", "tables/notifications", "tables/matches", "tables/history")


def contents(data: Path) -> dict[str, bytes]:
    """All that is kept, but for what a job says of itself."""
    files = {str(each): each.read_bytes() for name in KEPT for each in (data / name).rglob("*") if each.is_file()}
    with closing(Outbox.open(data / "outbox.db")) as outbox:
        rows = (
            [each.end for each in outbox.batches()],
            outbox.staged(),
            outbox.pending(0, 1_000),
            outbox.named("tables"),
        )
    return {**files, "outbox": msgspec.msgpack.encode(rows)}


@contextmanager
def refused(data: Path, *signs: str) -> Iterator[None]:
    """With a sentence in which these stand, in this order; starting again would end the same."""
    before = contents(data)
    with pytest.raises(Exception) as raised:
        yield
    said = sentence(raised.value, data / "spark.log")
    assert is_lasting(raised.value)
    assert "\n" not in said
    assert [sign for sign in signs if sign in said] == [*signs], said
    assert contents(data) == before


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Recorder:
    """With a batch, and a record that is in none yet."""
    recorder = Recorder(tmp_path_factory.mktemp("prepared") / "data")
    fill(recorder, 4)
    catch_up(spark, RunSettings(recorder.data, once=True))
    recorder.raw("a")
    recorder.save()
    return recorder


@pytest.fixture
def recorder(prepared: Recorder, tmp_path: Path) -> Recorder:
    """A copy, to be damaged."""
    shutil.copytree(prepared.data, tmp_path / "data")
    copied = copy.deepcopy(prepared)
    copied.data = tmp_path / "data"
    return copied


@pytest.fixture
def data(recorder: Recorder) -> Path:
    return recorder.data


def begin(data: Path, storage: Storage | None = None) -> None:
    """As far as it comes without Spark."""
    with publishing(RunSettings(data, storage=storage), Told()):
        pass


def test_a_damaged_segment(data: Path, spark: SparkSession) -> None:
    segment = next((data / "log").glob("*.log"))
    segment.write_bytes(segment.read_bytes()[:-5] + b"~~~~~")
    with refused(data, f"{segment} is damaged at byte", "restore the data directory from a backup"):
        catch_up(spark, RunSettings(data, once=True))


def test_an_ontology_that_can_no_longer_be_used(recorder: Recorder, data: Path, spark: SparkSession) -> None:
    recorder.declare(Ontology("things", classes=(("urn:a", ("urn:b",)), ("urn:b", ("urn:a",)))))
    recorder.raw("a")
    recorder.save()
    with refused(data, "the ontologies things as of record 7 can no longer be used", "the version of Tocsin"):
        catch_up(spark, RunSettings(data, once=True))


def _other_checkpoint(data: Path) -> None:
    plan = data / "checkpoint/offsets/0"
    *rest, end = plan.read_text("utf-8").splitlines()
    plan.write_text("\n".join((*rest, json.dumps(json.loads(end) | {"log": 3}))), "utf-8")


def _kafka_checkpoint(data: Path) -> None:
    plan = data / "checkpoint/offsets/0"
    plan.write_text("\n".join((*plan.read_text("utf-8").splitlines()[:2], '{"topic":{"0":5}}')), "utf-8")


def _no_checkpoint(data: Path) -> None:
    shutil.rmtree(data / "checkpoint/offsets")
    shutil.rmtree(data / "checkpoint/commits")


def _other_columns(data: Path) -> None:
    shutil.rmtree(data / "tables/matches")
    write_deltalake(data / "tables/matches", pa.table({"a": [1], "log_offset": ["one"]}))


def _damaged_table(data: Path) -> None:
    next((data / "tables/matches/_delta_log").glob("*.json")).write_text('{"add": nonsense\n', "utf-8")


def _earlier_layout(data: Path) -> None:
    (data / "tables/matches/batch=0").mkdir()


BROKEN: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "another checkpoint": (_other_checkpoint, ("batch 0 end elsewhere", "restore both from one backup")),
    "a checkpoint of another layout": (_kafka_checkpoint, ("another layout", "restore both from one backup")),
    "no checkpoint": (_no_checkpoint, ("do not belong together", "restore both from one backup")),
    "other columns": (_other_columns, ("another layout (what differs: a, log_offset, ", "move it away")),
    "a damaged table": (_damaged_table, ("tables/matches cannot be opened", "from a backup, or move the table away")),
    "an earlier layout": (_earlier_layout, ("of an earlier layout", "away")),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_checkpoint_or_table_that_is_not_ours(name: str, data: Path) -> None:
    damage, signs = BROKEN[name]
    damage(data)
    with refused(data, *signs):
        begin(data)


def test_a_status_of_a_damaged_table(data: Path) -> None:
    _damaged_table(data)
    with refused(data, "tables/matches cannot be opened", "from a backup, or move the table away"):
        status(data)


def test_tables_that_have_no_place(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with refused(data, f"Not a directory: '{tmp_path}/file", "name a folder"):
        begin(data, storage=Storage.at(tmp_path / "file"))


def test_a_snapshot_of_another_version_is_made_anew(data: Path, spark: SparkSession) -> None:
    """By itself: nothing is in it that is not in the log."""
    job = RunSettings(data, once=True, snapshot_changes=1)
    made = snapshots.Made(1, 999, "0")
    other = data / "tables/_state/run/snapshots/00000000000000000001-0"
    other.mkdir(parents=True)
    (other / "made.msgpack").write_bytes(msgspec.msgpack.encode(made))
    (other / "head.msgpack").write_bytes(b"of a layout to come")
    catch_up(spark, job)
    assert sorted(row["log_offset"] for row in rows_of(data, "matches")) == [*range(1, 6)]


def test_a_damaged_snapshot(data: Path) -> None:
    with standing(data, 5, least=1) as met:
        (head,) = (data / "tables/_state/run/snapshots").glob("*/head.msgpack")
        head.write_bytes(b"nonsense")
        with refused(data, f"remove {head.parent} and start again: it is made anew"):
            met.bring_to(5)


def test_a_master_that_does_not_answer(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    with refused(data, f"no Spark master answers at spark://127.0.0.1:{free}", "--master"):
        replay(ReplaySettings(data, spark=SparkSettings(f"spark://127.0.0.1:{free}")))


@pytest.mark.long
def test_a_master_that_is_none(data: Path) -> None:
    """Who listens takes what is sent and says nothing; Spark asks for a minute."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        master = f"spark://127.0.0.1:{server.getsockname()[1]}"
        told = process("pipeline", "replay", "--data", str(data), "--master", master, check=False)
    assert told.returncode == 1
    assert f"what listens at {master} did not answer as a Spark master" in told.stderr


@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        (OSError(28, "No space left on device", "/t/x"), "make room there"),
        (PermissionError(13, "Permission denied", "/t/x"), "let the user that runs the job write there"),
        (RuntimeError("trace\nOSError: [Errno 28] No space left on device: '/t/x'\n\tat java"), "make room there"),
    ],
)
def test_a_disk_that_takes_nothing(problem: Exception, advice: str) -> None:
    said = sentence(problem, Path("spark.log"))
    assert "/t/x" in said
    assert said.endswith(advice) or f"; {advice}" in said


@pytest.mark.long
@pytest.mark.kills
def test_a_jvm_that_dies(recorder: Recorder, spark: SparkSession) -> None:
    """The job ends with a sentence; the next one goes on."""
    with child(recorder.data, "0") as process:
        events(process, "batch")
        for each in processes_of(recorder.data):
            if Path(f"/proc/{each}/exe").resolve().name.startswith("java"):
                os.kill(each, signal.SIGKILL)
        failed = events(process, "failed")[-1]
        assert process.wait(SECONDS) == 1
    assert failed["reason"].startswith("Spark's JVM ended; ")
    wait_until(lambda: not processes_of(recorder.data))
    recorder.raw("a")
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    assert outbox_offsets(recorder.data) == [*range(1, 7)]
