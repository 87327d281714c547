"""`client.notifiers`: the notifiers of a node, and what became of what was published through them."""

import base64
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, Raw, UnsetType

from tocsin.client.api import AT_ONCE, JSON, Resource, Way, below, with_query
from tocsin.client.calls import call, either
from tocsin.client.publishing import AwaitedPublishThrough, WaitedPublishThrough
from tocsin.client.replies import For, ReplyView, asked_of, named_view
from tocsin.documents.notifiers import (
    DISSEMINATIONS,
    NOTIFIERS,
    DisseminationDocument,
    DisseminationRow,
    NotifierDocument,
    NotifierRequest,
    PublishedDocument,
    PublishRequest,
)
from tocsin.routing.implicit.protocols import DEFAULT


class Notifiers(Resource[Way]):
    @call
    async def list(self) -> Sequence[NotifierDocument]:
        return await self._pages(NotifierDocument, NOTIFIERS)

    @call
    async def get(self, name: str) -> NotifierDocument:
        return await self._ask(NotifierDocument, "GET", below(NOTIFIERS, name))

    @call
    async def create(
        self,
        name: str,
        categories: Sequence[str],
        *,
        address: str = "",
        dialect: str = "",
        qualities: Mapping[str, float] | None = None,
        policies: Sequence[str] = (),
        tells: Mapping[str, str] | None = None,
        by: str = "",
        owner: str = "",
    ) -> NotifierDocument:
        """Registers a service under its categories, with a notifier at this node. It is told at `address` in `dialect`;
        without one what is for it waits in a pull point, whose id is `subscription`, and `owner` may fetch it."""
        about = (dict(qualities or {}), [*policies], dict(tells or {}))
        request = NotifierRequest(name, [*categories], address, dialect, *about, by, owner)
        return await self._ask(NotifierDocument, "POST", NOTIFIERS, request)

    @call
    async def remove(self, name: str, *, by: str = "") -> None:
        await self._send("DELETE", with_query(below(NOTIFIERS, name), by=by))

    async def _publish(
        self,
        name: str,
        topic: str,
        data: object = "",
        *,
        media_type: str = "",
        protocol: str = DEFAULT,
        limit: int | None = None,
        only: Sequence[str] | None = None,
        reply_type: str | None = None,
        reply_for: For = "",
    ) -> "str | ReplyView[Way]":
        """Publish(T, D) through a notifier; returns the id when it is on disk, and `result` tells what became of it.

        Text and bytes are sent as they are, anything else as JSON. With `only`, and the protocol `direct`, those are
        told and nobody else. With `reply_type` whoever is told can reply, and the result is the view of the replies.
        """
        told, asked = None if only is None else [*only], asked_of(reply_type, reply_for)
        replies = ("", "") if asked is None else (asked.type, asked.within)
        request = PublishRequest(topic, *payload_of(data, media_type), protocol, limit, told, *replies)
        made = await self._ask(PublishedDocument, "POST", below(NOTIFIERS, name, "publish"), request)
        return made.id if asked is None else named_view(self._connection, self._loop, made.view, made.id)

    publish: either[AwaitedPublishThrough, WaitedPublishThrough] = either(_publish)

    @call
    async def result(self, message: str, *, wait: float = 0.0) -> DisseminationDocument:
        """As far as it is known; waits so many seconds for its end."""
        left = wait
        while True:
            now = min(left, AT_ONCE)
            path = with_query(below(DISSEMINATIONS, message), wait=f"{now:.3f}")
            found = await self._ask(DisseminationDocument, "GET", path)
            left -= now
            if found.complete or left <= 0:
                return found

    @call
    async def results(self, limit: int = 100) -> Sequence[DisseminationRow]:
        """The latest messages that were published through notifiers of this node."""
        return await self._pages(DisseminationRow, DISSEMINATIONS, limit)


def payload_of(data: object, media_type: str) -> tuple[Raw | UnsetType, str | None, str]:
    """`data`, `data_base64` and `media_type` of a document: text and bytes as they are, anything else as JSON."""
    if isinstance(data, str):
        data, media_type = data.encode(), media_type or "text/plain"
    if isinstance(data, bytes):
        return UNSET, base64.b64encode(data).decode(), media_type or "application/octet-stream"
    return Raw(msgspec.json.encode(data)), None, media_type or JSON
