"""The part of the OpenAPI description that is about the world."""

from collections.abc import Callable
from typing import Any

from tocsin.semantics.interest.world_forms import MEDIA_TYPES

Operation = Callable[..., dict[str, Any]]


def _parameter(name: str, said: str, kind: str = "string", place: str = "query", **more: object) -> dict[str, Any]:
    return {"name": name, "in": place, "description": said, "schema": {"type": kind}, **more}


_BY = _parameter("by", "Who asks, where nobody has to show it")
_IF_MATCH = _parameter("If-Match", "The ETag that the change is for: 412 if it is another by now", place="header")
_AFTER = _parameter("after", "What was `next` in the page before")
_LIMIT = _parameter("limit", "At most so many: 1 to 1000, and 100 unless told", "integer")
_CATEGORY = _parameter("category", "Those of this category or one below it")
_EDGE = tuple(_parameter(each, "Of the edge") for each in ("source", "topic", "target"))
_COUNTS = _parameter("counts", "Those alone that count, or that do not", "boolean")
_FORM = _parameter("form", "Another way to say it than Accept: json, ttl, rdf, csv")
_TABLE = _parameter("table", "Of CSV: edges, services or taxonomies")
_REPLACE = _parameter("replace", "What the document does not name goes", "boolean")
_CREATE = _parameter("create", "Names that it uses and nowhere declares are made", "boolean")
_NEIGHBOURS = tuple(_parameter(each, f"The {each}", required=True) for each in ("service", "topic"))
_NAME = {"parameters": [_parameter("name", "What it is called", place="path", required=True)]}
_PAGE, _CHANGE = (_AFTER, _LIMIT), (_IF_MATCH,)


def paths(operation: Operation) -> dict[str, Any]:
    return {
        "/api/world": {"get": _whole(operation), "put": _put_whole(operation)},
        **_taxonomy(operation, "topics", "topic", "WorldTopicDocument", "TopicRequest"),
        **_taxonomy(operation, "categories", "category", "CategoryDocument", "CategoryRequest"),
        **_services(operation),
        "/api/world/edges": {
            "get": operation(
                "A page of edges, and why each counts or not", "EdgeDocument[]", query=(*_EDGE, _COUNTS, *_PAGE)
            ),
            "put": operation("Add, propose or change an edge", "EdgeDocument", body="EdgeRequest", query=_CHANGE),
            "delete": operation("Remove an edge", None, status="204", query=(*_EDGE, _BY, _IF_MATCH)),
        },
        "/api/world/edges/votes": {
            "post": operation("Confirm or dispute an edge", "EdgeDocument", body="VoteRequest", query=_CHANGE)
        },
        "/api/world/rules": {
            "get": operation("The rules of the world", "RulesDocument"),
            "put": operation("Other rules", "RulesDocument", body="RulesRequest", query=_CHANGE),
        },
        "/api/world/neighbours": {
            "get": operation(
                "Whom a service tells of a topic, and along which edges",
                "NeighbourDocument[]",
                query=(*_NEIGHBOURS, *_PAGE),
            )
        },
        "/api/world/history": {"get": operation("Who changed what, and when", "ChangingDocument[]", query=_PAGE)},
    }


def _taxonomy(
    operation: Operation, many: str, one: str, answer: str, body: str, *query: dict[str, Any]
) -> dict[str, Any]:
    return {
        f"/api/world/{many}": {"get": operation(f"A page of {many}", f"{answer}[]", query=(*query, *_PAGE))},
        f"/api/world/{many}/{{name}}": {
            **_NAME,
            "get": operation(f"One {one}", answer),
            "put": operation(f"Add or change a {one}", answer, body=body, query=_CHANGE),
            "delete": operation(f"Remove a {one} that nothing uses", None, status="204", query=(_BY, _IF_MATCH)),
        },
    }


def _services(operation: Operation) -> dict[str, Any]:
    found = _taxonomy(operation, "services", "service", "Service", "ServiceRequest", _CATEGORY)
    found["/api/world/services/{name}"]["patch"] = operation(
        "Change a part of a service, whose notifier may run", "Service", body="ServicePatch", query=_CHANGE
    )
    return found


def _whole(operation: Operation) -> dict[str, Any]:
    made = operation("The whole world, in the form that Accept or `form` names", None, query=(_FORM, _TABLE))
    made["responses"]["200"]["content"] = _any_form()
    return made


def _put_whole(operation: Operation) -> dict[str, Any]:
    summary = "Add what a document describes to the world, or put it in its place: all of it, or nothing"
    made = operation(summary, "WorldDocument", query=(_REPLACE, _CREATE, _BY, _IF_MATCH))
    return made | {"requestBody": {"content": _any_form()}}


def _any_form() -> dict[str, Any]:
    return {each: {"schema": {"type": "string"}} for each in MEDIA_TYPES}
