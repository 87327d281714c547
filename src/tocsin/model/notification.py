"""Notifications (normalised messages), and the copies of them that notifiers pass on (paper 000 s3.2)."""

from msgspec import Struct

from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.names import QName, Topic
from tocsin.model.replies import ReplyRequest
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
    reply: ReplyRequest | None = None
    addressee: str = ""  # the one notifier whose service it is for; nobody else sees it

    def attribute(self, name: str) -> str | None:
        for key, value in self.attributes:  # not a generator: that costs three times as much
            if key == name:
                return value
        return None


class Message(Struct, frozen=True, array_like=True):
    """M(T, D) with its id, the same in every copy. `root` is the notifier it was published through."""

    id: MessageId
    protocol: str
    root: str
    topic: str
    data: Payload
    when: Instant
    reports: str = ""  # the node that gathers what became of it; empty: nobody asks
    attributes: Pairs = ()  # told to the services beside the data


class Copy(Struct, frozen=True, array_like=True):
    """One notification on its way; its own id is the same however often it is sent again.

    `notified` is HIN's header, without the root; `most` is how often one notifier passes the message on, where nothing
    else is a bound.
    """

    id: str
    message: Message
    sender: str
    to: str
    hop: int
    notified: tuple[str, ...] = ()
    most: int | None = None
