import pytest
from tests.mediation.requests import accepted

from tocsin.mediation.dialects import normalise
from tocsin.model.names import QName
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal


def read(body: bytes, media_type: str, door: str = "/broker/publish/a/b") -> Notification:
    (found,) = normalise(accepted(body, "raw", door, (("content-type", media_type),) if media_type else ()))
    return found


def test_anything_is_taken_as_it_is() -> None:
    event = read(b"\xff\0", "image/png")
    assert (event.id, event.producer, event.type) == ("urn:uuid:the-cause", "", None)
    assert (str(event.topic), event.payload) == ("a/b", Payload("image/png", b"\xff\0"))


def test_without_a_media_type_it_is_octets() -> None:
    assert read(b"x", "").payload.media_type == "application/octet-stream"


@pytest.mark.parametrize("media_type", ["application/xml", "text/xml; charset=utf-8", "Application/Atom+XML"])
def test_xml_has_the_type_of_its_element(media_type: str) -> None:
    assert read(b'<x xmlns="urn:t"/>', media_type).type == QName("urn:t", "x")


@pytest.mark.parametrize("body", [b"", b"<x", b"<!DOCTYPE x><x/>"])
def test_xml_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        read(body, "application/xml")
    assert caught.value.reason == "malformed"
