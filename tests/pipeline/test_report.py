"""Reports: each figure against what the recorded run is known to have."""

import json
import sqlite3
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from pyspark.sql import SparkSession
from tests.cli.commands import process
from tests.cli.inside import inside
from tests.pipeline.conftest import NODE, Recorder
from tests.pipeline.stage import catch_up

from tocsin.cli.report import show
from tocsin.model.delivery import Match, Outcome, Result
from tocsin.model.identity import SECOND, Instant, MessageId, SubscriptionId
from tocsin.model.records import Accepted
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import Position
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.report.job import ReportSettings, report, report_on, time_named
from tocsin.pipeline.report.page import page, write
from tocsin.pipeline.report.values import (
    Asking,
    Bar,
    Cost,
    Costs,
    DeadLetters,
    Deliveries,
    Moment,
    Peak,
    Replies,
    Report,
    Share,
    Spread,
)
from tocsin.pipeline.run import RunSettings
from tocsin.store.outbox import Outbox

pytestmark = pytest.mark.spark
LAB = "urn:$<lab>"
DAY = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)  # when record 0 is accepted; one comes each second


def tell(recorder: Recorder, subscription: str, offset: int, *told: tuple[float, Result, int, str]) -> None:
    """Outcomes of a CloudEvent: seconds after record 0, result, attempt, detail."""
    match, began = Match(MessageId(f"e{offset}"), SubscriptionId(subscription)), 1_700_000_000 * SECOND
    outcomes = [
        Outcome(match, Position(NODE, offset), 0, Instant(began + int(seconds * SECOND)), result, attempt, detail)
        for seconds, result, attempt, detail in told
    ]
    recorder._outcomes.append(msgspec.msgpack.encode(outcomes))


def fill(recorder: Recorder) -> None:
    """Records 0 and 1 subscribe; 2 to 4 are on topic a, 5 on one that nobody wants, 6 cannot be read, 7 holds two of a.

    Of the pairs of 2 to 4 one is delivered at once, one at the second attempt, one twice, two die; a notice that
    belongs to no notification is dropped. Each of 2 to 4 has a payload of 10 bytes, and asks for replies; one of them
    is told twice.
    """
    recorder.subscribe("one", "a")
    recorder.subscribe("two", "a")
    for topic in ("a", "a", "a", "b"):
        recorder.cloud_event(topic, datacontenttype="application/xml", data="<reading/>", source=LAB)
        if topic == "a":
            ask(recorder)
    recorder.raw("a", b"not XML")
    recorder.notify("a", "a")
    tell(recorder, "one", 2, (2.5, "delivered", 1, "HTTP 200"))
    tell(recorder, "one", 3, (4, "retry", 1, "HTTP 503"), (9, "delivered", 2, "HTTP 200"))
    tell(recorder, "one", 4, (5, "delivered", 1, "HTTP 200"), (80, "delivered", 1, "HTTP 200"))
    tell(recorder, "two", 2, (4, "dead", 1, "HTTP 410: gone for 3 days"))
    tell(recorder, "two", 3, (4, "dead", 0, "it could not be written"))
    tell(recorder, "one", 2, (12, "replied", 0, "yes"), (90, "replied", 0, "yes"))
    tell(recorder, "one", 3, (9.5, "replied", 0, "no"))
    tell(recorder, "two", 3, (23, "replied", 0, "yes"))
    tell(recorder, "two", 99, (70, "dropped", 0, "the subscription ended"))
    recorder.save()


def ask(recorder: Recorder) -> None:
    record = recorder.records[-1]
    assert isinstance(record, Accepted)
    request = ReplyRequest(f"v{record.at.offset}", "boolean", Instant(record.when + 3600 * SECOND))
    recorder.records[-1] = msgspec.structs.replace(record, reply=request)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    recorder = Recorder(tmp_path_factory.mktemp("reported") / "data")
    fill(recorder)
    catch_up(spark, RunSettings(recorder.data, once=True))
    return recorder.data


@pytest.fixture(scope="module")
def found(filled: Path, spark: SparkSession) -> Report:
    steps: list[str] = []
    made = report_on(spark, ReportSettings(filled), steps.append)
    assert steps == ["rates", "fan out", "deliveries", "latencies", "replies", "dead letters", "quarantine", "costs"]
    return made


