"""Old segments of the log go; a subscription that still needs them gets dead letters instead of silence."""

import asyncio
import contextlib
import time
from itertools import takewhile

import msgspec

from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.outbox import OutboxEngine
from tocsin.broker.engines.sending import own_lanes
from tocsin.broker.node import Node
from tocsin.delivery.entry import LAST_INDEX, Entry, Place
from tocsin.model.delivery import Outcome
from tocsin.model.identity import SECOND, SubscriptionId
from tocsin.store.log.log import Log
from tocsin.store.log.segment import Segment
from tocsin.store.outbox import Outbox

_PAGE = 1000
ABANDONED = 86_400 * SECOND


async def retain(node: Node) -> None:
    await _retain_log(node)
    outcomes = node.sending.outcomes
    if going := _expendable(node, outcomes, "outcomes"):
        await asyncio.to_thread(outcomes.drop, going)


def _expendable(node: Node, log: Log, name: str) -> list[Segment]:
    """Spark has not seen what is in no published batch: that is kept, whatever its size."""
    limits = node.settings.log
    segments = log.retain(max_bytes=limits.retain_bytes, max_age=limits.retain_age, now=time.time())
    if not segments:
        return segments
    seen = node.engine.held_from(name) if isinstance(node.engine, OutboxEngine) else _seen_beside(node, name)
    return segments if seen is None else list(takewhile(lambda each: each.stop <= seen, segments))


def _seen_beside(node: Node, name: str) -> int | None:
    """How far a pipeline is that keeps tables beside the embedded engine; None where none has worked for a day."""
    path = node.settings.data / "outbox.db"
    if not path.exists():
        return None
    with contextlib.closing(Outbox.open(path, read_only=True)) as outbox:
        last = outbox.last()
    if last is None or last.when + ABANDONED < node.now():
        return None
    return int(msgspec.json.decode(last.end).get(name, 0))


async def _retain_log(node: Node) -> None:
    segments = _expendable(node, node.log, "log")
    if not segments:
        return
    end = segments[-1].stop
    if isinstance(node.engine, EmbeddedEngine):
        for name, place in own_lanes(node.engine.deliverer.unsettled()).items():
            if place[0] < end:
                await _give_up(node, name, place, end)
        await node.sending.save()
    await asyncio.to_thread(node.log.drop, segments)


async def _give_up(node: Node, name: SubscriptionId, place: Place, end: int) -> None:
    """What the subscription still wants below `end` becomes dead letters; it goes on behind that.

    It went on sending while this was read, so only what is unsettled now counts; from there nothing waits.
    """
    unsettled = await _wanted_below(node, name, place, end)
    now = own_lanes(node.engine.deliverer.unsettled()).get(name)
    lost = [] if now is None else [entry for entry in unsettled if entry.place > now]
    if lost:
        node.sending.move_on(name, (end - 1, LAST_INDEX))
        for entry in lost:
            _bury(node, entry)


async def _wanted_below(node: Node, name: SubscriptionId, after: Place, end: int) -> list[Entry]:
    found: list[Entry] = []
    while after[0] < end and (page := await node.engine.backlog(name, after, _PAGE)):
        found += [entry for entry in page if entry.place[0] < end]
        after = page[-1].place
    return found


def _bury(node: Node, entry: Entry) -> None:
    delivery = node.engine.prepare(entry)
    detail = "the log's retention passed it before it could be delivered"
    outcome = Outcome(delivery.match, delivery.at, delivery.index, node.now(), "dead", 0, detail)
    node.sending.bury(delivery, outcome)
