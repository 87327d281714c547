"""The OpenAPI description, made from the documents themselves."""

from typing import Any

import msgspec

from tocsin import __version__
from tocsin.wire import documents

_KINDS = (
    documents.SubscribeRequest,
    documents.RenewRequest,
    documents.RedriveRequest,
    documents.SubscriptionDocument,
    documents.DeadLetterDocument,
    documents.TopicDocument,
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
        "delete": _operation("Unsubscribe", None, status="204"),
    },
    "/api/subscriptions/{id}/renew": _ID
    | {"post": _operation("Renew a subscription", "SubscriptionDocument", body="RenewRequest")},
    "/api/dead-letters": {
        "get": _operation("A page of dead letters", "DeadLetterDocument[]", query=("after", "limit", "subscription"))
    },
    "/api/dead-letters/redrive": {"post": _operation("Try dead letters again", None, body="RedriveRequest")},
    "/api/topics": {"get": _operation("Topics seen, with how many notifications", "TopicDocument[]")},
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
