"""`/api/ontologies` and `/api/liftings`: what graph patterns are about, and how other payloads become event graphs."""

import asyncio
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents import semantics as d
from tocsin.documents.ports.port import Broker
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.declarations import named
from tocsin.doors.api.queries import asked_flag
from tocsin.model.declarations import Declaration, Withdrawn
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.ontology_documents import read_ontology, write_ontology
from tocsin.semantics.events.lifting_json import lifting_of_json, write_lifting
from tocsin.semantics.suggestions import known_names
from tocsin.wire.asgi import read_body

Found = TypeVar("Found")
ONTOLOGIES, LIFTINGS = "/api/ontologies", "/api/liftings"
TURTLE = "text/turtle"
SYNTAXES = (TURTLE, "application/rdf+xml", "application/ld+json", "application/n-triples")


class MeaningHandlers:
    _broker: Broker

    async def ontologies(self, request: Request) -> Response:
        del request
        found = sorted(self._broker.known.ontologies.items())
        return _json(Page([d.OntologySummary.of(each) for _, each in found], None))

    async def ontology(self, request: Request) -> Response:
        """As JSON unless Turtle is asked for."""
        name = named(request, ONTOLOGIES)
        found = _of(self._broker.known.ontologies, "ontology", name)
        if TURTLE not in request.headers.get("accept", "").lower():
            return await asyncio.to_thread(lambda: _json(d.OntologyDocument.of(found)))
        written = await asyncio.to_thread(write_ontology, found)
        return Response(written, media_type=TURTLE)

    async def declare_ontology(self, request: Request) -> Response:
        self._broker.check_may_declare()
        name, syntax = named(request, ONTOLOGIES), _syntax(request)
        body = await read_body(request.scope, request.receive, self._broker.body_limit)
        what = await asyncio.to_thread(read_ontology, body, syntax, name)
        made, sizes = await self._changed(request, name, what), d.OntologySummary.of(what)
        counted = (sizes.classes, sizes.properties, sizes.statements, sizes.individuals)
        return _json(d.OntologyChange(name, made.suspended, made.dry_run, *counted))

    async def withdraw_ontology(self, request: Request) -> Response:
        name = named(request, ONTOLOGIES)
        return _json(await self._changed(request, name, Withdrawn("ontology", name)))

    async def liftings(self, request: Request) -> Response:
        del request
        found = [each for _, each in sorted(self._broker.known.liftings.items())]
        return _json(Page([d.LiftingSummary(e.name, e.syntax, list(e.types), e.strict) for e in found], None))

    async def lifting(self, request: Request) -> Response:
        name = named(request, LIFTINGS)
        return Response(write_lifting(_of(self._broker.known.liftings, "lifting", name)), media_type="application/json")

    async def declare_lifting(self, request: Request) -> Response:
        self._broker.check_may_declare()
        name = named(request, LIFTINGS)
        body = await read_body(request.scope, request.receive, self._broker.body_limit)
        what = lifting_of_json(body, name, self._broker.known.concepts.prefixes)
        return _json(await self._changed(request, name, what))

    async def withdraw_lifting(self, request: Request) -> Response:
        name = named(request, LIFTINGS)
        return _json(await self._changed(request, name, Withdrawn("lifting", name)))

    async def _changed(self, request: Request, name: str, what: Declaration) -> d.MeaningChange:
        dry_run = asked_flag(request, "dry-run")
        return d.MeaningChange.of(name, await self._broker.declare_meaning(what, dry_run=dry_run), dry_run)


def _of(known: Mapping[str, Found], what: str, name: str) -> Found:
    if name not in known:
        raise Refusal("unknown-name", f"there is no {what} {name[:80]!r}; {known_names(name, sorted(known))}")
    return known[name]


def _syntax(request: Request) -> str:
    """By the Content-Type; Turtle where none is said."""
    kind = request.headers.get("content-type", TURTLE).partition(";")[0].strip().lower()
    if kind not in SYNTAXES:
        raise Refusal("malformed", f"an ontology cannot be read from {kind[:80]!r}; send {', '.join(SYNTAXES)}")
    return kind


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
