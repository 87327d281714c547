"""Plain JSON for web hooks: read, written, and what is lost on the way from and to the standards."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.mediation.requests import accepted
from tests.mediation.test_round_trip import FORMS, URIS, WORDS, comparable, delivered

from tocsin.mediation.ce import webhook
from tocsin.mediation.dialects import NAMES, normalise
from tocsin.mediation.losses import arriving, table
from tocsin.model.names import NO_TOPIC, QName
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal

OTHERS = sorted(NAMES)
EXAMPLE = {"wrapped": "wsn-1.3", "event": "wse-2004-08"}


def record(message: object, door: str = "/broker/publish") -> Accepted:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return accepted(body, webhook.NAME, door, (("content-type", webhook.MEDIA_TYPE),))


def read(message: object, door: str = "/broker/publish") -> Notification:
    (found,) = normalise(record(message, door))
    return found


PAYLOADS = st.sampled_from(
    [
        {"payload": {"river": "Inn"}},
        {"payload": None},
        {"media_type": "application/xml", "payload": '<a xmlns="urn:x"> 1 </a>'},
        {"media_type": "application/xml", "payload": "<not/>really"},
        {"media_type": "image/svg+xml", "payload": "<!-- c --><svg/>"},
        {"media_type": "text/plain", "payload": "é\n"},
        {"media_type": "image/png", "payload_base64": "iVBORw0="},
    ]
)
OPTIONAL = st.fixed_dictionaries(
    {},
    optional={
        "id": URIS,
        "producer": URIS,
        "type": URIS,
        "topic": st.sampled_from(["a", "a/b", "{urn:t}a/b"]),
        "attributes": st.dictionaries(st.sampled_from(["action", "k"]), WORDS, max_size=2),
    },
)
RECORDS = st.builds(lambda payload, rest: record(payload | rest), PAYLOADS, OPTIONAL)


def test_everything_has_a_name() -> None:
    found = read(
        {
            "id": "urn:m",
            "topic": "{urn:t}flood/severe",
            "producer": "urn:p",
            "type": "{urn:x}Alert",
            "attributes": {"k": "v"},
            "payload": [1, 2],
        }
    )
    assert (found.id, str(found.topic), found.producer) == ("urn:m", "{urn:t}flood/severe", "urn:p")
    assert (found.type, found.attributes) == (QName("urn:x", "Alert"), (("k", "v"),))
    assert (found.payload.media_type, found.payload.data) == ("application/json", b"[1, 2]")


def test_what_is_absent_gets_a_default() -> None:
    found = read({"payload": 1})
    assert (found.id, found.topic, found.producer, found.type) == ("urn:uuid:the-cause", NO_TOPIC, "", None)
    assert str(read({"payload": 1}, "/broker/publish/a/b").topic) == "a/b"


@pytest.mark.parametrize(
    "message",
    [
        b"{",
        [],
        {},
        {"payload": 1, "payload_base64": ""},
        {"payload": 1, "colour": "red"},
        {"payload": 1, "topic": "a//b"},
        {"payload": 1, "media_type": "text/plain"},
        {"payload": 1, "media_type": "a\nb"},
        {"payload_base64": "?"},
        {"payload": 1, "id": "\x01"},
        {"payload": 1, "producer": "x" * 5000},
        {"payload": 1, "attributes": {"k": 1}},
    ],
)
def test_bad_input_is_refused(message: Any) -> None:
    with pytest.raises(Refusal):
        read(message)


@pytest.mark.parametrize("target", OTHERS)
def test_what_arrives_is_what_the_loss_table_says(target: str) -> None:
    @given(RECORDS, FORMS)
    @settings(max_examples=examples(40), deadline=None)
    def check(record: Accepted, form: Any) -> None:
        (sent,) = normalise(record)
        (arrived,) = normalise(delivered(sent, target, form, b""))
        assert comparable(arrived) == comparable(arriving(sent, target, wrapped=form.wrapped))

    check()


def changes(target: str, field: str) -> Callable[[Accepted], bool]:
    def differs(record: Accepted) -> bool:
        (sent,) = normalise(record)
        return bool(getattr(comparable(sent), field) != getattr(comparable(arriving(sent, target)), field))

    return differs


@pytest.mark.parametrize(("target", "field"), [(row[1], row[2]) for row in table() if row[0] == webhook.NAME])
def test_each_row_of_its_loss_table_is_a_real_loss(target: str, field: str) -> None:
    found = find(
        RECORDS,
        changes(EXAMPLE.get(target, target), field),
        settings=settings(max_examples=2000, deadline=None, phases=[Phase.generate]),
    )
    assert found.dialect == webhook.NAME
