"""The part of the OpenAPI description that is about ontologies and liftings."""

from collections.abc import Callable
from typing import Any

Operation = Callable[..., dict[str, Any]]
_RDF = ("text/turtle", "application/rdf+xml", "application/ld+json", "application/n-triples")
_NAME = {
    "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string", "maxLength": 128}}]
}
_DRY_RUN = {
    "name": "dry-run",
    "in": "query",
    "description": "Say what would be suspended, and change nothing",
    "schema": {"type": "boolean", "default": False},
}


def paths(operation: Operation) -> dict[str, Any]:
    declare = operation(
        "Declare an ontology; subscriptions it breaks are suspended", "OntologyChange", query=(_DRY_RUN,)
    )
    declare["requestBody"] = {"content": {kind: {"schema": {"type": "string"}} for kind in _RDF}}
    show = operation("One ontology, as JSON or for who accepts it as Turtle", "OntologyDocument")
    show["responses"]["200"]["content"]["text/turtle"] = {"schema": {"type": "string"}}
    declare_lifting = operation("Declare a lifting", "MeaningChange", query=(_DRY_RUN,))
    declare_lifting["requestBody"] = {"content": {"application/json": {"schema": {"type": "object"}}}}
    return {
        "/api/ontologies": {"get": operation("Ontologies that were declared", "OntologySummary[]")},
        "/api/ontologies/{name}": _NAME
        | {
            "get": show,
            "put": declare,
            "delete": operation("Withdraw an ontology that no other needs", "MeaningChange", query=(_DRY_RUN,)),
        },
        "/api/liftings": {"get": operation("Liftings that were declared", "LiftingSummary[]")},
        "/api/liftings/{name}": _NAME
        | {
            "get": operation("One lifting", None),
            "put": declare_lifting,
            "delete": operation("Withdraw a lifting", "MeaningChange", query=(_DRY_RUN,)),
        },
    }
