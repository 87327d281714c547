"""The values that a condition finds in one payload."""

from tocsin.markup.content import ValuesAt
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.model.identity import Instant, MessageId, Node
from tocsin.model.names import Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Position


def values_in(media_type: str, data: bytes) -> ValuesAt:
    payload = Payload(media_type, data)
    told = Notification(
        MessageId("m"), Position(Node("n"), 0), 0, Instant(0), "cloudevents", "c", "p", Topic(()), None, (), payload
    )
    return Evidence(told, Catalogue()).values
