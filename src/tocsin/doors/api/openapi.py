"""`/api/openapi.json`: what the API takes and gives, assembled from its handlers' signatures and their documents."""

from collections.abc import Mapping
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Struct

from tocsin import __version__
from tocsin.broker.node import Node
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.parameters import TEXT, Body, Header, Parameter, Path, Schema
from tocsin.doors.api.router import JSON, PART, Operation, Resource, resources
from tocsin.model import paths

description = Resource(paths.OPENAPI)
events = Resource(paths.EVENTS)
_REFERENCE = "#/components/schemas/{name}"
_EVENT: Schema = {"type": "object", "required": ["specversion", "id", "source", "type"]}
_ATTRIBUTES = ("specversion", "id", "source", "type", "subject", "time", "topic", "expirytime")

# CloudEvents HTTP binding s3: structured, batched, and binary with the attributes in headers.
events.describe(
    "POST",
    says="Publish CloudEvents: structured, batched or binary",
    status=202,
    parameters={f"ce-{each}": Header("In binary mode alone", f"ce-{each}") for each in _ATTRIBUTES},
    body=Body(
        {
            "application/cloudevents+json": _EVENT,
            "application/cloudevents-batch+json": {"type": "array", "items": _EVENT},
            "*/*": {"description": "The data of one event, whose attributes are headers"},
        }
    ),
)
events.describe("OPTIONS", says="May events be sent here? As web hooks ask (HTTP 1.1 Web Hooks s4)", public=True)


@description.get(says="This description", public=True, hidden=True)
def get_description(node: Node) -> dict[str, Any]:
    return document(node.base_url)


def document(base_url: str) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tocsin", "version": __version__},
        "servers": [{"url": base_url}],
        "security": [{}, {"basic": []}, {"bearer": []}],
        "paths": _paths(),
        "components": {"schemas": _schemas(), "securitySchemes": _SCHEMES},
    }


def _paths() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for operation in _operations():
        if not operation.hidden:
            path = PART.sub(r"{\1}", operation.path)
            found.setdefault(path, _path_parameters(operation))[operation.method.lower()] = _described(operation)
    return found


def _schemas() -> dict[str, Any]:
    """Of every document that they take or give."""
    kinds = [kind for resource in resources() for kind in resource.kinds]
    for operation in _operations():
        body, answer = operation.signature.body, _item(operation.signature.answer)
        taken = [*body.content.values()] if isinstance(body, Body) else [body]
        kinds += [kind for kind in (*taken, answer) if _is_document(kind)]
    _, schemas = msgspec.json.schema_components(dict.fromkeys(kinds), ref_template=_REFERENCE)
    return {**schemas, "Problem": _PROBLEM}


def _operations() -> list[Operation]:
    return [operation for resource in resources() for operation in resource.operations]


def _path_parameters(operation: Operation) -> dict[str, Any]:
    parameters = operation.signature.parameters.items()
    found = [_parameter(name, "path", each, True) for name, each in parameters if isinstance(each, Path)]
    return {"parameters": found} if found else {}


def _described(operation: Operation) -> dict[str, Any]:
    signature, says = operation.signature, operation.says
    content = _content(signature.answer) | _contents(operation.returns)
    parameters = [
        _parameter(name, each.place, each, each.required)
        for name, each in signature.parameters.items()
        if not isinstance(each, Path)
    ]
    told = {
        "summary": says,
        "responses": {
            str(operation.status): {"description": says} | ({"content": content} if content else {}),
            "4XX": {
                "description": "What is wrong",
                "content": _contents({"application/problem+json": _named("Problem")}),
            },
        },
        "parameters": parameters,
    }
    body = _contents(signature.body.content) if isinstance(signature.body, Body) else _content(signature.body)
    return told | ({"requestBody": {"content": body}} if body else {}) | ({"security": []} if operation.public else {})


def _parameter(name: str, place: str, spec: Parameter, required: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "in": place, "schema": spec.schema or TEXT}
    return told | ({"description": spec.says} if spec.says else {}) | ({"required": True} if required else {})


def _content(kind: Any) -> dict[str, Any]:
    item = _item(kind)
    if not _is_document(item):
        return {}
    if item is kind:
        return _contents({JSON: item})
    items = {"type": "array", "items": _named(item.__name__)}
    return _contents({JSON: {"type": "object", "properties": {"items": items, "next": {"type": ["string", "null"]}}}})


def _contents(schemas: Mapping[str, Schema | type[Struct]]) -> dict[str, Any]:
    named = {each: _named(kind.__name__) if isinstance(kind, type) else kind for each, kind in schemas.items()}
    return {media_type: {"schema": schema} for media_type, schema in named.items()}


def _named(name: str) -> Schema:
    return {"$ref": _REFERENCE.format(name=name)}


def _item(answer: Any) -> Any:
    return get_args(answer)[0] if get_origin(answer) is Page else answer


def _is_document(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


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
