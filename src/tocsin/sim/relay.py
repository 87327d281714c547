"""A ring in which notifications are relayed on demand (paper 004, s5.B), whatever order things happen in.

An oracle stands beside it: what was acknowledged, and so what no node may leave.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tocsin.model.filters import Filter, TopicIs
from tocsin.model.identity import SECOND
from tocsin.model.names import QName
from tocsin.routing.ring.identifiers import identifier_of
from tocsin.routing.ring.relay_messages import Answered, Flow, Question, Wanting
from tocsin.sim.network import MILLISECOND
from tocsin.sim.relay_nodes import Links, Machines, Reply, RingNode, RingNodes

PLANE = "topics"
AGAIN = 300 * MILLISECOND  # until what was refused, or not answered, is asked again
Owner = Callable[[int, int], str]  # of a key, by the roster with a number


class Standing(Struct, frozen=True):
    """A subscription as it is stored for each of its topics; when it expires, by the ring's own time."""

    id: str
    version: int
    topics: tuple[str, ...]
    expires: int | None = None
    paused: bool = False

    def stands(self, now: int) -> bool:
        return self.expires is None or now < self.expires

    def wanting(self, now: int) -> Wanting:
        filters = TopicIs(tuple((QName("", each),) for each in self.topics))
        return Wanting(self.id, self.version, (filters,), None if self.expires is None else self.expires - now)


class Keys:
    """The span of a few topics."""

    def __init__(self, topics: Iterable[str]) -> None:
        self._keys = sorted(map(identifier_of, topics))

    def next_key(self, at: int) -> int | None:
        place = bisect_left(self._keys, at)
        return self._keys[place] if place < len(self._keys) else None


def flow_of(topic: str) -> Flow:
    return Flow(PLANE, identifier_of(topic), topic)


def matches(filters: tuple[Filter, ...], flow: Flow) -> bool:
    asked = filters[0]
    return isinstance(asked, TopicIs) and (QName("", flow.topic),) in asked.alternatives


