"""What is told again at a synchronization point: properties as they stand, nothing else."""

import pytest

from tocsin.mediation.ws.onvif import initialised
from tocsin.model.identity import Instant, MessageId, Node
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Position

TT = "http://www.onvif.org/ver10/schema"


def event(data: bytes) -> Notification:
    topic = Topic((QName("", "a"),))
    at = Position(Node("n"), 0)
    return Notification(
        MessageId("urn:m"), at, 0, Instant(0), "wsn-1.3", "c", "", topic, None, (), Payload("application/xml", data)
    )


def message(operation: str) -> bytes:
    return f'<t:Message xmlns:t="{TT}" PropertyOperation="{operation}"><t:Data/></t:Message>'.encode()


@pytest.mark.parametrize("operation", ["Initialized", "Changed"])
def test_a_property(operation: str) -> None:
    told = initialised(event(message(operation)), "again")
    assert told is not None and told.payload.data == message("Initialized")
    assert told.id == "urn:m#again", "it is another message: who drops repeats must not drop it"


@pytest.mark.parametrize(
    "data",
    [
        message("Deleted"),
        f'<t:Message xmlns:t="{TT}"/>'.encode(),
        b'<Message PropertyOperation="Changed"/>',
        b"PropertyOperation",
        b"{}",
    ],
)
def test_anything_else(data: bytes) -> None:
    assert initialised(event(data), "again") is None
