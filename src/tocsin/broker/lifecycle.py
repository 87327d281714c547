"""Opening a node on its data directory, its background work, and closing it."""

import asyncio
import contextlib
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import cast

from tocsin.broker.consumers.consumers import Consumers
from tocsin.broker.consumers.end_notices import EndNotices
from tocsin.broker.dead_letters import DeadLetters, Remaker
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.declarations.semantics import Semantics
from tocsin.broker.engines.direct import Direct
from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.outbox import POLL_SECONDS, OutboxEngine
from tocsin.broker.engines.retention import Retention
from tocsin.broker.engines.settlement import Settlement
from tocsin.broker.implicit.host import Host
from tocsin.broker.implicit.implicit import FORGET_SECONDS as HISTORY_SECONDS
from tocsin.broker.implicit.implicit import Implicit, Means
from tocsin.broker.implicit.key import world_key
from tocsin.broker.interactions.interactions import FORGET_SECONDS, Interactions
from tocsin.broker.interactions.records import Records
from tocsin.broker.interactions.ways import Ways
from tocsin.broker.journal import Follower, Journal
from tocsin.broker.kernels import warmed
from tocsin.broker.node import Node, now
from tocsin.broker.publishing.current_messages import CurrentMessages
from tocsin.broker.publishing.publishing import Duplicates, Publishing
from tocsin.broker.pull_points.feeds import Feeding
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.pull_points.pull_points import PullPoints
from tocsin.broker.resource_properties import ResourceProperties
from tocsin.broker.settings import Settings
from tocsin.broker.subscriptions.failures import FilterFailures
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.subscriptions.subscriptions import Subscriptions
from tocsin.broker.subscriptions.suspension import Suspension
from tocsin.broker.subscriptions.synchronisation import Synchronisation
from tocsin.broker.topics.registrations import Registrations
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.broker.topics.topics import SAVE_SECONDS, TopicCounts, Topics
from tocsin.broker.tracing.tracing import Traces
from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.settings import DeliverySettings
from tocsin.flow.flow import Flow
from tocsin.model.identity import Node as NodeName
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.store.codec import decode, is_change, is_declaration
from tocsin.store.database import Store
from tocsin.store.errors import NoDirectory
from tocsin.store.judge.judge import FILTER_SECONDS, Judges
from tocsin.store.log.appender import BeforeMark
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.store.places import Places
from tocsin.wire.addresses import AddressGuard
from tocsin.wire.http_client import HttpClient, Senders
from tocsin.wire.tcp_client import TcpSender
from tocsin.wire.trust import Trust

CHECKPOINT_SECONDS = 0.25
REAP_SECONDS = 1.0
WEIGH_SECONDS = 1.0
WARM_SECONDS = 0.25
RETAIN_SECONDS = 10.0
DRAIN_SECONDS = 10.0
FIRST_COOL_DOWN = 1.0
PEER_SECONDS = 30.0
PEER_BYTES = 64 << 20  # of an answer of another node: the part of the world that this one may know
LOOPBACK = ("127.0.0.1", "::1", "localhost")
Work = Callable[[], Awaitable[None]]
Report = Callable[[str], None]


@contextlib.asynccontextmanager
async def open_node(
    settings: Settings, base_url: str, report: Report, own: Collection[tuple[str, int]] = ()
) -> AsyncIterator[Node]:
    """The node, with its background work running; on the way out it drains, saves and closes.

    `own` are the hosts and ports at which it is reached: nothing is delivered to them.
    """
    async with contextlib.AsyncExitStack() as stack:
        opening = _Opening(settings, base_url, report, own, stack)
        node = opening.node
        if node.needs_kernels():
            await warmed(report)
        await node.semantics.read_ontologies()
        opening.start()
        await node.dead_letters.offer()
        await node.implicit.start()
        async with _background(opening.works(), report):
            yield node
        await node.implicit.close()
        await node.registrations.close()
        await node.consumers.close()
        await opening.deliverer.drain(DRAIN_SECONDS)
        await opening.deliverer.close()
        await node.settlement.save()
        await node.mailboxes.close()
        await node.current_messages.save()
        await opening.counts.save()


