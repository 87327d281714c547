"""The subscriptions as of a record, wherever a task begins."""

from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tocsin.flow.flow import Flow, normalise
from tocsin.model.records import Accepted, Changed
from tocsin.pipeline.as_of import AsOf, as_of, keep_up, open_store
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.hop import hop
from tocsin.store.codec import encode
from tocsin.store.database import Store
from tocsin.store.places import Places

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
    store, base_url = open_store(recorder.data)
    with closing(AsOf(store, base_url)) as standing:
        for _ in range(40):
            start, stop = sorted(chance.sample(range(len(recorder.records)), 2))
            frames = ((at, encode(recorder.records[at])) for at in range(start, stop))
            for seen in hop(frames, standing, customise=False):
                for told in seen.told:
                    assert [each.id for each in told.matched] == expected[seen.offset]


def test_what_was_compiled_before_gives_the_same(recorder: "Recorder") -> None:
    record_changes(recorder, 120)
    expected, chance, folder = wanted(recorder), Random(7), Places(recorder.data).compiled
    made = [keep_up(recorder.data, offset, least=12) for offset in range(0, len(recorder.records), 15)]
    assert 1 < len([each for each in made if each is not None]) < len(made), "not at every offset"
    for _ in range(20):
        start, stop = sorted(chance.sample(range(len(recorder.records)), 2))
        with closing(AsOf(*open_store(recorder.data), folder)) as standing:
            frames = ((at, encode(recorder.records[at])) for at in range(start, stop))
            for seen in hop(frames, standing, customise=False):
                for told in seen.told:
                    assert [each.id for each in told.matched] == expected[seen.offset]


def test_a_snapshot_that_cannot_be_read_is_passed_over(recorder: "Recorder") -> None:
    record_changes(recorder, 60)
    end, folder = len(recorder.records), Places(recorder.data).compiled
    made = keep_up(recorder.data, end, least=1)
    assert made is not None
    (made / "bodies.npy").write_bytes(b"nothing")
    with closing(AsOf(*open_store(recorder.data), folder)) as standing:
        standing.bring_to(end)
        with closing(open_store(recorder.data)[0]) as store:
            assert len(standing.flow) == len(store.past.subscriptions(end))


def test_it_is_kept_for_the_next_task_until_the_node_moves(recorder: "Recorder") -> None:
    kept = as_of(recorder.data)
    assert as_of(recorder.data) is kept
    with closing(Store.open(recorder.data / "tocsin.db")) as store:
        store.set_meta("base_url", "http://127.0.0.1:9090")
    assert as_of(recorder.data) is not kept
    as_of(recorder.data).close()


def test_a_directory_no_node_has_used_is_refused(recorder: "Recorder") -> None:
    with pytest.raises(PipelineError, match="no node has used it yet"):
        open_store(recorder.data / "elsewhere")


def test_a_record_that_cannot_be_normalised_is_told_with_its_reason(recorder: "Recorder") -> None:
    recorder.subscribe("s", "a")
    recorder.raw("a", b"not XML")
    recorder.raw("a")
    recorder.save()
    store, base_url = open_store(recorder.data)
    frames = [(at, encode(record)) for at, record in enumerate(recorder.records)]
    with closing(AsOf(store, base_url)) as standing:
        seen = list(hop(iter([*frames, (3, b"rubbish")]), standing, customise=True))
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
    store, base_url = open_store(recorder.data)
    frames = ((at, encode(record)) for at, record in enumerate(recorder.records))
    with closing(AsOf(store, base_url)) as standing:
        told = [*hop(frames, standing, customise=True)][-1].told[0]
    assert [(each.match.subscription, each.is_made()) for each in told.deliveries] == [("odd", False), ("well", True)]
    assert b"klingon" in told.deliveries[0].body, "the node tells why"
    assert [(each.subscription, "klingon" in each.reason) for each in told.failed] == [("odd", True)]
