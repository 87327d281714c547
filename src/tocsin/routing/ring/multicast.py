"""A span of keys, told to all who own any of them: refined in the network, node by node (Squid s4), never written out.

Who tells a span takes care of the whole circle, from its own place round to it. Of an arc a node takes what is its own,
and cuts the rest at nodes whose own arcs it knows from end to end: so none of them is reached twice. An arc goes only
where it has keys, and only to owners, as far as can be seen: what lies behind no owner goes with the arc before, for
whoever takes that stands closer to it and sees more.
"""

from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property

from msgspec import Struct

from tocsin.routing.ring.identifiers import LAST, SIZE, distance
from tocsin.routing.ring.table import Peer, Reach, Table

NextKey = Callable[[int], int | None]  # the smallest key of a span at or behind a place, without going round


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
    here, home, found = table.own.id, table.place(table.after), list[Part]()
    domains = _Domains(table, begin, home)
    while begin < end:
        key = first_key(next_key, (here + begin) % SIZE, (here + end) % SIZE)
        if key is None:
            break
        if (place := table.place(key) or SIZE) > home:
            return True, found
        reach, first, last = domains.of(place)
        last = min(last, end)
        if found and place > reach.place:
            found[-1] = Part(found[-1].peer, found[-1].after, (here + last) % SIZE)
        else:
            found.append(Part(reach.peer, (here + max(begin, first)) % SIZE, (here + last) % SIZE))
        begin = last
    return False, found


class _Domains:
    """To whom what lies in (begin, home] goes: each peer takes what it owns, and all from there to what the next owns.

    Nobody who stands before `begin`: in a ring at rest an arc begins where this node's own does, or at its place. Else
    somebody joined in between, and what was thought to be this node's goes back to those that are known there.
    """

    def __init__(self, table: Table, begin: int, home: int) -> None:
        self._table, self._begin, self._home = table, begin, home

    def of(self, place: int) -> tuple[Reach, int, int]:
        """The peer, and from where to where it takes care."""
        at = bisect_left(self._starts, place) - 1
        return self._reaches[at], self._starts[at], self._starts[at + 1]

    @cached_property
    def _reaches(self) -> list[Reach]:
        return [each for each in self._table.reaches if self._begin < each.place <= self._home]

    @cached_property
    def _starts(self) -> list[int]:
        return [self._begin, *(each.begin for each in self._reaches[1:]), self._home]