class _Opening:
    """The services of a node, made in the order in which they need each other."""

    def __init__(
        self,
        settings: Settings,
        base_url: str,
        report: Report,
        own: Collection[tuple[str, int]],
        stack: contextlib.AsyncExitStack,
    ) -> None:
        self._settings, self._report, self._stack = settings, report, stack
        places = Places(settings.data)
        self._store, log, outcomes = _open_files(settings, stack, report)
        store = self._store
        store.set_meta("base_url", base_url)
        store.set_meta(FILTER_SECONDS, str(settings.limits.filter_seconds))
        self._reader = reader = LogReader(places.log("log"))
        _catch_up(store, reader)
        guard = AddressGuard(loopback_allowed=settings.listen.host in LOOPBACK, own=own)
        http = HttpClient(timeout=settings.delivery.timeout, guard=guard, trust=_trust(settings))
        stack.push_async_callback(http.close)
        tcp = TcpSender(timeout=settings.delivery.timeout, guard=guard)
        stack.push_async_callback(tcp.close)
        judges = Judges(settings.limits.filter_seconds)
        stack.callback(judges.close)
        current = store.past.subscriptions()
        self._journal = journal = Journal(_name(store), log)
        # What the deliverer asks for is made after it, because all of that offers to it.
        self.deliverer = deliverer = Deliverer(
            Senders(http, tcp),
            _patience(settings),
            prepare=lambda entry: settlement.prepare(entry),
            settled=lambda entry, delivery, outcome: settlement.settled(entry, delivery, outcome),
            backlog=lambda subscription, after, limit: settlement.backlog(subscription, after, limit),
            now=now,
            random=random.Random(),
            together=lambda subscription: consumers.together(subscription),
            dress=lambda delivery: consumers.dress(delivery),
        )
        self._direct = settings.delivery.mode == "direct" and settings.engine == "embedded"
        self._engine = engine = self._make_engine(base_url, judges)
        failures = FilterFailures(
            settings.limits.filter_failures, [each.id for each in current if each.state == "suspended"]
        )
        settlement = Settlement(engine, deliverer, outcomes, failures, settings.delivery)
        notices = EndNotices(deliverer)
        standing = StandingSubscriptions(journal, current, notices, base_url, now)
        consumers = Consumers(settings, base_url, store, standing, http, deliverer, now, report)
        declarations = Declarations(journal, store.past.catalogue(), standing, now, report)
        feeding = Feeding(base_url, judges, settlement.unjudged, settlement.unwritten, failures.delivered)
        mailboxes = Mailboxes(store, reader, settings, now, feeding)
        self._suspension = Suspension(standing, notices, mailboxes, base_url, now)
        semantics = Semantics(
            declarations, standing, self._suspension, report, unknown_properties=settings.meaning.unknown_properties
        )
        space, self.counts = TopicSpace(store.topic_namespaces, fixed=settings.topics.fixed), TopicCounts(store)
        subscriptions = Subscriptions(
            journal,
            standing,
            settings,
            base_url,
            now,
            store=store,
            guard=guard,
            topics=space,
            declarations=declarations,
            consumers=consumers,
            mailboxes=mailboxes,
            settlement=settlement,
        )
        publishing = Publishing(
            journal,
            now,
            Duplicates(settings.limits.dedup_window),
            engine=engine,
            standing=standing,
            mailboxes=mailboxes,
            topics=space,
            declarations=declarations,
            semantics=semantics,
        )
        messages = CurrentMessages(store.current_messages, reader.end())
        topics = Topics(space, self.counts, standing)
        registrations = Registrations(store, guard, base_url, now, http, standing, report)
        host = Host(base_url, settings.limits.body_bytes, now, publishing, subscriptions, standing)
        implicit = self._make_implicit(host, guard, declarations)
        ways = Ways(
            base_url,
            now,
            implicit=implicit,
            publishing=publishing,
            subscriptions=subscriptions,
            standing=standing,
        )
        records = Records(store.requests, now, settings.implicit.retention)
        self._retention = Retention(log, engine, settlement, settings, now)
        self.node = Node(
            settings=settings,
            base_url=base_url,
            store=store,
            journal=journal,
            engine=engine,
            settlement=settlement,
            mailboxes=mailboxes,
            standing=standing,
            judges=judges,
            subscriptions=subscriptions,
            synchronisation=Synchronisation(
                standing, messages, mailboxes, settlement, notices, declarations, judges, base_url
            ),
            pull_points=PullPoints(subscriptions, standing, mailboxes, settings.limits.pull_idle, now),
            publishing=publishing,
            current_messages=messages,
            topics=topics,
            registrations=registrations,
            properties=ResourceProperties(
                store,
                base_url,
                now,
                topics=topics,
                registrations=registrations,
                subscriptions=subscriptions,
                declarations=declarations,
            ),
            declarations=declarations,
            semantics=semantics,
            consumers=consumers,
            dead_letters=DeadLetters(
                store, settlement, deliverer, mailboxes, standing, Remaker(Flow(base_url), store, reader)
            ),
            traces=Traces(
                store,
                places.log("log"),
                base_url,
                standing=standing,
                engine=engine,
                settlement=settlement,
                mailboxes=mailboxes,
                judge=judges.aside,
            ),
            interactions=Interactions(ways, records, standing, implicit, places.log("log"), base_url),
            implicit=implicit,
        )

    def start(self) -> None:
        """Followers hear of each record in this order; what they missed is read from the log in one pass."""
        node, end = self.node, self._reader.end()
        node.consumers.start()
        self._engine.start()
        ahead = None
        if self._direct and isinstance(self._engine, EmbeddedEngine):
            ahead = Direct(self._journal.waiting, self._engine, node.settlement)
        recent = max(self._reader.start(), end - self._settings.limits.dedup_window)
        self._journal.start(
            self._reader,
            [
                Follower(node.standing.changed, node.declarations.declared),
                Follower(node.settlement.filters.changed),
                Follower(node.consumers.changed),
                *self._engine.followers(),
                Follower(accepted=self.counts.arrived),
                node.current_messages.follower(),
                node.mailboxes.follower(),
                Follower(node.registrations.changed),
                Follower(node.implicit.changed),
            ],
            past=[Follower(accepted=node.publishing.remember, since=recent)],
            ahead=ahead,
        )
        node.mailboxes.start()
        node.registrations.start()

    def works(self) -> list[tuple[float, Work]]:
        """What is done in the background, and each how often."""
        node, report = self.node, self._report
        works: list[tuple[float, Work]] = [
            (CHECKPOINT_SECONDS, node.settlement.save),
            (CHECKPOINT_SECONDS, node.dead_letters.go_on),
            (SAVE_SECONDS, self.counts.save),
            (CHECKPOINT_SECONDS, node.mailboxes.save),
            (SAVE_SECONDS, node.mailboxes.tidy),
            (SAVE_SECONDS, node.current_messages.save),
            (REAP_SECONDS, lambda: _reap(node)),
            (CHECKPOINT_SECONDS, lambda: self._suspension.suspend_failing(node.settlement.filters, report)),
            (CHECKPOINT_SECONDS, node.semantics.suspend_broken),
            (RETAIN_SECONDS, self._retention.retain),
            (HISTORY_SECONDS, node.implicit.forget),
            (FORGET_SECONDS, node.interactions.forget),
            (WARM_SECONDS, lambda: _warm(node, report)),
        ]
        if isinstance(self._engine, OutboxEngine):
            engine, most = self._engine, self._settings.limits.outbox_rows
            works += [(POLL_SECONDS, engine.poll), (WEIGH_SECONDS, lambda: engine.weigh(most))]
        return works

    def _make_engine(self, base_url: str, judges: Judges) -> EmbeddedEngine | OutboxEngine:
        if self._settings.engine == "embedded":
            flow, settled = Flow(base_url, judge=judges.in_loop), self._journal.settled if self._direct else None
            return EmbeddedEngine(flow, self._store, self._reader, judges, self.deliverer, settled)
        outbox = Outbox.open(Places(self._settings.data).outbox)
        self._stack.callback(outbox.close)
        return OutboxEngine(self._store, outbox, self.deliverer)

    def _make_implicit(self, host: Host, guard: AddressGuard, declarations: Declarations) -> Implicit:
        """With a client of its own: other nodes answer later, and more, than consumers."""
        asked = self._settings.implicit
        client = HttpClient(timeout=PEER_SECONDS, guard=guard, trust=_trust(self._settings), max_body=PEER_BYTES)
        self._stack.push_async_callback(client.close)
        key, patience = world_key(asked.key_file, self._store), _patience(self._settings)
        means = Means(self._store, client, key, patience, self._report, declarations.world_changed)
        return Implicit(host, asked, means)


