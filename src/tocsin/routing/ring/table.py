"""What a node knows of its ring, as a value (Chord s4-5): who stands before it, the next behind it, and fingers that
halve the way to any key. Who says where a finger is also tells who stands behind that, so this is known too."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from msgspec import Struct

from tocsin.routing.ring.identifiers import BITS, SIZE, distance, within

SUCCESSORS = 8


class Peer(Struct, frozen=True):
    """A node of the ring: its place, and where it is asked. Without `doors` it serves no clients."""

    id: int
    address: str
    name: str = ""
    doors: bool = True

    @property
    def is_sound(self) -> bool:
        return 0 <= self.id < SIZE and bool(self.address)


class Run(Struct, frozen=True):
    """Nodes one behind the other, without a gap: the first owns what lies behind `after`."""

    after: int
    peers: tuple[Peer, ...]


class Reach(Struct, frozen=True):
    """A known peer, which is `place` behind this node and owns at least what lies from `begin` to there."""

    peer: Peer
    begin: int
    place: int


Fingers = tuple[Run | None, ...]
NO_FINGERS: Fingers = (None,) * BITS


@dataclass(frozen=True)
class Table:
    """`fingers[i]` begins with the owner of the key 2^i behind this node; there is none where the successors tell. Who
    is `dead` is passed over, until it is heard of again."""

    own: Peer
    predecessor: Peer | None = None
    successors: tuple[Peer, ...] = ()
    fingers: Fingers = NO_FINGERS
    dead: frozenset[int] = frozenset()

    @property
    def successor(self) -> Peer | None:
        return next((each for each in self.successors if each.id not in self.dead), None)

    @cached_property
    def after(self) -> int:
        """Where its own arc begins. Who lost its predecessor answers for all from the next before that it knows."""
        if self.predecessor is not None and self.predecessor.id not in self.dead:
            return self.predecessor.id
        return self.reaches[-1].peer.id if self.reaches else self.own.id

    def owns(self, key: int) -> bool:
        return within(key, self.after, self.own.id)

    def next_hop(self, key: int) -> Peer | None:
        """Nobody: the key is this node's own."""
        if self.owns(key):
            return None
        successor = self.successor
        if successor is not None and within(key, self.own.id, successor.id):
            return successor
        return next(iter(self.preceding(key, 1)), self.reaches[0].peer)

    def preceding(self, key: int, most: int = BITS * SUCCESSORS, asker: int | None = None) -> list[Peer]:
        """Those before a key that are known, the closest first."""
        end = bisect_left(self._places, self.place(key) or SIZE)
        found = [each.peer for each in self.reaches[max(0, end - most - 1) : end][::-1] if each.peer.id != asker]
        return found[:most]

    def run(self, key: int, length: int, asker: int | None = None) -> Run | None:
        """The owner of a key and who stands behind it, if this node is the one to know: it owns the key itself, or its
        successor does. Who asks wants to know of others than itself."""
        alive = tuple(each for each in self.successors if each.id not in self.dead)
        if self.owns(key):
            return Run(self.after, _until(asker, (self.own, *alive))[:length])
        if alive and alive[0].id == asker:
            alive = alive[1:]
        if alive and within(key, self.own.id, alive[0].id):
            return Run(self.own.id, _until(asker, (*alive, self.own))[:length])
        return None

    def place(self, key: int) -> int:
        """How far behind this node that is."""
        return distance(self.own.id, key)

    def target(self, finger: int) -> int:
        return (self.own.id + (1 << finger)) % SIZE

    def wanted(self) -> list[int]:
        """The fingers that are of use: those behind all successors, whose keys are not its own."""
        if not self.successors:
            return []
        first = self.place(self.successors[-1].id).bit_length()
        return [each for each in range(first, BITS) if not self.owns(self.target(each))]

    @property
    def lacks_fingers(self) -> bool:
        return any(self.fingers[each] is None for each in self.wanted())

    def points_to(self, peer: Peer) -> bool:
        return any(each is not None and each.peers[0].id == peer.id for each in self.fingers)

    @cached_property
    def reaches(self) -> tuple[Reach, ...]:
        """Of all live peers that are known, in the order of the circle from this node on."""
        begins: dict[int, tuple[int, Peer]] = {}
        for place, begin, peer in self._claims():
            begins[place] = max(begin, begins.get(place, (0, peer))[0]), peer
        if self.predecessor is not None and self.predecessor.id not in self.dead:
            place = self.place(self.predecessor.id)
            begins.setdefault(place, (place, self.predecessor))
        found, before = list[Reach](), 0
        for place in sorted(begins):
            begin, peer = begins[place]
            found.append(Reach(peer, max(before, begin), place))
            before = place
        return tuple(found)

    def _claims(self) -> Iterator[tuple[int, int, Peer]]:
        """Place, begin and peer, as runs tell them. Who made one that passes this node may not have known of it."""
        for run in self._runs():
            begin = self.place(run.after)
            for peer in run.peers:
                place = self.place(peer.id)
                if peer.id in self.dead:
                    continue
                if place:
                    yield place, begin if begin < place else 0, peer
                begin = place

    @cached_property
    def peers(self) -> dict[int, Peer]:
        """All that are known, by their places."""
        return {each.peer.id: each.peer for each in self.reaches}

    def _runs(self) -> Iterable[Run]:
        yield Run(self.own.id, self.successors)
        yield from {each.after: each for each in self.fingers if each is not None}.values()

    @cached_property
    def _places(self) -> list[int]:
        return [each.place for each in self.reaches]

    # With something that was learned

    def following(self, peers: Iterable[Peer], length: int) -> "Table":
        """These as successors, as far as they stand one behind the other and are not known to be dead."""
        found, last = list[Peer](), 0
        for peer in peers:
            if peer.id == self.own.id:
                break
            if peer.is_sound and peer.id not in self.dead and self.place(peer.id) > last:
                found.append(peer)
                last = self.place(peer.id)
        successors = tuple(found[:length])
        return self if successors == self.successors else replace(self, successors=successors)

    def pointing(self, finger: int, run: Run) -> "Table":
        if run == self.fingers[finger]:
            return self
        return replace(self, fingers=(*self.fingers[:finger], run, *self.fingers[finger + 1 :]))

    def keeping(self, wanted: Collection[int]) -> "Table":
        """These fingers alone."""
        fingers = tuple(run if at in wanted else None for at, run in enumerate(self.fingers))
        return self if fingers == self.fingers else replace(self, fingers=fingers)

    def without(self, peer: Peer) -> "Table":
        """It does not answer."""
        left = self.predecessor is not None and self.predecessor.id == peer.id
        return replace(
            self,
            predecessor=None if left else self.predecessor,
            successors=tuple(each for each in self.successors if each.id != peer.id),
            dead=self.dead | {peer.id},
        )

    def moved(self, peer: Peer) -> "Table":
        """One that it knows by its place, as it says of itself now."""

        def now(each: Peer) -> Peer:
            return peer if each.id == peer.id else each

        runs = (each and Run(each.after, tuple(map(now, each.peers))) for each in self.fingers)
        before = self.predecessor and now(self.predecessor)
        return replace(self, predecessor=before, successors=tuple(map(now, self.successors)), fingers=tuple(runs))


def _until(last: int | None, peers: tuple[Peer, ...]) -> tuple[Peer, ...]:
    return tuple(takewhile(lambda each: each.id != last, peers))