def after(seconds: float) -> datetime:
    return DAY + timedelta(seconds=seconds)


def test_rates(found: Report) -> None:
    rates = found.rates
    assert rates is not None
    assert (rates.notifications, rates.matches, rates.minutes) == (6, 10, 1)
    assert (rates.per_minute, rates.per_hour) == (6.0, 360.0)
    assert (rates.first, rates.last) == (after(2), after(7))
    assert rates.by_dialect == [Share("cloudevents", 4), Share("wsn-1.3", 2)]
    assert rates.by_topic == [Share("a", 5), Share("b", 1)]
    assert rates.by_producer == [Share(LAB, 4), Share("", 2)]
    assert rates.busiest_minute == Peak(datetime(2023, 11, 14, 22, 13, tzinfo=UTC), 6)
    assert rates.busiest_hour == Peak(datetime(2023, 11, 14, 22, tzinfo=UTC), 6)
    minute = datetime(2023, 11, 14, 22, 13, tzinfo=UTC)
    assert rates.unit == "minute"
    assert rates.series == [
        Moment(minute, 6, 10, delivered=3, retry=1, dead=2),
        Moment(minute + timedelta(minutes=1), delivered=1),
    ]


def test_fan_out(found: Report) -> None:
    """Both want the five on a; nobody the other."""
    assert found.fan_out == Spread(10 / 6, 2, 2, 2, [Bar(0, 0, 1), Bar(2, 3, 5)])


def test_repetitions(found: Report) -> None:
    attempts = Spread(1.5, 1, 2, 2, [Bar(1, 1, 2), Bar(2, 2, 2)])
    assert found.deliveries == Deliveries(
        count=6, delivered=3, dead=2, dropped=1, untried=2, attempts=attempts, repeated=1, extra=1
    )


def test_latencies(found: Report) -> None:
    assert found.latencies is not None
    first, again, whole = found.latencies
    assert (first.count, first.p50, first.p90, first.max) == (4, 1.0, 2.0, 2.0), "0.5, 1, 1 and 2 seconds"
    assert (again.count, again.p50, again.max) == (1, 5.0, 5.0)
    assert (whole.count, whole.p50, whole.p99, whole.max) == (3, 1.0, 6.0, 6.0), "0.5, 1 and 6 seconds"


def test_replies(found: Report) -> None:
    """Of the receivers of 2 one replied and one was not reached, those of 3 did, those of 4 did not."""
    assert found.replies is not None
    counted = replace(found.replies, rates=[each for each in found.replies.rates if each.count], times=[])
    rates = [Bar(0, 9, 1), Bar(50, 59, 1), Bar(90, 100, 1)]
    topics = [Asking("a", publications=3, receivers=6, replied=3)]
    assert counted == Replies(3, 2, 6, 3, not_reached=1, outstanding=2, rates=rates, times=[], by_topic=topics)
    assert [(each.count, each.p50, each.max) for each in found.replies.times] == [(2, 6.5, 10.0), (2, 10.0, 20.0)]


def test_dead_letters_and_quarantine(found: Report) -> None:
    reasons = [Share("HTTP 410", 1), Share("it could not be written", 1)]
    assert found.dead_letters == DeadLetters(2, reasons, [Share("http://127.0.0.1:9/two", 2)])
    assert found.quarantine is not None
    assert found.quarantine.count == 1
    assert (found.quarantine.by_reason[0].name or "").startswith("Refusal: not well-formed XML")


def test_cost_by_subscription(found: Report) -> None:
    one = Cost("one", "http://127.0.0.1:9/one", matches=5, attempts=5, delivered=4, dead=0, bytes=50)
    two = Cost("two", "http://127.0.0.1:9/two", matches=5, attempts=1, delivered=0, dead=2, bytes=10)
    assert found.costs == Costs(2, [one, two])


def test_a_range_is_of_what_was_accepted_in_it_whenever_it_was_tried(filled: Path, spark: SparkSession) -> None:
    some = report_on(spark, ReportSettings(filled, start=after(3), stop=after(5)))
    assert some.rates is not None and some.deliveries is not None
    assert (some.rates.notifications, some.rates.matches) == (2, 4)
    assert (some.deliveries.count, some.deliveries.repeated, some.deliveries.dropped) == (3, 1, 0)
    assert some.replies is not None and (some.replies.publications, some.replies.replied) == (2, 2)
    assert some.quarantine is None, "found when the test ran"


