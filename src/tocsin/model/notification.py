"""Notifications (normalised messages), and the copies of them that notifiers pass on (paper 000 s3.2)."""

from msgspec import Struct

from tocsin.model.identity import Instant, MessageId, Node, Pairs
from tocsin.model.names import QName, Topic
from tocsin.model.replies import REPLY_TYPE, ReplyRequest
from tocsin.model.subscription import Position


class Payload(Struct, frozen=True, gc=False):
    media_type: str
    data: bytes


EVERY_PLANE = "*"


class Way(Struct, frozen=True, array_like=True, gc=False):
    """How it came here from the node at which it was published: by which neighbour, and how many in all.

    `path` are those that passed it on, in their order. In a ring it came to a `plane`, or to every one, and may be for
    the subscriptions of that alone, or `only` for those that are named. What lies at keys of several nodes came to each
    for the `arcs` that it had, both ends of each included, and is told to those who meet it there. What was `moved`
    from a node that has it no more is named by that move: it counts as new also where it was before.
    """

    by: str
    origin: Node
    hops: int
    path: tuple[str, ...] = ()
    plane: str = ""
    only: tuple[str, ...] = ()
    arcs: tuple[tuple[int, int], ...] = ()
    moved: str = ""


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
    way: Way | None = None  # none for what was published at this node

    def attribute(self, name: str) -> str | None:
        for key, value in self.attributes:  # not a generator: that costs three times as much
            if key == name:
                return value
        return None

    @property
    def reply_type(self) -> str:
        """What its receivers may reply; empty where it asks for no reply."""
        return self.attribute(REPLY_TYPE) or ""


def came_by(notification: Notification) -> str | None:
    """The base URL of the neighbour in the tree that passed it on to this node."""
    return None if notification.way is None else notification.way.by


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
