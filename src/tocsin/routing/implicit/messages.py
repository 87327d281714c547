"""What reaches a notifier, and what it asks of the world. All of it can cross a process."""

from msgspec import Struct

from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Copy as Copy
from tocsin.model.notification import Message as Message

PUBLICATION = ""  # stands for a copy's id where the root has the message from its own service


# A notifier that gets the same message so often is in a loop, or in a graph where HIN doubles it at every step.
MOST_PASSES = 16


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


Incoming = Publish | Copy | Granted


class Forward(Struct, frozen=True):
    copy: Copy


class Deliver(Struct, frozen=True):
    """To the notifier's own service."""

    copy: Copy


class Remember(Struct, frozen=True):
    """In the notifier's own history; to be on disk together with what is forwarded."""

    message: MessageId


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


Effect = Forward | Deliver | Remember | Claim | Handled
