"""`/api/notifiers` and `/api/disseminations`: notifiers, what is published through them, and what became of it."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Annotated
from urllib.parse import quote

from starlette.requests import Request

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents import notifiers as d
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.gathering import Share, limit_in, union
from tocsin.doors.api.parameters import Body, By, Path, PlainLimit, Query, seconds
from tocsin.doors.api.router import JSON, Answer, Resource, from_json
from tocsin.model.paths import NOTIFIER_DOORS
from tocsin.wire.asgi import while_connected

Name = Annotated[str, Path("Of the notifier and its service")]
_ONCE = {"Cache-Control": "no-store"}

notifiers = Resource(d.NOTIFIERS)
disseminations = Resource(d.DISSEMINATIONS)
door = Resource(f"{NOTIFIER_DOORS}/{{name}}")

door.describe(
    "GET",
    says="What a notifier takes; with ?wsdl its description in WSDL 1.1, for everybody",
    parameters={"name": Path("Of the notifier and its service")},
)
door.describe(
    "POST",
    says="Publish or Notify",
    status=202,
    parameters={
        "topic": Query("The topic of data that is neither SOAP nor a CloudEvent"),
        "protocol": Query("bin, cin, din, hin, dht-cin or hin-din, which is the default"),
        "limit": Query(
            "How often one notifier passes it on at most, where the protocol can loop", schema={"type": "integer"}
        ),
    },
    body=Body({"*/*": {"description": "Publish or Notify in SOAP, or data"}}),
    answer=d.PublishedDocument,
)


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> Page[d.NotifierDocument]:
    del query
    return Page(union(shares, lambda each: each.name), None)


def _latest(shares: Sequence[Share], query: Mapping[str, str]) -> Page[d.DisseminationRow]:
    """Of each node the latest first, by turns."""
    turns = zip_longest(*(share.document.items for share in shares))
    found = {each.id: each for turn in turns for each in turn if each is not None}
    return Page(list(found.values())[: limit_in(query)], None)


@notifiers.get(says="The notifiers of this node, or of its ring", merge=_merged)
def list_notifiers(node: Node, caller: Caller) -> Page[d.NotifierDocument]:
    found = node.implicit.notifiers(caller)
    return Page([d.NotifierDocument.of(each, node.base_url) for each in found], None)


@notifiers.post(says="Create a notifier for a service", status=201)
async def create_notifier(node: Node, caller: Caller, asked: d.NotifierRequest) -> Answer[d.NotifierDocument]:
    made = await node.implicit.create_notifier(caller, asked.normalised(), asked.by, asked.owner)
    place = f"{node.base_url}{d.NOTIFIERS}/{quote(asked.name, safe='')}"
    return Answer(d.NotifierDocument.of(made, node.base_url), {"Location": place})


@notifiers.get("/{name}", says="One notifier")
def get_notifier(node: Node, caller: Caller, name: Name) -> d.NotifierDocument:
    return d.NotifierDocument.of(node.implicit.notifier(caller, name), node.base_url)


@notifiers.delete("/{name}", says="Remove a notifier, and its service from the world")
async def remove_notifier(node: Node, caller: Caller, name: Name, by: By = "") -> None:
    await node.implicit.remove_notifier(caller, name, by)


@notifiers.post("/{name}/publish", says="Publish through a notifier", status=202)
async def publish_through(
    node: Node,
    caller: Caller,
    name: Name,
    body: Annotated[bytes, Body({JSON: d.PublishRequest})],
) -> Answer[d.PublishedDocument]:
    """The notifier first: who misspells it is told that, whatever else is wrong."""
    node.implicit.notifier(caller, name)
    asked = from_json(body, d.PublishRequest).normalised()
    made = await node.implicit.publish_through(caller, name, asked)
    view = None if asked.reply is None else node.implicit.view_of(made)
    told = d.PublishedDocument.of(made, node.base_url, view)
    return Answer(told, {"Location": told.result})


@disseminations.get(says="The latest messages of these notifiers", merge=_latest)
async def list_disseminations(node: Node, caller: Caller, limit: PlainLimit = 100) -> Answer[Page[d.DisseminationRow]]:
    rows = await node.implicit.disseminations(caller, limit)
    return Answer(Page([d.DisseminationRow(*row) for row in rows], None), _ONCE)


@disseminations.get("/{id}", says="What became of a message")
async def get_dissemination(
    node: Node,
    caller: Caller,
    request: Request,
    id: Annotated[str, Path("Of the message")],
    wait: Annotated[
        float,
        Query("How long to wait until nobody is outstanding: 30s, 500ms, or seconds; at most 5m", seconds),
    ] = 0.0,
) -> Answer[d.DisseminationDocument]:
    row = d.DisseminationRow(*await node.implicit.publication(caller, id))
    found = await while_connected(request.receive, node.implicit.dissemination(caller, id, wait))
    return Answer(d.DisseminationDocument.of(row, found), _ONCE)
