"""The part of the OpenAPI description that is about what filters refer to by name."""

from collections.abc import Callable
from typing import Any

Operation = Callable[..., dict[str, Any]]


def _parameter(name: str, said: str, place: str = "query", **more: object) -> dict[str, Any]:
    return {"name": name, "in": place, "description": said, "schema": {"type": "string"}, **more}


_NAME = {"parameters": [_parameter("name", "Of the space: what stands before the colon", "path", required=True)]}
_ADDRESS = {"parameters": [_parameter("address", "Of the producer, percent-encoded", "path", required=True)]}
_AFTER = _parameter("after", "What was `next` in the page before")
_LIMIT = {
    "name": "limit",
    "in": "query",
    "description": "At most so many",
    "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
}


def paths(operation: Operation) -> dict[str, Any]:
    return {
        "/api/spaces": {"get": operation("Information spaces that were declared", "SpaceDocument[]")},
        "/api/spaces/{name}": _NAME
        | {
            "get": operation("One information space", "SpaceDocument"),
            "put": operation("Declare a space, or another that nobody uses yet", "SpaceDocument", body="SpaceRequest"),
            "delete": operation("Withdraw a space that no subscription uses", None, status="204"),
        },
        "/api/types": {
            "get": operation("The hierarchy of types", "TypesDocument"),
            "put": operation("Another hierarchy of types, whole", "TypesDocument", body="TypesDocument"),
        },
        "/api/categories": {
            "get": operation("The hierarchy of producers' categories", "CategoriesDocument"),
            "put": operation("Another hierarchy of categories, whole", "CategoriesDocument", body="CategoriesRequest"),
        },
        "/api/producers": {
            "get": operation("Producers that were declared", "ProducerDocument[]", query=(_AFTER, _LIMIT))
        },
        "/api/producers/{address}": _ADDRESS
        | {
            "get": operation("One producer", "ProducerDocument"),
            "put": operation("Declare a producer", "ProducerDocument", body="ProducerRequest"),
            "delete": operation("Withdraw a producer", None, status="204"),
        },
    }
