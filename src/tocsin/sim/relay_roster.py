"""Who owns what in a ring of `RelayRing`, as nodes come, go, crash and are cut off: the least that demand-based relay
asks of a ring. An owner is replaced when it gave up, is down, or what the ring confirmed to it has passed."""

from bisect import bisect_left, insort
from collections.abc import Iterable
from functools import partial

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.ring.relay_messages import Arc, Handover
from tocsin.sim.network import MILLISECOND
from tocsin.sim.relay import RelayRing
from tocsin.sim.relay_nodes import Links, Machines, RingNode

CONFIRMED = 3 * SECOND  # by the node's own clock, from when it asked
CONFIRM_EACH = SECOND
LOOK = 200 * MILLISECOND
Roster = list[tuple[int, str]]  # in the order of the circle


class Membership:
    """One change at a time, each with a roster of the next number, which nodes hear of at different times."""

    def __init__(
        self, seed: int = 0, links: Links | None = None, machines: Machines | None = None, *, is_watched: bool = True
    ) -> None:
        self.rosters: list[Roster] = [[]]
        self.arcs: dict[str, Arc] = {}
        self.is_busy = False
        self._confirmed: dict[str, int] = {}
        self.ring = RelayRing(self.owner, seed, links, machines, is_watched=is_watched)
        self.nodes, self._clock = self.ring.nodes, self.ring.clock

    @property
    def epoch(self) -> int:
        return len(self.rosters) - 1

    def owner(self, key: int, epoch: int) -> str:
        roster = self.rosters[epoch]
        return roster[bisect_left(roster, (key, "")) % len(roster)][1]

    def start(self, names: Iterable[str]) -> "Membership":
        """Together: before there is anybody nothing was promised."""
        for name in names:
            insort(self.rosters[0], (self.nodes.add(name).at, name))
        for place, (at, name) in enumerate(self.rosters[0]):
            self.arcs[name] = arc = Arc(self.rosters[0][place - 1][0], at)
            self.nodes.named[name].demand.took_over(arc, Instant(0), Handover(arc))
            self._sure(self.nodes.named[name])
            self._confirm(self.nodes.named[name])
        return self

    def members(self) -> list[str]:
        return [name for _, name in self.rosters[-1]]

    def restart(self, name: str) -> None:
        """Of what it owned it knows nothing, as another who took it over."""
        node = self.nodes.named[name]
        if not node.up:
            self.nodes.begin(node)
            if not node.cut:
                self._correct(node)

    def join(self, name: str) -> None:
        if self.is_busy or name in self.members() or (name in self.nodes.named and not self.nodes.named[name].up):
            return
        node = self.nodes.named.get(name) or self._added(name)
        roster = sorted([*self.rosters[-1], (node.at, name)])
        giver = self.owner(node.at, self.epoch)
        self._move(giver, name, Arc(self.arcs[giver].after, node.at), roster)

    def leave(self, name: str) -> None:
        """Or be removed, if it is down or cut off."""
        if self.is_busy or name not in self.members() or len(self.members()) == 1:
            return
        roster = [each for each in self.rosters[-1] if each[1] != name]
        taker = roster[bisect_left(roster, (self.nodes.named[name].at, "")) % len(roster)][1]
        self._move(name, taker, self.arcs[name], roster)

    def _added(self, name: str) -> RingNode:
        """It belongs to no roster yet, and asks those who do by the one that is now."""
        node = self.nodes.add(name)
        self.nodes.learn(node, self.epoch)
        self._confirm(node)
        return node

    # From one to the other

    def _move(self, giver: str, taker: str, arc: Arc, roster: Roster) -> None:
        self.is_busy = True
        self._clock.after(self.nodes.delay(), partial(self._give, giver, taker, arc, roster))

    def _give(self, giver: str, taker: str, arc: Arc, roster: Roster) -> None:
        node, handed = self.nodes.named[giver], None
        if node.up and node.cut and self._clock.now < self._confirmed.get(giver, 0) + CONFIRMED * 3 // 2:
            self._clock.after(LOOK, partial(self._give, giver, taker, arc, roster))
            return
        owned = self.arcs[giver]
        if node.up and not node.cut and node.demand.owned == owned:
            handed, effects = node.demand.gave_up(arc, node.local(self._clock.now))
            self.nodes.do(node, effects)
        self.arcs[giver] = Arc(arc.upto, owned.upto)
        if arc == owned:
            del self.arcs[giver]
        self._clock.after(self.nodes.delay(), partial(self._take, taker, arc, handed, roster))

    def _take(self, taker: str, arc: Arc, handed: Handover | None, roster: Roster) -> None:
        node = self.nodes.named[taker]
        if node.up and node.cut:
            self._clock.after(LOOK, partial(self._take, taker, arc, handed, roster))
            return
        self.rosters.append(roster)
        before = self.arcs.get(taker)
        self.arcs[taker] = arc if before is None else Arc(arc.after, before.upto)
        if node.up and node.demand.owned == before:
            self.nodes.learn(node, self.epoch)
            node.demand.took_over(arc, node.local(self._clock.now), handed)
            self._sure(node)
        for each in self.nodes.named.values():
            self._clock.after(self.nodes.delay(), partial(self._hear, each, self.epoch))
        self.is_busy = False

    def _hear(self, node: RingNode, epoch: int) -> None:
        if node.up and not node.cut:
            self.nodes.learn(node, epoch)

    # What a node may go by

    def _confirm(self, node: RingNode) -> None:
        """It asks again and again whether all is as it was."""
        self._clock.after(CONFIRM_EACH, partial(self._confirm, node))
        asked = node.local(self._clock.now)
        self._clock.after(self.nodes.delay(), partial(self._is_asked, node, node.session, asked))

    def _is_asked(self, node: RingNode, session: int, asked: Instant) -> None:
        if not node.up or node.cut or node.session != session:
            return
        if node.demand.owned != self.arcs.get(node.name):
            self._correct(node)
            return
        self._confirmed[node.name] = self._clock.now
        self._clock.after(self.nodes.delay(), partial(self._is_confirmed, node, session, asked, self.epoch))

    def _is_confirmed(self, node: RingNode, session: int, asked: Instant, epoch: int) -> None:
        if node.up and not node.cut and node.session == session:
            node.demand.confirm(Instant(asked + CONFIRMED))
            self.nodes.learn(node, epoch)

    def _correct(self, node: RingNode) -> None:
        """It was replaced while it was cut off, or has just been started."""
        now = node.local(self._clock.now)
        if node.demand.owned is not None:
            self.nodes.do(node, node.demand.gave_up(node.demand.owned, now)[1])
        self.nodes.learn(node, self.epoch)
        if node.name in self.arcs:
            node.demand.took_over(self.arcs[node.name], now)
            self._sure(node)

    def _sure(self, node: RingNode) -> None:
        self._confirmed[node.name] = self._clock.now
        node.demand.confirm(Instant(node.local(self._clock.now) + CONFIRMED))
