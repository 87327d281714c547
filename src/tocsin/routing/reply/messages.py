"""What harvesters say to each other, and what they are told by their dispatchers, receivers and publishers."""

from typing import Any, Literal

from msgspec import Struct

from tocsin.model.histogram import Histogram
from tocsin.model.identity import Instant
from tocsin.model.replies import ReplyRequest
from tocsin.routing.machine import Send

RELAY = "relay"
OWN = "own"  # the source of forwarding that is this node's own matching


def harvester_of(view: str, node: str) -> str:
    """The name of the machine that gathers the replies of a publication at a node."""
    return f"{view}@{node}"


def relay_of(node: str) -> str:
    """The name of the machine by which a node passes on what is not its own."""
    return f"{RELAY}@{node}"


# From the dispatcher of the node


class Forwarded(Struct, frozen=True):
    """To so many receivers of this node, and to these other nodes. Said again it stands in place of the first.

    `at` and `index` are where in the log it stands; it went to one `receiver` alone, where that is named.
    """

    receivers: int
    children: tuple[str, ...] = ()
    complete: bool = True
    source: str = OWN
    at: int = -1
    index: int = 0
    receiver: str = ""


class Opened(Struct, frozen=True):
    """A publication that asks for replies is here. Forwarding is complete when all sources it `awaits` are.

    `forwarded` is what is known of that from the first. One that is `spread` by others than dispatchers has its
    receivers counted at its root, and each reply goes there by itself.
    """

    request: ReplyRequest
    owner: str | None = None
    topic: str = ""
    message: str = ""
    awaits: tuple[str, ...] = (OWN,)
    forwarded: tuple[Forwarded, ...] = ()
    spread: bool = False


class Inherited(Struct, frozen=True):
    """All that was remembered of a publication by a node that is no more, whose view goes on here."""

    rows: tuple[tuple[str, Any], ...]


class Abandoned(Struct, frozen=True):
    """Another node goes on with it."""


class NotReached(Struct, frozen=True):
    """Of a receiver: its delivery was given up. It is no longer outstanding, and may still reply."""

    receiver: str
    why: str = ""


class Reached(Struct, frozen=True):
    """Of one that was given up: it was delivered after all, and is outstanding again."""

    receiver: str


# From a receiver


class Replied(Struct, frozen=True, gc=False):
    """Its value is of the type that was asked for, in its one spelling."""

    receiver: str
    value: str


class Counted(Struct, frozen=True):
    """The answer to a reply."""


class Dropped(Struct, frozen=True):
    """The answer to one that does not count."""

    why: Literal["ended", "second"]


# From the publisher, or from the node before


class Look(Struct, frozen=True, tag="look"):
    """A partial view is asked for; who has to ask others waits so long for them, in nanoseconds."""

    number: int
    wait: int = 0


class Terminate(Struct, frozen=True, tag="terminate"):
    """Nothing counts that comes later; who has to tell others waits so long for what they have, in nanoseconds."""

    grace: int = 0


# From the nodes behind


class Report(Struct, frozen=True, array_like=True):
    """What is known of a node and of all behind it; a later one, by its number, stands in place of an earlier one.

    It is `complete` when all it was forwarded to is known, and `final` when nothing can come any more.
    """

    number: int
    receivers: int
    replied: int
    unreached: int
    late: int
    complete: bool
    final: bool
    histogram: Histogram


class Reported(Struct, frozen=True, tag="reported"):
    by: str
    report: Report


class Single(Struct, frozen=True, tag="single"):
    """One reply, of a node that does not merge them; None: a receiver that was not reached."""

    by: str
    value: str | None


class Told(Struct, frozen=True, tag="told"):
    """What a node that does not merge replies knows of its own receivers, and whom else it asked to look."""

    by: str
    number: int
    receivers: int
    children: tuple[str, ...]
    complete: bool


class Declined(Struct, frozen=True, tag="declined"):
    """That node had the publication before, or never got it: nobody waits for it here."""

    by: str


Upward = Reported | Single | Told | Declined


class Passed(Struct, frozen=True):
    """Something for the harvester of a view, by way of nodes that keep nothing of it."""

    view: str
    path: tuple[str, ...]
    message: Upward


class Through(Struct, frozen=True):
    """Something for all harvesters behind a node that keeps nothing, which came to it by that path."""

    view: str
    path: tuple[str, ...]
    message: Look | Terminate


def upward(view: str, path: tuple[str, ...], message: Upward) -> Send:
    """To the first of the path, by way of the others."""
    if len(path) == 1:
        return Send(harvester_of(view, path[0]), message)
    return Send(relay_of(path[-1]), Passed(view, path[:-1], message))


# What is seen of a view


class View(Struct, frozen=True):
    """The replies to a publication, as far as they are known at its publisher's node.

    `exact`: nobody else can have got it. `ended` is empty while replies count, else how the view ended.
    """

    id: str
    type: str
    topic: str
    until: Instant
    receivers: int
    replied: int
    unreached: int
    late: int
    exact: bool
    ended: str
    histogram: Histogram

    @property
    def outstanding(self) -> int:
        return max(0, self.receivers - self.replied - self.unreached)

    @property
    def complete(self) -> bool:
        """Everybody who got it has replied, or was not reached."""
        return self.exact and not self.outstanding


class Changed(Struct, frozen=True):
    """Reported whenever something of a view changed."""

    view: str
