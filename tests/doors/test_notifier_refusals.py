"""What a notifier's door takes from nobody, and tells to nobody."""

import json
import re
from typing import Any

import pytest
from tests.doors.fake_implicit import FakeImplicit, ask, gate, small_world
from tests.doors.test_notifiers import COPY, PUBLISH, QUAKES, basic, said

from tocsin.broker.caller import NODE
from tocsin.doors.notifiers import NotifierDoor
from tocsin.mediation.operations import Reply
from tocsin.mediation.ws.notifier_messages import notify_request, publish_request


@pytest.fixture
def port() -> FakeImplicit:
    return FakeImplicit(small_world())


@pytest.mark.parametrize(
    "when", ["9999-01-01T00:00:00Z", "2262-04-12T00:00:00Z", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00Z"]
)
async def test_a_time_that_cannot_be_written_down(when: str, port: FakeImplicit) -> None:
    headers, body = notify_request(COPY, "nobody's")
    changed = re.sub(rb"<n:When>.*?</n:When>", f"<n:When>{when}</n:When>".encode(), body)
    assert changed != body
    assert await said(NotifierDoor(gate(port)), "CARE", (headers, changed)) == (400, "Malformed")
    assert not port.notified


@pytest.mark.parametrize("who", [{}, basic("few")])
async def test_a_wsdl_that_is_not_there_names_nobody(who: dict[str, str], port: FakeImplicit) -> None:
    for at in (gate(port), gate(port, QUAKES)):
        status, _, body = await ask(NotifierDoor(at), "GET", "/notifiers/Nobody?wsdl", headers=who)
        detail = json.loads(body)["detail"]
        assert status == 404 and "'Nobody'" in detail and "/api/notifiers" in detail
        assert not any(name in detail for name in port.the_world.services)


def over_tcp(path: str, content_type: str = "text/xml; charset=utf-8") -> dict[str, Any]:
    headers = [(b"content-type", content_type.encode())]
    return {"type": "tcp", "path": path, "headers": headers, "client": ("127.0.0.1", 1)}


async def test_what_comes_in_a_frame_is_soap_whatever_it_is_called(port: FakeImplicit) -> None:
    door = NotifierDoor(gate(port))

    async def told(path: str, body: bytes, content_type: str = "text/xml; charset=utf-8") -> Reply:
        return await door.handle(over_tcp(path, content_type), body)

    for kind in ("text/xml", "application/soap+xml", "application/json", ""):
        assert b"PublishResponse" in (await told("/notifiers/IDER", publish_request(PUBLISH)[1], kind)).body
    assert len(port.published) == 4
    for body in (b"{}", b"<broken", b"<a/>"):
        assert b"Fault" in (await told("/notifiers/IDER", body, "application/json")).body
    assert b"NotProven" in (await told("/notifiers/CARE", notify_request(COPY, "forged")[1])).body
    assert b"UnknownName" in (await told("/notifiers/Nobody", publish_request(PUBLISH)[1])).body
    assert b"NotifyResponse" in (await told("/notifiers/CARE", notify_request(COPY, port.proof(NODE, COPY))[1])).body
    assert len(port.published) == 4 and port.notified == [COPY]
