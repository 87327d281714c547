"""The subscriptions as of a record, wherever a task begins."""

import shutil
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace
from tests.pipeline.stage import standing, storage_of

from tocsin.flow.flow import Flow, normalise
from tocsin.matching.index.compiled import VERSION
from tocsin.model.records import Accepted, Changed
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.hop import hop
from tocsin.pipeline.state.published import StateFiles
from tocsin.pipeline.state.publisher import StatePublisher, open_store
from tocsin.pipeline.state.standing import Standing
from tocsin.pipeline.state.standing import standing as kept_standing
from tocsin.store.codec import encode
from tocsin.store.database import Store
from tocsin.store.past import Past
from tocsin.store.snapshots import Made

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder


def record_changes(recorder: "Recorder", steps: int) -> None:
    chance = Random(5)
    made = [recorder.subscribe("s0", "a")]
    for step in range(1, steps):
        if chance.random() < 0.5:
            recorder.raw(chance.choice("ab"))
        elif chance.random() < 0.5:
            made.append(recorder.subscribe(f"s{step}", chance.choice("ab")))
        else:
            recorder.end(made.pop(chance.randrange(len(made)))) if len(made) > 1 else recorder.raw("a")
    recorder.save()


def wanted(recorder: "Recorder") -> dict[int, list[str]]:
    flow = Flow("http://127.0.0.1:8080")
    found: dict[int, list[str]] = {}
    for record in recorder.records:
        match record:
            case Changed(subscription=subscription):
                flow.apply(subscription)
            case Accepted():
                found[record.at.offset] = [each.id for each in flow.match(normalise(record)[0]).wanted]
    return found


def test_any_range_in_any_order_meets_the_same_subscriptions(recorder: "Recorder") -> None:
    record_changes(recorder, 120)
    expected, chance = wanted(recorder), Random(7)
    with standing(recorder.data) as met:
        for _ in range(40):
            start, stop = sorted(chance.sample(range(len(recorder.records)), 2))
            frames = ((at, encode(recorder.records[at])) for at in range(start, stop))
            for seen in hop(frames, met, customise=False):
                for told in seen.told:
                    assert [each.id for each in told.matched] == expected[seen.offset]


def test_what_was_compiled_before_gives_the_same(recorder: "Recorder") -> None:
    """A job goes on with its snapshots and its files of changes, batch by batch."""
    record_changes(recorder, 120)
    expected, end, storage = wanted(recorder), len(recorder.records), storage_of(recorder.data)
    digests: list[str | None] = []
    with StatePublisher(recorder.data, storage, least=12) as publisher:
        kept = Standing(StateFiles(storage), publisher.publish(0))
        for start in range(0, end, 15):
            told = publisher.publish(start)
            assert kept.follow(told)
            digests.append(told.digest)
            for met in (kept, Standing(StateFiles(storage), told)):
                frames = ((at, encode(recorder.records[at])) for at in range(start, min(end, start + 15)))
                for seen in hop(frames, met, customise=False):
                    for each in seen.told:
                        assert [one.id for one in each.matched] == expected[seen.offset]
    assert 1 < len({*digests}) < len(digests), "not at every offset"


def test_a_job_that_is_started_again_goes_on_with_its_snapshot(recorder: "Recorder") -> None:
    record_changes(recorder, 60)
    end, storage = len(recorder.records), storage_of(recorder.data)
    with StatePublisher(recorder.data, storage, least=1) as publisher:
        made = publisher.publish(end)
    with StatePublisher(recorder.data, storage, least=1) as publisher:
        assert publisher.publish(end) == made


def test_what_a_snapshot_holds_is_counted_once(recorder: "Recorder", monkeypatch: pytest.MonkeyPatch) -> None:
    """A count takes as long as there are subscriptions, and batches are many."""
    record_changes(recorder, 60)
    asked: list[tuple[int, int]] = []
    count = Past.count_changes

    def counted(self: Past, *, since: int, before: int) -> int:
        asked.append((since, before))
        return count(self, since=since, before=before)

    monkeypatch.setattr(Past, "count_changes", counted)
    with StatePublisher(recorder.data, storage_of(recorder.data), least=1) as publisher:
        for _ in range(9):
            publisher.publish(30)
    assert asked.count((0, 30)) == 2, "to see that a first one is due, and to see when the next one is"


