"""Publications with replies over a tree of nodes in one process: the harvesters and relays that nodes run."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from tocsin.model.identity import SECOND, Instant
from tocsin.model.replies import ReplyRequest
from tocsin.routing.machine import Machine, Send
from tocsin.routing.reply.harvester import Harvester
from tocsin.routing.reply.messages import (
    RELAY,
    Forwarded,
    Look,
    NotReached,
    Opened,
    Replied,
    Terminate,
    View,
    harvester_of,
)
from tocsin.routing.reply.relay import Relay
from tocsin.sim.network import Delay, Network

DAY = 86_400 * SECOND


class Tree(Struct, frozen=True):
    """`children` of each node, and how many `receivers` it has itself; `stateless` ones merge nothing."""

    children: Mapping[str, Sequence[str]]
    receivers: Mapping[str, int]
    stateless: frozenset[str] = frozenset()

    def neighbours(self, node: str) -> list[str]:
        above = [each for each, below in self.children.items() if node in below]
        return [*above, *self.children.get(node, ())]


class ReplyNetwork(Network):
    """What one node sends another arrives in its order, however long each takes."""

    def __init__(self, tree: Tree, *, send: Delay | None = None, most: int = 1000) -> None:
        super().__init__(self._machine_of, send=send)
        self.tree, self._most = tree, most
        self._sender = ""
        self._latest: dict[tuple[str, str], int] = {}
        self.down: set[str] = set()

    def _machine_of(self, name: str, rows: Mapping[str, Any]) -> Machine[Any] | None:
        kind, _, node = name.partition("@")
        if node in self.down:
            return None
        merging = node not in self.tree.stateless
        if kind == RELAY:
            knows = partial(self._harvester, node)
            return Relay(node, knows, partial(self.tree.neighbours, node), merging=merging)
        return Harvester(name, rows, merging=merging, retention=DAY, most=self._most) if rows else None

    def _harvester(self, node: str, view: str) -> Harvester | None:
        found = self.machines.get(harvester_of(view, node))
        return found if isinstance(found, Harvester) else None

    def open(self, node: str, opened: Opened) -> None:
        name = harvester_of(opened.request.view, node)
        if name not in self.machines:
            merging = node not in self.tree.stateless
            self.machines[name] = Harvester(name, {}, merging=merging, retention=DAY, most=self._most)
        self.take(name, opened)

    def publish(self, view: str, root: str, type_: str = "text", until: int = DAY) -> None:
        """It spreads over the tree, one step of the clock from node to node."""
        self._spread(ReplyRequest(view, type_, Instant(until)), root, "")

    def _spread(self, request: ReplyRequest, node: str, sender: str) -> None:
        if node in self.down:
            return
        self.open(node, Opened(request))
        others = tuple(each for each in self.tree.neighbours(node) if each != sender)
        self.take(harvester_of(request.view, node), Forwarded(self.tree.receivers.get(node, 0), others))
        merges = node not in self.tree.stateless or not request.path
        path = (node,) if merges else (*request.path, node)
        onward = ReplyRequest(request.view, request.type, request.until, "", path)
        for each in others:
            self.clock.after(self._delay(), partial(self._spread, onward, each, node))

    def reply(self, view: str, node: str, receiver: str, value: str) -> list[Any]:
        return self.take(harvester_of(view, node), Replied(receiver, value))

    def miss(self, view: str, node: str, receiver: str) -> None:
        self.take(harvester_of(view, node), NotReached(receiver))

    def look(self, view: str, root: str, number: int, wait: int = SECOND) -> None:
        self.take(harvester_of(view, root), Look(number, wait))

    def terminate(self, view: str, root: str, grace: int = SECOND) -> None:
        self.take(harvester_of(view, root), Terminate(grace))

    def view(self, view: str, root: str) -> View:
        found = self._harvester(root, view)
        assert found is not None
        return found.view()

    def take(self, to: str, message: Any) -> list[Any]:
        before, self._sender = self._sender, to.partition("@")[2]
        try:
            return super().take(to, message)
        finally:
            self._sender = before

    def deliver_later(self, send: Send) -> None:
        """In order from node to node."""
        pair = self._sender, send.to.partition("@")[2]
        when = max(self.clock.now + self._delay(), self._latest.get(pair, 0) + 1)
        self._latest[pair] = when
        self.clock.after(when - self.clock.now, partial(self._arrive, send))
