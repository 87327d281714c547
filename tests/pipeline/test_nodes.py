"""One job over the logs of several nodes: what each table has, in whatever order nodes come, stop and go."""

import json
from contextlib import closing
from dataclasses import replace as with_settings
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession
from tests.pipeline.conftest import Recorder
from tests.pipeline.stage import Told, catch_up, rows_of

from tocsin.flow.flow import normalise
from tocsin.model.delivery import Match, Outcome
from tocsin.model.identity import SECOND, Instant, MessageId, Node, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import Endpoint, Form, Position
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.frames import match, read_log, read_table, stream_log
from tocsin.pipeline.frames import normalise as normalised
from tocsin.pipeline.mend import MendSettings, mend_on
from tocsin.pipeline.replay import ReplaySettings, replay_on, summed
from tocsin.pipeline.report.job import ReportSettings, report_on
from tocsin.pipeline.report.tables import sections
from tocsin.pipeline.report.values import NodeRates, Share
from tocsin.pipeline.run import RunSettings, keep_running, publishing
from tocsin.pipeline.status import status
from tocsin.store import read_elsewhere
from tocsin.store.outbox import Outbox

pytestmark = pytest.mark.spark
A, B, C = (f"http://127.0.0.1:80{number}" for number in (81, 82, 83))
Row = tuple[Any, ...]


def node(tmp_path: Path, name: str, url: str) -> Recorder:
    return Recorder(tmp_path / name, "embedded", Node(name), url)


def said_at(recorder: Recorder, offset: int, item: int = 0) -> Notification:
    """What a node passes on, as its own log has it."""
    record = recorder.records[offset]
    assert isinstance(record, Accepted)
    return normalise(record)[item]


def settings_of(*nodes: Recorder) -> RunSettings:
    return RunSettings(nodes[0].data, once=True, others=tuple(each.data for each in nodes[1:]))


def rows(data: Path, table: str, *columns: str) -> list[Row]:
    return sorted((tuple(row[name] for name in columns) for row in rows_of(data, table)), key=repr)


def pairs(data: Path) -> list[Row]:
    return rows(data, "matches", "node", "log_offset", "item", "subscription")


def ways(data: Path) -> list[Row]:
    return rows(data, "notifications", "node", "log_offset", "origin", "matched_at", "hops", "path")


def end_of(data: Path) -> dict[str, int]:
    with closing(Outbox.open(data / "outbox.db")) as outbox:
        last = outbox.last()
    assert last is not None
    found: dict[str, int] = json.loads(last.end)
    return found


@pytest.fixture
def ring(tmp_path: Path) -> tuple[Recorder, Recorder, Recorder]:
    """`a` accepts floods, which `b` is told by it and `c` by `b`. Subscriptions are at other records in each log:
    `early` stands at b for one record alone, and `wide` is in the logs of both, and ends in that of b."""
    a, b, c = node(tmp_path, "a", A), node(tmp_path, "b", B), node(tmp_path, "c", C)
    wide = a.subscribe("wide", "flood")
    a.raw("flood")
    a.notify("fire", "flood")
    early = b.subscribe("early", "flood")
    b.receive(said_at(a, 1), by=A)
    b.end(early)
    b.change(replace(wide, since=b.at))
    b.receive(said_at(a, 2, 1), by=A)
    b.raw("flood")
    b.end(wide)
    c.receive(said_at(b, 1), said_at(b, 4), by=B)
    c.subscribe("late", "flood")
    c.receive(said_at(b, 5), by=B)
    a.outcome("wide", 1, "retry", "delivered")
    b.outcome("early", 1, "dead")
    for each in (a, b, c):
        each.save()
    return a, b, c


PAIRS = [
    ("a", 1, 0, "wide"),
    ("a", 2, 1, "wide"),
    ("b", 1, 0, "early"),
    ("b", 4, 0, "wide"),
    ("b", 5, 0, "wide"),
    ("c", 2, 0, "late"),
]
WAYS = [
    ("a", 1, "a", "a", 0, []),
    ("a", 2, "a", "a", 0, []),
    ("a", 2, "a", "a", 0, []),
    ("b", 1, "a", "b", 1, [A]),
    ("b", 4, "a", "b", 1, [A]),
    ("b", 5, "b", "b", 0, []),
    ("c", 0, "a", "c", 2, [A, B]),
    ("c", 0, "a", "c", 2, [A, B]),
    ("c", 2, "b", "c", 1, [B]),
]
HISTORY = [("a", 1, "wide", "delivered"), ("a", 1, "wide", "retry"), ("b", 1, "early", "dead")]
SUBSCRIPTIONS = [
    ("early", "b", 2, "ended", "http://127.0.0.1:9/early"),
    ("late", "c", 1, "active", "http://127.0.0.1:9/late"),
    ("wide", "b", 6, "ended", "http://127.0.0.1:9/wide"),
]
END = {"log": 3, "outcomes": 1, "log/b": 7, "outcomes/b": 1, "log/c": 3}


