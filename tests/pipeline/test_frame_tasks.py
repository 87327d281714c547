"""Notifications as rows and back, without Spark."""

from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec.structs import replace
from tests.pipeline.test_same_pairs import publish

from tocsin.flow.flow import normalise
from tocsin.model.names import QName
from tocsin.model.records import Accepted
from tocsin.pipeline.frame_tasks import normalised, notifications_of
from tocsin.pipeline.source import SCHEMA
from tocsin.store.codec import encode

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder


def test_a_row_has_all_of_its_notification(recorder: "Recorder") -> None:
    """Whatever its dialect; also what the table has no column for: nanoseconds, and for whom alone it is."""
    chance = Random(5)
    for _ in range(60):
        publish(recorder, chance)
    recorder.cloud_event("a", type="{urn:a}b", time="2026-01-31T12:00:00Z", contenttopic="levels:7")
    recorder.notify("a")
    records = [replace(each, when=each.when + 123) for each in recorder.records if isinstance(each, Accepted)]
    rows = [{"log": "log", "offset": each.at.offset, "payload": encode(each)} for each in records]
    told = [said for each in records for said in normalise(each)]
    (batch,) = normalised(iter([pa.RecordBatch.from_pylist(rows, schema=SCHEMA)]))
    assert [said for said, _ in notifications_of(batch)] == told
    assert {type(each.type) for each in told} == {QName, str}
    assert any(each.addressee for each in told)
