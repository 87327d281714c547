"""A span of keys, told to all who own any of them: refined in the network, node by node (Squid s4), never written out.

Who tells a span takes care of the whole circle, from its own place round to it. Of an arc a node takes what is its own,
and cuts the rest at nodes whose own arcs it knows from end to end: so none of them is reached twice. An arc goes only
where it has keys, and only to owners, as far as can be seen: what lies behind no owner goes with the arc before, for
whoever takes that stands closer to it and sees more.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator

from msgspec import Struct

from tocsin.routing.ring.identifiers import LAST, SIZE, distance
from tocsin.routing.ring.table import Peer, Reach, Table

NextKey = Callable[[int], int | None]  # the smallest key of a span at or behind a place, without going round
KeyIn = Callable[[int, int], int | None]


class Part(Struct, frozen=True):
    """Of the arc (after, upto], which has keys of the span, that peer is to take care."""

    peer: Peer
    after: int
    upto: int


class Split(Struct, frozen=True):
    """`own`: the node owns a key of the span itself."""

    own: bool
    parts: tuple[Part, ...]


def first_key(next_key: NextKey, after: int, upto: int) -> int | None:
    """Of a span in the arc (after, upto]."""
    key = next_key(after + 1) if after < LAST else None
    if after < upto:
        return key if key is not None and key <= upto else None
    if key is not None:
        return key
    key = next_key(0)
    return key if key is not None and key <= upto else None


def parts(table: Table, next_key: NextKey, after: int, upto: int) -> Split:
    """What becomes of the arc (after, upto] at this node. Where a peer does not answer, its part is split again by a
    table that has it among the dead."""
    start, length = table.place(after), distance(after, upto) or SIZE
    own, found = False, list[Part]()
    for begin, end in ((start, min(SIZE, start + length)), (0, start + length - SIZE)):
        if begin < end:
            mine, others = _piece(table, next_key, begin, end)
            own, found = own or mine, found + others
    return Split(own, tuple(found))


def _piece(table: Table, next_key: NextKey, begin: int, end: int) -> tuple[bool, list[Part]]:
    """Of an arc that does not pass this node, in places behind it; from `home` on they are its own."""
    here, home = table.own.id, table.place(table.after)

    def key_in(first: int, last: int) -> int | None:
        """The place of the first key in (first, last]."""
        if first >= last:
            return None
        key = first_key(next_key, (here + first) % SIZE, (here + last) % SIZE)
        return None if key is None else table.place(key) or SIZE

    found = list[Part]()
    for reach, first, last in _domains(table, begin, min(end, home), key_in):
        if found and key_in(first, min(last, reach.place)) is None:
            found[-1] = Part(found[-1].peer, found[-1].after, (here + last) % SIZE)
        else:
            found.append(Part(reach.peer, (here + first) % SIZE, (here + last) % SIZE))
    return key_in(max(begin, home), end) is not None, found


def _domains(table: Table, begin: int, end: int, key_in: KeyIn) -> Iterator[tuple[Reach, int, int]]:
    """The peers to whom arcs of (begin, end] go that have keys.

    Nobody who stands before the arc: in a ring that is at rest an arc begins where this node's own does, or at its
    place. Else somebody joined in between; what was thought to be this node's goes back to those that are known there.
    """
    home = table.place(table.after)
    reaches = [each for each in table.reaches if begin < each.place <= home]
    starts = [begin, *(each.begin for each in reaches[1:])]
    while (key := key_in(begin, end)) is not None:
        at = bisect_left(starts, key) - 1
        last = min(end, starts[at + 1]) if at + 1 < len(starts) else end
        yield reaches[at], max(begin, starts[at]), last
        begin = last
