"""How long it takes until the histogram of a publication is full, in a full tree whose nodes do one thing after the
other: each message takes its time at a node, and the way between two nodes too. All receivers reply as soon as they are
told.

Of the machines only how many messages they send, and how long these are, matters for the time; so times are worked out
for all nodes of a depth at once. Tests hold them to be those of the machines on a clock.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tocsin.routing.reply.costs import passed_bytes, replied_bytes, report_bytes
from tocsin.routing.reply.trees import FullTree

Times = NDArray[np.int64]


class Pace(Struct, frozen=True):
    """Nanoseconds for a message, and for each byte of it."""

    message: float
    byte: float = 0.0

    def of(self, size: int) -> int:
        return round(self.message + self.byte * size)

    def more(self, nanoseconds: float) -> "Pace":
        return Pace(self.message + nanoseconds, self.byte)


class Paces(Struct, frozen=True):
    """What a node needs to forward a copy of the publication, to count a receiver's reply, to take a report in, to make
    one of all that it has, to pass a reply on, to count one that was passed on. `link` is the way between two nodes."""

    link: int
    forward: Pace
    reply: Pace
    merge: Pace
    finish: Pace
    relay: Pace
    single: Pace

    def more(self, nanoseconds: float) -> "Paces":
        """Each message takes so much longer, whatever it is. To make a report is part of taking the last one in."""
        slower = (each.more(nanoseconds) for each in (self.forward, self.reply, self.merge, self.relay, self.single))
        forward, reply, merge, relay, single = slower
        return Paces(self.link, forward, reply, merge, self.finish, relay, single)


class ReplyTimes(Struct, frozen=True):
    """Nanoseconds since the publication: until the last receiver is told; until the root has all replies."""

    told: int
    dispatcher: int
    message: int
    naive: int


def reply_times(tree: FullTree, values: int, publication: int, paces: Paces) -> ReplyTimes:
    """`publication` is its length in bytes."""
    told = _told(tree, paces.forward.of(publication), paces.link)
    busy = [each + tree.branching * paces.forward.of(publication) for each in told]
    return ReplyTimes(
        int(told[-1].max()),
        _merged(tree, values, told[-1] + paces.link, busy, paces),
        _passed(tree, values, told[-1] + paces.link, busy, paces),
        _served(told[-1][None] + paces.link, busy[0], paces.reply.of(replied_bytes(str(values - 1)))).item(-1),
    )


def _told(tree: FullTree, forward: int, link: int) -> list[Times]:
    """When it comes to each node, depth by depth: one copy after the other leaves a node."""
    after = forward * np.arange(1, tree.branching + 1) + link
    found = [np.zeros(1, np.int64)]
    for _ in range(tree.height):
        found.append((found[-1][:, None] + after).ravel())
    return found


def _merged(tree: FullTree, values: int, arrived: Times, busy: list[Times], paces: Paces) -> int:
    service = paces.reply.of(replied_bytes(str(values - 1)))
    for depth in reversed(range(tree.height)):
        done = _served(arrived.reshape(-1, tree.branching), busy[depth], service)[:, -1]
        size = report_bytes(values, tree.behind(depth))
        arrived = done + paces.finish.of(size) + paces.link
        service = paces.merge.of(size)
    return int(done[0])


def _passed(tree: FullTree, values: int, arrived: Times, busy: list[Times], paces: Paces) -> int:
    value = str(values - 1)
    service = paces.reply.of(replied_bytes(value))
    for depth in reversed(range(tree.height)):
        done = _served(arrived.reshape(tree.nodes(depth), -1), busy[depth], service)
        arrived = done + paces.link
        if depth:
            pace = paces.relay if depth > 1 else paces.single
            service = pace.of(passed_bytes(value, depth))
    return int(done.max())


def _served(arrived: Times, busy: Times, service: int) -> Times:
    """When each message is done with, of nodes (rows) that were busy until then and take what comes in its order."""
    order = np.maximum(np.sort(arrived, axis=1), busy[:, None])
    before = service * np.arange(order.shape[1])
    return np.asarray(np.maximum.accumulate(order - before, axis=1) + before + service)
