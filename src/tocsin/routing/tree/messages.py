"""What the nodes of a tree say to each other, what a node is told by its own services, and what it has them do.

A child asks its parent, and hears the answer; a parent asks nothing of its children. So who is not reached is asked
again, with what is true by then, and nothing old is ever on its way.
"""

from typing import Any

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.routing.machine import Expire, Started, Unanswered, Woken
from tocsin.routing.tree.interest import Interest
from tocsin.routing.tree.widening import Conjunction

# From child to parent


class Join(Struct, frozen=True):
    """The child at `node` asks for all that it says. `name` is its own, wherever it is reached; it calls its parent
    `called`; it began at `session`; `before` is the address that it had when it joined last. Of two versions the later
    holds. Without an interest it is that version's, and it says only that it is still there."""

    node: str
    name: str
    called: str
    session: Instant
    version: int
    interest: Interest | None
    before: str = ""


class Leave(Struct, frozen=True):
    node: str
    called: str
    session: Instant


# From parent to child


class Joined(Struct, frozen=True):
    """`above` are the nodes from the parent up to the root."""

    version: int
    above: tuple[str, ...]


class Unknown(Struct, frozen=True):
    """The parent does not know that version: say all of it."""


class Refused(Struct, frozen=True):
    why: str


class Left(Struct, frozen=True):
    called: str


# From the services of the node


class Own(Struct, frozen=True):
    """What one of the node's own subscriptions asks for now, as other nodes understand it; nothing when it ended."""

    subscription: str
    alternatives: tuple[Conjunction, ...]


class Remove(Struct, frozen=True):
    """A child that will not come back, or a former parent."""

    neighbour: str


class Removed(Struct, frozen=True):
    neighbour: str


# For the services of the node


class Stand(Struct, frozen=True):
    """A neighbour is told of what it asks for, by a node that it calls `called`; goes on where the subscription of
    `former` was, if there is one."""

    neighbour: str
    interest: Interest
    called: str
    former: str = ""


class End(Struct, frozen=True):
    neighbour: str


class Open(Struct, frozen=True):
    """Whether anything may go to the parent yet: it takes nothing from who has not joined."""

    neighbour: str
    is_open: bool


# What is remembered


class Above(Struct, frozen=True):
    """The parent, what this node was called there, and since when it is joined."""

    parent: str
    node: str
    joined: Instant | None


class Child(Struct, frozen=True):
    """`removed` is true of one that is none any more, until it is started again and joins again."""

    node: str
    name: str
    called: str
    session: Instant
    version: int
    interest: Interest
    since: Instant
    removed: bool = False


class Former(Struct, frozen=True):
    """A parent that is to be told that this node has left."""

    parent: str
    since: Instant


Message = Join | Leave | Joined | Unknown | Refused | Left | Own | Remove | Started | Woken | Unanswered | Expire
Row = Above | Child | Former
Rows = dict[str, Any]
