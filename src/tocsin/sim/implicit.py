"""Implicit notification over a whole world in one process: the notifiers and the central history that nodes run."""

from functools import partial

from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Payload
from tocsin.routing.implicit.history import CentralHistory
from tocsin.routing.implicit.messages import (
    MOST_PASSES,
    Claim,
    Copy,
    Deliver,
    Effect,
    Forward,
    Granted,
    Handled,
    Incoming,
    Message,
    Publish,
    gone,
)
from tocsin.routing.implicit.notifier import MOST_NAMES, Notifier
from tocsin.routing.implicit.protocols import protocol
from tocsin.routing.implicit.result import Dissemination, dissemination
from tocsin.semantics.interest.world import World
from tocsin.sim.clock import Clock, Delay, constant

LIMIT = MOST_PASSES  # of one message at one notifier


class Network:
    """The world may change between two steps of the clock. `send` and `ask` are how long a message takes to a notifier
    and to the central history (once there, once back)."""

    def __init__(
        self,
        world: World,
        *,
        send: Delay | None = None,
        ask: Delay | None = None,
        most_names: int | None = MOST_NAMES,
    ) -> None:
        self.world, self.clock = world, Clock()
        self.history = CentralHistory()
        self.notifiers: dict[str, Notifier] = {}
        self.handled: list[Handled] = []
        self.delivered: list[Copy] = []
        self._send, self._ask = send or constant(), ask or constant()
        self._most_names = most_names
        self._published: dict[MessageId, tuple[Message, Instant]] = {}

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
        self._step(root, Publish(message, limit))
        return name

    def result(self, message: MessageId) -> Dissemination:
        said, begun = self._published[message]
        return dissemination(said.protocol, said.root, begun, (h for h in self.handled if h.message == message))

    def _step(self, name: str, incoming: Incoming) -> None:
        for effect in self._notifier(name).step(incoming, self.clock.now):
            self._do(effect)

    def _notifier(self, name: str) -> Notifier:
        found = self.notifiers.get(name)
        if found is None:
            found = Notifier(name, partial(self.world.neighbours, name), most_names=self._most_names)
            self.notifiers[name] = found
        return found

    def _do(self, effect: Effect) -> None:
        match effect:
            case Forward(copy):
                self.clock.after(self._send(), partial(self._arrive, copy))
            case Claim():
                self.clock.after(self._ask(), partial(self._claim, effect))
            case Handled():
                self.handled.append(effect)
            case Deliver(copy):
                self.delivered.append(copy)

    def _arrive(self, copy: Copy) -> None:
        if copy.to in self.world.services:
            self._step(copy.to, copy)
        else:
            self.handled.append(gone(copy, self.clock.now))

    def _claim(self, claim: Claim) -> None:
        answer, _ = self.history.step(claim, self.clock.now)
        self.clock.after(self._ask(), partial(self._answer, answer))

    def _answer(self, answer: Granted) -> None:
        """Also to a claimant that left: what it was granted nobody else will tell."""
        self._step(answer.by, answer)


def disseminate(
    world: World, root: str, topic: str, protocol_name: str, *, data: bytes = b"", limit: int = LIMIT
) -> Dissemination:
    """One message, from its publication until nothing is on its way any more."""
    network = Network(world)
    name = network.publish(root, topic, protocol_name, data=data, limit=limit)
    network.clock.run()
    return network.result(name)
