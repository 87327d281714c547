"""Demand-based relay in a ring that agrees on rosters, as nodes run it: nothing is handed over, but who gets an arc
waits until all who may act know of it, who is started again until all have forgotten what it promised, and who has no
lease leaves nothing."""

from functools import partial
from typing import Any

from msgspec.structs import replace
from tests.sim.relay_storm import SHORT

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.ring.relay import RELAY, Relay, Verdict
from tocsin.routing.ring.relay_messages import Arc, Flow, Handover
from tocsin.sim.relay_nodes import RingNode
from tocsin.sim.relay_roster import CONFIRMED, LOOK, Membership, Roster

LEASE = 10.0  # longer than that of a roster, by which some act
KEPT = round(LEASE * 1.1 * 1.05 * SECOND)  # in which all ends that was promised, by any clock
LONG = replace(
    SHORT,
    relay_settings=replace(SHORT.relay_settings, lease=LEASE),
    demand_settings=replace(SHORT.demand_settings, lease=LEASE),
)


class Leased(Relay):
    """Leaves nothing without a lease."""

    sure = Instant(0)

    def wanted(self, flow: Flow, now: Instant) -> Verdict:
        return super().wanted(flow, now) if now < self.sure else RELAY

    def leaves(self, flow: Flow, now: Instant) -> bool:
        return now < self.sure and super().leaves(flow, now)


class Agreed(Membership):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settling: set[tuple[str, int]] = set()  # nodes, in one life each
        self._begun: set[tuple[str, int]] = set()

    def start(self, names: Any) -> "Agreed":
        super().start(names)
        self._begun = {(each.name, each.session) for each in self.nodes.named.values()}
        return self

    # From one to the other

    def _give(self, giver: str, taker: str, arc: Arc, roster: Roster) -> None:
        node = self.nodes.named[giver]
        if node.up and node.cut and self._clock.now < self._confirmed.get(giver, 0) + CONFIRMED * 3 // 2:
            self._clock.after(LOOK, partial(self._give, giver, taker, arc, roster))
            return
        owned = self.arcs.pop(giver)
        if arc != owned:
            self.arcs[giver] = Arc(arc.upto, owned.upto)
        if node.up and not node.cut:
            node.demand.moved(node.epoch, self.arcs.get(giver))
        self._clock.after(self.nodes.delay(), partial(self._take, taker, arc, None, roster))

    def _take(self, taker: str, arc: Arc, handed: Handover | None, roster: Roster) -> None:
        del handed
        node, before = self.nodes.named[taker], self.arcs.get(taker)
        self.rosters.append(roster)
        self.arcs[taker] = arc if before is None else Arc(arc.after, before.upto)
        if node.up:
            node.demand.moved(node.epoch, None)
            self._correct(node)
        for each in self.nodes.named.values():
            self._clock.after(self.nodes.delay(), partial(self._hear, each, self.epoch))
        self.is_busy = False

    # What a node may go by

    def _is_asked(self, node: RingNode, session: int, asked: Instant) -> None:
        if node.up and not node.cut and node.session == session:
            if node.demand.owned != self.arcs.get(node.name):
                self._correct(node)
            self._confirmed[node.name] = self._clock.now
            self._clock.after(self.nodes.delay(), partial(self._is_confirmed, node, session, asked, self.epoch))

    def _is_confirmed(self, node: RingNode, session: int, asked: Instant, epoch: int) -> None:
        if node.up and not node.cut and node.session == session:
            self.nodes.learn(node, epoch)
            self._lease(node, Instant(asked + CONFIRMED))

    def _sure(self, node: RingNode) -> None:
        self._confirmed[node.name] = self._clock.now
        self._lease(node, Instant(node.local(self._clock.now) + CONFIRMED))

    def _lease(self, node: RingNode, until: Instant) -> None:
        node.demand.confirm(until)
        if isinstance(node.relay, Leased):
            node.relay.sure = max(node.relay.sure, until)

    def _correct(self, node: RingNode) -> None:
        life = node.name, node.session
        if life not in self._settling:
            self._settling.add(life)
            self._settle(node, node.session, self._clock.now, set())

    def _settle(self, node: RingNode, session: int, since: int, told: set[str]) -> None:
        """Until it has what is its own by now, or is another."""
        life, owned = (node.name, session), self.arcs.get(node.name)
        if not node.up or node.session != session:
            self._settling.discard(life)
            return
        if node.cut or not self.is_known() or not self.is_forgotten(node, since, told):
            self._clock.after(LOOK, partial(self._settle, node, session, since, told))
            return
        self._settling.discard(life)
        self._begun.add(life)
        self.nodes.learn(node, self.epoch)
        node.demand.moved(self.epoch, owned)

    def is_known(self) -> bool:
        """Whether whoever has a lease, or may hear of one, goes by the last roster."""
        return all(
            not each.up
            or each.epoch == self.epoch
            or self._clock.now >= self._confirmed.get(each.name, 0) + CONFIRMED * 3 // 2
            for each in self.nodes.named.values()
        )

    def is_forgotten(self, node: RingNode, since: int, told: set[str]) -> bool:
        """Whether nobody goes by what an earlier process of that node promised."""
        left = [each for each in self.nodes.named.values() if each is not node and each.up and each.name not in told]
        if (node.name, node.session) in self._begun or not left:
            return True
        if self._clock.now - since > KEPT:
            return True

        def forget(interface: RingNode, reply: Any) -> None:
            interface.relay.moved(interface.epoch)
            reply(interface.name)

        for each in left:
            self.nodes.call("begun", node, each.name, forget, told.add, lambda: None)
        return False
