"""Opening a node on its data directory, its background work, and closing it."""

import asyncio
import contextlib
import random
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import cast

from tocsin.broker.dead_letters.redrive import Remaking
from tocsin.broker.engines.embedded import EmbeddedEngine, readable
from tocsin.broker.engines.outbox import POLL_SECONDS, OutboxEngine
from tocsin.broker.engines.retention import retain
from tocsin.broker.engines.sending import Sending
from tocsin.broker.implicit.implicit import FORGET_SECONDS as HISTORY_SECONDS
from tocsin.broker.implicit.implicit import Implicit, Means
from tocsin.broker.implicit.key import world_key
from tocsin.broker.interactions.interactions import FORGET_SECONDS
from tocsin.broker.kernels import warmed
from tocsin.broker.node import Node
from tocsin.broker.publishing.duplicates import REMEMBERED_SECONDS, key_of_all
from tocsin.broker.settings import Settings
from tocsin.broker.subscriptions.filter_failures import FilterFailures
from tocsin.broker.subscriptions.suspension import suspend_failing
from tocsin.broker.topics.registrations import LOOK_SECONDS
from tocsin.broker.topics.topic_counts import SAVE_SECONDS
from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.settings import DeliverySettings
from tocsin.flow.addressing import addressed_to
from tocsin.flow.flow import Flow
from tocsin.model.identity import SECOND, Instant
from tocsin.model.identity import Node as NodeName
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.model.refusal import Refusal
from tocsin.store.codec import decode, is_change, is_declaration
from tocsin.store.database import Store
from tocsin.store.errors import NoDirectory
from tocsin.store.judge.judge import FILTER_SECONDS, Judges
from tocsin.store.log.appender import BeforeMark
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.wire.addresses import AddressGuard
from tocsin.wire.http_client import HttpClient
from tocsin.wire.tcp_client import Senders, TcpSender
from tocsin.wire.trust import Trust

CHECKPOINT_SECONDS = 0.25
REAP_SECONDS = 1.0
WEIGH_SECONDS = 1.0
RETAIN_SECONDS = 10.0
DRAIN_SECONDS = 10.0
FIRST_COOL_DOWN = 1.0
PEER_SECONDS = 30.0
PEER_BYTES = 64 << 20  # of an answer of another node: the part of the world that this one may know
LOOPBACK = ("127.0.0.1", "::1", "localhost")
Work = Callable[[], Awaitable[None]]


@contextlib.asynccontextmanager
async def open_node(
    settings: Settings, base_url: str, report: Callable[[str], None], own: Collection[tuple[str, int]] = ()
) -> AsyncIterator[Node]:
    """The node, with its background work running; on the way out it drains, saves and closes.

    `own` are the hosts and ports at which it is reached: nothing is delivered to them.
    """
    async with contextlib.AsyncExitStack() as stack:
        store, log, outcomes = _open_files(settings, stack, report)
        store.set_meta("base_url", base_url)
        key = world_key(settings.implicit.key_file, store)
        reader = LogReader(settings.data / "log")
        _catch_up(store, reader)
        guard = AddressGuard(loopback_allowed=settings.listen.host in LOOPBACK, own=own)
        client = HttpClient(timeout=settings.delivery.timeout, guard=guard, trust=_trust(settings))
        stack.push_async_callback(client.close)
        judges = Judges(settings.limits.filter_seconds)
        stack.callback(judges.close)
        store.set_meta(FILTER_SECONDS, str(settings.limits.filter_seconds))
        engine = _engine(settings, base_url, store, reader, stack, judges)
        sending = Sending(store, outcomes, settings.delivery)
        sending.filters = FilterFailures(settings.limits.filter_failures)
        sending.engine, sending.remake = engine, Remaking(Flow(base_url), store, reader)
        node = Node(_name(store), settings, base_url, log, store, engine, sending, guard, judges)
        node.report, sending.refill = report, node.pulling.refill
        _remember_recent(node, reader)
        if node.needs_kernels():
            await warmed(report)
        await node.read_ontologies()
        tcp = TcpSender(timeout=settings.delivery.timeout, guard=guard)
        stack.push_async_callback(tcp.close)
        deliverer = _deliverer(node, Senders(client, tcp))
        node.consumers.start(client, deliverer)
        sending.notices.deliverer = deliverer
        engine.start(deliverer)
        node.pulling.start(reader)
        node.current.start(reader)
        await sending.offer_redriven()
        node.publishers.start(client, store.current())
        node.implicit = _implicit(node, key, guard, report, stack)
        await node.implicit.start()
        await node.implicit.follow_world(node.world_changed)
        async with _background(node, report):
            yield node
        await node.implicit.close()
        await node.publishers.close()
        await node.consumers.close()
        await deliverer.drain(DRAIN_SECONDS)
        await deliverer.close()
        await node.sending.save()
        await node.pulling.close()
        await node.current.save()
        await node.topic_counts.save(node.store)


def _open_files(
    settings: Settings, stack: contextlib.AsyncExitStack, report: Callable[[str], None]
) -> tuple[Store, Log, Log]:
    data, segment_bytes = settings.data, settings.log.segment_bytes
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise NoDirectory(f"{data} cannot be the data directory: {problem.strerror}") from problem
    store = Store.open(data / "tocsin.db")
    stack.callback(store.close)
    store.claim_engine(settings.engine)
    # Before readers see a change in the log they can ask for it in the store.
    log = Log.open(
        data / "log",
        segment_bytes=segment_bytes,
        max_waiting=settings.limits.waiting_bytes,
        before_mark=cast(BeforeMark, store.apply),
    )
    stack.push_async_callback(log.close)
    outcomes = Log.open(data / "outcomes", segment_bytes=segment_bytes)
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


