"""What interface nodes and rendezvous nodes say to each other of who wants what (paper 004, s5.B).

A question travels with the notification that is relayed anyway, and its answer with the acknowledgement of that: they
cost no message. No times are told, only how long something lasts: the clocks of two nodes may differ by hours.
"""

from typing import Protocol

from msgspec import Struct

from tocsin.model.filters import Filter
from tocsin.routing.ring.identifiers import SIZE, within


class Flow(Struct, frozen=True, array_like=True, gc=False):
    """All notifications on one topic: where on the circle of its plane they meet their subscriptions, and the topic."""

    plane: str
    key: int
    topic: str


class Span(Protocol):
    """The keys at which a subscription is kept."""

    def next_key(self, at: int) -> int | None:
        """The smallest of them that is not below `at`."""


class Arc(Struct, frozen=True, array_like=True, gc=False):
    """The keys (after, upto]: what a node owns, or what moves from one to another."""

    after: int
    upto: int

    def __contains__(self, key: int) -> bool:
        return within(key, self.after, self.upto)

    def meets(self, span: Span) -> bool:
        first = span.next_key((self.after + 1) % SIZE)
        if first is not None and first in self:
            return True
        return self.upto <= self.after and (first := span.next_key(0)) is not None and first in self


class Wanting(Struct, frozen=True):
    """A subscription that wants a flow, paused or not: what is published meanwhile waits for it. `lasts` is how long it
    is until it expires, in nanoseconds; None is for ever."""

    id: str
    version: int
    filters: tuple[Filter, ...]
    lasts: int | None = None


# From the interface node, and the answer


class Question(Struct, frozen=True, tag=True):
    """Who wants this flow? `number` is the interface node's own, used once; `epoch` is that of the roster it knows."""

    node: str
    number: int
    flow: Flow
    epoch: int


class Answered(Struct, frozen=True, tag=True):
    """By those who want it, or by nobody. That nobody wants it may be held for `lease` nanoseconds after the question
    was asked, and for none where the rendezvous could not promise to tell."""

    flow: Flow
    number: int
    epoch: int
    wanting: tuple[Wanting, ...] = ()
    lease: int = 0


# From the rendezvous, and the answer


class Tell(Struct, frozen=True, tag=True):
    """These flows, which nobody wanted, are wanted now. Whoever made the subscription waits until that is known."""

    number: int
    wanting: Wanting
    flows: tuple[Flow, ...]


class Unwanted(Struct, frozen=True, tag=True):
    """The last subscription to these flows has ended. Who does not hear it relays what need not be relayed, no more."""

    subscription: str
    flows: tuple[Flow, ...]


class Told(Struct, frozen=True, tag=True):
    """Nothing that the interface node knows hides it any more."""

    number: int


# From a former owner to the next


class Registered(Struct, frozen=True, array_like=True):
    """That an interface node may hold a flow to be wanted by nobody, for so many nanoseconds more."""

    node: str
    flow: Flow
    lasts: int


class Handover(Struct, frozen=True, tag=True):
    """All that was promised for the keys of an arc. `wait` are the nanoseconds that are left of the former owner's own
    wait, where it does not know what those before it promised."""

    arc: Arc
    registered: tuple[Registered, ...] = ()
    wait: int = 0


# For the services of the rendezvous


class Settled(Struct, frozen=True):
    """No interface node leaves what that change wants: it may be acknowledged."""

    change: str


class Unsettled(Struct, frozen=True):
    """What it wants is no longer all owned here: it is to be asked again, of those who own it."""

    change: str


PeerMessage = Question | Answered | Tell | Unwanted | Told | Handover
