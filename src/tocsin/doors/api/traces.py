"""`/api/trace` and `/api/subscriptions/{id}/explain`: who was told of a notification, who was not, and why."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec.structs import replace

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.subscriptions import SUBSCRIPTIONS
from tocsin.documents.traces import TRACE, AccountDocument, NewestDocument, TraceDocument
from tocsin.doors.api.gathering import Share, node_name, page_of
from tocsin.doors.api.parameters import FLAG, NUMBER, After, Path, Query, at_most, flag, limit_of, whole_number
from tocsin.doors.api.router import Group, Large, Resource
from tocsin.flow.addressing import PULL_POINTS
from tocsin.flow.traces import Accounts, Sought
from tocsin.model.refusal import Refusal

SAYS = "A notification, and why subscriptions wanted it or did not"
NEWEST, MOST_NEWEST = 10, 100

traces = Resource(TRACE)
explanations = Resource(f"{SUBSCRIPTIONS}/{{id}}/explain")

OFFSET = Query("By its record, and not by name", whole_number, NUMBER)
Index = Annotated[int | None, Query("Which of those that came in one record, from 0 on", whole_number, NUMBER)]


class Tracing(Group, frozen=True):
    """With `subscription` of that one, else of those that wanted it, or with `all` of all that stand."""

    index: Index = None
    subscription: Annotated[str, Query("Of this one alone, also when it has ended")] = ""
    every: Annotated[bool, Query("Also of those that did not want it", flag, FLAG, name="all")] = False
    after: After = ""
    limit: Annotated[int, at_most("At most so many subscriptions")] = 100

    async def of(self, message: str, offset: int | None) -> Large[TraceDocument]:
        sought, known = _sought(message, offset, self.index), self.node.traces
        if self.subscription:
            return await _explained(self.node, self.caller, sought, self.subscription)
        logged = await known.find(self.caller, sought)
        accounts = await known.accounts(self.caller, logged, self.after, self.limit, every=self.every)
        me = node_name(self.node)
        return Large(lambda: TraceDocument.of(logged, accounts, me))


def _is_of_pull_point(trace: TraceDocument) -> bool:
    """One node matched it, this one has it in a pull point that is at home there."""
    return trace.notification.door.startswith(PULL_POINTS)


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> TraceDocument:
    first, *rest = sorted((each.read(TraceDocument) for each in shares), key=_is_of_pull_point)
    items, following = page_of([first, *rest], query, lambda each: each.subscription, _told)
    return TraceDocument(first.notification, items, following, [each.notification for each in rest])


def _told(accounts: Sequence[AccountDocument]) -> AccountDocument:
    """Of who wanted it, as who matched it explains it, and as who has it in a pull point knows what became of it."""
    wanting = [each for each in accounts if each.wanted is not False] or accounts
    last = wanting[-1]
    return replace(wanting[0], outcome=last.outcome, detail=last.detail, node=last.node)


def _merged_newest(shares: Sequence[Share], query: Mapping[str, str]) -> NewestDocument | TraceDocument:
    if query.get("message") or query.get("offset"):
        return _merged(shares, query)
    newest: list[NewestDocument] = [each.document for each in shares]
    found: dict[str, TraceDocument] = {}
    for each in sorted((item for some in newest for item in some.items), key=_is_of_pull_point):
        found.setdefault(each.notification.id, each)
    latest = sorted(found.values(), key=lambda each: each.notification.when, reverse=True)
    limit = limit_of(MOST_NEWEST)("limit", query.get("limit", str(NEWEST)))
    return NewestDocument(latest[:limit], any(each.cut for each in newest))


@traces.get(says=SAYS)
async def trace_record(
    *,
    offset: Annotated[int | None, replace(OFFSET, required=True)] = None,
    message: Annotated[str, Query("")] = "",
    tracing: Tracing,
) -> Large[TraceDocument]:
    return await tracing.of(message, offset)


@traces.get("/{message:path}", says=SAYS, merge=_merged)
async def trace_message(
    *,
    message: Annotated[str, Path("Its id, or its cause")],
    offset: Annotated[int | None, replace(OFFSET, says="")] = None,
    tracing: Tracing,
) -> Large[TraceDocument]:
    return await tracing.of(message, offset)


@explanations.get(
    says="Why one subscription wanted the newest notifications or did not; of one by name, a trace",
    merge=_merged_newest,
)
async def explain(
    node: Node,
    caller: Caller,
    id: Annotated[str, Path("Of the subscription")],
    message: Annotated[str, Query("Its id, or its cause")] = "",
    offset: Annotated[int | None, OFFSET] = None,
    index: Index = None,
    limit: Annotated[int, at_most("So many of the newest", MOST_NEWEST, NEWEST)] = NEWEST,
) -> Large[NewestDocument] | Large[TraceDocument]:
    """Of one notification, or without a name of the newest."""
    sought = _sought(message, offset, index)
    if sought.message or sought.offset is not None:
        return await _explained(node, caller, sought, id)
    newest = await node.traces.newest(caller, id, limit)
    me = node_name(node)
    return Large(lambda: NewestDocument.of(newest, me))


async def _explained(node: Node, caller: Caller, sought: Sought, subscription: str) -> Large[TraceDocument]:
    await node.traces.known_subscription(caller, subscription)  # before the log is searched in vain
    logged = await node.traces.find(caller, sought)
    accounts = Accounts((await node.traces.account(caller, logged, subscription),), None)
    me = node_name(node)
    return Large(lambda: TraceDocument.of(logged, accounts, me))


def _sought(message: str, offset: int | None, index: int | None) -> Sought:
    if message and offset is not None:
        raise Refusal("malformed", "name a notification by its id or cause, or by its offset: not by both")
    return Sought(message, offset, index)
