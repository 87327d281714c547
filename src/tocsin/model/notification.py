"""A normalised message."""

from msgspec import Struct

from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.names import QName, Topic
from tocsin.model.subscription import Position


class Payload(Struct, frozen=True, gc=False):
    media_type: str
    data: bytes


class Notification(Struct, frozen=True):
    id: MessageId
    at: Position
    index: int
    when: Instant
    dialect: str
    cause: str
    producer: str
    topic: Topic
    type: QName | str | None
    attributes: Pairs
    payload: Payload
    reply_type: str | None = None
    addressee: str = ""  # the one notifier whose service it is for; nobody else sees it

    def attribute(self, name: str) -> str | None:
        return next((value for key, value in self.attributes if key == name), None)