class RelayRing:
    """What is stored outlasts its owner, and is with whoever owns the key then: the ring keeps copies.

    `hidden` are notifications that were left although they were the first of their topic at a node, or somebody wants
    them by what was acknowledged before: there must be none. `underway` are relayed, and not yet taken.
    One that is watched looks for them after each thing that happens.
    """

    def __init__(
        self,
        owner: Owner,
        seed: int = 0,
        links: Links | None = None,
        machines: Machines | None = None,
        *,
        is_watched: bool = True,
    ) -> None:
        self.is_watched = is_watched
        self.nodes = RingNodes(self._wanted, matches, seed, links, machines)
        self.clock, self.counts, self._owner = self.nodes.clock, self.nodes.counts, owner
        self.stored: defaultdict[str, dict[str, Standing]] = defaultdict(dict)  # by topic
        self.asked: dict[str, Standing] = {}  # the latest of each subscription; below zero it was ended
        self.promised: dict[str, Standing] = {}
        self.unacknowledged: set[str] = set()
        self.hidden: list[str] = []
        self.underway = 0

    def run_for(self, seconds: float) -> None:
        until = self.clock.now + round(seconds * SECOND)
        self.clock.after(until - self.clock.now, lambda: None)
        while self.clock.now < until and self.clock.step():
            self._look()

    def _once(self, work: Callable[[], object]) -> Callable[[], None]:
        """Later, and once, however often an attempt is found to have failed."""
        tried: list[bool] = []

        def again() -> None:
            if not tried:
                tried.append(True)
                self.clock.after(AGAIN, work)

        return again

    # Notifications

    def notify(self, name: str, topic: str) -> bool:
        """Whether it is relayed."""
        node, flow = self.nodes.named[name], flow_of(topic)
        verdict = node.relay.wanted(flow, node.local(self.clock.now))
        self.counts["accepted"] += 1
        if not verdict.relay:
            self.counts["left"] += 1
            self._check(node, topic)
            return False
        node.seen.add(topic)
        self.counts["questions"] += verdict.question is not None
        self.underway += 1
        self._relay(node, flow, verdict.question, [])
        return True

    def _look(self) -> None:
        """What each node would do with a notification now."""
        for topic in (
            {each for standing in self.promised.values() for each in standing.topics} if self.is_watched else ()
        ):
            for node in self.nodes.named.values():
                if node.up and node.relay.leaves(flow_of(topic), node.local(self.clock.now)):
                    self._check(node, topic)

    def _check(self, node: RingNode, topic: str) -> None:
        now = self.clock.now
        wanting = [each.id for each in self.promised.values() if topic in each.topics and each.stands(now)]
        if wanting or topic not in node.seen:
            self.hidden.append(f"after {now / SECOND:.3f} s {node.name} left {topic}, wanted by {wanting}")

    def _relay(self, node: RingNode, flow: Flow, question: Question | None, taken: list[str]) -> None:
        """Until it is taken; a process that was started again has what was accepted, and no more."""
        again = self._once(partial(self._relay_again, node, flow, question, taken, node.session))

        def arrive(owner: RingNode, reply: Reply) -> None:
            now = owner.local(self.clock.now)
            is_owner = owner.demand.owns(flow.key, now)
            if is_owner and not taken:
                taken.append(owner.name)
                self.underway -= 1
            reply(owner.demand.asked(question, now) if is_owner and question is not None else is_owner)

        def done(answer: Any) -> None:
            if isinstance(answer, Answered):
                node.relay.step(answer, node.local(self.clock.now))
            elif not answer and not taken:
                again()

        self.nodes.call(
            "relays", node, self._owner(flow.key, node.epoch), arrive, done, lambda: None if taken else again()
        )

    def _relay_again(
        self, node: RingNode, flow: Flow, question: Question | None, taken: list[str], session: int
    ) -> None:
        if node.up:
            self._relay(node, flow, question if node.session == session else None, taken)
        else:
            self.clock.after(AGAIN, partial(self._relay_again, node, flow, None, taken, session))

    # Subscriptions

    def subscribe(self, name: str, subscription: str, topics: Iterable[str], seconds: float | None = None) -> None:
        """Or renew, or resume: then the topics are those of before. Who shortens it is promised less from then on."""
        known, promised = self.asked.get(subscription), self.promised.get(subscription)
        if known is not None and known.version < 0:
            return
        expires = None if seconds is None else self.clock.now + round(seconds * SECOND)
        version, among = (1, tuple(topics)) if known is None else (known.version + 1, known.topics)
        self.asked[subscription] = standing = Standing(subscription, version, among, expires)
        if promised is not None and expires is not None:
            shortened = min(expires, expires if promised.expires is None else promised.expires)
            self.promised[subscription] = replace(promised, expires=shortened)
        self.unacknowledged.add(subscription)
        self._store(self.nodes.named[name], standing, set(among), among)

    def pause(self, subscription: str) -> None:
        """It still wants, and so nobody is told."""
        for stored in self.stored.values():
            if subscription in stored:
                stored[subscription] = replace(stored[subscription], paused=True)

    def unsubscribe(self, name: str, subscription: str) -> None:
        """From the moment it is asked for, nothing is promised any more."""
        known = self.asked.get(subscription)
        if known is not None and known.version > 0:
            self.asked[subscription] = replace(known, version=-1)
            self.promised.pop(subscription, None)
            self.unacknowledged.discard(subscription)
            for topic in known.topics:
                self._remove(self.nodes.named[name], known, topic)

    def _store(self, node: RingNode, standing: Standing, left: set[str], topics: Iterable[str]) -> None:
        """Those of the topics that are left, at their owners, until all have acknowledged it."""
        if self.asked[standing.id] != standing:
            return
        by_owner = defaultdict[str, list[str]](list)
        for topic in sorted(left.intersection(topics)):
            by_owner[self._owner(identifier_of(topic), node.epoch)].append(topic)
        for owner, its_topics in by_owner.items():
            if node.up:
                self._store_at(owner, node, standing, left, its_topics)
            else:
                self.clock.after(AGAIN, partial(self._store, node, standing, left, its_topics))

    def _store_at(self, owner: str, node: RingNode, standing: Standing, left: set[str], topics: list[str]) -> None:
        again = self._once(partial(self._store, node, standing, left, topics))

        def done(is_settled: bool) -> None:
            if is_settled:
                left.difference_update(topics)
                self._acknowledge(standing, left)
            else:
                again()

        self.nodes.call("subscribe", node, owner, partial(self._change, standing, topics), done, again)

    def _change(self, standing: Standing, topics: list[str], owner: RingNode, reply: Reply) -> None:
        now = owner.local(self.clock.now)
        if self.asked[standing.id] != standing or not all(owner.demand.owns(identifier_of(e), now) for e in topics):
            reply(False)
            return
        for topic in topics:
            self.stored[topic][standing.id] = standing
        change = f"{standing.id} {standing.version} {' '.join(topics)}"
        owner.waiting[change].append(reply)
        wanting = standing.wanting(self.clock.now)
        self.nodes.do(owner, owner.demand.changed(change, wanting, now, {PLANE: Keys(topics)}))

    def _acknowledge(self, standing: Standing, left: set[str]) -> None:
        if not left and self.asked[standing.id] == standing:
            self.promised[standing.id] = standing
            self.unacknowledged.discard(standing.id)

    def _remove(self, node: RingNode, standing: Standing, topic: str) -> None:
        again = self._once(partial(self._remove, node, standing, topic))

        def arrive(owner: RingNode, reply: Reply) -> None:
            now = owner.local(self.clock.now)
            if is_owner := owner.demand.owns(identifier_of(topic), now):
                self.stored[topic].pop(standing.id, None)
                ended = standing.wanting(self.clock.now)
                self.nodes.do(owner, owner.demand.ended(ended, now, {PLANE: Keys([topic])}))
            reply(is_owner)

        if node.up:
            owner = self._owner(identifier_of(topic), node.epoch)
            self.nodes.call("unsubscribe", node, owner, arrive, lambda is_owner: None if is_owner else again(), again)
        else:
            again()

    def _wanted(self, flow: Flow) -> list[Wanting]:
        """Paused ones too."""
        now = self.clock.now
        return [each.wanting(now) for each in self.stored[flow.topic].values() if each.stands(now)]
