"""The part of the OpenAPI description that is about notifiers and what became of messages."""

from collections.abc import Callable
from typing import Any

from tocsin.documents.notifiers import (
    DisseminationDocument,
    DisseminationRow,
    NotifierDocument,
    NotifierRequest,
    PublishedDocument,
    PublishRequest,
)

Operation = Callable[..., dict[str, Any]]
KINDS = (
    NotifierRequest,
    NotifierDocument,
    PublishRequest,
    PublishedDocument,
    DisseminationRow,
    DisseminationDocument,
)


def _parameter(name: str, said: str, kind: str = "string", place: str = "query", **more: object) -> dict[str, Any]:
    return {"name": name, "in": place, "description": said, "schema": {"type": kind}, **more}


_BY = _parameter("by", "Who asks, where nobody has to show it")
_LIMIT = _parameter("limit", "At most so many: 1 to 1000, and 100 unless told", "integer")
_WAIT = _parameter("wait", "How long to wait until nobody is outstanding: 30s, 500ms, or seconds; at most 5m")
_NAME = {"parameters": [_parameter("name", "Of the notifier and its service", place="path", required=True)]}
_ID = {"parameters": [_parameter("id", "Of the message", place="path", required=True)]}
_ASKED = (
    _parameter("topic", "The topic of data that is neither SOAP nor a CloudEvent"),
    _parameter("protocol", "bin, cin, din, hin or hin-din, which is the default"),
    _parameter("limit", "How often one notifier passes it on at most, where the protocol can loop", "integer"),
)


def paths(operation: Operation) -> dict[str, Any]:
    return {
        "/api/notifiers": {
            "get": operation("The notifiers of this node", "NotifierDocument[]"),
            "post": operation(
                "Create a notifier for a service", "NotifierDocument", status="201", body="NotifierRequest"
            ),
        },
        "/api/notifiers/{name}": _NAME
        | {
            "get": operation("One notifier", "NotifierDocument"),
            "delete": operation("Remove a notifier, and its service from the world", None, status="204", query=(_BY,)),
        },
        "/api/notifiers/{name}/publish": _NAME
        | {"post": operation("Publish through a notifier", "PublishedDocument", status="202", body="PublishRequest")},
        "/api/disseminations": {
            "get": operation("The latest messages of these notifiers", "DisseminationRow[]", query=(_LIMIT,))
        },
        "/api/disseminations/{id}": _ID
        | {"get": operation("What became of a message", "DisseminationDocument", query=(_WAIT,))},
        "/notifiers/{name}": _NAME
        | {
            "get": operation("What a notifier takes; with ?wsdl its description in WSDL 1.1, for everybody", None),
            "post": _door(operation),
        },
    }


def _door(operation: Operation) -> dict[str, Any]:
    """SOAP, a CloudEvent, or data of any other media type with its topic in the query."""
    described = operation("Publish or Notify", "PublishedDocument", status="202", query=_ASKED)
    described["requestBody"] = {"content": {"*/*": {"schema": {"description": "Publish or Notify in SOAP, or data"}}}}
    return described
