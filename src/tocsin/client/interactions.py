"""Services that interact, by the patterns of paper 000 s2.1: over the JSON API whatever the dialect."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import UNSET, Struct

from tocsin.client.answers import ClientError
from tocsin.client.connection import Connection
from tocsin.client.json_speech import JSON, decoded
from tocsin.client.world import Notifiers, _payload
from tocsin.documents.interactions import (
    InteractionDocument,
    PatternDocument,
    RequestDocument,
    ToldDocument,
)
from tocsin.documents.notifiers import NotifierDocument
from tocsin.documents.subscriptions import Page
from tocsin.flow.thin import NOTIFICATIONS, REFERENCE
from tocsin.model.notification import Notification, Payload

Kind = TypeVar("Kind")


class Told(ToldDocument, frozen=True):
    """What was sent, to which services, and which requests are answered by it."""


class Request(RequestDocument, frozen=True):
    """What one service asked of another; `of` is who was asked, or picked by the broker."""

    def content(self) -> Any:
        """What was asked; lists of requests are without that."""
        return None if self.data is UNSET else msgspec.json.decode(self.data)


class Interacting:
    """A base of `Client`, which has these."""

    _connection: Connection
    notifiers: Notifiers

    @contextlib.asynccontextmanager
    async def serving(
        self,
        name: str,
        categories: Sequence[str],
        *,
        address: str = "",
        dialect: str = "",
        qualities: Mapping[str, float] | None = None,
        policies: Sequence[str] = (),
        tells: Mapping[str, str] | None = None,
    ) -> AsyncIterator[NotifierDocument]:
        """A service with a notifier, for as long as it is open; without an address `subscription` is its pull point."""
        made = await self.notifiers.create(
            name,
            categories,
            address=address,
            dialect=dialect,
            qualities=qualities,
            policies=policies,
            tells=tells,
        )
        try:
            yield made
        finally:
            with contextlib.suppress(ClientError):
                await self.notifiers.remove(name)

    async def patterns(self) -> Sequence[PatternDocument]:
        """The eight, by name: who begins, and what then happens."""
        return (await self._api("GET", "/api/patterns", Page[PatternDocument])).items

    async def ask(
        self,
        pattern: str,
        topic: str,
        data: object = None,
        *,
        by: str,
        of: str = "",
        category: str = "",
        qualities: Mapping[str, Mapping[str, Any]] | None = None,
        policies: Sequence[str] = (),
        also: str = "",
        channel: str = "",
        media_type: str = "",
    ) -> Request:
        """The service `by` asks the service `of`; what it asked is on its way when this returns.

        With pull-1:1-implicit the broker picks a producer of `category` that has all `policies`, by `qualities` such as
        `{"price": {"weight": 2, "better": "lower", "at_most": 400}}`; `chosen_because` tells how. With
        pull-1:n-implicit the answer goes to others too: `also` is interests, or channel for all who hear that topic.
        With push-1:1-explicit and push-1:n-explicit it is a subscription, which stands until it is ended.
        """
        asked = {
            "pattern": pattern,
            "topic": topic,
            "by": by,
            "of": of,
            "category": category,
            "profile": {"qualities": dict(qualities or {}), "policies": list(policies)},
            "also": also,
            "channel": channel,
        }
        return await self._api("POST", "/api/requests", Request, asked | _payload(data, media_type))

    async def answer(self, request: Struct | str, data: object = None, *, by: str, media_type: str = "") -> Told:
        """By the producer that was asked; `request` is what it was asked, or its id or address."""
        said = {"by": by, **_payload(data, media_type)}
        return await self._api("POST", f"{_place(request)}/answer", Told, said)

    async def tell(
        self,
        pattern: str,
        topic: str,
        data: object = None,
        *,
        by: str,
        protocol: str = "",
        media_type: str = "",
    ) -> Told:
        """The service `by` tells those whom a push pattern names; `protocol` is for push-1:n-implicit."""
        said = {"pattern": pattern, "topic": topic, "by": by, "protocol": protocol, **_payload(data, media_type)}
        return await self._api("POST", "/api/interactions", Told, said)

    async def end_request(self, request: Struct | str, *, by: str = "") -> None:
        """By the consumer: it is told nothing more."""
        query = f"?{urlencode({'by': by})}" if by else ""
        await self._connection.request("DELETE", f"{self._connection.broker}{_place(request)}{query}")

    async def request(self, request: Struct | str) -> Request:
        """As it stands."""
        return await self._api("GET", _place(request), Request)

    async def requests(self, *, state: str = "", service: str = "", limit: int = 1000) -> Sequence[Request]:
        """Open, answered or ended ones; those in which a service has a part."""
        query = _query(state=state, service=service, limit=str(limit))
        return (await self._api("GET", f"/api/requests{query}", Page[Request])).items

    async def interactions(
        self, *, request: str = "", service: str = "", limit: int = 1000
    ) -> Sequence[InteractionDocument]:
        """Who asked, who answered, who was told."""
        query = _query(request=request, service=service, limit=str(limit))
        return (await self._api("GET", f"/api/interactions{query}", Page[InteractionDocument])).items

    async def fetch(self, notice: Notification) -> Payload:
        """What a thin notice tells of. It is asked of this client's own broker, wherever the notice points."""
        path = urlsplit(notice.attribute(REFERENCE) or "").path
        if NOTIFICATIONS not in path:
            raise ClientError("that is no thin notice of a broker: it does not say where the data is")
        url = self._connection.broker + path[path.index(NOTIFICATIONS) :]
        answer = await self._connection.request("GET", url)
        kind = next((value for name, value in answer.headers if name.lower() == "content-type"), "")
        return Payload(kind, answer.body)

    async def _api(self, method: str, path: str, kind: type[Kind], body: object = UNSET) -> Kind:
        said = b"" if body is UNSET else msgspec.json.encode(body)
        answer = await self._connection.request(method, self._connection.broker + path, JSON, said)
        return decoded(answer.body, kind)


def _place(request: Struct | str) -> str:
    """Of a request, a notification that told of one, an id or an address."""
    name = request
    if isinstance(request, Notification):
        name = request.attribute("request") or ""
    elif isinstance(request, RequestDocument):
        name = request.id
    text = str(name).rstrip("/").rpartition("/")[2]
    if not text or not isinstance(name, str):
        raise ClientError("that is no request: give what was asked, the notification that told of it, or its id")
    return f"/api/requests/{quote(text, safe='')}"


def _query(**given: str) -> str:
    said = {name: value for name, value in given.items() if value}
    return f"?{urlencode(said)}" if said else ""
