import contextlib

import pytest

from tocsin.flow.addressing import check_event_for_service, door_of, event_for_service
from tocsin.flow.flow import normalise
from tocsin.model.identity import Instant, MessageId, Node
from tocsin.model.names import Topic, topic
from tocsin.model.notification import Payload
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position
from tocsin.routing.implicit.messages import Copy, Message

NAME = MessageId("urn:uuid:1")
DATA = (
    Payload("application/xml", b"<quake>7.1</quake>"),
    Payload("text/plain", "Erdbeben in Kalifornien, Stärke 7".encode()),
    Payload("application/json", b'{"magnitude": 7.1}'),
    Payload("application/octet-stream", bytes(range(256))),
    Payload("", b""),
)


def copy(to: str, data: Payload) -> Copy:
    message = Message(NAME, "din", "IDER", "Disaster Info", data, Instant(10**18), attributes=(("request", "r1"),))
    return Copy("c", message, "USGS", to, 2)


@pytest.mark.parametrize("data", DATA, ids=lambda data: data.media_type or "none")
@pytest.mark.parametrize("name", ["CARE", "Ärzte ohne Grenzen 100%", "a?b#c"])
def test_a_copy_is_read_from_the_log_as_it_was_said(name: str, data: Payload) -> None:
    where = topic("Disaster-Info")
    assert where is not None
    headers, body = event_for_service(copy(name, data), where, "http://n/notifiers/IDER")
    at = Position(Node("n"), 3)
    (found,) = normalise(Accepted(at, Instant(5), door_of(name), "cloudevents", headers, None, "cause", body))
    assert (found.id, found.addressee, found.topic, found.producer) == (NAME, name, where, "http://n/notifiers/IDER")
    assert found.payload == data
    assert {(n, found.attribute(n)) for n in ("root", "sender", "hop", "protocol", "label", "request")} == {
        ("root", "IDER"),
        ("sender", "USGS"),
        ("hop", "2"),
        ("protocol", "din"),
        ("label", "Disaster Info"),
        ("request", "r1"),
    }


def test_other_doors_are_open_to_all() -> None:
    headers = (("content-type", "text/plain"),)
    record = Accepted(
        Position(Node("n"), 3), Instant(5), "/broker/publish/notifiers", "raw", headers, None, "cause", b"x"
    )
    assert normalise(record)[0].addressee == ""


def checked(data: Payload, *attributes: tuple[str, str]) -> None:
    message = Message(NAME, "din", "IDER", "Disaster Info", data, Instant(10**18), attributes=attributes)
    check_event_for_service(message, topic("Disaster-Info") or Topic(()), "http://n/notifiers/IDER")


@pytest.mark.parametrize("data", DATA, ids=lambda data: data.media_type or "none")
def test_what_can_be_told_is_taken(data: Payload) -> None:
    checked(data, ("request", "r1"), ("expirytime", "2100-01-01T00:00:00Z"))


@pytest.mark.parametrize(
    ("data", "attribute"),
    [
        (DATA[0], ("expirytime", "soon")),
        (DATA[0], ("Request", "r1")),
        (DATA[0], ("request", "\x01")),
        (DATA[0], ("dataschema", "here")),
        (DATA[3], ("data", "twice")),
        (Payload("a\nb", b"7"), ("request", "r1")),
    ],
)
def test_what_cannot_be_told_is_refused(data: Payload, attribute: tuple[str, str]) -> None:
    with pytest.raises(Refusal):
        checked(data, attribute)


def test_deep_data_is_told_or_refused() -> None:
    for depth in range(850, 1100):
        with contextlib.suppress(Refusal):
            checked(Payload("application/json", b"[" * depth + b"]" * depth))
