"""What the nodes of a ring ask each other and answer, what a node is told by its own services, and what these hear.

Every question and every answer names who says it, so that whoever is there is heard of, and a number, by which an
answer is known to belong to a question.
"""

from msgspec import Struct

from tocsin.routing.machine import Expire, Started, Unanswered, Woken
from tocsin.routing.ring.table import Peer, Run

# Questions


class Find(Struct, frozen=True, tag=True):
    by: Peer
    number: int
    key: int


class Stabilise(Struct, frozen=True, tag=True):
    """`by` takes who is asked for its successor: who stands before and behind it? That notifies it too, so that
    Chord's `stabilize` and `notify` are one exchange."""

    by: Peer
    number: int


class Follow(Struct, frozen=True, tag=True):
    """`by` joined, and takes who is asked for its predecessor."""

    by: Peer
    number: int


class Leave(Struct, frozen=True, tag=True):
    """`by` leaves; these stand before and behind it."""

    by: Peer
    number: int
    predecessor: Peer | None
    successors: tuple[Peer, ...]


class Ping(Struct, frozen=True, tag=True):
    by: Peer
    number: int


# Answers


class Found(Struct, frozen=True, tag=True):
    """The owner of the key, and who stands behind it; or else who is closer before the key, the closest first."""

    by: Peer
    number: int
    run: Run | None
    closer: tuple[Peer, ...] = ()


class Neighbours(Struct, frozen=True, tag=True):
    """`predecessor` is the one before the question was asked."""

    by: Peer
    number: int
    predecessor: Peer | None
    successors: tuple[Peer, ...]


class Here(Struct, frozen=True, tag=True):
    by: Peer
    number: int


# From the services of the node


class Look(Struct, frozen=True, tag=True):
    """Whose is that key?"""

    key: int


class Doubt(Struct, frozen=True, tag=True):
    """That peer did not answer what a service asked it."""

    peer: Peer


class Depart(Struct, frozen=True, tag=True):
    """Leave the ring, for good or until it is started again."""


# For the services of the node


class Looked(Struct, frozen=True, tag=True):
    """The owner of a key after so many questions; None where nobody could tell."""

    key: int
    owner: Peer | None
    asked: int


class Responsible(Struct, frozen=True, tag=True):
    """From now on the node owns what lies in (after, upto]."""

    after: int
    upto: int


class Departed(Struct, frozen=True, tag=True):
    """Those before and behind know that it left."""


# What is reported


class Suspected(Struct, frozen=True, tag=True):
    """It did not answer twice."""

    peer: Peer


class Heard(Struct, frozen=True, tag=True):
    """It was suspected, and is there."""

    peer: Peer


class Gone(Struct, frozen=True, tag=True):
    """It said that it leaves."""

    peer: Peer


# What is remembered


class Own(Struct, frozen=True, tag=True):
    peer: Peer


class Known(Struct, frozen=True, tag=True):
    """Some by whom the ring is found again."""

    peers: tuple[Peer, ...]


Question = Find | Stabilise | Follow | Leave | Ping
Reply = Found | Neighbours | Here
Request = Look | Doubt | Depart
Message = Question | Reply | Request | Started | Woken | Unanswered | Expire
Told = Looked | Responsible | Departed
Row = Own | Known
