"""`/api/topics` and `/broker/topics`: which topics there are, and the documents of WS-Topics that say so."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec.structs import replace
from starlette.responses import Response

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.subscriptions import Page
from tocsin.documents.topics import TOPICS, TopicDocument, TopicNamespaceDocument
from tocsin.doors.api.gathering import Share
from tocsin.doors.api.parameters import Body, Query
from tocsin.doors.api.router import Resource
from tocsin.mediation.ws import topic_documents
from tocsin.model.identity import Instant
from tocsin.model.paths import TOPIC_DOCUMENTS
from tocsin.model.refusal import Refusal

Seen = tuple[int, Instant | None]
NEVER: Seen = (0, None)
XML = f"{topic_documents.MEDIA_TYPE}; charset=utf-8"

topics = Resource(TOPICS)
topic_set = Resource(TOPIC_DOCUMENTS)


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> Page[TopicDocument]:
    del query
    found: dict[str, TopicDocument] = {}
    for each in (item for share in shares for item in share.document.items):
        found[each.topic] = each if (before := found.get(each.topic)) is None else _together(before, each)
    return Page([found[name] for name in sorted(found)], None)


def _together(one: TopicDocument, other: TopicDocument) -> TopicDocument:
    """Whoever has the key of a topic has all subscriptions that want it; others may have some of them."""
    return replace(
        one,
        notifications=one.notifications + other.notifications,
        last=max((each for each in (one.last, other.last) if each is not None), default=None),
        subscriptions=max(one.subscriptions, other.subscriptions),
        declared=one.declared or other.declared,
    )


@topics.get(says="Topics seen or declared, with how many notifications", merge=_merged)
async def list_topics(node: Node, caller: Caller) -> Page[TopicDocument]:
    declared = {str(each) for each in node.topics.declared(caller)}
    seen: dict[str, Seen] = {name: (count, last) for name, count, last in node.topics.counts(caller)}
    names = sorted({*seen, *declared})
    wanting = await node.topics.wanting(caller, names)
    items = [
        TopicDocument.of(name, *seen.get(name, NEVER), number, name in declared)
        for name, number in zip(names, wanting, strict=True)
    ]
    return Page(items, None)


@topics.get("/namespaces", says="Topic namespaces that were declared")
def list_namespaces(node: Node, caller: Caller) -> Page[TopicNamespaceDocument]:
    return Page(list(map(TopicNamespaceDocument.of, node.topics.namespaces(caller))), None)


@topics.put("/namespaces", says="Declare topics: a wstop:TopicNamespace document in XML")
async def declare_namespace(node: Node, caller: Caller, document: Annotated[bytes, Body()]) -> TopicNamespaceDocument:
    return TopicNamespaceDocument.of(await node.topics.declare(caller, document))


@topics.delete("/namespaces", says="Withdraw a topic namespace")
async def withdraw_namespace(
    node: Node, caller: Caller, namespace: Annotated[str, Query("The URI of the topic namespace", required=True)] = ""
) -> None:
    if not namespace:
        raise Refusal("malformed", "which one? add ?namespace=URI")
    await node.topics.withdraw(caller, namespace)


@topic_set.get(says="The TopicSet, or with `namespace` that TopicNamespace", hidden=True)
async def get_document(node: Node, caller: Caller, namespace: Annotated[str | None, Query("")] = None) -> Response:
    if namespace is None:
        found = await node.topics.topic_set(caller)
        return Response(topic_documents.topic_set_element(found), media_type=XML)
    declared = node.topics.namespace(caller, namespace)
    return Response(topic_documents.topic_namespace_document(declared), media_type=XML)
