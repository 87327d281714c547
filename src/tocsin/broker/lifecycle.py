"""Opening a node on its data directory, its background work, and closing it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection

from tocsin.broker.engines.direct import Direct
from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.outbox import POLL_SECONDS, OutboxEngine
from tocsin.broker.engines.settlement import FAILING
from tocsin.broker.foundation import Directory, Foundation, Report
from tocsin.broker.implicit.implicit import FORGET_SECONDS as HISTORY_SECONDS
from tocsin.broker.interactions.interactions import FORGET_SECONDS
from tocsin.broker.journal import Follower
from tocsin.broker.kernels import warmed
from tocsin.broker.node import Node
from tocsin.broker.reply.harvests import FORGET_SECONDS as FORGET_REPLIES_SECONDS
from tocsin.broker.ring.port import joined, open_port
from tocsin.broker.ring.settling import own_since
from tocsin.broker.settings import Settings
from tocsin.broker.topics.topics import SAVE_SECONDS

CHECKPOINT_SECONDS = 0.25
REAP_SECONDS = 1.0
WEIGH_SECONDS = 1.0
WARM_SECONDS = 0.25
RETAIN_SECONDS = 10.0
DRAIN_SECONDS = 10.0
Work = Callable[[], Awaitable[None]]


@contextlib.asynccontextmanager
async def open_node(
    settings: Settings, base_url: str, report: Report, own: Collection[tuple[str, int]] = ()
) -> AsyncIterator[Node]:
    """The node, with its background work running; on the way out it drains, saves and closes.

    `own` are the hosts and ports at which it is reached: nothing is delivered to them.
    """
    async with contextlib.AsyncExitStack() as stack:
        foundation = Foundation(settings, base_url, report, own, stack)
        port = await open_port(settings, foundation.directory, report, stack)
        node = Node(foundation, port)
        if node.needs_kernels():
            await warmed(report)
        await node.semantics.read_ontologies()
        if node.ring is not None:
            node.ring.hold()
        _start(node, foundation.directory)
        await node.dead_letters.offer()
        node.harvests.start()
        await node.implicit.start()
        node.tree.start()
        if node.ring is not None:
            enter = settings.worker is None or not settings.worker.leaving
            node.ring.start(await joined(settings.ring.join, foundation.network.to_peers), enter=enter)
        async with _background(_works(node, report), report), _shared(node, foundation):
            yield node
        if node.ring is not None:
            await node.ring.close()
        await node.tree.close()
        await node.implicit.close()
        await node.harvests.close()
        await node.registrations.close()
        await node.consumers.close()
        await node.deliverer.drain(DRAIN_SECONDS)
        await node.deliverer.close()
        await node.settlement.save()
        await node.mailboxes.close()
        await node.current_messages.save()
        await node.topic_counts.save()


def _shared(node: Node, foundation: Foundation) -> contextlib.AbstractAsyncContextManager[None]:
    """A node that has its log for itself has nothing to do for that."""
    sharing, engine = foundation.directory.sharing, node.engine
    if sharing is None or not isinstance(engine, OutboxEngine):
        return contextlib.nullcontext()
    return sharing.running(node.journal, engine.outbox)


def _start(node: Node, directory: Directory) -> None:
    """Followers hear of each record in this order; what they missed is read from the log in one pass."""
    reader, sharing = directory.reader, directory.sharing
    node.consumers.start()
    node.engine.start()
    ahead = None
    if node.settings.delivery.mode == "direct" and isinstance(node.engine, EmbeddedEngine):
        ahead = Direct(node.journal.waiting, node.engine, node.settlement)
    unmatched = node.engine.matched_to if isinstance(node.engine, EmbeddedEngine) else node.engine.held_from()
    recent = max(reader.start(), reader.end() - node.settings.limits.dedup_window, own_since(node.store))
    node.journal.start(
        reader,
        [
            Follower(node.standing.changed, node.declarations.declared),
            *(() if node.ring is None else (Follower(node.ring.demanding.changed),)),
            Follower(node.settlement.filters.changed),
            Follower(node.consumers.changed),
            *node.engine.followers(),
            Follower(accepted=node.topic_counts.arrived),
            node.current_messages.follower(),
            node.mailboxes.follower(),
            Follower(accepted=node.harvests.follow(node.mailboxes.feeds.wanting), since=unmatched),
            Follower(node.registrations.changed),
            Follower(node.implicit.changed),
            Follower(node.tree.changed, node.tree.declared),
            *(() if sharing is None else (sharing.forwarding.follower(),)),
        ],
        past=[Follower(accepted=node.publishing.remember, since=recent)],
        ahead=ahead,
        copies=None if node.ring is None else node.ring.copies,
    )
    node.mailboxes.start()
    node.registrations.start()


def _works(node: Node, report: Report) -> list[tuple[float, Work]]:
    """What is done in the background, and each how often."""
    works: list[tuple[float, Work]] = [
        (CHECKPOINT_SECONDS, node.settlement.save),
        (CHECKPOINT_SECONDS, node.dead_letters.go_on),
        (SAVE_SECONDS, node.topic_counts.save),
        (CHECKPOINT_SECONDS, node.mailboxes.save),
        (SAVE_SECONDS, node.mailboxes.tidy),
        (SAVE_SECONDS, node.current_messages.save),
        (REAP_SECONDS, lambda: _reap(node)),
        (CHECKPOINT_SECONDS, lambda: node.suspension.suspend_failing(node.settlement.filters, report)),
        (CHECKPOINT_SECONDS, node.semantics.suspend_broken),
        (RETAIN_SECONDS, node.retention.retain),
        (HISTORY_SECONDS, node.implicit.forget),
        (FORGET_SECONDS, node.interactions.forget),
        (FORGET_REPLIES_SECONDS, node.harvests.forget),
        (WARM_SECONDS, lambda: _warm(node, report)),
    ]
    if isinstance(node.engine, OutboxEngine):
        engine, most = node.engine, node.settings.limits.outbox_rows
        works += [(POLL_SECONDS, engine.poll), (WEIGH_SECONDS, lambda: engine.weigh(most))]
    return works


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
        if name in node.standing.neighbours:  # it is a neighbour as long as it has not left
            node.deliverer.release(name, FAILING)
        else:
            await node.standing.cancel_if_there(name, "DeliveryFailure", reason)
        node.settlement.in_a_row.forget(name)