def check_all(data: Path) -> None:
    assert pairs(data) == PAIRS
    assert ways(data) == WAYS
    assert rows(data, "history", "node", "log_offset", "subscription", "result") == HISTORY
    assert rows(data, "subscriptions", "subscription", "node", "log_offset", "state", "consumer") == SUBSCRIPTIONS
    assert end_of(data) == END


def test_each_log_meets_its_own_subscriptions(ring: tuple[Recorder, ...], spark: SparkSession) -> None:
    a, b, c = ring
    done = catch_up(spark, settings_of(a, b, c))
    assert [each.counted["records"] for each in done] == [15]
    check_all(a.data)
    assert rows(a.data, "notifications", "id", "node", "dialect", "topic")[:2] == [
        ("urn:uuid:c1", "a", "raw", "flood"),
        ("urn:uuid:c1", "b", "raw", "flood"),
    ], "what is passed on keeps its id"
    told = [read_elsewhere.noted(each.data) for each in ring]
    ends = [None if each is None else each.end for each in told]
    assert ends == [None, {"log": 7, "outcomes": 1}, {"log": 3, "outcomes": 0}], "for their retention"
    for other in (b, c):
        assert not (other.data / "tables").exists() and not (other.data / "outbox.db").exists()


@pytest.mark.long
def test_small_batches_and_restarts_in_the_middle_end_in_the_same(
    ring: tuple[Recorder, ...], spark: SparkSession
) -> None:
    a, b, c = ring
    settings = with_settings(settings_of(a, b, c), rows=4, once=False, interval=0.01)
    for _ in range(3):
        told, stop = Told(), Event()
        told.enough = stop
        with publishing(settings, told) as batches:
            keep_running(spark, settings, batches, told, stop)
        assert told.done
    assert end_of(a.data) != END, "there is something left"
    catch_up(spark, with_settings(settings, once=True))
    check_all(a.data)


@pytest.mark.long
def test_what_was_begun_with_one_goes_on_with_several(ring: tuple[Recorder, ...], spark: SparkSession) -> None:
    """A node that is added is read from its beginning; one taken away is told of, and goes on when it comes back."""
    a, b, c = ring
    catch_up(spark, settings_of(a))
    assert (pairs(a.data), end_of(a.data)) == (PAIRS[:2], {"log": 3, "outcomes": 1})
    assert not rows(a.data, "subscriptions", "subscription")
    catch_up(spark, settings_of(a, b))
    assert pairs(a.data) == PAIRS[:5]
    b.raw("flood")
    b.save()
    told = Told()
    with publishing(settings_of(a, c), told):
        pass
    assert "b was read up to record 7 and is named no more" in told.said.getvalue()
    catch_up(spark, settings_of(a, c))
    check_all(a.data)
    catch_up(spark, settings_of(a, c, b))
    assert (ways(a.data)[6], pairs(a.data)) == (("b", 7, "b", "b", 0, []), PAIRS)
    assert end_of(a.data) == END | {"log/b": 8}
    a.raw("flood")
    a.save()
    catch_up(spark, settings_of(a))
    assert end_of(a.data) == END | {"log": 4, "log/b": 8}, "with one again, nothing of the others is forgotten"


@pytest.mark.long
def test_a_node_that_comes_later_is_waited_for(ring: tuple[Recorder, ...], spark: SparkSession, tmp_path: Path) -> None:
    a, b, c = ring
    away = c.data.rename(tmp_path / "away")
    settings = with_settings(settings_of(a, b, c), once=False, interval=0.01)
    stop = Event()

    class Brings(Told):
        def batch(self, done: Any) -> None:
            super().batch(done)
            if away.exists():
                away.rename(c.data)
            if sum(each.counted["records"] for each in self.done) == 15:
                stop.set()

    told = Brings()
    with publishing(settings, told) as batches:
        keep_running(spark, settings, batches, told, stop)
    assert told.said.getvalue().count(f"{c.data} is not there; it is read from when it is there") == 1
    check_all(a.data)


