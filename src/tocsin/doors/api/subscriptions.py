"""`/api/subscriptions`: who is told of what, in whichever dialect."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec.structs import replace

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.subscriptions import SUBSCRIPTIONS, Page, RenewRequest, SubscribeRequest, SubscriptionDocument
from tocsin.doors.api.gathering import Share, page_of
from tocsin.doors.api.parameters import FLAG, After, Limit, Query, flag
from tocsin.doors.api.router import Answer, Resource
from tocsin.matching.resolution import as_said
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

subscriptions = Resource(SUBSCRIPTIONS)
Cancel = Annotated[bool, Query("As somebody else than the subscriber, who is told", flag, FLAG)]


def _summed(found: Sequence[SubscriptionDocument]) -> SubscriptionDocument:
    """Of one that stands at several nodes, each of which tells of some of what it asks for."""
    return replace(
        found[0],
        waiting=sum(each.waiting for each in found),
        delivered=sum(each.delivered for each in found),
        dead_letters=sum(each.dead_letters for each in found),
    )


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> Page[SubscriptionDocument]:
    return Page(*page_of([each.document for each in shares], query, lambda each: each.id, _summed))


def _merged_one(shares: Sequence[Share], query: Mapping[str, str]) -> SubscriptionDocument:
    del query
    return _summed([each.document for each in shares])


@subscriptions.get(says="A page of subscriptions", merge=_merged)
async def list_subscriptions(
    node: Node, caller: Caller, after: After = "", limit: Limit = 100
) -> Page[SubscriptionDocument]:
    found = node.subscriptions.page(caller, after, limit, None if node.ring is None else node.ring.is_held)
    tallies = await node.subscriptions.tallies(caller, [each.id for each in found])
    items = [_document(node, each, tallies[each.id]) for each in found]
    return Page(items, items[-1].id if len(items) == limit else None)


@subscriptions.post(says="Subscribe a consumer, in any dialect", status=201)
async def subscribe(node: Node, caller: Caller, asked: SubscribeRequest) -> Answer[SubscriptionDocument]:
    made = await node.subscriptions.subscribe(caller, asked.normalised(node.now()))
    return Answer(_document(node, made), {"Location": f"{node.base_url}{SUBSCRIPTIONS}/{made.id}"})


@subscriptions.get("/{id}", says="One subscription", merge=_merged_one)
async def get_subscription(node: Node, caller: Caller, id: str) -> SubscriptionDocument:
    found = node.subscriptions.get(caller, id)
    if node.ring is not None and not node.ring.is_held(found):
        raise Refusal("unknown-subscription", f"the subscription {id!r} stands at other nodes of the ring")
    tallies = await node.subscriptions.tallies(caller, [found.id])
    return _document(node, found, tallies[found.id])


@subscriptions.delete("/{id}", says="Unsubscribe, or cancel and tell the subscriber")
async def unsubscribe(node: Node, caller: Caller, id: str, cancel: Cancel = False) -> None:
    await (node.subscriptions.cancel if cancel else node.subscriptions.unsubscribe)(caller, id)


@subscriptions.post("/{id}/renew", says="Renew a subscription")
async def renew(node: Node, caller: Caller, id: str, asked: RenewRequest) -> SubscriptionDocument:
    return _document(node, await node.subscriptions.renew(caller, asked.normalised(id, node.now())))


@subscriptions.post("/{id}/pause", says="Hold what waits")
async def pause(node: Node, caller: Caller, id: str) -> SubscriptionDocument:
    return _document(node, await node.subscriptions.pause(caller, id))


@subscriptions.post("/{id}/resume", says="Go on after a pause")
async def resume(node: Node, caller: Caller, id: str) -> SubscriptionDocument:
    return _document(node, await node.subscriptions.resume(caller, id))


def _document(node: Node, subscription: Subscription, tally: tuple[int, int, int] = (0, 0, 0)) -> SubscriptionDocument:
    return SubscriptionDocument.of(as_said(subscription, node.declarations.known), tally)
