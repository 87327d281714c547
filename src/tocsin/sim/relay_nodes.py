"""Nodes with the machines of demand-based relay (paper 004, s5.B): links that delay, overtake, repeat and lose, clocks
that differ, nodes that crash or are cut off."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from random import Random
from typing import Any

from msgspec import Struct

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.machine import Answer, Ask, Deliver, Effect, SetTimer, Unanswered, Woken
from tocsin.routing.ring.demand import Demand, DemandSettings
from tocsin.routing.ring.identifiers import identifier_of
from tocsin.routing.ring.relay import Matches, Relay, RelaySettings
from tocsin.routing.ring.relay_messages import Flow, Settled, Unsettled, Wanting
from tocsin.sim.network import MILLISECOND, Clock

UNANSWERED = 1_500 * MILLISECOND
Reply = Callable[[Any], None]


class Links(Struct, frozen=True):
    """The shares of messages that are lost and that come twice; seconds by which clocks differ, and the share by which
    they differ in pace."""

    least: int = MILLISECOND
    most: int = 5 * MILLISECOND
    lost: float = 0.0
    twice: float = 0.0
    skew: float = 0.0
    drift: float = 0.0


class Machines(Struct, frozen=True):
    """What nodes are made of, for those who would have it otherwise."""

    relay: Callable[..., Relay] = Relay
    demand: Callable[..., Demand] = Demand
    relay_settings: RelaySettings = RelaySettings()
    demand_settings: DemandSettings = DemandSettings()


class RingNode:
    """One broker, interface and rendezvous at once; `seen` are the topics that it has relayed."""

    def __init__(self, name: str, offset: int, pace: float) -> None:
        self.name, self.at = name, identifier_of(name)
        self._offset, self._pace = offset, pace
        self.up, self.cut, self.session, self.epoch, self.timer = False, False, 0, 0, 0
        self.relay: Relay
        self.demand: Demand
        self.waiting: defaultdict[str, list[Reply]] = defaultdict(list)  # by the change that is to be settled
        self.seen: set[str] = set()

    def local(self, now: int) -> Instant:
        return Instant(self._offset + round(now * self._pace))

    def true(self, local: int) -> int:
        """Not before its own clock has reached it."""
        return int((local - self._offset) / self._pace) + 1


class RingNodes:
    """`counts` are requests from one node to another, by what they are for."""

    def __init__(
        self,
        wanted: Callable[[Flow], Sequence[Wanting]],
        matches: Matches,
        seed: int,
        links: Links | None,
        machines: Machines | None,
    ) -> None:
        self.clock, self.random = Clock(), Random(seed)
        self.links, self._machines = links or Links(), machines or Machines()
        self._wanted, self._matches = wanted, matches
        self.named: dict[str, RingNode] = {}
        self.counts = Counter[str]()

    def add(self, name: str) -> RingNode:
        links = self.links
        offset = round(self.random.uniform(1, 1 + links.skew) * SECOND)
        node = self.named[name] = RingNode(name, offset, 1 + self.random.uniform(-links.drift, links.drift))
        self.begin(node)
        return node

    def begin(self, node: RingNode) -> None:
        """Knowing nothing."""
        made, node.up, node.session = self._machines, True, node.session + 1
        session = node.local(self.clock.now)
        node.relay = made.relay(node.name, session, node.epoch, self._matches, made.relay_settings)
        node.demand = made.demand(node.epoch, self._wanted, self._matches, made.demand_settings)
        node.waiting.clear()
        node.seen.clear()

    def learn(self, node: RingNode, epoch: int) -> None:
        if epoch > node.epoch:
            node.epoch = node.demand.epoch = epoch
            node.relay.moved(epoch)

    def delay(self) -> int:
        return self.random.randint(self.links.least, self.links.most)

    def call(
        self,
        kind: str,
        source: RingNode,
        target: str,
        arrive: Callable[[RingNode, Reply], None],
        done: Reply,
        failed: Callable[[], object],
    ) -> None:
        """An answer may come after it was given up, and twice."""
        self.counts[kind] += source.name != target
        session, answered, there = source.session, [False], self.named[target]

        def finish(answer: Any) -> None:
            if source.up and source.session == session and self._passes(there, source):
                answered[0] = True
                done(answer)

        def come() -> None:
            if there.up and self._passes(source, there):
                arrive(there, lambda answer: self._travel(source is there, partial(finish, answer)))

        self._travel(source is there, come)
        self.clock.after(UNANSWERED, lambda: None if answered[0] else failed())

    def do(self, node: RingNode, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Ask(of, question):
                    self._ask(node, of, question)
                case Deliver(Settled(change)):
                    self._release(node, change, True)
                case Deliver(Unsettled(change)):
                    self._release(node, change, False)
                case SetTimer(when):
                    self._set_timer(node, when)

    def _travel(self, is_local: bool, come: Callable[[], None]) -> None:
        twice = not is_local and self.random.random() < self.links.twice
        for _ in range(1 + twice):
            self.clock.after(0 if is_local else self.delay(), come)

    def _passes(self, source: RingNode, target: RingNode) -> bool:
        return source is target or not (source.cut or target.cut or self.random.random() < self.links.lost)

    def _ask(self, node: RingNode, of: str, question: Any) -> None:
        session = node.session

        def arrive(interface: RingNode, reply: Reply) -> None:
            for effect in interface.relay.step(question, interface.local(self.clock.now)):
                if isinstance(effect, Answer):
                    reply(effect.message)

        def take(message: Any) -> None:
            if node.up and node.session == session:
                self.do(node, node.demand.step(message, node.local(self.clock.now)))

        self.call(type(question).__name__, node, of, arrive, take, lambda: take(Unanswered(question)))

    def _release(self, node: RingNode, change: str, is_settled: bool) -> None:
        for reply in node.waiting.pop(change, ()):
            reply(is_settled)

    def _set_timer(self, node: RingNode, when: Instant | None) -> None:
        node.timer += 1
        if when is not None:
            wake = partial(self._wake, node, node.timer, node.session)
            self.clock.after(max(0, node.true(when) - self.clock.now), wake)

    def _wake(self, node: RingNode, number: int, session: int) -> None:
        if node.up and (node.timer, node.session) == (number, session):
            self.do(node, node.demand.step(Woken(), node.local(self.clock.now)))
