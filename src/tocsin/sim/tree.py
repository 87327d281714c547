"""A tree of nodes in one process: their machines, and a few lines that do what their logs and senders do."""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import Any

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import matches_filters
from tocsin.model.filters import Filter
from tocsin.model.identity import SECOND, Instant, SubscriptionId
from tocsin.model.identity import Node as NodeName
from tocsin.model.notification import Notification
from tocsin.model.subscription import Form, Subscription
from tocsin.model.subscription import Position as Place
from tocsin.routing.machine import Ask, Effect, Machine
from tocsin.routing.tree.messages import End, Open, Own, Stand
from tocsin.routing.tree.node import Position, TreeNode
from tocsin.routing.tree.widening import widened
from tocsin.sim.network import Delay, Network

Filters = tuple[Filter, ...]
_NOTHING_DECLARED = Catalogue()


class TreeNetwork(Network):
    """`asked` counts what nodes ask each other. A node is reached by its name."""

    def __init__(self, *, ask: Delay | None = None) -> None:
        super().__init__(self._made, ask=ask)
        self.positions: dict[str, Position] = {}
        self.own: defaultdict[str, dict[str, Filters]] = defaultdict(dict)
        self.neighbours: defaultdict[str, dict[str, Filters]] = defaultdict(dict)
        self.shut: set[tuple[str, str]] = set()
        self.asked = self._sessions = 0

    def start(self, name: str, parent: str = "", most: int = 32) -> None:
        """For the first time, or again with what it remembers."""
        self.positions[name] = Position(name, name, parent, most)
        self.crash(name)

    def subscribe(self, node: str, name: str, filters: Filters) -> None:
        self.own[node][name] = filters
        self.take(node, Own(name, widened(filters, _NOTHING_DECLARED)))

    def unsubscribe(self, node: str, name: str) -> None:
        if self.own[node].pop(name, None) is not None:
            self.take(node, Own(name, ()))

    def run_for(self, seconds: float) -> None:
        until = self.clock.now + seconds * SECOND
        self.clock.after(round(seconds * SECOND), lambda: None)
        while self.clock.now < until and self.clock.step():
            pass

    def publish(self, node: str, told: Notification) -> tuple[Counter[str], int]:
        """How often each node had it, with what is asked for by now; and how many requests that took."""
        had, requests = Counter[str](), 0
        waiting = deque([(node, "")])
        while waiting:
            at, by = waiting.popleft()
            had[at] += 1
            if had[at] > 1:
                continue  # by its id it is known
            for neighbour, filters in self.neighbours[at].items():
                machine = self.machines.get(neighbour)
                is_open = (at, neighbour) not in self.shut and isinstance(machine, TreeNode) and machine.takes_from(at)
                if neighbour != by and is_open and wants(filters, told):
                    waiting.append((neighbour, at))
                    requests += 1
        return had, requests

    def delivered(self, name: str, message: Any) -> None:
        match message:
            case Stand(neighbour, interest, _, former):
                self.neighbours[name].pop(former, None)
                self.neighbours[name][neighbour] = interest.filters()
            case End(neighbour):
                self.neighbours[name].pop(neighbour, None)
            case Open(neighbour, is_open):
                (self.shut.discard if is_open else self.shut.add)((name, neighbour))

    def _do(self, name: str, effect: Effect) -> None:
        self.asked += isinstance(effect, Ask)
        super()._do(name, effect)

    def _made(self, name: str, rows: Mapping[str, Any]) -> Machine[Any] | None:
        if name not in self.positions:
            return None
        own = {each: widened(filters, _NOTHING_DECLARED) for each, filters in self.own[name].items()}
        self._sessions += 1  # no two processes begin at the same time
        return TreeNode(self.positions[name], Instant(self.clock.now + self._sessions), rows, own)


def wants(filters: Filters, told: Notification) -> bool:
    at = Place(NodeName(""), 0)
    asked = Subscription(SubscriptionId(""), None, None, None, Form("node"), filters, at, None)
    return matches_filters(asked, told, _NOTHING_DECLARED)


def started(network: TreeNetwork, branching: int, height: int) -> list[str]:
    """A whole tree, all of whose nodes have joined; its root is the first, its leaves the last."""
    names = [f"node-{number}" for number in range(sum(branching**level for level in range(height + 1)))]
    for number, name in enumerate(names):
        network.start(name, names[(number - 1) // branching] if number else "")
    network.run_for(60)
    return names
