"""A ring of nodes in one process: their machines, and a network between them that can be cut."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from tocsin.model.identity import SECOND
from tocsin.routing.machine import Ask, Machine, Report, Started, Unanswered
from tocsin.routing.ring.agenda import Settings
from tocsin.routing.ring.chord import ChordNode
from tocsin.routing.ring.chord_messages import Depart, Look, Looked
from tocsin.routing.ring.identifiers import BITS, distance, identifier_of
from tocsin.routing.ring.table import SUCCESSORS, Peer, Run, Table
from tocsin.sim.network import Delay, Network


def peer_at(address: str, place: int | None = None) -> Peer:
    return Peer(identifier_of(address) if place is None else place, address, address)


class Settled:
    """The tables that stabilisation ends with where nobody comes or goes, made from the places of all nodes."""

    def __init__(self, peers: Iterable[Peer], successors: int = SUCCESSORS) -> None:
        self.peers = tuple(sorted(peers, key=lambda each: each.id))
        self._ids = [each.id for each in self.peers]
        self._length, self._tables = successors, dict[int, Table]()

    def owner(self, key: int) -> Peer:
        return self.peers[self._at(key)]

    def table(self, place: int) -> Table:
        """Of the node there."""
        found = self._tables.get(place)
        if found is None:
            found = self._tables[place] = self._made(self._at(place))
        return found

    def _at(self, key: int) -> int:
        return bisect_left(self._ids, key) % len(self._ids)

    def _made(self, at: int) -> Table:
        own, count = self.peers[at], len(self.peers)
        if count == 1:
            return Table(own)
        table = Table(own, self.peers[at - 1], self._behind(at + 1, min(self._length, count - 1)))
        fingers: list[Run | None] = [None] * BITS
        for finger in table.wanted():
            fingers[finger] = self._run(self._at(table.target(finger)), own)
        return Table(own, table.predecessor, table.successors, tuple(fingers))

    def _run(self, first: int, own: Peer) -> Run:
        """It ends before the node whose finger it is."""
        until = distance(self._ids[first], own.id)
        peers = self._behind(first, min(self._length, len(self.peers)))
        near = tuple(each for each in peers if distance(self._ids[first], each.id) < until)
        return Run(self._ids[first - 1], near)

    def _behind(self, at: int, length: int) -> tuple[Peer, ...]:
        count = len(self.peers)
        return tuple(self.peers[each % count] for each in range(at, at + length))


class RingNetwork(Network):
    """`asked` counts the questions by kind. A node that is down, or on the other side of a cut, does not answer."""

    def __init__(self, settings: Settings | None = None, *, ask: Delay | None = None) -> None:
        super().__init__(self._made, ask=ask)
        self.settings = settings or Settings()
        self.peers: dict[str, Peer] = {}
        self.joins: dict[str, tuple[str, ...]] = {}
        self.asked, self.reports = Counter[str](), list[Any]()
        self.told: dict[str, list[Any]] = {}
        self._side: dict[str, int] = {}

    def start(self, address: str, *join: str, place: int | None = None) -> Peer:
        """For the first time, or again with what it remembers."""
        self.joins[address] = join
        self.peers[address] = peer_at(address, place)
        self.crash(address)
        return self.peers[address]

    def start_settled(self, addresses: Iterable[str]) -> None:
        """A whole ring, as it is when it came to rest."""
        self.peers |= {each: peer_at(each) for each in addresses}
        made = self.settled()
        for address, peer in self.peers.items():
            self.joins[address] = ()
            self.machines[address] = ChordNode(peer, self.settings, table=made.table(peer.id))
            self.take(address, Started())

    def stop(self, *addresses: str) -> None:
        """They crash, and do not start again."""
        for address in addresses:
            del self.peers[address]
            self.machines.pop(address, None)
            self._set_timer(address, None)

    def leave(self, address: str) -> None:
        self.take(address, Depart())

    def divide(self, sides: Mapping[str, int]) -> None:
        """Nodes on different sides do not reach each other. Without any sides all do."""
        self._side = dict(sides)

    def run_for(self, seconds: float) -> None:
        until = self.clock.now + seconds * SECOND
        self.clock.after(round(seconds * SECOND), lambda: None)
        while self.clock.now < until and self.clock.step():
            pass

    def node(self, address: str) -> ChordNode:
        found = self.machines[address]
        assert isinstance(found, ChordNode)
        return found

    def look(self, address: str, key: int) -> Looked:
        """By the machine, question by question; the others go on meanwhile."""
        told = self.told[address] = []
        self.take(address, Look(key))
        while True:
            found = next((each for each in told if isinstance(each, Looked) and each.key == key), None)
            if found is not None:
                return found
            self.clock.step()

    def settled(self) -> Settled:
        return Settled(self.peers.values(), self.settings.successors)

    def is_settled(self) -> bool:
        made = self.settled()
        return all(
            self.node(each).joined and _ring(self.node(each).table) == _ring(made.table(peer.id))
            for each, peer in self.peers.items()
        )

    def delivered(self, name: str, message: Any) -> None:
        self.told.setdefault(name, []).append(message)

    def reported(self, report: Report) -> None:
        self.reports.append(report.what)

    def _asked(self, name: str, ask: Ask) -> None:
        self.asked[type(ask.question).__name__] += 1
        if self._side.get(name, 0) == self._side.get(ask.of, 0):
            super()._asked(name, ask)
        else:
            self.clock.after(self._ask_delay(), partial(self.take, name, Unanswered(ask.question)))

    def _made(self, name: str, rows: Mapping[str, Any]) -> Machine[Any] | None:
        if name not in self.peers:
            return None

        return ChordNode(self.peers[name], replace(self.settings, join=self.joins[name]), rows)


def _ring(table: Table) -> tuple[Peer | None, tuple[Peer, ...]]:
    return table.predecessor, table.successors
