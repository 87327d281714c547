"""A node: one process, a whole broker, composed of its services."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, cast

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.consumers.consumers import SECRETS, Consumers
from tocsin.broker.consumers.end_notices import EndNotices
from tocsin.broker.dead_letters import DeadLetters, Remaker
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.declarations.declarations import Spread as Declare
from tocsin.broker.declarations.semantics import Semantics
from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.outbox import OutboxEngine
from tocsin.broker.engines.retention import Retention
from tocsin.broker.engines.settlement import Settlement
from tocsin.broker.foundation import Foundation
from tocsin.broker.implicit.host import Host
from tocsin.broker.implicit.implicit import Implicit, Means
from tocsin.broker.implicit.peer_side import world_key
from tocsin.broker.interactions.interactions import Interactions
from tocsin.broker.interactions.records import Records
from tocsin.broker.interactions.ways import Ways
from tocsin.broker.pipeline_progress import PipelineProgress
from tocsin.broker.publishing.current_messages import CurrentMessages
from tocsin.broker.publishing.publishing import Duplicates, Publishing
from tocsin.broker.pull_points.feeds import Feeding
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.pull_points.pull_points import PullPoints
from tocsin.broker.reply.harvests import Harvests
from tocsin.broker.reply.replying import Replying
from tocsin.broker.reply.views import Views
from tocsin.broker.resource_properties import ResourceProperties
from tocsin.broker.ring.commons import Table
from tocsin.broker.ring.copies import Settled
from tocsin.broker.ring.port import RingPort
from tocsin.broker.ring.ring import Means as RingMeans
from tocsin.broker.ring.ring import Ring
from tocsin.broker.ring.tally import Tally
from tocsin.broker.settings import RingSettings, Settings
from tocsin.broker.subscriptions.failures import FilterFailures
from tocsin.broker.subscriptions.standing import Spread, StandingSubscriptions
from tocsin.broker.subscriptions.subscriptions import Subscriptions
from tocsin.broker.subscriptions.suspension import Suspension
from tocsin.broker.subscriptions.synchronisation import Synchronisation
from tocsin.broker.topics.known_registrations import KIND as REGISTRATIONS
from tocsin.broker.topics.registrations import Registrations
from tocsin.broker.topics.topic_space import KIND as TOPICS
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.broker.topics.topics import TopicCounts, Topics
from tocsin.broker.tracing.tracing import Traces
from tocsin.broker.tree.neighbours import Neighbours
from tocsin.broker.tree.proof import prove
from tocsin.broker.tree.tree import Tree
from tocsin.delivery.deliverer import Deliverer
from tocsin.flow.flow import Flow
from tocsin.matching.index.combination import MANY as MANY_TERMS
from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.routing.ring.identifiers import identifier_of, is_named, named_at
from tocsin.runtime.peers import Link, Way
from tocsin.store.outbox import Outbox

now = cast(Callable[[], Instant], time.time_ns)


class _Sending:
    """What is sent to consumers, and who they are. What the deliverer asks for is made after it, because all of that
    offers to it."""

    def __init__(self, on: Foundation, ring: Callable[[], Ring | None], named: Callable[[str], str]) -> None:
        settings, base_url, directory, network = on.settings, on.base_url, on.directory, on.network
        current = directory.store.past.subscriptions()
        self.key = key = world_key(settings.implicit.key_file, directory.store)
        link = Link(network.to_peers, key, now)
        way = Way(link, network.patience, settings.reply.longest)
        elsewhere = lambda: None if (there := ring()) is None else there.views  # noqa: E731
        self.harvests = harvests = Harvests(
            base_url,
            directory.journal.node,
            settings.reply,
            directory.store,
            key,
            way,
            now,
            on.report,
            named,
            elsewhere,
            lambda: None if (there := ring()) is None else there.view_copies,
        )
        self.deliverer = deliverer = Deliverer(
            network.http,
            network.patience,
            prepare=lambda entry: engine.prepare(entry),
            settled=lambda entry, delivery, outcome: settlement.settled(entry, delivery, outcome),
            backlog=lambda subscription, after, limit: settlement.backlog(subscription, after, limit),
            now=now,
            random=random.Random(),
            together=lambda subscription: consumers.together(subscription),
            max_latency=lambda subscription: consumers.max_latency(subscription),
            dress=lambda delivery: prove(key, delivery, now()) if delivery.to.node else consumers.dress(delivery),
            heard=lambda delivery, answer: replying.answered(delivery, answer),
        )
        self.replying = replying = Replying(harvests, elsewhere)
        self.tally = Tally(lambda each: () if (there := ring()) is None else there.placing.keys(each))
        self.engine = engine = _engine(on, deliverer, harvests, self.tally)
        suspended = [each.id for each in current if each.state == "suspended"]
        self.failures = FilterFailures(settings.limits.filter_failures, suspended)
        self.settlement = settlement = Settlement(
            engine, deliverer, directory.outcomes, self.failures, settings.delivery, harvests
        )
        self.notices = EndNotices(deliverer)
        spread: Spread = lambda each: None if (there := ring()) is None else there.spread(each)  # noqa: E731
        self.standing = StandingSubscriptions(directory.journal, current, self.notices, base_url, now, spread)
        self.consumers = consumers = Consumers(
            settings,
            base_url,
            directory.store,
            self.standing,
            network.http,
            deliverer,
            now,
            on.report,
            lambda *what: _shared(ring(), *what),
        )


def _ring_settings(settings: Settings, name: str) -> RingSettings:
    """Workers share one disk: none of them keeps copies for another."""
    worker, asked = settings.worker, settings.ring
    if worker is None or asked.site is not None:
        return asked
    return msgspec.structs.replace(asked, site=worker.first or name)


def _place(ring: Ring | None, port: RingPort) -> int:
    return identifier_of(port.name) if ring is None else ring.place


def _settled(engine: EmbeddedEngine, mailboxes: Mailboxes) -> Settled:
    """What lies in a pull point is done with when it is handed out."""
    matched_to, lanes = engine.progress()
    pulled_to, points = mailboxes.progress()
    of_ring = {name: place for name, place in points.items() if is_named(name)}
    return Settled(min(matched_to, pulled_to), {str(name): place for name, place in lanes.items()} | of_ring)


def _engine(on: Foundation, deliverer: Deliverer, harvests: Harvests, tally: Tally) -> EmbeddedEngine | OutboxEngine:
    store, lifetime = on.directory.store, on.settings.delivery.lifetime
    if on.settings.engine == "embedded":
        flow = Flow(on.base_url, judge=on.judges.in_loop)
        settled = on.directory.journal.settled if on.settings.delivery.mode == "direct" else None
        reader, weigh = on.directory.reader, tally.add
        return EmbeddedEngine(flow, store, reader, on.judges, deliverer, lifetime, settled, harvests, weigh)
    outbox = Outbox.open(on.directory.places.outbox)
    on.stack.callback(outbox.close)
    sharing = on.directory.sharing
    return OutboxEngine(store, outbox, deliverer, lifetime, None if sharing is None else sharing.forwarding, harvests)


async def _current(ring: Ring | None, topic: Topic, own: bool) -> list[Notification]:
    return [] if ring is None else await ring.elsewhere.current(topic, own)


async def _shared(ring: Ring | None, kind: str, name: str, value: bytes | None) -> None:
    if ring is not None:
        await ring.commons.spread(kind, name, value)


async def _topics(ring: Ring | None) -> Iterable[str]:
    return () if ring is None else await ring.elsewhere.topics()


class _Subscribing:
    """What can be asked for, who asked for it, and what is kept for those who fetch it."""

    def __init__(self, on: Foundation, sending: _Sending, ring: Callable[[], Ring | None]) -> None:
        settings, base_url, store, journal = on.settings, on.base_url, on.directory.store, on.directory.journal
        standing, settlement, notices = sending.standing, sending.settlement, sending.notices
        known = store.past.catalogue()
        declare: Declare = lambda what: None if (there := ring()) is None else there.declare(what)  # noqa: E731
        self.declarations = declarations = Declarations(journal, known, standing, now, on.report, declare)
        failing = (settlement.unjudged, settlement.unwritten, sending.failures.delivered)
        feeding = Feeding(base_url, on.judges, *failing)
        self.mailboxes = mailboxes = Mailboxes(store, on.directory.reader, settings, now, feeding)
        self.suspension = suspension = Suspension(standing, notices, mailboxes, base_url, now)
        unknown = settings.meaning.unknown_properties
        self.semantics = Semantics(declarations, standing, suspension, on.report, unknown_properties=unknown)
        self.topic_space = TopicSpace(
            store.topic_namespaces, fixed=settings.topics.fixed, spread=lambda *what: _shared(ring(), *what)
        )
        self.subscriptions = Subscriptions(
            journal,
            standing,
            settings,
            base_url,
            now,
            store=store,
            guard=on.network.guard,
            topics=self.topic_space,
            declarations=declarations,
            consumers=sending.consumers,
            mailboxes=mailboxes,
            settlement=settlement,
            ring=ring,
        )
        elsewhere = lambda: None if (there := ring()) is None else there.elsewhere  # noqa: E731
        idle = settings.limits.pull_idle
        self.pull_points = PullPoints(self.subscriptions, standing, mailboxes, idle, now, elsewhere)
        self.current_messages = current = CurrentMessages(
            store.current_messages, on.directory.reader.end(), lambda *asked: _current(ring(), *asked)
        )
        self.synchronisation = Synchronisation(
            standing, current, mailboxes, settlement, notices, declarations, on.judges, base_url
        )


class Node:
    """Made by `lifecycle.open_node`, inside the running loop. Doors ask its services, and name the caller.

    Services are made in the order in which they need each other; a new one is made at the end.
    """

    def __init__(self, on: Foundation, port: RingPort | None = None) -> None:
        ring: Ring | None = None
        self.settings, self.base_url, self.judges = settings, base_url, judges = on.settings, on.base_url, on.judges
        self.store, self.journal = store, journal = on.directory.store, on.directory.journal
        reader, log, network = on.directory.reader, on.directory.places.log("log"), on.network

        # A view keeps the name that it was given, also when this node has moved since.
        named = str if port is None else lru_cache(1 << 16)(lambda unique: named_at(_place(ring, port), unique))
        sending = _Sending(on, lambda: ring, named)
        self._tally = sending.tally
        self.deliverer, self.engine, self.consumers = sending.deliverer, sending.engine, sending.consumers
        self.settlement, self.standing = settlement, standing = sending.settlement, sending.standing
        self.harvests, self.replying = sending.harvests, sending.replying
        self.views = Views(self.harvests)

        asked = _Subscribing(on, sending, lambda: ring)
        self.declarations, self.semantics, self.suspension = asked.declarations, asked.semantics, asked.suspension
        self.subscriptions, self.mailboxes = subscriptions, mailboxes = asked.subscriptions, asked.mailboxes
        self.pull_points, self.synchronisation = asked.pull_points, asked.synchronisation
        self.current_messages = asked.current_messages

        self.publishing = publishing = Publishing(
            journal,
            now,
            Duplicates(settings.limits.dedup_window),
            engine=self.engine,
            standing=standing,
            mailboxes=mailboxes,
            topics=asked.topic_space,
            declarations=self.declarations,
            semantics=self.semantics,
            asking=self.harvests.asking,
            relay=lambda *what: None if ring is None else ring.relay(*what),
        )
        self.topic_counts = TopicCounts(store)
        self._commons: dict[str, Table] = {SECRETS: self.consumers.common_secrets, TOPICS: asked.topic_space}
        self.topics = Topics(asked.topic_space, self.topic_counts, standing, lambda: _topics(ring))
        self.registrations = Registrations(
            store,
            network.guard,
            base_url,
            now,
            network.http,
            standing,
            on.report,
            lambda: None if ring is None else ring.publishers,
        )
        self._commons[REGISTRATIONS] = self.registrations
        self.properties = ResourceProperties(
            store,
            base_url,
            now,
            topics=self.topics,
            registrations=self.registrations,
            subscriptions=subscriptions,
            declarations=self.declarations,
        )
        remaker = Remaker(Flow(base_url), store, reader)
        self.dead_letters = DeadLetters(store, settlement, self.deliverer, mailboxes, standing, remaker)
        self.traces = Traces(
            store,
            log,
            base_url,
            standing=standing,
            engine=self.engine,
            settlement=settlement,
            mailboxes=mailboxes,
            judge=judges.aside,
        )
        host = Host(base_url, settings.limits.body_bytes, now, publishing, subscriptions, standing)
        world_changed = self.declarations.world_changed
        means = Means(
            store,
            network.to_peers,
            sending.key,
            network.patience,
            on.report,
            world_changed,
            self.harvests,
            lambda: None if ring is None else ring.notifying(),
            lambda *what: None if ring is None else ring.change_world(*what),
        )
        self.implicit = implicit = Implicit(host, settings.implicit, means)
        ways = Ways(
            base_url,
            now,
            implicit=implicit,
            publishing=publishing,
            subscriptions=subscriptions,
            standing=standing,
        )
        records = Records(store.requests, now, settings.implicit.retention)
        self.interactions = Interactions(ways, records, standing, implicit, log, base_url)
        embedded = isinstance(self.engine, EmbeddedEngine)
        unsettled = self.deliverer.unsettled if embedded else dict  # else places are not those of the log
        self.tree = Tree(
            base_url,
            settings,
            store,
            Link(network.to_peers, sending.key, now),
            Neighbours(journal, standing, self.deliverer, unsettled),
            on.report,
            name=journal.node,
            standing=standing,
            declarations=self.declarations,
            publishing=publishing,
            settlement=settlement,
        )
        self.ring = ring = self._ring(on, port)
        self.pipeline = PipelineProgress(on.directory.places.data)
        self.retention = Retention(on.directory.log, self.engine, settlement, settings, now)

    def _ring(self, on: Foundation, port: RingPort | None) -> Ring | None:
        engine, settlement = self.engine, self.settlement
        if port is None or not isinstance(engine, EmbeddedEngine):
            return None
        means = RingMeans(
            _ring_settings(self.settings, self.journal.node),
            self.base_url,
            self.store,
            on.directory.places,
            on.directory.log,
            on.directory.reader,
            self.standing,
            self.declarations,
            self.publishing,
            self.harvests,
            self.replying,
            self.deliverer,
            self.mailboxes,
            self.pull_points,
            self.current_messages,
            self.topic_counts,
            self.registrations,
            self._commons,
            self.judges.aside,
            lambda: _settled(engine, self.mailboxes),
            lambda: (sum(self.publishing.accepted.values()), sum(settlement.delivered.values())),
            now,
            on.report,
            self.journal,
            self.implicit,
            self._tally,
            self.settings.worker is not None,
        )
        ring = Ring(port, means)
        on.network.schemes["ring"] = ring.posting
        return ring

    @property
    def body_limit(self) -> int:
        return self.settings.limits.body_bytes

    def now(self) -> Instant:
        return now()

    def problem(self) -> str | None:
        """Why nothing is accepted any more; None while all is well."""
        return self.journal.log.refusal

    def closing(self) -> bool:
        """Whether the node is about to end: then nobody waits any more."""
        return self.mailboxes.closing

    def stop_waiting(self) -> None:
        """Those who wait at a door are answered with what there is, before it is shut."""
        self.mailboxes.stop_waiting()
        self.harvests.stop_waiting()
        self.implicit.stop_waiting()

    def needs_kernels(self) -> bool:
        """Where boxes or graph patterns may be asked for, and well before subscriptions are so many that they are
        combined by a kernel."""
        known = self.declarations.known
        return len(self.standing.by_id) >= MANY_TERMS // 2 or bool(known.spaces or known.ontologies)

    def figures(self, caller: Caller) -> dict[str, Any]:
        caller.anybody()
        return {
            "node": self.journal.node,
            "engine": self.settings.engine,
            "offset": self.journal.log.durable,
            "subscriptions": self._count_subscriptions(),
            "accepted": dict(self.publishing.accepted),
            "repeated": self.publishing.repeated,
            "matched": self.engine.matched,
            "delivery": msgspec.structs.asdict(self.engine.deliverer.figures()),
            "pull_points": self.mailboxes.figures(),
            "dead_letters": self.store.count_dead_letters(),
            "implicit": self.implicit.figures(),
        }

    def _count_subscriptions(self) -> int:
        """In a ring those that are at home here, so that each is counted once."""
        if self.ring is not None and self.ring.has_others:
            is_home = self.ring.homes()
            return sum(is_home(each) for each in self.standing.by_id.values()) - len(self.standing.neighbours)
        return len(self.standing.by_id) - len(self.standing.neighbours)

    def delivered_by_dialect(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for name, count in self.settlement.delivered.items():
            found[self.standing.dialects.get(name, "unknown")] += count
        return dict(found)
