"""Services that interact, by the patterns of paper 000 s2.1: over the JSON API whatever the dialect."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from tocsin.client.api import Resource, Way, below, with_query
from tocsin.client.calls import call, context
from tocsin.client.errors import ClientError
from tocsin.client.notifiers import Notifiers, payload_of
from tocsin.documents.interactions import (
    INTERACTIONS,
    PATTERNS,
    REQUESTS,
    AnswerRequest,
    AskRequest,
    InteractionDocument,
    PatternDocument,
    RequestDocument,
    TellRequest,
    ToldDocument,
)
from tocsin.documents.notifiers import NotifierDocument
from tocsin.flow.thin import REFERENCE
from tocsin.model import paths
from tocsin.model.interactions import Also, Preference, Profile
from tocsin.model.notification import Notification, Payload


class Interactions(Resource[Way]):
    @context
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
        notifiers = Notifiers(self._connection, None)
        made = await notifiers.create(
            name, categories, address=address, dialect=dialect, qualities=qualities, policies=policies, tells=tells
        )
        try:
            yield made
        finally:
            with contextlib.suppress(ClientError):
                await notifiers.remove(name)

    @call
    async def patterns(self) -> Sequence[PatternDocument]:
        """The eight, by name: who begins, and what then happens."""
        return await self._pages(PatternDocument, PATTERNS)

    @call
    async def ask(
        self,
        pattern: str,
        topic: str,
        data: object = None,
        *,
        by: str,
        of: str = "",
        category: str = "",
        qualities: Mapping[str, Preference | Mapping[str, Any]] | None = None,
        policies: Sequence[str] = (),
        also: Also = "",
        channel: str = "",
        media_type: str = "",
    ) -> RequestDocument:
        """The service `by` asks the service `of`; what it asked is on its way when this returns.

        With pull-1:1-implicit the broker picks a producer of `category` that has all `policies`, by `qualities` such as
        `{"price": {"weight": 2, "better": "lower", "at_most": 400}}`; `chosen_because` tells how. With
        pull-1:n-implicit the answer goes to others too: `also` is interests, or channel for all who hear that topic.
        With push-1:1-explicit and push-1:n-explicit it is a subscription, which stands until it is ended.
        """
        request = AskRequest(
            pattern=pattern,
            topic=topic,
            by=by,
            of=of,
            category=category,
            profile=Profile(cast(Mapping[str, Preference], qualities or {}), tuple(policies)),
            also=also,
            channel=channel,
            **_payload(data, media_type),
        )
        return await self._ask(RequestDocument, "POST", REQUESTS, request)

    @call
    async def answer(
        self, request: Struct | str, data: object = None, *, by: str, media_type: str = ""
    ) -> ToldDocument:
        """By the producer that was asked; `request` is what it was asked, or its id or address."""
        answer = AnswerRequest(by=by, **_payload(data, media_type))
        return await self._ask(ToldDocument, "POST", f"{_place(request)}/answer", answer)

    @call
    async def tell(
        self,
        pattern: str,
        topic: str,
        data: object = None,
        *,
        by: str,
        protocol: str = "",
        media_type: str = "",
    ) -> ToldDocument:
        """The service `by` tells those whom a push pattern names; `protocol` is for push-1:n-implicit."""
        request = TellRequest(pattern=pattern, topic=topic, by=by, protocol=protocol, **_payload(data, media_type))
        return await self._ask(ToldDocument, "POST", INTERACTIONS, request)

    @call
    async def end_request(self, request: Struct | str, *, by: str = "") -> None:
        """By the consumer: it is told nothing more."""
        await self._send("DELETE", with_query(_place(request), by=by))

    @call
    async def request(self, request: Struct | str) -> RequestDocument:
        """As it stands."""
        return await self._ask(RequestDocument, "GET", _place(request))

    @call
    async def requests(self, *, state: str = "", service: str = "", limit: int = 1000) -> Sequence[RequestDocument]:
        """Open, answered or ended ones; those in which a service has a part."""
        return await self._pages(RequestDocument, REQUESTS, limit, state=state, service=service)

    @call
    async def interactions(
        self, *, request: str = "", service: str = "", limit: int = 1000
    ) -> Sequence[InteractionDocument]:
        """Who asked, who answered, who was told."""
        return await self._pages(InteractionDocument, INTERACTIONS, limit, request=request, service=service)

    @call
    async def fetch(self, notice: Notification) -> Payload:
        """What a thin notice tells of. It is asked of this client's own broker, wherever the notice points."""
        path = urlsplit(notice.attribute(REFERENCE) or "").path
        if paths.NOTIFICATIONS not in path:
            raise ClientError("that is no thin notice of a broker: it does not say where the data is")
        url = self._connection.broker + path[path.index(paths.NOTIFICATIONS) :]
        answer = await self._connection.request("GET", url)
        kind = next((value for name, value in answer.headers if name.lower() == "content-type"), "")
        return Payload(kind, answer.body)


def _payload(data: object, media_type: str) -> dict[str, Any]:
    return dict(zip(("data", "data_base64", "media_type"), payload_of(data, media_type), strict=True))


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
    return below(REQUESTS, text)
