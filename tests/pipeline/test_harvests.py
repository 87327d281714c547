"""The table `harvests` against an oracle of a few lines."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession
from tests.pipeline.conftest import NODE
from tests.pipeline.stage import catch_up, rows_of, storage_of

from tocsin.flow.addressing import PULL_POINTS
from tocsin.model.delivery import Match, Outcome, Result
from tocsin.model.filters import ForNotifier
from tocsin.model.histogram import MOST_VALUES
from tocsin.model.identity import SECOND, Instant, MessageId, SubscriptionId
from tocsin.model.records import Changed
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import Endpoint, Position
from tocsin.pipeline.run import RunSettings
from tocsin.pipeline.status import status
from tocsin.pipeline.tables import harvests, parts
from tocsin.spark import read_table
from tocsin.store.outbox import Outbox

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark
MICRO = SECOND // 1_000_000
BEGAN = 1_700_000_000 * 1_000_000  # in microseconds, when record 0 is accepted; one comes each second
TOPICS = "abc"
Sums = tuple[dict[str, int], dict[str, int]]  # figures, and how often each value was said


@dataclass
class Asked:
    """A view, and what was told of each receiver, in the order of time."""

    until: int
    receivers: set[str] = field(default_factory=set)
    told: dict[str, list[tuple[int, Result, str]]] = field(default_factory=lambda: defaultdict(list))

    def sums(self) -> Sums:
        """The oracle."""
        ends = {name: [each for each in told if each[1] in ("dead", "delivered")] for name, told in self.told.items()}
        values = {name: each[2] for name, told in self.told.items() for each in told if each[1] == "replied"}
        dead = {name for name, each in ends.items() if each and each[-1][1] == "dead"}
        missed = {name for name in dead - set(values) if min(e[0] for e in ends[name] if e[1] == "dead") <= self.until}
        count = len(self.receivers | set(values) | missed)
        figures = {"receivers": count, "replied": len(values), "not_reached": len(missed)}
        return figures | {"outstanding": count - len(values) - len(missed)}, Counter(values.values())


class Life:
    """Random publications that ask for replies, and what becomes of them."""

    def __init__(self, recorder: "Recorder", seed: int) -> None:
        self._recorder, self._chance = recorder, Random(seed)
        self.views: dict[int, Asked] = {}
        for number in range(12):
            recorder.subscribe(f"s{number}", TOPICS[number % 3])

    def publish(self, *, asks: bool = True) -> None:
        topic = self._chance.choice(TOPICS)
        if not asks:
            return self._recorder.cloud_event(topic)
        offset = self._recorder.at.offset
        view = self._view(offset)
        self._recorder.ask(topic, ReplyRequest(f"v{offset}", "text", Instant(view.until * MICRO)))
        view.receivers |= {f"s{number}" for number in range(12) if TOPICS[number % 3] == topic}
        return None

    def happen(self, offset: int, receiver: str | None = None) -> None:
        """Something becomes of a delivery; what was replied may be told again, with the same value."""
        view = self._view(offset)
        receiver = receiver or self._chance.choice(sorted(view.receivers))
        told, when = view.told[receiver], BEGAN + offset * 1_000_000 + self._chance.randrange(200_000_000)
        before = next((each[2] for each in told if each[1] == "replied"), None)
        result: Result = self._chance.choice(["replied", "replied", "dead", "delivered", "retry", "dropped"])
        detail = before or self._chance.choice(["yes", "no", 'it\'s "so"', "ö"]) if result == "replied" else "because"
        told.append((when, result, detail))
        told.sort(key=lambda each: each[0])
        match = Match(MessageId(f"e{offset}"), SubscriptionId(receiver))
        self._recorder.tell(Outcome(match, Position(NODE, offset), 0, Instant(when * MICRO), result, 1, detail))

    def _view(self, offset: int) -> Asked:
        return self.views.setdefault(offset, Asked(BEGAN + (offset + 100) * 1_000_000))


def found_in(data: Path) -> dict[str, Sums]:
    """By view, as the oracle has it. Each has one row without a value."""
    found: dict[str, tuple[dict[str, int], dict[str | None, int]]] = {}
    for row in rows_of(data, "harvests"):
        names = ("receivers", "replied", "not_reached", "outstanding")
        figures, values = found.setdefault(row["view"], ({name: row[name] for name in names}, {}))
        assert row["value"] not in values and figures == {name: row[name] for name in names}
        values[row["value"]] = row["count"]
    for figures, values in found.values():
        assert sum(values.values()) == figures["replied"] and values[None] == 0
    return {
        view: (figures, {value: count for value, count in values.items() if value is not None})
        for view, (figures, values) in found.items()
    }


def expected(life: Life) -> dict[str, Sums]:
    return {f"v{offset}": view.sums() for offset, view in life.views.items() if view.receivers}


def killed(*_: object) -> None:
    raise RuntimeError("killed")


@pytest.mark.parametrize("seed", [1, 2])
def test_the_table_is_what_became_of_publications(
    recorder: "Recorder", spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(harvests, "TOGETHER", 4)
    monkeypatch.setattr(harvests, "TIDY_COMMITS", 2)
    life, chance = Life(recorder, seed), Random(seed)
    settings = RunSettings(recorder.data, rows=30, once=True)
    for turn in range(3):
        ahead = recorder.at.offset + 3
        for number in range(15):
            life.publish(asks=number % 3 == 0)
        for _ in range(40):
            life.happen(chance.choice([offset for offset, view in life.views.items() if view.receivers]))
        if turn < 2:  # told before the publication is
            life.happen(recorder.at.offset, "s1")
            life.happen(ahead)
        recorder.save()
        if turn == 1:  # between the table and the note that it was written
            with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="killed"):
                patch.setattr(Outbox, "unstage", killed)
                catch_up(spark, settings)
            assert found_in(recorder.data) == expected(life), "all but the note"
            last = max((recorder.data / "checkpoint/commits").glob("[0-9]*"), key=lambda path: int(path.name))
            last.unlink()  # nor does Spark know that it was done
        if turn == 2:
            with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="killed"):
                patch.setattr(harvests.Harvests, "gather", killed)
                catch_up(spark, settings)
        done = catch_up(spark, settings)
        assert turn != 1 or done[0].repeated
        assert found_in(recorder.data) == expected(life)
    assert any(each[0]["not_reached"] for each in expected(life).values())


def told_of(recorder: "Recorder", offset: int, *told: tuple[str, Result, str]) -> None:
    """Of that record, a second later: of whom, what, and the detail."""
    when, at = Instant((BEGAN + (offset + 1) * 1_000_000) * MICRO), Position(NODE, offset)
    message = MessageId(f"e{offset}")
    recorder.tell(
        *(Outcome(Match(message, SubscriptionId(who)), at, 0, when, result, 1, why) for who, result, why in told)
    )


def asking(view: str) -> ReplyRequest:
    return ReplyRequest(view, "text", Instant((BEGAN + 600_000_000) * MICRO))


def test_services_that_notifiers_tell_count_once_each(recorder: "Recorder", spark: SparkSession) -> None:
    """One message is a record for each service; one has two subscriptions, one has none."""
    for name, service in (("n1", "north"), ("n2", "north"), ("s1", "south")):
        made = recorder.subscribe(name, "a")
        recorder.records[-1] = Changed(made.since, recorder.now, replace(made, filters=(ForNotifier(service),)))
    for service in ("north", "south", "gone", "north"):
        recorder.ask("a", asking("v"), f"/notifiers/{service}")
    told_of(recorder, 3, ("n2", "dead", "because"), ("north", "replied", "12"))
    told_of(recorder, 4, ("s1", "dead", "because"))
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    assert len(rows_of(recorder.data, "matches")) == 5
    assert found_in(recorder.data) == {
        "v": ({"receivers": 3, "replied": 1, "not_reached": 2, "outstanding": 0}, {"12": 1})
    }


def test_what_was_posted_to_a_pull_point_has_one_receiver(recorder: "Recorder", spark: SparkSession) -> None:
    recorder.subscribe("s", "a")
    recorder.ask("a", asking("v"), f"{PULL_POINTS}p")
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    assert not rows_of(recorder.data, "matches")
    nobody = {"receivers": 1, "replied": 0, "not_reached": 0, "outstanding": 1}
    assert found_in(recorder.data) == {"v": (nobody, {})}


def test_what_goes_on_to_other_nodes_is_counted_there(embedded: "Recorder", spark: SparkSession) -> None:
    recorder = embedded
    recorder.subscribe("here", "a")
    made = recorder.subscribe("there", "a")
    there = replace(made, consumer=Endpoint("http://127.0.0.1:9/tree", node="http://127.0.0.1:9"))
    recorder.records[-1] = Changed(made.since, recorder.now, there)
    recorder.ask("a", asking("v"))
    told_of(recorder, 2, ("there", "dead", "because"))
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    assert len(rows_of(recorder.data, "matches")) == 2
    one = {"receivers": 1, "replied": 0, "not_reached": 0, "outstanding": 1}
    assert found_in(recorder.data) == {"v": (one, {})}
    assert rows_of(recorder.data, "harvests")[0]["passed_on"] == 1


def test_of_free_text_the_largest_are_kept(recorder: "Recorder", spark: SparkSession) -> None:
    """A reply is no attempt to deliver, and has no row in the history."""
    recorder.ask("a", asking("v"))
    said = {f"s{number}": f"t{number // 3}" for number in range(3 * MOST_VALUES + 10)}
    told_of(recorder, 0, *((name, "replied", value) for name, value in said.items()))
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    values = read_table(spark, "harvests", recorder.data / "tables")
    assert values.where("value IS NULL").select("count", "replied").collect() == [(10, len(said))]
    assert values.where("value IS NOT NULL").selectExpr("count(*)", "min(count)").collect() == [(MOST_VALUES, 3)]
    row = values.where("value = 't1'").selectExpr("*", "unix_micros(first_reply) - unix_micros(time) AS took").first()
    assert row is not None and (row.notification, row.log_offset, row.topic, row.took) == ("e0", 0, "a", 1_000_000)
    assert row.changed == row.last_reply == row.first_reply
    now = status(recorder.data).tables
    assert (now["history"], now["replies"], now["asked"], now["harvests"]) == (0, len(said), 1, MOST_VALUES + 1)


def test_a_part_whose_file_is_gone_is_told_of_by_its_bounds(recorder: "Recorder", spark: SparkSession) -> None:
    recorder.ask("a", asking("v"))
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    lost = parts.Part("replies", "2023-11-14", 1, 0, 5, 1, "day=2023-11-14/made-one-with-others.parquet")
    harvesting = harvests.Harvests(storage_of(recorder.data))
    assert set(harvesting._views_in([lost])) == {"v"}
    assert not harvesting._views_in([replace(lost, low=1)])
