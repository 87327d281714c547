"""The OpenAPI description, made from the documents themselves."""

from typing import Any

import msgspec

from tocsin import __version__
from tocsin.wire import consumers_api, documents, pull_documents, registrations_api, sockets, topics_api

_KINDS = (
    consumers_api.SecretRequest,
    consumers_api.SecretDocument,
    consumers_api.ConsentDocument,
    documents.SubscribeRequest,
    documents.RenewRequest,
    documents.RedriveRequest,
    documents.SubscriptionDocument,
    documents.DeadLetterDocument,
    documents.TopicDocument,
    pull_documents.PullPointRequest,
    pull_documents.PullPointDocument,
    pull_documents.MessageDocument,
    pull_documents.CurrentMessageDocument,
    sockets.Acknowledgement,
    topics_api.TopicNamespaceDocument,
    registrations_api.RegisterRequest,
    registrations_api.RegistrationDocument,
)


def document(base_url: str) -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components(_KINDS, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tocsin", "version": __version__},
        "servers": [{"url": base_url}],
        "paths": _PATHS,
        "components": {"schemas": {**schemas, "Problem": _PROBLEM}},
    }


def _operation(
    summary: str, answer: str | None, *, status: str = "200", body: str | None = None, query: tuple[str, ...] = ()
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            status: {"description": summary} | ({} if answer is None else _content(answer)),
            "4XX": {"description": "What is wrong"} | _content("Problem", "application/problem+json"),
        },
        "parameters": [{"name": each, "in": "query", "schema": {"type": "string"}} for each in query],
    }
    if body is not None:
        operation["requestBody"] = _content(body)
    return operation


def _stream(summary: str, *, query: tuple[str, ...] = ()) -> dict[str, Any]:
    operation = _operation(summary, None, query=query)
    operation["responses"]["200"]["content"] = {"text/event-stream": {"schema": {"type": "string"}}}
    return operation


def _socket(summary: str, *, query: tuple[str, ...]) -> dict[str, Any]:
    return _operation(summary, None, status="101", query=query)


def _required(name: str, operation: dict[str, Any]) -> dict[str, Any]:
    operation["parameters"].append({"name": name, "in": "query", "required": True, "schema": {"type": "string"}})
    return operation


def _content(name: str, media_type: str = "application/json") -> dict[str, Any]:
    if name.endswith("[]"):
        items = {"type": "array", "items": {"$ref": f"#/components/schemas/{name[:-2]}"}}
        page = {"type": "object", "properties": {"items": items, "next": {"type": ["string", "null"]}}}
        return {"content": {media_type: {"schema": page}}}
    return {"content": {media_type: {"schema": {"$ref": f"#/components/schemas/{name}"}}}}


_ID = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]}
_PATHS: dict[str, Any] = {
    "/api/subscriptions": {
        "get": _operation("A page of subscriptions", "SubscriptionDocument[]", query=("after", "limit")),
        "post": _operation("Subscribe to CloudEvents", "SubscriptionDocument", status="201", body="SubscribeRequest"),
    },
    "/api/subscriptions/{id}": _ID
    | {
        "get": _operation("One subscription", "SubscriptionDocument"),
        "delete": _operation("Unsubscribe, or cancel and tell the subscriber", None, status="204", query=("cancel",)),
    },
    "/api/cloudevents/subscriptions": {
        "get": _operation("Subscriptions to CloudEvents, as the CloudEvents Subscriptions API has them", None),
        "post": _operation("Subscribe as the CloudEvents Subscriptions API has it", None, status="201"),
        "options": _operation("Which filters, protocols and credentials are supported", None),
    },
    "/api/cloudevents/subscriptions/{id}": _ID
    | {
        "get": _operation("One subscription to CloudEvents", None),
        "put": _operation("Another sink, form or filters; what waits is kept", None),
        "delete": _operation("Unsubscribe", None),
        "options": _operation("Which filters, protocols and credentials are supported", None),
    },
    "/api/subscriptions/{id}/renew": _ID
    | {"post": _operation("Renew a subscription", "SubscriptionDocument", body="RenewRequest")},
    "/api/subscriptions/{id}/pause": _ID | {"post": _operation("Hold what waits", "SubscriptionDocument")},
    "/api/subscriptions/{id}/resume": _ID | {"post": _operation("Go on after a pause", "SubscriptionDocument")},
    "/api/secrets": {
        "get": _operation("Secrets towards consumers, without their values", "SecretDocument[]"),
        "post": _operation("Keep a secret", "SecretDocument", status="201", body="SecretRequest"),
    },
    "/api/secrets/{id}": _ID
    | {
        "delete": _operation("Forget a secret that nobody uses", None, status="204"),
    },
    "/api/consents": {"get": _operation("Consumers that were asked and have not consented", "ConsentDocument[]")},
    "/api/consents/{id}": _ID
    | {
        "get": _operation("Consent, by whoever was told the token", None),
        "post": _operation("Consent, by whoever was told the token", None),
    },
    "/api/dead-letters": {
        "get": _operation("A page of dead letters", "DeadLetterDocument[]", query=("after", "limit", "subscription"))
    },
    "/api/dead-letters/redrive": {"post": _operation("Try dead letters again", None, body="RedriveRequest")},
    "/api/topics": {"get": _operation("Topics seen or declared, with how many notifications", "TopicDocument[]")},
    "/api/topics/namespaces": {
        "get": _operation("Topic namespaces that were declared", "TopicNamespaceDocument[]"),
        "put": _operation("Declare topics: a wstop:TopicNamespace document in XML", "TopicNamespaceDocument"),
        "delete": _operation("Withdraw a topic namespace", None, status="204", query=("namespace",)),
    },
    "/api/registrations": {
        "get": _operation("Publishers that registered", "RegistrationDocument[]"),
        "post": _operation("Register a publisher", "RegistrationDocument", status="201", body="RegisterRequest"),
    },
    "/api/registrations/{id}": _ID
    | {
        "get": _operation("One registration", "RegistrationDocument"),
        "delete": _operation("End a registration", None, status="204"),
    },
    "/api/topics/current": {
        "get": _required("topic", _operation("The last notification on one topic", "CurrentMessageDocument"))
    },
    "/api/pullpoints": {
        "post": _operation("Keep what matches", "PullPointDocument", status="201", body="PullPointRequest")
    },
    "/api/pullpoints/{id}": _ID
    | {
        "get": _operation("One pull point", "PullPointDocument"),
        "delete": _operation("End a pull point and what is in it", None, status="204"),
    },
    "/api/pullpoints/{id}/messages": _ID
    | {
        "get": _operation(
            "Hand out what waits, waiting for the first so long; with a number in after, read again behind that",
            "MessageDocument[]",
            query=("wait", "limit", "after"),
        )
    },
    "/api/pullpoints/{id}/stream": _ID
    | {"get": _stream("Server-Sent Events: ids are numbers, data are CloudEvents; Last-Event-ID reads again")},
    "/api/pullpoints/{id}/socket": _ID
    | {"get": _socket("A WebSocket: each message is a MessageDocument, answers are Acknowledgement", query=("ack",))},
    "/api/stream": {"get": _stream("As the stream of a pull point that lasts as long as it", query=("topic",))},
    "/api/socket": {"get": _socket("As the socket of a pull point that lasts as long as it", query=("topic", "ack"))},
    "/api/status": {"get": _operation("What the node has done and is doing", None)},
}
_PROBLEM = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}