@pytest.mark.long
def test_a_batch_that_was_planned_with_a_node_is_not_finished_without_it(
    ring: tuple[Recorder, ...], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = ring
    catch_up(spark, settings_of(a))

    def unlucky(*_: object) -> None:
        raise RuntimeError("the machine is gone")

    with monkeypatch.context() as broken:
        broken.setattr("tocsin.pipeline.batch.work", unlucky)
        with pytest.raises(Exception, match="the machine is gone"):
            catch_up(spark, settings_of(a, b))
    with pytest.raises(Exception, match="records of the log of b up to 7, and its data directory is not named"):
        catch_up(spark, settings_of(a, c))
    catch_up(spark, settings_of(a, b, c))
    check_all(a.data)


@pytest.mark.long
def test_status_report_and_replay_know_the_nodes(ring: tuple[Recorder, ...], spark: SparkSession) -> None:
    a, b, c = ring
    catch_up(spark, settings_of(a, b))
    b.raw("flood", b"not XML")
    b.save()
    now = status(a.data)
    assert (list(now.nodes), now.lag, now.tables["subscriptions"]) == (["a", "b"], {"log": 1, "outcomes": 0}, 2)
    assert now.nodes["b"].end == {"log": 7, "outcomes": 1} and now.nodes["b"].lag == {"log": 1, "outcomes": 0}
    catch_up(spark, settings_of(a, b, c))
    assert rows(a.data, "quarantine", "log", "node", "log_offset") == [("log", "b", 7)]
    found = report_on(spark, ReportSettings(a.data))
    assert found.rates is not None and found.dead_letters is not None
    assert found.rates.by_node == [
        NodeRates("a", 3, published=3, matches=2, delivered=1, retry=1),
        NodeRates("b", 3, published=1, received=2, hops=1, matches=3, dead=1),
        NodeRates("c", 3, received=3, hops=2, matches=1),
    ]
    assert found.dead_letters.by_consumer == [Share("http://127.0.0.1:9/early", 1)]
    assert ("b", "3", "1", "2", "1", "3", "0", "0", "1") in sections(found)[0].grids[-1].rows
    asked = [ReplaySettings(each.data, diff=True, home=a.data) for each in ring]
    nodes = {str(each.node): replay_on(spark, one) for each, one in zip(ring, asked, strict=True)}
    again = summed(nodes)
    assert (again.matches, again.records, again.errors) == (6, 14, 1)
    assert again.diff is not None and (again.diff.new.count, again.diff.gone.count) == (0, 0)
    today = replay_on(spark, with_settings(asked[2], as_of=3))
    assert today.diff is not None and (today.diff.new.count, today.diff.gone.count) == (2, 0)
    assert [mend_on(spark, MendSettings(each.data, home=a.data)).quarantined for each in ring] == [0, 1, 0]
    assert not (b.data / "outbox.db").exists()


def test_replies_at_all_nodes_are_one_harvest(tmp_path: Path, spark: SparkSession) -> None:
    """`a` asks, `b` is told by it; one of three receivers does not reply."""
    a, b = node(tmp_path, "a", A), node(tmp_path, "b", B)
    near = a.subscribe("near", "flood")
    a.change(replace(near, id=SubscriptionId("to b"), consumer=Endpoint(B, node=B), form=Form("node")))
    a.ask("flood", ReplyRequest("v", "boolean", Instant(a.now + 3_600 * SECOND)))
    for name in ("far", "silent"):
        b.subscribe(name, "flood")
    b.subscribe("other", "fire")
    b.receive(said_at(a, 2), by=A)
    for each, name, value in ((a, "near", "yes"), (b, "far", "no")):
        place, to = Position(each.node, len(each.records) - 1), Match(MessageId("e2"), SubscriptionId(name))
        each.tell(Outcome(to, place, 0, each.now, "replied", 0, value))
        each.save()
    catch_up(spark, with_settings(settings_of(a, b), rows=3))
    counts = ("view", "receivers", "replied", "outstanding", "passed_on", "value", "count")
    sums = ("v", 3, 2, 1, 1)
    assert rows(a.data, "harvests", *counts) == [(*sums, "no", 1), (*sums, "yes", 1), (*sums, None, 0)]


@pytest.mark.long
def test_frames_of_several(ring: tuple[Recorder, ...], spark: SparkSession, tmp_path: Path) -> None:
    """Matched with subscriptions of one, which stand for all of them."""
    a, b, c = ring
    said = normalised(read_log(spark, [each.data for each in ring]))
    names = ("node", "log_offset", "origin", "matched_at", "hops", "path")
    assert sorted((tuple(row[name] for name in names) for row in said.collect()), key=repr) == WAYS
    assert [row.node for row in match(said, c.data).select("node").distinct().orderBy("node").collect()] == [
        "a",
        "b",
        "c",
    ]
    with pytest.raises(PipelineError, match="each node's log counts by itself"):
        read_log(spark, [a.data, b.data], 0, 1)
    stream = normalised(stream_log(spark, [each.data for each in ring], rows=4))
    writer = stream.writeStream.format("memory").queryName("several").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(60)
    assert spark.table("several").count() == len(WAYS)
    catch_up(spark, settings_of(a, b, c))
    assert read_table(spark, "subscriptions", a.data / "tables").count() == 3
