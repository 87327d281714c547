"""The OpenAPI description, made from the documents themselves."""

from typing import Any

import msgspec

from tocsin import __version__
from tocsin.documents import consumers as consumers_api
from tocsin.documents import declarations as declarations_documents
from tocsin.documents import interactions as interactions_documents
from tocsin.documents import pull_points as pull_documents
from tocsin.documents import registrations as registrations_api
from tocsin.documents import semantics as meaning_documents
from tocsin.documents import subscriptions as documents
from tocsin.documents import topics as topics_api
from tocsin.documents import world as world_documents
from tocsin.documents.service_patch import ServicePatch
from tocsin.doors.api import openapi_declarations, openapi_notifiers, openapi_world, sockets
from tocsin.doors.api import openapi_semantics as openapi_meaning
from tocsin.doors.api import openapi_traces as openapi_trace

_KINDS = (
    consumers_api.SecretRequest,
    consumers_api.SecretDocument,
    consumers_api.ConsentDocument,
    documents.SubscribeRequest,
    documents.RenewRequest,
    documents.RedriveRequest,
    documents.SubscriptionDocument,
    documents.DeadLetterDocument,
    topics_api.TopicDocument,
    *declarations_documents.KINDS,
    *meaning_documents.KINDS,
    *openapi_notifiers.KINDS,
    *openapi_trace.KINDS,
    pull_documents.PullPointRequest,
    pull_documents.PullPointDocument,
    pull_documents.MessageDocument,
    pull_documents.CurrentMessageDocument,
    sockets.Acknowledgement,
    topics_api.TopicNamespaceDocument,
    *world_documents.KINDS,
    ServicePatch,
    registrations_api.RegisterRequest,
    registrations_api.RegistrationDocument,
    *interactions_documents.KINDS.values(),
)


def document(base_url: str) -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components(_KINDS, ref_template="#/components/schemas/{name}")
    for name in ("SubscribeRequest", "PullPointRequest"):
        for field, said in _FIELDS.items():
            schemas[name]["properties"][field]["description"] = said
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tocsin", "version": __version__},
        "servers": [{"url": base_url}],
        "security": [{}, {"basic": []}, {"bearer": []}],
        "paths": _PATHS,
        "components": {"schemas": {**schemas, "Problem": _PROBLEM}, "securitySchemes": _SCHEMES},
    }


Parameter = dict[str, Any]


def _query(name: str, said: str, schema: dict[str, Any]) -> Parameter:
    return {"name": name, "in": "query", "description": said, "schema": schema}


_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0}
_FLAG: dict[str, Any] = {"type": "boolean", "default": False}
_LIMIT = _query("limit", "At most so many", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100})
_WAIT = _query(
    "wait",
    "How long to wait for the first: 30s, 500ms, 2m, or a number of seconds; at most 5m",
    {"type": "string", "pattern": r"^[0-9]{1,9}([.][0-9]{1,9})?(ms|s|m)?$", "default": "0"},
)
_AFTER_ID = _query("after", "What was `next` in the page before", _TEXT)
_AFTER_LETTER = _query("after", "What was `next` in the page before", _NUMBER)
_AFTER_MESSAGE = _query("after", "Read again what has a higher number than this; nothing is handed out", _NUMBER)
_OF_SUBSCRIPTION = _query("subscription", "Those of this subscription", _TEXT)
_NAMESPACE = _query("namespace", "The URI of the topic namespace", _TEXT)
_CANCEL = _query("cancel", "As somebody else than the subscriber, who is told", _FLAG)
_TOPIC = _query("topic", "A topic expression; names in Clark's form, or prefixes declared by xmlns:p=URI", _TEXT)
_SERVICE = _query("service", "Those in which this service has a part", _TEXT)
_STATE = _query("state", "Those that are so", {"type": "string", "enum": ["open", "answered", "ended"]})
_BY = _query("by", "Who ends it; refused if that is not who asked", _TEXT)
_OF_REQUEST = _query("request", "What became of this request", _TEXT)
_OF_ASKING, _OF_TELLING = (_AFTER_LETTER, _STATE, _SERVICE), (_AFTER_LETTER, _OF_REQUEST, _SERVICE)
_ACK = _query("ack", "Messages count as handed out when they are acknowledged, not when they are sent", _FLAG)


