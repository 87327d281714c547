"""`/api/dead-letters`: what could not be delivered, and to try it again."""

import asyncio
from typing import Annotated

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.subscriptions import DEAD_LETTERS, DeadLetterDocument, Page, RedriveRequest
from tocsin.doors.api.parameters import AfterNumber, Limit, Query
from tocsin.doors.api.router import Resource

dead_letters = Resource(DEAD_LETTERS)
OfSubscription = Annotated[str | None, Query("Those of this subscription")]


@dead_letters.get(says="A page of dead letters")
async def list_dead_letters(
    node: Node, caller: Caller, after: AfterNumber = 0, limit: Limit = 100, subscription: OfSubscription = None
) -> Page[DeadLetterDocument]:
    found = await asyncio.to_thread(node.dead_letters.page, caller, after, limit, subscription)
    items = [DeadLetterDocument.of(each) for each in found]
    return Page(items, str(items[-1].id) if len(items) == limit else None)


@dead_letters.post("/redrive", says="Try dead letters again")
async def redrive(node: Node, caller: Caller, asked: RedriveRequest) -> dict[str, int]:
    return {"redriven": await node.dead_letters.redrive(caller, asked.ids)}
