"""What notifiers and the central history say to each other, and the rows they remember."""

from msgspec import Struct

from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Copy as Copy
from tocsin.model.notification import Message as Message
from tocsin.routing.machine import Expire, Started, Unanswered
from tocsin.routing.ring.identifiers import place_of_name
from tocsin.semantics.interest.ino import Service

HISTORY = ""  # the name of the central history; no notifier has none
_OF_MESSAGE = "/"  # begins the name of a message's own history; that of no notifier
PUBLICATION = ""  # stands for a copy's id where the root has the message from its own service


# A notifier that gets the same message so often is in a loop, or in a graph where HIN doubles it at every step.
MOST_PASSES = 16


def history_of(message: MessageId) -> str:
    """The name of the history that is of this message alone."""
    return f"{_OF_MESSAGE}{message}"


def is_history(name: str) -> bool:
    return name == HISTORY or name.startswith(_OF_MESSAGE)


def is_of_one_message(name: str) -> bool:
    return name.startswith(_OF_MESSAGE)


def key_of(name: str) -> int:
    """Where on a circle of nodes the machine of that name is: a message's history by the message's own id."""
    return place_of_name(name.removeprefix(_OF_MESSAGE))


class Publish(Struct, frozen=True):
    """`most` is how often one notifier passes the message on, by a protocol that has no history; `only` are told,
    whoever the neighbours are.

    `own`: the root's own service is told as well, for the message came from outside: a Notify of which nobody knows
    where it began.
    """

    message: Message
    most: int = MOST_PASSES
    only: tuple[str, ...] | None = None
    own: bool = False


class Granted(Struct, frozen=True, array_like=True):
    """The central history's answer to a claim: whom the claimant is the one to tell, and whom others tell."""

    message: MessageId
    copy: str
    by: str
    names: tuple[str, ...]
    refused: tuple[str, ...]


class Membership(Struct, frozen=True, array_like=True):
    """A notifier of a node: its service, and the subscription by which that is told. It is also its row."""

    service: Service
    subscription: str


class Join(Struct, frozen=True):
    """The notifier comes to the node, or has another address or subscription."""

    membership: Membership


class Leave(Struct, frozen=True):
    """It takes no more messages, and ends what it has begun."""


Incoming = Publish | Copy | Granted | Join | Leave | Started | Expire | Unanswered


class Had(Struct, frozen=True, array_like=True):
    """A row: the notifier had that message, since when."""

    when: Instant


class Waiting(Struct, frozen=True, array_like=True):
    """A row: a copy for which the central history is asked. `only` are told, whoever the neighbours are."""

    copy: Copy
    received: Instant
    only: tuple[str, ...] | None = None


class Publication(Struct, frozen=True):
    """Reported by its root: what came of the message will be asked for there."""

    id: MessageId
    root: str
    topic: str
    protocol: str
    when: Instant


class Claim(Struct, frozen=True, array_like=True):
    """Asked of the central history: which of these has nobody told yet? `copy` is the one that is being handled."""

    message: MessageId
    copy: str
    by: str
    names: tuple[str, ...]


class Suppressed(Struct, frozen=True, array_like=True):
    """Somebody who is not told again, and how that is known: from the central `history` or the `header`."""

    to: str
    why: str


class Handled(Struct, frozen=True, array_like=True):
    """What became of one copy at one notifier: the trace of a message is all of these.

    `forwarded` are copies and whom they are for. `dropped` says that the notifier's own history knew it; `withheld`
    whom the bound kept from being told; `gone` that there is no such notifier any more.
    """

    message: MessageId
    copy: str
    sender: str
    at: str
    hop: int
    when: Instant
    dropped: bool = False
    forwarded: tuple[tuple[str, str], ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    withheld: tuple[str, ...] = ()
    gone: bool = False


def gone(copy: Copy, now: Instant) -> Handled:
    """What is said for a notifier that left while the copy was on its way."""
    return Handled(copy.message.id, copy.id, copy.sender, copy.to, copy.hop, now, gone=True)


def publication(message: Message) -> Publication:
    return Publication(message.id, message.root, message.topic, message.protocol, message.when)
