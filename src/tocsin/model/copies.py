"""A message on its way among notifiers (paper 000, s3.2): what crosses processes, in whatever protocol."""

from msgspec import Struct

from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.notification import Payload


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
