"""An event that is recalled reads as it would in full, whatever a sender changes from one to the next."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.mediation.requests import accepted

from tocsin.mediation.ce import cloudevents
from tocsin.mediation.ce.cloudevents import EventMemo
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal

LIKE: dict[str, object] = {
    "specversion": "1.0",
    "id": "1",
    "source": "urn:s",
    "type": "t",
    "subject": "a/b",
    "time": "2026-03-01T12:00:00Z",
    "datacontenttype": "application/xml",
    "data": "<a/>",
}
TEXTS = st.sampled_from(
    ["", " ", "1", "a/b", "é", "\x01", "2026-03-01T12:00:00Z", "2026-02-30T12:00:00Z", "<a>", "x" * 5000]
)
VALUES: st.SearchStrategy[object] = st.one_of(
    TEXTS, st.none(), st.booleans(), st.integers(0, 2**33), st.just([]), st.just({})
)
CHANGES = st.dictionaries(st.sampled_from([*LIKE, "topic", "dataschema", "comexample"]), VALUES, max_size=3)
GONE = st.sets(st.sampled_from(sorted(LIKE)), max_size=2)


def record(event: dict[str, object]) -> Accepted:
    body = json.dumps(event).encode()
    return accepted(body, cloudevents.NAME, "/events", (("content-type", cloudevents.STRUCTURED),))


def read(event: dict[str, object]) -> Notification | str:
    try:
        (found,) = cloudevents.notifications(record(event))
    except Refusal as refusal:
        return refusal.text
    return found


@pytest.fixture
def memo(monkeypatch: pytest.MonkeyPatch) -> EventMemo:
    made = EventMemo(cloudevents.NAME)
    monkeypatch.setattr(cloudevents, "_MEMO", made)
    return made


@given(CHANGES, GONE)
@settings(max_examples=examples(400), deadline=None)
def test_a_warm_memo_reads_what_a_cold_one_reads(changes: dict[str, object], gone: set[str]) -> None:
    event = {name: value for name, value in (LIKE | changes).items() if name not in gone}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cloudevents, "_MEMO", EventMemo(cloudevents.NAME))
        cold = read(event)
        read(dict(LIKE))
        assert read(event) == cold
        assert read(event) == cold


def test_the_second_event_of_a_sender_is_recalled(memo: EventMemo) -> None:
    first, event = read(dict(LIKE)), LIKE | {"id": "2", "data": "<b/>"}
    recalled = memo.recall(record(event), dict(event))
    assert isinstance(first, Notification)
    assert recalled is not None
    assert (recalled.id, recalled.payload.data) == ("2", b"<b/>")
    assert (recalled.topic, recalled.attributes) == (first.topic, first.attributes)


def test_json_data_is_read_in_full(memo: EventMemo) -> None:
    event = LIKE | {"datacontenttype": "application/json", "data": "text"}
    read(dict(event))
    assert memo.recall(record(event), dict(event)) is None


def test_the_memo_is_bounded(memo: EventMemo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.mediation.ce.cloudevents.MOST_KNOWN", 3)
    for number in range(10):
        read(LIKE | {"source": f"urn:{number}"})
    read(LIKE | {"source": "urn:" + "x" * 600})
    assert 0 < len(memo._known) <= 3