def test_a_range_without_anything_says_so(filled: Path, spark: SparkSession) -> None:
    none = report_on(spark, ReportSettings(filled, start=after(60 * 60), stop=after(2 * 60 * 60)))
    assert none.is_empty
    assert "There is nothing yet" in page(none)


def test_before_the_first_row_it_says_so_without_spark(recorder: Recorder, capfd: pytest.CaptureFixture[str]) -> None:
    recorder.save()
    none = report(ReportSettings(recorder.data))
    assert none.is_empty
    show(none)
    assert "There is nothing yet" in capfd.readouterr().err


def texts(element: ElementTree.Element) -> Iterator[str]:
    yield from (text.strip() for text in element.itertext())


def test_the_page_is_whole_and_has_the_numbers(found: Report, tmp_path: Path) -> None:
    path = write(found, tmp_path / "new" / "folder")
    document = ElementTree.parse(path).getroot()
    titles = [each.text for each in document.iter("h2")]
    assert titles == [
        "Rates", "Fan-out", "Latencies", "Repetitions", "Replies", "Dead letters", "Quarantine", "Cost by subscription"
    ]  # fmt: skip
    cells = set(texts(document))
    assert {LAB, "HTTP 410", "http://127.0.0.1:9/two", "50", "1.67", "83.3", "1.000"} <= cells
    pictures = [each.attrib["src"] for each in document.iter("img")]
    assert len(pictures) == 9
    drawn = [ElementTree.fromstring(b64decode(each.partition("base64,")[2])) for each in pictures]
    assert LAB in set(texts(drawn[1])), "as it is, though matplotlib and XML have their own dollars and brackets"
    assert not [each for each in document.iter() if each.attrib.get("href", "#")[0] != "#"], "needs nothing else"


def test_names_that_nobody_can_print_harm_nothing(found: Report) -> None:
    odd = [Share("bell\a and \x1b[31m", 3), Share("x" * 300, 2), Share("\u65e5\u672c", 1), Share(None, 1)]
    document = ElementTree.fromstring(page(replace(found, dead_letters=DeadLetters(7, odd, odd))))
    assert "bell\N{REPLACEMENT CHARACTER} and \N{REPLACEMENT CHARACTER}[31m" in set(texts(document))


def test_times(filled: Path) -> None:
    assert time_named("2023-11-14T22:13:22Z") == after(2)
    with pytest.raises(PipelineError, match="'yesterday' is no time such as"):
        time_named("yesterday")
    told = inside("pipeline", "report", "--data", str(filled), "--from", "yesterday", check=False)
    assert (told.returncode, "yesterday" in told.stderr) == (1, True)


def test_an_outbox_of_an_earlier_version_is_told_of_in_a_sentence(recorder: Recorder) -> None:
    recorder.save()
    Outbox.open(recorder.data / "outbox.db").close()
    with closing(sqlite3.connect(recorder.data / "outbox.db")) as outbox:
        outbox.execute("PRAGMA user_version = 2")
    told = inside("pipeline", "report", "--data", str(recorder.data), check=False)
    assert (told.returncode, "has format 2" in told.stderr) == (1, True)


@pytest.mark.long
def test_the_command_over_tables_without_their_node(filled: Path, found: Report, tmp_path: Path) -> None:
    where = ("--tables", str(filled / "tables"), "--data", str(tmp_path / "elsewhere"), "--master", "local[1]")
    told = process("pipeline", "report", *where, "--out", str(tmp_path), "--json", "--top", "1")
    document = json.loads(told.stdout)
    assert document["fan_out"] == json.loads(msgspec.json.encode(found.fan_out))
    assert [(each["subscription"], each["consumer"]) for each in document["costs"]["top"]] == [("one", None)]
    assert document["dead_letters"]["by_consumer"] == [{"name": "two", "count": 2}]
    assert ElementTree.parse(tmp_path / "report.html").getroot().tag == "html"
    assert not (tmp_path / "elsewhere").exists()


def test_it_is_told_in_aligned_tables(found: Report, capfd: pytest.CaptureFixture[str]) -> None:
    show(found)
    lines = capfd.readouterr().err.splitlines()
    assert "cloudevents              4  66.7       4.0" in lines
    assert "wsn-1.3                  2  33.3       2.0" in lines
