"""Old segments of the log go; a subscription that still needs them gets dead letters instead of silence."""

import asyncio
import time
from itertools import takewhile

from tocsin.app.embedded import EmbeddedEngine, own_lanes
from tocsin.app.node import Node
from tocsin.delivery.entry import Entry, Place
from tocsin.model.delivery import Outcome
from tocsin.model.identity import SubscriptionId

_PAGE = 1000
_LAST_INDEX = 1 << 30


async def retain(node: Node) -> None:
    limits = node.settings.log
    segments = node.log.retain(max_bytes=limits.retain_bytes, max_age=limits.retain_age, now=time.time())
    if not isinstance(node.engine, EmbeddedEngine):
        # Spark has not seen what is in no published batch: that is kept, whatever its size.
        segments = list(takewhile(lambda each: each.stop <= node.engine.held_from(), segments))
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
    """What the subscription still wants below `end` becomes dead letters; it goes on behind that."""
    node.sending.move_on(name, (end - 1, _LAST_INDEX))
    after = place
    while after[0] < end and (page := await node.engine.backlog(name, after, _PAGE)):
        for entry in page:
            if entry.place[0] < end:
                _bury(node, entry)
        after = page[-1].place


def _bury(node: Node, entry: Entry) -> None:
    delivery = node.engine.prepare(entry)
    detail = "the log's retention passed it before it could be delivered"
    outcome = Outcome(delivery.match, delivery.at, delivery.index, node.now(), "dead", 0, detail)
    node.sending.bury(delivery, outcome)