def _open_files(settings: Settings, stack: contextlib.AsyncExitStack, report: Report) -> tuple[Store, Log, Log]:
    data, segment_bytes = settings.data, settings.log.segment_bytes
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise NoDirectory(f"{data} cannot be the data directory: {problem.strerror}") from problem
    places = Places(data)
    store = Store.open(places.database)
    stack.callback(store.close)
    store.claim_engine(settings.engine)
    # Before readers see a change in the log they can ask for it in the store.
    log = Log.open(
        places.log("log"),
        segment_bytes=segment_bytes,
        max_waiting=settings.limits.waiting_bytes,
        before_mark=cast(BeforeMark, store.apply),
    )
    stack.push_async_callback(log.close)
    outcomes = Log.open(places.log("outcomes"), segment_bytes=segment_bytes)
    stack.push_async_callback(outcomes.close)
    for each in (log.repaired, outcomes.repaired):
        if each:
            report(each)
    return store, log, outcomes


def _trust(settings: Settings) -> Trust:
    asked = settings.delivery
    trust = Trust(asked.ca_file, asked.client_cert, asked.client_key)
    trust.check()
    return trust


def _patience(settings: Settings) -> DeliverySettings:
    asked = settings.delivery
    return DeliverySettings(
        window=asked.queue,
        attempts=asked.attempts,
        first_delay=asked.first_backoff,
        longest_delay=asked.longest_backoff,
        failures_to_open=asked.breaker_failures,
        cool_down=min(FIRST_COOL_DOWN, asked.breaker_cooldown),
        longest_cool_down=asked.breaker_cooldown,
    )


