"""`/api/trace` and `/api/subscriptions/{id}/explain`: who was told of a notification, who was not, and why."""

from typing import Annotated

from msgspec.structs import replace

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.subscriptions import SUBSCRIPTIONS
from tocsin.documents.traces import TRACE, NewestDocument, TraceDocument
from tocsin.doors.api.parameters import FLAG, NUMBER, After, Path, Query, at_most, flag, whole_number
from tocsin.doors.api.router import Group, Large, Resource
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
        return Large(lambda: TraceDocument.of(logged, accounts))


@traces.get(says=SAYS)
async def trace_record(
    *,
    offset: Annotated[int | None, replace(OFFSET, required=True)] = None,
    message: Annotated[str, Query("")] = "",
    tracing: Tracing,
) -> Large[TraceDocument]:
    return await tracing.of(message, offset)


@traces.get("/{message:path}", says=SAYS)
async def trace_message(
    *,
    message: Annotated[str, Path("Its id, or its cause")],
    offset: Annotated[int | None, replace(OFFSET, says="")] = None,
    tracing: Tracing,
) -> Large[TraceDocument]:
    return await tracing.of(message, offset)


@explanations.get(says="Why one subscription wanted the newest notifications or did not; of one by name, a trace")
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
    return Large(lambda: NewestDocument.of(newest))


async def _explained(node: Node, caller: Caller, sought: Sought, subscription: str) -> Large[TraceDocument]:
    await node.traces.known_subscription(caller, subscription)  # before the log is searched in vain
    logged = await node.traces.find(caller, sought)
    accounts = Accounts((await node.traces.account(caller, logged, subscription),), None)
    return Large(lambda: TraceDocument.of(logged, accounts))


def _sought(message: str, offset: int | None, index: int | None) -> Sought:
    if message and offset is not None:
        raise Refusal("malformed", "name a notification by its id or cause, or by its offset: not by both")
    return Sought(message, offset, index)
