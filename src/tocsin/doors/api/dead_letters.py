"""`/api/dead-letters`: what could not be delivered, and to try it again.

In a ring they are at the nodes that could not deliver them: listed node by node, and called by a number and a node.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.subscriptions import DEAD_LETTERS, DeadLetterDocument, LetterId, Page, RedriveRequest
from tocsin.doors.api.gathering import Share, limit_in, node_name
from tocsin.doors.api.parameters import Limit, Query, whole_number
from tocsin.doors.api.router import Resource
from tocsin.model.refusal import Refusal

dead_letters = Resource(DEAD_LETTERS)
OfSubscription = Annotated[str | None, Query("Those of this subscription")]
_NAMED = re.compile(r"([0-9]{1,18})@(.{1,200})")
Behind = tuple[int, str]


def _behind(name: str, value: str) -> Behind:
    found = _NAMED.fullmatch(value)
    return (whole_number(name, value), "") if found is None else (int(found[1]), found[2])


After = Annotated[Behind, Query("What was `next` in the page before", _behind)]


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> Page[DeadLetterDocument]:
    limit = limit_in(query)
    every = [each for share in sorted(shares, key=lambda share: share.node) for each in share.document.items]
    more = len(every) > limit or any(share.document.next is not None for share in shares)
    return Page(every[:limit], str(every[:limit][-1].id) if more else None)


@dead_letters.get(says="A page of dead letters", merge=_merged)
async def list_dead_letters(
    node: Node, caller: Caller, after: After = (0, ""), limit: Limit = 100, subscription: OfSubscription = None
) -> Page[DeadLetterDocument]:
    number, me = _from(after, str(node.journal.node)), node_name(node)
    found = await asyncio.to_thread(node.dead_letters.page, caller, number, limit, subscription)
    items = [DeadLetterDocument.of(each, me) for each in found]
    return Page(items, str(items[-1].id) if len(items) == limit else None)


def _summed(shares: Sequence[Share], query: Mapping[str, str]) -> dict[str, int]:
    del query
    return {"redriven": sum(share.document["redriven"] for share in shares)}


@dead_letters.post("/redrive", says="Try dead letters again", merge=_summed)
async def redrive(node: Node, caller: Caller, asked: RedriveRequest) -> dict[str, int]:
    numbers = None if asked.ids is None else _mine(node, asked.ids)
    return {"redriven": await node.dead_letters.redrive(caller, numbers)}


def _from(after: Behind, me: str) -> int:
    """Behind which number this node goes on: the nodes come one after the other."""
    number, name = after
    return number if name in ("", me) else 0 if me > name else 2**62


def _mine(node: Node, ids: Sequence[LetterId]) -> list[int]:
    me, found = str(node.journal.node), list[int]()
    for each in ids:
        number, name = _behind("id", str(each))
        if not name and node_name(node):
            raise Refusal("malformed", f"at which node is {number}? Its id is as it is listed: {number}@{me}")
        if name in ("", me):
            found.append(number)
    return found
