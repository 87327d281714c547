"""`/api/cloudevents/subscriptions`: the CloudEvents Subscriptions API s3.2.5, over HTTP as its OpenAPI has it."""

import re
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from starlette.requests import Request

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents import cloudevents_subscriptions as documents
from tocsin.documents.cloudevents_subscriptions import Credential
from tocsin.doors.api.gathering import Share
from tocsin.doors.api.parameters import Body, Query
from tocsin.doors.api.router import Answer, Resource
from tocsin.matching.resolution import as_said
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.graph_forms import SYNTAXES
from tocsin.mediation.operations import Subscribe
from tocsin.model.access import Secret, sink_secret
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

PATH = "/api/cloudevents/subscriptions"
MOST_LISTED = 1000
cloudevents_subscriptions = Resource(PATH)
Document = dict[str, Any]
SubscriptionObject = Annotated[Document, Body()]
_FEATURES = {
    "protocols": [documents.PROTOCOL],
    "filters": list(ce_filters.DIALECTS),
    "sinkcredentials": ["PLAIN", "ACCESSTOKEN"],
    "config": {
        "mode": list(documents.MODES),
        "expires": "a time or a duration",
        "together": "2 to 1000",
        "max_latency": "a duration",
        "graph": list(SYNTAXES),
        "bindings": ["true", "false"],
    },
}


_NEXT = re.compile(r"<(.*after=)([^>]*)>")


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> Answer[list[Document]]:
    """Up to where the first page ends."""
    del query
    links = [link for each in shares if (link := _NEXT.match(each.header(b"link"))) is not None]
    found = {each["id"]: each for share in reversed(shares) for each in share.document}
    if not links:
        return Answer([found[name] for name in sorted(found)])
    upto = min(each[2] for each in links)
    shown = [found[name] for name in sorted(found) if name <= upto]
    return Answer(shown, {"Link": f'<{links[0][1]}{upto}>; rel="next"'})


@cloudevents_subscriptions.get(
    says="Subscriptions to CloudEvents, as the CloudEvents Subscriptions API has them", merge=_merged
)
def list_subscriptions(node: Node, caller: Caller, after: Annotated[str, Query("")] = "") -> Answer[list[Document]]:
    """All of them, in pages of a thousand: the header Link says where the next is."""
    page = node.subscriptions.page(caller, after, MOST_LISTED, None if node.ring is None else node.ring.is_held)
    shown = [_document(node, caller, each) for each in page if documents.is_shown(each)]
    if len(page) < MOST_LISTED:
        return Answer(shown)
    return Answer(shown, {"Link": f'<{node.base_url}{PATH}?after={page[-1].id}>; rel="next"'})


@cloudevents_subscriptions.post(says="Subscribe as the CloudEvents Subscriptions API has it", status=201)
async def subscribe(node: Node, caller: Caller, body: SubscriptionObject) -> Answer[Document]:
    asked = documents.read(body, node.now())
    made = await _with_credential(
        node, caller, asked.subscribe, asked.credential, lambda request: node.subscriptions.subscribe(caller, request)
    )
    return Answer(_document(node, caller, made), {"Location": f"{node.base_url}{PATH}/{made.id}"})


@cloudevents_subscriptions.get("/{id}", says="One subscription to CloudEvents")
def get_subscription(node: Node, caller: Caller, id: str) -> Document:
    return _document(node, caller, _found(node, caller, id))


@cloudevents_subscriptions.put("/{id}", says="Another sink, form or filters; what waits is kept")
async def replace_subscription(node: Node, caller: Caller, id: str, body: SubscriptionObject) -> Document:
    """A credential that is not mentioned stays, as long as the sink does: it cannot be read to be sent again."""
    asked, old = documents.read(body, node.now(), standing=True), _found(node, caller, id)
    if asked.id not in ("", old.id):
        raise Refusal("malformed", f"the id {asked.id[:80]!r} is not that of the subscription {old.id}")
    subscribe = asked.subscribe
    assert subscribe.consumer is not None and old.consumer is not None
    if asked.credential is UNSET and subscribe.consumer.address == documents.sink(old.consumer, node.base_url):
        subscribe = _secretly(subscribe, old.consumer.secret)
    replaced = await _with_credential(
        node, caller, subscribe, asked.credential, lambda request: node.subscriptions.replace(caller, old.id, request)
    )
    return _document(node, caller, replaced)


@cloudevents_subscriptions.delete("/{id}", says="Unsubscribe")
async def unsubscribe(node: Node, caller: Caller, id: str) -> Document:
    old = _found(node, caller, id)
    told = _document(node, caller, old)
    await node.subscriptions.unsubscribe(caller, old.id)
    return told


@cloudevents_subscriptions.options(says="Which filters, protocols and credentials are supported")
@cloudevents_subscriptions.options("/{id}", says="Which filters, protocols and credentials are supported")
def get_features(caller: Caller, request: Request) -> Answer[Document]:
    caller.anybody()
    one = "id" in request.path_params
    return Answer(_FEATURES, {"Allow": "GET, PUT, DELETE, OPTIONS" if one else "GET, POST, OPTIONS"})


def _found(node: Node, caller: Caller, id: str) -> Subscription:
    found = node.subscriptions.get(caller, id)
    if not documents.is_shown(found):
        text = f"the subscription {found.id!r} speaks {found.form.dialect}; see /api/subscriptions/{found.id}"
        raise Refusal("unknown-subscription", text)
    return found


def _document(node: Node, caller: Caller, subscription: Subscription) -> Document:
    secrets = {each.name: each for each in node.consumers.secrets(caller)}
    return documents.write(as_said(subscription, node.declarations.known), secrets, node.base_url)


async def _with_credential(
    node: Node,
    caller: Caller,
    request: Subscribe,
    credential: Credential | UnsetType | None,
    do: Callable[[Subscribe], Awaitable[Subscription]],
) -> Subscription:
    """What came with a subscription that was refused is not kept; what came with one that ends goes with it."""
    if not isinstance(credential, Credential):
        return await do(request)
    assert request.consumer is not None
    name, address = sink_secret(uuid.uuid4().hex), request.consumer.address.partition("?")[0]
    secret = Secret(name, credential.kind, credential.value, node.now(), address=address)
    await node.consumers.add_secret(caller, secret, replace=False)
    try:
        return await do(_secretly(request, name))
    except BaseException:
        await node.consumers.remove_secret(caller, name)
        raise


def _secretly(request: Subscribe, secret: str | None) -> Subscribe:
    assert request.consumer is not None
    return replace(request, consumer=replace(request.consumer, secret=secret))