@contextlib.asynccontextmanager
async def _background(works: Collection[tuple[float, Work]], report: Report) -> AsyncIterator[None]:
    stop = asyncio.Event()
    tasks = [asyncio.create_task(_every(seconds, work, stop, report)) for seconds, work in works]
    try:
        yield
    finally:
        stop.set()  # not cancelled: half a checkpoint would lose what it took up
        await asyncio.gather(*tasks)


async def _every(seconds: float, work: Work, stop: asyncio.Event, report: Report) -> None:
    """A failure is told once while it lasts, and the work tried again: a full disk may have room later."""
    told = ""
    while not await _within(stop, seconds):
        try:
            await work()
            told = ""
        except Exception as error:
            if told != (told := f"{type(error).__name__}: {error}"):
                report(told)


async def _within(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


async def _warm(node: Node, report: Report) -> None:
    if node.needs_kernels():
        await warmed(report)


async def _reap(node: Node) -> None:
    """An end at its time was agreed on and is not told of; one for failed deliveries is (WSE 2004/08 s3.6)."""
    for subscription in node.standing.expired():
        await node.standing.expire(subscription)
    for name, reason in node.settlement.in_a_row.over().items():
        await node.standing.cancel_if_there(name, "DeliveryFailure", reason)
        node.settlement.in_a_row.forget(name)


def _catch_up(store: Store, reader: LogReader) -> None:
    """Changes and declarations that were on disk in the log, but not yet in the store, when the process ended."""
    missing: list[Changed | Declared] = []
    for _, payload in reader.frames(max(store.applied(), reader.start()), reader.end()):
        if is_change(payload) or is_declaration(payload):
            record = decode(payload)
            missing += [record] if not isinstance(record, Accepted) else []
    store.apply(missing)


def _name(store: Store) -> NodeName:
    name = store.meta("node")
    if name is None:
        name = f"node-{uuid.uuid4().hex[:8]}"
        store.set_meta("node", name)
    return NodeName(name)
