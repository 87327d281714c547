"""Whom a node knew: those that do not answer any more, and those by whom it found its ring.

Rings that came apart do not know of each other, for a node that does not answer is taken out of all tables. So whoever
was suspected is asked again from time to time: if it is there, but in another ring, both become one.
"""

from collections.abc import Iterable

from tocsin.model.identity import Instant
from tocsin.routing.ring.table import Peer

MOST = 64


class Acquaintances:
    """`addresses` are those that the node was told to join, of which it may not know who is there."""

    def __init__(self, own: Peer, addresses: Iterable[str], remembered: Iterable[Peer]) -> None:
        self._own = own
        self.addresses = [each for each in dict.fromkeys(addresses) if each != own.address]
        self._waiting = {each.id: each for each in remembered if each.id != own.id and each.is_sound}
        self._dead: dict[int, Peer] = {}
        self._failures: dict[int, Instant] = {}  # when each was silent for the first time
        self._turns = 0

    @property
    def dead(self) -> frozenset[int]:
        return frozenset(self._dead)

    @property
    def waiting(self) -> tuple[Peer, ...]:
        """Those to be asked whether they are in the same ring, the next first."""
        return tuple(self._waiting.values())

    def silent(self, peer: Peer, asked: Instant, now: Instant) -> bool:
        """It did not answer what it was asked then: is it suspected now, and was not before? Questions that were on
        their way together are one."""
        failed = self._failures.get(peer.id)
        if peer.id in self._dead:
            return False
        if failed is None or asked < failed:
            self._failures.setdefault(peer.id, now)
            return False
        self.gone(peer)
        self._put_last(peer)
        return True

    def gone(self, peer: Peer) -> None:
        """For as long as nothing is heard of it; nobody asks who said that it leaves."""
        self._failures.pop(peer.id, None)
        self._waiting.pop(peer.id, None)
        self._dead[peer.id] = peer
        while len(self._dead) > MOST:
            del self._dead[next(iter(self._dead))]

    def heard(self, peer: Peer) -> bool:
        """Was it thought to be dead? Then it is the next to be asked in which ring it is."""
        self._failures.pop(peer.id, None)
        if self._dead.pop(peer.id, None) is None:
            return False
        self._waiting = {peer.id: peer} | self._waiting
        return True

    def same(self, peer: Peer) -> None:
        """Its ring is this one."""
        self._waiting.pop(peer.id, None)

    def next(self, others: Iterable[Peer]) -> Peer | str | None:
        """Whom to ask: those that are missing and the addresses by turns, of each kind one after the other; where there
        are none, the first of the others."""
        self._turns += 1
        if self._waiting and (self._turns % 2 or not self.addresses):
            first = next(iter(self._waiting.values()))
            self._put_last(first)
            return first
        if self.addresses:
            self.addresses.append(self.addresses.pop(0))
            return self.addresses[-1]
        return next(iter(others), None)

    def _put_last(self, peer: Peer) -> None:
        self._waiting.pop(peer.id, None)
        self._waiting[peer.id] = peer
        while len(self._waiting) > MOST:
            del self._waiting[next(iter(self._waiting))]
