"""Implicit notification over a whole world in one process: the notifiers and the central history that nodes run."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Payload
from tocsin.routing.implicit.history import CentralHistory, MessageHistory
from tocsin.routing.implicit.messages import (
    HISTORY,
    MOST_PASSES,
    Copy,
    Handled,
    Message,
    Publish,
    gone,
    is_history,
    is_of_one_message,
    key_of,
)
from tocsin.routing.implicit.notifier import MOST_NAMES, Notifier
from tocsin.routing.implicit.protocols import protocol
from tocsin.routing.implicit.result import Dissemination, dissemination
from tocsin.routing.machine import Machine, Report, Send
from tocsin.routing.ring.identifiers import distance
from tocsin.semantics.interest.world import World
from tocsin.sim.network import Delay, Network

LIMIT = MOST_PASSES  # of one message at one notifier
Weigh = Callable[[Iterable[str]], int]  # the bytes of a header


class NotifierNetwork(Network):
    """The world may change between two steps of the clock. `send` and `ask` are how long a message takes to a notifier
    and to the central history (once there, once back). `nodes` are the places on a circle of those who have histories
    of single messages."""

    def __init__(
        self,
        world: World,
        *,
        send: Delay | None = None,
        ask: Delay | None = None,
        most_names: int | None = MOST_NAMES,
        nodes: Iterable[int] = (0,),
    ) -> None:
        super().__init__(self._machine_of, send=send, ask=ask)
        self.nodes = sorted(nodes)
        self.world, self._most_names = world, most_names
        self.handled: list[Handled] = []
        self.told: list[Copy] = []
        self._published: dict[MessageId, tuple[Message, Instant]] = {}

    @property
    def history(self) -> CentralHistory:
        found = self.machine(HISTORY)
        assert isinstance(found, CentralHistory)
        return found

    @property
    def notifiers(self) -> list[Notifier]:
        return [each for each in self.machines.values() if isinstance(each, Notifier)]

    def node_of(self, name: str) -> int:
        """Who has the history of that name: the first node at or behind its key."""
        return min(self.nodes, key=lambda node: distance(key_of(name), node))

    def lose(self, node: int) -> None:
        """Its successor goes on for it, from copies of what it remembered."""
        lost = [name for name in self.machines if is_history(name) and self.node_of(name) == node]
        self.nodes.remove(node)
        for name in lost:
            self.crash(name)

    def publish(
        self, root: str, topic: str, protocol_name: str, *, data: bytes = b"", limit: int = LIMIT, number: int = 1
    ) -> MessageId:
        """Through a notifier that is registered, on a topic that there is."""
        protocol(protocol_name)
        self.world.service(root)
        self.world.topics.check(topic)
        name = MessageId(f"urn:tocsin:simulated:{number}")
        message = Message(name, protocol_name, root, topic, Payload("text/plain", data), self.clock.now)
        self._published[name] = message, self.clock.now
        self.take(root, Publish(message, limit))
        return name

    def result(self, message: MessageId) -> Dissemination:
        said, begun = self._published[message]
        return dissemination(said.protocol, said.root, begun, (h for h in self.handled if h.message == message))

    def delivered(self, name: str, message: Copy) -> None:
        del name
        self.told.append(message)

    def reported(self, report: Report) -> None:
        if isinstance(report.what, Handled):
            self.handled.append(report.what)

    def reaches(self, send: Send) -> bool:
        """Who left the world is not told any more; but an answer of the history still gets there: what was granted
        nobody else will tell."""
        return send.to in self.world.services

    def absent(self, send: Send) -> None:
        self.handled.append(gone(send.message, self.clock.now))

    def _machine_of(self, name: str, rows: Mapping[str, Any]) -> Machine[Any]:
        if is_history(name):
            return (MessageHistory if is_of_one_message(name) else CentralHistory)(rows.values())
        return Notifier(name, partial(self.world.neighbours, name), rows, self._most_names)


class Tally(NotifierNetwork):
    """For worlds so large that it can only be counted what happens, not kept.

    Headers are unlimited, so that one sees how they grow. `weigh` is asked once for all copies that share one.
    """

    def __init__(self, world: World, weigh: Weigh) -> None:
        super().__init__(world, most_names=None)
        self.notifications = self.repetitions = self.dropped = self.withheld = self.hops = 0
        self.reached: set[str] = set()
        self._handled_by: set[str] = set()
        self.largest_header = self.header_bytes = 0
        self._weigh, self._weighed = weigh, (tuple[str, ...](), 0)

    def sent(self, send: Send) -> None:
        self.notifications += 1
        header = send.message.notified
        if header is not self._weighed[0]:
            self._weighed = header, self._weigh(header) if header else 0
        self.header_bytes += self._weighed[1]
        self.largest_header = max(self.largest_header, self._weighed[1])

    def delivered(self, name: str, message: Copy) -> None:
        del message
        self.reached.add(name)

    def reported(self, report: Report) -> None:
        handled = report.what
        if not isinstance(handled, Handled):
            return
        self.dropped += handled.dropped
        self.withheld += len(handled.withheld)
        if handled.at in self._handled_by:
            self.repetitions += 1
        else:  # the root's own is its publication, at no hop
            self._handled_by.add(handled.at)
            self.hops = max(self.hops, handled.hop)

    def remembered(self, name: str, key: str, row: Any) -> None:
        """The machines themselves are what is measured."""


def disseminate(
    world: World, root: str, topic: str, protocol_name: str, *, data: bytes = b"", limit: int = LIMIT
) -> Dissemination:
    """One message, from its publication until nothing is on its way any more."""
    network = NotifierNetwork(world)
    name = network.publish(root, topic, protocol_name, data=data, limit=limit)
    network.clock.run()
    return network.result(name)
