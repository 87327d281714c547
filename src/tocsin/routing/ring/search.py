"""The search for the owner of a key, step by step from one node to the next that is closer (Chord s4.4). Who searches
asks each of them itself, so that one who does not answer is passed over by the next best that was named."""

from collections.abc import Iterable

from msgspec import Struct

from tocsin.routing.ring.chord_messages import Found
from tocsin.routing.ring.identifiers import BITS, SIZE, distance, within
from tocsin.routing.ring.table import Peer, Run

MOST_ASKED = 2 * BITS  # half of that is what a ring at rest could need at worst


class ForJoin(Struct, frozen=True):
    pass


class ForFinger(Struct, frozen=True):
    finger: int


class ForRing(Struct, frozen=True):
    """Whether a former acquaintance is in the same ring."""

    by: Peer | str


class ForLook(Struct, frozen=True):
    pass


Purpose = ForJoin | ForFinger | ForRing | ForLook


class Search:
    """`first` is asked before all others; `peers` in the order of how close they stand before the key; `addresses` are
    of nodes of which nothing else is known."""

    def __init__(
        self,
        key: int,
        purpose: Purpose,
        peers: Iterable[Peer] = (),
        addresses: Iterable[str] = (),
        first: Peer | None = None,
    ) -> None:
        self.key, self.purpose, self.asked = key, purpose, 0
        self._first, self._peers, self._addresses = first, list(peers), list(addresses)
        self._done: set[int] = set()

    def next(self, dead: frozenset[int] = frozenset()) -> Peer | str | None:
        """Whom to ask; nobody is left to ask where it is None."""
        if self.asked >= MOST_ASKED:
            return None
        self.asked += 1
        if self._first is not None and self._first.id not in dead | self._done:
            self._done.add(self._first.id)
            return self._first
        left = [each for each in self._peers if each.id not in self._done and each.id not in dead]
        if left:
            best = min(left, key=lambda each: distance(each.id, self.key))
            self._done.add(best.id)
            return best
        return self._addresses.pop(0) if self._addresses else None

    def told(self, found: Found) -> Run | None:
        """The answer, if it is one. Those named count only where they are closer than who names them: so it ends,
        whatever is said."""
        if found.run is not None:
            run = sound(found.run)
            return run if run is not None and within(self.key, run.after, run.peers[0].id) else None
        far = distance(found.by.id, self.key)
        self._peers += [each for each in found.closer if each.is_sound and distance(each.id, self.key) < far]
        return None


def sound(run: Run) -> Run | None:
    """What can be true of a run: nodes on the circle, each behind the one before."""
    if not 0 <= run.after < SIZE:
        return None
    found, last = list[Peer](), 0
    for peer in run.peers:
        place = distance(run.after, peer.id) or SIZE
        if not peer.is_sound or place <= last:
            break
        found.append(peer)
        last = place
    return Run(run.after, tuple(found)) if found else None