def _operation(
    summary: str, answer: str | None, *, status: str = "200", body: str | None = None, query: tuple[Parameter, ...] = ()
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            status: {"description": summary} | ({} if answer is None else _content(answer)),
            "4XX": {"description": "What is wrong"} | _content("Problem", "application/problem+json"),
        },
        "parameters": list(query),
    }
    if body is not None:
        operation["requestBody"] = _content(body)
    return operation


def _stream(summary: str, *, query: tuple[Parameter, ...] = ()) -> dict[str, Any]:
    operation = _operation(summary, None, query=query)
    operation["responses"]["200"]["content"] = {"text/event-stream": {"schema": {"type": "string"}}}
    return operation


def _socket(summary: str, *, query: tuple[Parameter, ...]) -> dict[str, Any]:
    return _operation(summary, None, status="101", query=query)


def _required(parameter: Parameter) -> Parameter:
    return {**parameter, "required": True}


def _open(operation: dict[str, Any]) -> dict[str, Any]:
    """Nobody is asked who they are."""
    return {**operation, "security": []}


def _events() -> dict[str, Any]:
    """CloudEvents HTTP binding s3: structured, batched, and binary with the attributes in headers."""
    operation = _operation("Publish CloudEvents: structured, batched or binary", None, status="202")
    event = {"type": "object", "required": ["specversion", "id", "source", "type"]}
    operation["parameters"] = [
        {"name": f"ce-{each}", "in": "header", "description": "In binary mode alone", "schema": _TEXT}
        for each in ("specversion", "id", "source", "type", "subject", "time", "topic", "expirytime")
    ]
    operation["requestBody"] = {
        "content": {
            "application/cloudevents+json": {"schema": event},
            "application/cloudevents-batch+json": {"schema": {"type": "array", "items": event}},
            "*/*": {"schema": {"description": "The data of one event, whose attributes are headers"}},
        }
    }
    return operation


def _content(name: str, media_type: str = "application/json") -> dict[str, Any]:
    if name.endswith("[]"):
        items = {"type": "array", "items": {"$ref": f"#/components/schemas/{name[:-2]}"}}
        page = {"type": "object", "properties": {"items": items, "next": {"type": ["string", "null"]}}}
        return {"content": {media_type: {"schema": page}}}
    return {"content": {media_type: {"schema": {"$ref": f"#/components/schemas/{name}"}}}}


