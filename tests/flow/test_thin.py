"""A thin notice says that something is there, and where; in every dialect, whatever it was published in."""

from typing import Any

import msgspec
import pytest

from tocsin.client.notifications import received
from tocsin.flow.flow import Flow
from tocsin.flow.thin import NOTICE
from tocsin.markup import xml
from tocsin.mediation.dialects import BY_NAME, NAMES
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

BASE = "http://broker.example"
ADDRESS = f"{BASE}/api/notifications/41/2"


def said(dialect: str) -> Notification:
    kind: Any = QName("urn:x", "film") if dialect != "cloudevents" else "film"
    return Notification(
        MessageId("m-1"),
        Position(Node("n"), 41),
        2,
        Instant(1_000_000_000),
        dialect,
        "",
        "urn:camera",
        Topic((QName("", "film"),)),
        kind,
        (),
        Payload("application/xml", b"<film xmlns='urn:x'>SECRET</film>"),
    )


def to(dialect: str, *, thin: bool, wrapped: bool = True) -> Subscription:
    rules = BY_NAME[dialect]
    form = Form(dialect, "1.2" if rules.is_soap else None, rules.addressing, wrapped, thin=thin)
    name = SubscriptionId("s")
    return Subscription(name, None, Endpoint("http://c.example/"), None, form, (), Position(Node("n"), 0), None)


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("published", ["cloudevents", "wsn-1.3", "wse-2004-08", "raw"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_it_has_the_address_and_not_the_data(dialect: str, published: str, wrapped: bool) -> None:
    whole = said(published)
    delivery = Flow(BASE).deliver(whole, to(dialect, thin=True, wrapped=wrapped))
    written = delivery.body + repr(delivery.headers).encode()
    assert b"SECRET" not in written
    assert ADDRESS.encode() in written.replace(b"%3A", b":").replace(b"%2F", b"/")
    assert delivery.match.notification == whole.id
    assert b"SECRET" in Flow(BASE).deliver(whole, to(dialect, thin=False, wrapped=wrapped)).body


@pytest.mark.parametrize("wrapped", [True, False])
def test_what_is_made_for_others_is_not_for_it(wrapped: bool) -> None:
    whole, written, flow = said("wsn-1.3"), dict[Any, Any](), Flow(BASE)
    for thin in (True, False, True):
        body = flow.deliver(whole, to("wsn-1.3", thin=thin, wrapped=wrapped), None, written).body
        assert (b"SECRET" in body) == (not thin)


def test_a_reader_of_cloud_events_is_told_what_and_where() -> None:
    delivery = Flow(BASE).deliver(said("wsn-1.3"), to("cloudevents", thin=True))
    headers = tuple((name.lower(), value) for name, value in delivery.headers)
    (found,) = received(headers, delivery.body, Instant(5))
    assert (found.id, str(found.topic), found.producer) == ("m-1", "film", "urn:camera")
    assert str(found.type) == "{urn:x}film"
    assert found.attribute("dataref") == ADDRESS
    assert found.payload == Payload("application/xml", b"")


def test_a_reader_of_soap_is_told_in_an_element() -> None:
    delivery = Flow(BASE).deliver(said("cloudevents"), to("wsn-1.3", thin=True))
    (notice,) = xml.parse(delivery.body).iter(f"{{{NOTICE.namespace}}}{NOTICE.local}")
    assert {str(name): str(value) for name, value in notice.attrib.items()} == {
        "address": ADDRESS,
        "mediaType": "application/xml",
        "length": "33",
    }


def test_a_form_written_before_there_were_thin_notices_is_whole() -> None:
    written: dict[str, Any] = msgspec.to_builtins(Form("cloudevents"))
    old = {key: value for key, value in written.items() if key != "thin"}
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(old), type=Form) == Form("cloudevents")