def _implicit(
    node: Node, key: bytes, guard: AddressGuard, report: Callable[[str], None], stack: contextlib.AsyncExitStack
) -> Implicit:
    """With a client of its own: other nodes answer later, and more, than consumers."""
    settings = node.settings
    client = HttpClient(timeout=PEER_SECONDS, guard=guard, trust=_trust(settings), max_body=PEER_BYTES)
    stack.push_async_callback(client.close)
    return Implicit(node, settings.implicit, Means(node.store.implicit, client, key, _patience(settings), report))


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


def _deliverer(node: Node, client: Senders) -> Deliverer:
    sending = node.sending
    return Deliverer(
        client,
        _patience(node.settings),
        prepare=sending.prepare,
        settled=sending.settled,
        backlog=sending.backlog,
        now=cast(Callable[[], Instant], time.time_ns),  # `node.now` without the way there
        random=random.Random(),
        together=node.consumers.together,
        dress=node.consumers.dress,
    )


@contextlib.asynccontextmanager
async def _background(node: Node, report: Callable[[str], None]) -> AsyncIterator[None]:
    works: list[tuple[float, Work]] = [
        (CHECKPOINT_SECONDS, node.sending.save),
        (SAVE_SECONDS, lambda: node.topic_counts.save(node.store)),
        (CHECKPOINT_SECONDS, node.pulling.save),
        (SAVE_SECONDS, node.pulling.tidy),
        (SAVE_SECONDS, node.current.save),
        (REAP_SECONDS, lambda: _reap(node)),
        (CHECKPOINT_SECONDS, lambda: suspend_failing(node, report)),
        (CHECKPOINT_SECONDS, node.suspend_broken),
        (RETAIN_SECONDS, lambda: retain(node)),
        (LOOK_SECONDS, node.publishers.look),
        (HISTORY_SECONDS, node.implicit.forget),
        (FORGET_SECONDS, node.interactions.forget),
        (LOOK_SECONDS, lambda: _warm(node, report)),
    ]
    if isinstance(node.engine, OutboxEngine):
        engine, most = node.engine, node.settings.limits.outbox_rows
        works += [(POLL_SECONDS, engine.poll), (WEIGH_SECONDS, lambda: engine.weigh(most))]
    stop = asyncio.Event()
    tasks = [asyncio.create_task(_every(seconds, work, stop, report)) for seconds, work in works]
    try:
        yield
    finally:
        stop.set()  # not cancelled: half a checkpoint would lose what it took up
        await asyncio.gather(*tasks)


async def _every(seconds: float, work: Work, stop: asyncio.Event, report: Callable[[str], None]) -> None:
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


async def _warm(node: Node, report: Callable[[str], None]) -> None:
    if node.needs_kernels():
        await warmed(report)


async def _reap(node: Node) -> None:
    """An end at its time was agreed on and is not told of; one for failed deliveries is (WSE 2004/08 s3.6)."""
    for subscription in node.expired(node.now()):
        await node.end(subscription, "expired")
    for name, reason in node.sending.in_a_row.over().items():
        try:
            await node.cancel(name, "DeliveryFailure", reason)
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":  # else it ended meanwhile
                raise
        node.sending.in_a_row.forget(name)


def _catch_up(store: Store, reader: LogReader) -> None:
    """Changes and declarations that were on disk in the log, but not yet in the store, when the process ended."""
    missing: list[Changed | Declared] = []
    for _, payload in reader.frames(max(store.applied(), reader.start()), reader.end()):
        if is_change(payload) or is_declaration(payload):
            record = decode(payload)
            missing += [record] if not isinstance(record, Accepted) else []
    store.apply(missing)


def _remember_recent(node: Node, reader: LogReader) -> None:
    """The window of message ids, from the log: a caller that did not hear our answer asks again after a restart."""
    stored: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stored.set_result(0)
    oldest = time.time_ns() - round(REMEMBERED_SECONDS * SECOND)
    start = max(reader.start(), reader.end() - node.settings.limits.dedup_window)
    for _, payload in reader.frames(start, reader.end()):
        if is_change(payload):
            continue
        record = decode(payload)
        if isinstance(record, Accepted) and record.when >= oldest:
            found = readable(record)
            if found and (key := key_of_all(found, addressed_to(record), record.principal)) is not None:
                node.duplicates.remember(key, Instant(record.when), stored)


def _engine(
    settings: Settings,
    base_url: str,
    store: Store,
    reader: LogReader,
    stack: contextlib.AsyncExitStack,
    judges: Judges,
) -> EmbeddedEngine | OutboxEngine:
    if settings.engine == "embedded":
        return EmbeddedEngine(Flow(base_url, judge=judges.in_loop), store, reader, judges)
    outbox = Outbox.open(settings.data / "outbox.db")
    stack.callback(outbox.close)
    return OutboxEngine(store, outbox)


def _name(store: Store) -> NodeName:
    name = store.meta("node")
    if name is None:
        name = f"node-{uuid.uuid4().hex[:8]}"
        store.set_meta("node", name)
    return NodeName(name)
