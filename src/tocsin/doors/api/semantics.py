"""`/api/ontologies` and `/api/liftings`: what graph patterns are about, and how other payloads become event graphs."""

import asyncio
from typing import Annotated

from starlette.responses import Response

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents import semantics as d
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.declarations import declared
from tocsin.doors.api.parameters import FLAG, TEXT, Body, Header, Path, Query, flag
from tocsin.doors.api.router import JSON, Large, Resource
from tocsin.model.declarations import Declaration, Withdrawn
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.ontology_documents import read_ontology, write_ontology
from tocsin.semantics.events.lifting_json import lifting_of_json, write_lifting

TURTLE = "text/turtle"
SYNTAXES = (TURTLE, "application/rdf+xml", "application/ld+json", "application/n-triples")
Name = Annotated[str, Path(schema={"type": "string", "maxLength": 128}, exact=True)]
DryRun = Annotated[bool, Query("Say what would be suspended, and change nothing", flag, FLAG, name="dry-run")]

ontologies = Resource(d.ONTOLOGIES)
liftings = Resource(d.LIFTINGS)


@ontologies.get(says="Ontologies that were declared")
def list_ontologies(node: Node, caller: Caller) -> Page[d.OntologySummary]:
    caller.anybody()
    found = sorted(node.declarations.known.ontologies.items())
    return Page([d.OntologySummary.of(each) for _, each in found], None)


@ontologies.get("/{name}", says="One ontology, as JSON or for who accepts it as Turtle", returns={TURTLE: TEXT})
def get_ontology(
    node: Node, caller: Caller, name: Name, accept: Annotated[str, Header("", "accept")] = ""
) -> Large[d.OntologyDocument | Response]:
    caller.anybody()
    found = declared(node.declarations.known.ontologies, "ontology", name)
    if TURTLE in accept.lower():
        return Large(lambda: Response(write_ontology(found), media_type=TURTLE))
    return Large(lambda: d.OntologyDocument.of(found))


@ontologies.put("/{name}", says="Declare an ontology; subscriptions it breaks are suspended")
async def declare_ontology(
    node: Node,
    caller: Caller,
    name: Name,
    body: Annotated[bytes, Body(dict.fromkeys(SYNTAXES, TEXT))],
    content_type: Annotated[str, Header("", "content-type")] = TURTLE,
    dry_run: DryRun = False,
) -> d.OntologyChange:
    """Who may not is refused before it is read: that may take long."""
    node.semantics.check_may_declare(caller)
    what = await asyncio.to_thread(read_ontology, body, _syntax(content_type), name)
    change, sizes = await _changed(node, caller, name, what, dry_run), d.OntologySummary.of(what)
    counted = (sizes.classes, sizes.properties, sizes.statements, sizes.individuals)
    return d.OntologyChange(name, change.suspended, dry_run, *counted)


@ontologies.delete("/{name}", says="Withdraw an ontology that no other needs")
async def withdraw_ontology(node: Node, caller: Caller, name: Name, dry_run: DryRun = False) -> d.MeaningChange:
    return await _changed(node, caller, name, Withdrawn("ontology", name), dry_run)


@liftings.get(says="Liftings that were declared")
def list_liftings(node: Node, caller: Caller) -> Page[d.LiftingSummary]:
    caller.anybody()
    found = [each for _, each in sorted(node.declarations.known.liftings.items())]
    return Page([d.LiftingSummary(each.name, each.syntax, list(each.types), each.strict) for each in found], None)


@liftings.get("/{name}", says="One lifting")
def get_lifting(node: Node, caller: Caller, name: Name) -> Response:
    caller.anybody()
    return Response(write_lifting(declared(node.declarations.known.liftings, "lifting", name)), media_type=JSON)


@liftings.put("/{name}", says="Declare a lifting")
async def declare_lifting(
    node: Node,
    caller: Caller,
    name: Name,
    body: Annotated[bytes, Body({JSON: {"type": "object"}})],
    dry_run: DryRun = False,
) -> d.MeaningChange:
    node.semantics.check_may_declare(caller)
    what = lifting_of_json(body, name, node.declarations.known.concepts.prefixes)
    return await _changed(node, caller, name, what, dry_run)


@liftings.delete("/{name}", says="Withdraw a lifting")
async def withdraw_lifting(node: Node, caller: Caller, name: Name, dry_run: DryRun = False) -> d.MeaningChange:
    return await _changed(node, caller, name, Withdrawn("lifting", name), dry_run)


async def _changed(node: Node, caller: Caller, name: str, what: Declaration, dry_run: bool) -> d.MeaningChange:
    return d.MeaningChange.of(name, await node.semantics.declare(caller, what, dry_run=dry_run), dry_run)


def _syntax(content_type: str) -> str:
    """By the Content-Type; Turtle where none is said."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in SYNTAXES:
        raise Refusal("malformed", f"an ontology cannot be read from {kind[:80]!r}; send {', '.join(SYNTAXES)}")
    return kind
