"""`/api/topics` and `/broker/topics`: which topics there are, and the documents of WS-Topics that say so."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents.ports.port import Broker
from tocsin.documents.subscriptions import Page
from tocsin.documents.topics import TopicDocument, TopicNamespaceDocument
from tocsin.mediation import times
from tocsin.mediation.ws import topic_documents
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import read_body

TOPICS = "/broker/topics"
Seen = tuple[int, Instant | None]
NEVER: Seen = (0, None)
XML = f"{topic_documents.MEDIA_TYPE}; charset=utf-8"


class TopicHandlers:
    _broker: Broker

    async def topics(self, request: Request) -> Response:
        """Those seen, with how often and when last; and those only declared."""
        del request
        declared = {str(each) for each in self._broker.declared_topics()}
        seen: dict[str, Seen] = {name: (count, last) for name, count, last in self._broker.topics()}
        names = sorted({*seen, *declared})
        wanting = await self._broker.wanting(names)
        items = [
            _shown(name, seen.get(name, NEVER), number, name in declared)
            for name, number in zip(names, wanting, strict=True)
        ]
        return _json(Page(items, None))

    async def topic_namespaces(self, request: Request) -> Response:
        del request
        return _json(Page(list(map(TopicNamespaceDocument.of, self._broker.topic_namespaces())), None))

    async def declare_topics(self, request: Request) -> Response:
        document = await read_body(request.scope, request.receive, self._broker.body_limit)
        return _json(TopicNamespaceDocument.of(await self._broker.declare_topics(document)))

    async def withdraw_topics(self, request: Request) -> Response:
        namespace = request.query_params.get("namespace")
        if not namespace:
            raise Refusal("malformed", "which one? add ?namespace=URI")
        await self._broker.withdraw_topics(namespace)
        return Response(status_code=204)

    async def topic_document(self, request: Request) -> Response:
        """The TopicSet, or with `namespace` that TopicNamespace."""
        namespace = request.query_params.get("namespace")
        if namespace is None:
            return Response(topic_documents.topic_set_element(self._broker.topic_set()), media_type=XML)
        found = self._broker.topic_namespace(namespace)
        return Response(topic_documents.topic_namespace_document(found), media_type=XML)


def _shown(name: str, seen: Seen, wanting: int, declared: bool) -> TopicDocument:
    count, last = seen
    return TopicDocument(name, count, None if last is None else times.timestamp(last), wanting, declared)


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