_ID = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]}
_PLACE = {
    "parameters": [{"name": name, "in": "path", "required": True, "schema": _NUMBER} for name in ("offset", "index")]
}
_PATHS: dict[str, Any] = {
    "/api/subscriptions": {
        "get": _operation("A page of subscriptions", "SubscriptionDocument[]", query=(_AFTER_ID, _LIMIT)),
        "post": _operation(
            "Subscribe a consumer, in any dialect", "SubscriptionDocument", status="201", body="SubscribeRequest"
        ),
    },
    "/api/subscriptions/{id}": _ID
    | {
        "get": _operation("One subscription", "SubscriptionDocument"),
        "delete": _operation("Unsubscribe, or cancel and tell the subscriber", None, status="204", query=(_CANCEL,)),
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
        "get": _open(_operation("Consent, by whoever was told the token", None)),
        "post": _open(_operation("Consent, by whoever was told the token", None)),
    },
    "/api/dead-letters": {
        "get": _operation(
            "A page of dead letters", "DeadLetterDocument[]", query=(_AFTER_LETTER, _LIMIT, _OF_SUBSCRIPTION)
        )
    },
    "/api/dead-letters/redrive": {"post": _operation("Try dead letters again", None, body="RedriveRequest")},
    "/api/topics": {"get": _operation("Topics seen or declared, with how many notifications", "TopicDocument[]")},
    "/api/topics/namespaces": {
        "get": _operation("Topic namespaces that were declared", "TopicNamespaceDocument[]"),
        "put": _operation("Declare topics: a wstop:TopicNamespace document in XML", "TopicNamespaceDocument"),
        "delete": _operation("Withdraw a topic namespace", None, status="204", query=(_required(_NAMESPACE),)),
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
        "get": _operation("The last notification on one topic", "CurrentMessageDocument", query=(_required(_TOPIC),))
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
            query=(_WAIT, _LIMIT, _AFTER_MESSAGE),
        )
    },
    "/api/pullpoints/{id}/stream": _ID
    | {"get": _stream("Server-Sent Events: ids are numbers, data are CloudEvents; Last-Event-ID reads again")},
    "/api/pullpoints/{id}/socket": _ID
    | {"get": _socket("A WebSocket: each message is a MessageDocument, answers are Acknowledgement", query=(_ACK,))},
    "/api/stream": {"get": _stream("As the stream of a pull point that lasts as long as it", query=(_TOPIC,))},
    "/api/socket": {"get": _socket("As the socket of a pull point that lasts as long as it", query=(_TOPIC, _ACK))},
    **openapi_notifiers.paths(_operation),
    **openapi_trace.paths(_operation),
    "/events": {
        "post": _events(),
        "options": _open(_operation("May events be sent here? As web hooks ask (HTTP 1.1 Web Hooks s4)", None)),
    },
    "/api/patterns": {"get": _operation("The eight patterns by which services interact", "PatternDocument[]")},
    "/api/requests": {
        "get": _operation("What services asked of each other", "RequestDocument[]", query=(*_OF_ASKING, _LIMIT)),
        "post": _operation(
            "Ask, by a pattern that a consumer begins", "RequestDocument", status="201", body="AskRequest"
        ),
    },
    "/api/requests/{id}": _ID
    | {
        "get": _operation("One request", "RequestDocument"),
        "delete": _operation("The consumer ends its request", None, status="204", query=(_BY,)),
    },
    "/api/requests/{id}/answer": _ID
    | {"post": _operation("The producer answers", "ToldDocument", body="AnswerRequest")},
    "/api/interactions": {
        "get": _operation(
            "Who asked, who answered, who was told", "InteractionDocument[]", query=(*_OF_TELLING, _LIMIT)
        ),
        "post": _operation(
            "Tell, by a pattern that a producer begins", "ToldDocument", status="201", body="TellRequest"
        ),
    },
    "/api/notifications/{offset}/{index}": _PLACE
    | {"get": _operation("The data that a thin notice tells of, or as an event for who accepts one", None)},
    **openapi_declarations.paths(_operation),
    **openapi_meaning.paths(_operation),
    **openapi_world.paths(_operation),
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
_SCHEMES = {
    "basic": {"type": "http", "scheme": "basic", "description": "A user and their password"},
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token, from `tocsin users token`"},
}
_FIELDS = {
    "mode": "How events are sent; binary is raw in SOAP, and batched is for CloudEvents only",
    "together": "CloudEvents only: how many events may be in one batch, 100 unless told",
    "topic": "A topic expression; every topic without",
    "expires": "A duration such as PT1H or a time; the broker's default lease without",
    "from": "An offset of the log or a time; what is kept from there on is sent first",
    "secret": "The name of a secret: messages are signed with it or carry it",
    "consent": "The consumer is asked before anything is sent to it",
    "thin": "The consumer is told where each notification can be fetched, without its data",
    "graph": "The event graph is sent in this syntax: turtle, n-quads, json-ld or rdf-xml; as published without",
    "bindings": "What the variables of a graph pattern stand for is told with each event",
}