def test_a_damaged_snapshot_is_named_and_made_anew_once_it_is_removed(recorder: "Recorder") -> None:
    record_changes(recorder, 60)
    end, storage = len(recorder.records), storage_of(recorder.data)
    with StatePublisher(recorder.data, storage, least=1) as publisher:
        made = publisher.publish(end)
        assert made.snapshot is not None
        folder = recorder.data / "tables/_state" / made.snapshot
        (folder / "bodies.npy").write_bytes(b"nothing")
        with pytest.raises(PipelineError, match=f"remove {folder} and start again"):
            Standing(StateFiles(storage), made).bring_to(end)
        shutil.rmtree(folder)
        Standing(StateFiles(storage), publisher.publish(end)).bring_to(end)


def test_a_snapshot_of_another_layout_is_not_used(recorder: "Recorder") -> None:
    record_changes(recorder, 60)
    end, storage = len(recorder.records), storage_of(recorder.data)
    with StatePublisher(recorder.data, storage, least=1) as publisher:
        old = recorder.data / "tables/_state" / str(publisher.publish(end - 1).snapshot)
        (old / "made.msgpack").write_bytes(msgspec.msgpack.encode(Made(end - 1, VERSION - 1, "")))
        assert publisher.publish(end).made == end


def test_a_state_is_for_the_records_it_was_published_for(recorder: "Recorder") -> None:
    record_changes(recorder, 60)
    with standing(recorder.data, 50, least=1) as met:
        met.bring_to(50)
        with pytest.raises(PipelineError, match="published for records from 50 on, not for 49"):
            met.bring_to(49)
        met.bring_to(99)  # where nothing was changed since


def test_it_is_kept_for_the_next_task_until_the_node_moves(recorder: "Recorder") -> None:
    storage = storage_of(recorder.data)
    with StatePublisher(recorder.data, storage) as publisher:
        kept = kept_standing(storage, publisher.publish(0))
        assert kept_standing(storage, publisher.publish(0)) is kept
        with closing(Store.open(recorder.data / "tocsin.db")) as store:
            store.set_meta("base_url", "http://127.0.0.1:9090")
        assert kept_standing(storage, publisher.publish(0)) is not kept


def test_tasks_open_no_database(recorder: "Recorder", tmp_path: Path) -> None:
    """Elsewhere there is none: only what was published, and the log."""
    record_changes(recorder, 60)
    with standing(recorder.data) as met:
        (recorder.data / "tocsin.db").rename(tmp_path / "gone.db")
        met.bring_to(len(recorder.records))
    assert len(met.flow)


def test_a_directory_no_node_has_used_is_refused(recorder: "Recorder") -> None:
    with pytest.raises(PipelineError, match="no node has used it yet"):
        open_store(recorder.data / "elsewhere")


def test_a_record_that_cannot_be_normalised_is_told_with_its_reason(recorder: "Recorder") -> None:
    recorder.subscribe("s", "a")
    recorder.raw("a", b"not XML")
    recorder.raw("a")
    recorder.save()
    frames = [(at, encode(record)) for at, record in enumerate(recorder.records)]
    with standing(recorder.data) as met:
        seen = list(hop(iter([*frames, (3, b"rubbish")]), met, customise=True))
    assert [len(each.told) for each in seen] == [0, 0, 1, 0]
    assert [[failed.reason.split(":")[0] for failed in each.failed] for each in seen] == [
        [],
        ["Refusal"],
        [],
        ["Undecodable"],
    ]


def test_a_subscription_nobody_can_write_for_costs_the_others_nothing(recorder: "Recorder") -> None:
    odd = recorder.subscribe("odd", "a")
    recorder.change(replace(odd, form=replace(odd.form, dialect="klingon")))
    recorder.subscribe("well", "a")
    recorder.raw("a")
    recorder.save()
    frames = ((at, encode(record)) for at, record in enumerate(recorder.records))
    with standing(recorder.data) as met:
        told = [*hop(frames, met, customise=True)][-1].told[0]
    assert [(each.match.subscription, each.is_made()) for each in told.deliveries] == [("odd", False), ("well", True)]
    assert b"klingon" in told.deliveries[0].body, "the node tells why"
    assert [(each.subscription, "klingon" in each.reason) for each in told.failed] == [("odd", True)]
