"""The part of the OpenAPI description that is about why somebody was told, or was not."""

from collections.abc import Callable
from typing import Any

from tocsin.documents.traces import NewestDocument, TraceDocument

Operation = Callable[..., dict[str, Any]]
KINDS = (TraceDocument, NewestDocument)


def _parameter(name: str, said: str, place: str = "query", **schema: object) -> dict[str, Any]:
    schema.setdefault("type", "string")
    more = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, "description": said, "schema": schema, **more}


_OFFSET = _parameter("offset", "By its record, and not by name", type="integer", minimum=0)
_INDEX = _parameter("index", "Which of those that came in one record, from 0 on", type="integer", minimum=0)
_MESSAGE = _parameter("message", "Its id, or its cause")
_SUBSCRIPTION = _parameter("subscription", "Of this one alone, also when it has ended")
_ALL = _parameter("all", "Also of those that did not want it", type="boolean", default=False)
_AFTER = _parameter("after", "What was `next` in the page before")
_LIMIT = _parameter("limit", "At most so many subscriptions", type="integer", minimum=1, maximum=1000, default=100)
_NEWEST = _parameter("limit", "So many of the newest", type="integer", minimum=1, maximum=100, default=10)
_OF = (_INDEX, _SUBSCRIPTION, _ALL, _AFTER, _LIMIT)
_ID = {"parameters": [_parameter("id", "Of the subscription", "path")]}
_NAMED = {"parameters": [_parameter("message", "Its id, or its cause", "path")]}


def paths(operation: Operation) -> dict[str, Any]:
    said = "A notification, and why subscriptions wanted it or did not"
    return {
        "/api/trace": {"get": operation(said, "TraceDocument", query=({**_OFFSET, "required": True}, *_OF))},
        "/api/trace/{message}": _NAMED | {"get": operation(said, "TraceDocument", query=_OF)},
        "/api/subscriptions/{id}/explain": _ID
        | {
            "get": operation(
                "Why one subscription wanted the newest notifications or did not; of one by name, a trace",
                "NewestDocument",
                query=(_MESSAGE, _OFFSET, _INDEX, _NEWEST),
            )
        },
    }
