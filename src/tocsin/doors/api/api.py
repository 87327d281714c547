"""`/api`: JSON for programs and people, described by `/api/openapi.json`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tocsin.documents.ports.port import Broker
from tocsin.documents.subscriptions import (
    DeadLetterDocument,
    Page,
    RedriveRequest,
    RenewRequest,
    SubscribeRequest,
    SubscriptionDocument,
)
from tocsin.doors.api import openapi
from tocsin.doors.api.cloudevents_subscriptions import PATH as CE_SUBSCRIPTIONS
from tocsin.doors.api.cloudevents_subscriptions import CeSubscriptionHandlers
from tocsin.doors.api.consumers import ConsumerHandlers
from tocsin.doors.api.declarations import CATEGORIES, PRODUCERS, SPACES, TYPES, DeclarationHandlers
from tocsin.doors.api.interactions import InteractionHandlers
from tocsin.doors.api.notifiers import DISSEMINATIONS, NOTIFIERS, NotifierHandlers
from tocsin.doors.api.pull_points import PullHandlers
from tocsin.doors.api.queries import asked_flag, asked_limit, asked_whole
from tocsin.doors.api.registrations import RegistrationHandlers
from tocsin.doors.api.semantics import LIFTINGS, ONTOLOGIES, MeaningHandlers
from tocsin.doors.api.sockets import socket_routes
from tocsin.doors.api.topics import TOPICS, TopicHandlers
from tocsin.doors.api.traces import TRACE, TraceHandlers
from tocsin.doors.api.world import WORLD, WorldHandlers
from tocsin.doors.gate import Gate
from tocsin.matching.resolution import as_said
from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Reply
from tocsin.mediation.times import timestamp
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.wire.asgi import only, read_body

Handler = Callable[[Request], Awaitable[Response]]


OPEN = ("/healthz", "/api/openapi.json", "/api/consents/{id}")  # to everybody


def api(gate: Gate) -> Starlette:
    handlers = _Handlers  # one is made for each request, with the broker as its caller may see it
    routes = [
        _at("/api/subscriptions", GET=handlers.subscriptions, POST=handlers.subscribe),
        _at("/api/subscriptions/{id}", GET=handlers.subscription, DELETE=handlers.unsubscribe),
        _at("/api/subscriptions/{id}/renew", POST=handlers.renew),
        _at("/api/subscriptions/{id}/pause", POST=handlers.pause),
        _at("/api/subscriptions/{id}/resume", POST=handlers.resume),
        _at("/api/subscriptions/{id}/explain", GET=handlers.explain),
        _at(TRACE, GET=handlers.trace),
        _at(TRACE + "/{message:path}", GET=handlers.trace),
        _at(
            CE_SUBSCRIPTIONS,
            GET=handlers.ce_subscriptions,
            POST=handlers.ce_subscribe,
            OPTIONS=handlers.ce_features,
        ),
        _at(
            CE_SUBSCRIPTIONS + "/{id}",
            GET=handlers.ce_subscription,
            PUT=handlers.ce_replace,
            DELETE=handlers.ce_unsubscribe,
            OPTIONS=handlers.ce_features,
        ),
        _at("/api/secrets", GET=handlers.secrets, POST=handlers.add_secret),
        _at("/api/secrets/{id}", DELETE=handlers.remove_secret),
        _at("/api/consents", GET=handlers.consents),
        _at("/api/consents/{id}", GET=handlers.give_consent, POST=handlers.give_consent),
        _at("/api/dead-letters", GET=handlers.dead_letters),
        _at("/api/dead-letters/redrive", POST=handlers.redrive),
        _at("/api/topics", GET=handlers.topics),
        _at(
            "/api/topics/namespaces",
            GET=handlers.topic_namespaces,
            PUT=handlers.declare_topics,
            DELETE=handlers.withdraw_topics,
        ),
        _at("/api/topics/current", GET=handlers.current_message),
        _at(TOPICS, GET=handlers.topic_document),
        _at("/api/pullpoints", POST=handlers.create_pull_point),
        _at("/api/pullpoints/{id}", GET=handlers.pull_point, DELETE=handlers.destroy_pull_point),
        _at("/api/pullpoints/{id}/messages", GET=handlers.messages),
        _at("/api/pullpoints/{id}/stream", GET=handlers.stream),
        _at("/api/stream", GET=handlers.own_stream),
        _at("/api/pullpoints/{id}/socket", GET=handlers.upgrade),
        _at("/api/socket", GET=handlers.upgrade),
        *socket_routes(),
        _at("/api/registrations", GET=handlers.registrations, POST=handlers.register),
        _at("/api/registrations/{id}", GET=handlers.registration, DELETE=handlers.destroy_registration),
        *_declaration_routes(),
        *_world_routes(),
        *_interaction_routes(),
        _at(NOTIFIERS, GET=handlers.notifiers, POST=handlers.create_notifier),
        _at(NOTIFIERS + "/{name}", GET=handlers.notifier, DELETE=handlers.remove_notifier),
        _at(NOTIFIERS + "/{name}/publish", POST=handlers.publish_through),
        _at(DISSEMINATIONS, GET=handlers.disseminations),
        _at(DISSEMINATIONS + "/{id}", GET=handlers.dissemination),
        _at("/api/status", GET=handlers.status),
        _at("/api/openapi.json", GET=handlers.openapi),
        _at("/healthz", GET=handlers.healthz),
    ]
    application = Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_allowed})
    application.state.gate = gate
    return application


class _Handlers(
    CeSubscriptionHandlers,
    ConsumerHandlers,
    DeclarationHandlers,
    InteractionHandlers,
    MeaningHandlers,
    NotifierHandlers,
    PullHandlers,
    RegistrationHandlers,
    TopicHandlers,
    TraceHandlers,
    WorldHandlers,
):
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def subscriptions(self, request: Request) -> Response:
        limit = asked_limit(request)
        found = self._broker.subscriptions(request.query_params.get("after", ""), limit)
        tallies = await self._broker.tallies([each.id for each in found])
        items = [self._told(each, tallies[each.id]) for each in found]
        return _json(Page(items, items[-1].id if len(items) == limit else None))

    async def subscribe(self, request: Request) -> Response:
        asked = await self._read(request, SubscribeRequest)
        made = await self._broker.subscribe(asked.normalised(self._broker.now()))
        return _json(self._told(made), 201, {"Location": f"{self._broker.base_url}/api/subscriptions/{made.id}"})

    async def subscription(self, request: Request) -> Response:
        found = self._broker.subscription(request.path_params["id"])
        tallies = await self._broker.tallies([found.id])
        return _json(self._told(found, tallies[found.id]))

    async def renew(self, request: Request) -> Response:
        asked = await self._read(request, RenewRequest)
        renewed = await self._broker.renew(asked.normalised(request.path_params["id"], self._broker.now()))
        return _json(self._told(renewed))

    async def pause(self, request: Request) -> Response:
        return _json(self._told(await self._broker.pause(request.path_params["id"])))

    async def resume(self, request: Request) -> Response:
        return _json(self._told(await self._broker.resume(request.path_params["id"])))

    def _told(self, subscription: Subscription, tally: tuple[int, int, int] = (0, 0, 0)) -> SubscriptionDocument:
        return SubscriptionDocument.of(as_said(subscription, self._broker.known), tally)

    async def unsubscribe(self, request: Request) -> Response:
        """By the subscriber; with `cancel` by somebody else, and the subscriber is told."""
        end = self._broker.cancel if asked_flag(request, "cancel") else self._broker.unsubscribe
        await end(request.path_params["id"])
        return Response(status_code=204)

    async def dead_letters(self, request: Request) -> Response:
        limit = asked_limit(request)
        after = asked_whole(request, "after", 0)
        subscription = request.query_params.get("subscription")
        found = await asyncio.to_thread(self._broker.dead_letters, after, limit, subscription)
        items = [DeadLetterDocument.of(each) for each in found]
        return _json(Page(items, str(items[-1].id) if len(items) == limit else None))

    async def redrive(self, request: Request) -> Response:
        asked = await self._read(request, RedriveRequest)
        return _json({"redriven": await self._broker.redrive(asked.ids)})

    async def status(self, request: Request) -> Response:
        del request
        return _json(self._broker.figures())

    async def openapi(self, request: Request) -> Response:
        del request
        return _json(openapi.document(self._broker.base_url))

    async def healthz(self, request: Request) -> Response:
        del request
        if (problem := self._broker.problem()) is not None:
            return _json({"status": "failing", "reason": problem}, 503)
        return _json({"status": "ok", "time": timestamp(self._broker.now())})

    async def _read(self, request: Request, kind: Any) -> Any:
        """The body as that kind; an empty one as its defaults, where it has them."""
        body = await read_body(request.scope, request.receive, self._broker.body_limit)
        try:
            return msgspec.json.decode(body or b"{}", type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refusal("malformed", str(error)) from None


def _interaction_routes() -> list[Route]:
    handlers = _Handlers
    return [
        _at("/api/patterns", GET=handlers.patterns),
        _at("/api/requests", GET=handlers.requests, POST=handlers.ask),
        _at("/api/requests/{id}", GET=handlers.request, DELETE=handlers.end_request),
        _at("/api/requests/{id}/answer", POST=handlers.answer),
        _at("/api/interactions", GET=handlers.interactions, POST=handlers.tell),
        _at("/api/notifications/{offset}/{index}", GET=handlers.notification),
    ]


def _declaration_routes() -> list[Route]:
    """An address has slashes."""
    handlers = _Handlers
    return [
        _at(SPACES, GET=handlers.spaces),
        _at(f"{SPACES}/{{name}}", GET=handlers.space, PUT=handlers.declare_space, DELETE=handlers.withdraw_space),
        _at(TYPES, GET=handlers.types, PUT=handlers.declare_types),
        _at(CATEGORIES, GET=handlers.producer_categories, PUT=handlers.declare_categories),
        _at(PRODUCERS, GET=handlers.producers),
        _at(
            f"{PRODUCERS}/{{address:path}}",
            GET=handlers.producer,
            PUT=handlers.declare_producer,
            DELETE=handlers.withdraw_producer,
        ),
        _at(ONTOLOGIES, GET=handlers.ontologies),
        _at(
            f"{ONTOLOGIES}/{{name}}",
            GET=handlers.ontology,
            PUT=handlers.declare_ontology,
            DELETE=handlers.withdraw_ontology,
        ),
        _at(LIFTINGS, GET=handlers.liftings),
        _at(
            f"{LIFTINGS}/{{name}}",
            GET=handlers.lifting,
            PUT=handlers.declare_lifting,
            DELETE=handlers.withdraw_lifting,
        ),
    ]


def _world_routes() -> list[Route]:
    """Topics and categories may have a slash in their names."""
    handlers = _Handlers
    return [
        _at(WORLD, GET=handlers.world, PUT=handlers.put_world),
        _at(f"{WORLD}/topics", GET=handlers.world_topics),
        _at(
            f"{WORLD}/topics/{{name:path}}",
            GET=handlers.world_topic,
            PUT=handlers.put_world_topic,
            DELETE=handlers.remove_world_topic,
        ),
        _at(f"{WORLD}/categories", GET=handlers.categories),
        _at(
            f"{WORLD}/categories/{{name:path}}",
            GET=handlers.category,
            PUT=handlers.put_category,
            DELETE=handlers.remove_category,
        ),
        _at(f"{WORLD}/services", GET=handlers.services),
        _at(
            f"{WORLD}/services/{{name}}",
            GET=handlers.service,
            PUT=handlers.put_service,
            PATCH=handlers.change_service,
            DELETE=handlers.remove_service,
        ),
        _at(f"{WORLD}/edges", GET=handlers.edges, PUT=handlers.put_edge, DELETE=handlers.remove_edge),
        _at(f"{WORLD}/edges/votes", POST=handlers.vote),
        _at(f"{WORLD}/rules", GET=handlers.rules, PUT=handlers.put_rules),
        _at(f"{WORLD}/neighbours", GET=handlers.neighbours),
        _at(f"{WORLD}/history", GET=handlers.world_history),
    ]


def _at(path: str, **handlers: Callable[[_Handlers, Request], Awaitable[Response]]) -> Route:
    """One route for all methods of a path, so that who asks for another is told of all of them."""

    async def dispatch(request: Request) -> Response:
        gate: Gate = request.app.state.gate
        broker = gate.broker if path in OPEN else gate.of(request.scope)
        return await handlers["GET" if request.method == "HEAD" else request.method](_Handlers(broker), request)

    return Route(path, _guarded(dispatch), methods=list(handlers))


def _guarded(handler: Handler) -> Handler:
    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except Refusal as refusal:
            return _response(problem(refusal))

    return guarded


def _response(reply: Reply) -> Response:
    """A header may come twice: there is a challenge for each scheme."""
    response = Response(reply.body, reply.status)
    for name, value in reply.headers:
        response.headers.append(name, value)
    return response


async def _not_found(request: Request, error: Exception) -> Response:
    del error
    reply = problem(Refusal("unknown-operation", f"nothing is at {request.url.path}; /api/openapi.json lists what is"))
    return Response(reply.body, reply.status, dict(reply.headers))


async def _not_allowed(request: Request, error: Exception) -> Response:
    del request
    allowed = (getattr(error, "headers", None) or {}).get("Allow", "")
    reply = only(*sorted(each for each in allowed.split(", ") if each != "HEAD"))
    return Response(reply.body, reply.status, dict(reply.headers))


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
