"""A broker spoken to by its JSON API: for CloudEvents, and whatever else is not SOAP."""

from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Raw, Struct

from tocsin.client import filters, reading, requests
from tocsin.client.answers import ClientError
from tocsin.client.connection import Connection, now
from tocsin.client.values import Lease, PullPoint, Registration, Status, Wanted, lease
from tocsin.mediation.rules import Dialect
from tocsin.model.identity import Pairs
from tocsin.model.names import Topic
from tocsin.model.notification import Notification

Kind = TypeVar("Kind")
JSON: Pairs = (("Content-Type", "application/json"),)


class _Resource(Struct):
    """A subscription, a pull point or a registration."""

    id: str
    expires: str | None = None
    state: str = ""
    reason: str = ""


class _Message(Struct):
    event: Raw


class _Messages(Struct):
    items: list[_Message]


class JsonSpeech:
    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection, self._dialect = connection, dialect
        self._api = f"{connection.broker}/api"

    def address_of(self, name: str, what: str = "subscriptions") -> str:
        return f"{self._api}/{what}/{quote(name, safe='')}"

    async def publish(self, notification: Notification) -> None:
        url, (headers, body) = requests.publication(self._dialect, notification, self._connection.broker)
        await self._connection.request("POST", url, headers, body)

    async def subscribe(self, wanted: Wanted) -> Lease:
        if wanted.end_to:
            raise ClientError(f"{self._dialect.title} has no place for end_to: the API tells how a subscription stands")
        asked = _asked(wanted) | {
            "consumer": wanted.consumer,
            "dialect": self._dialect.name,
            "mode": _mode(wanted),
            "together": wanted.together if wanted.together != 1 else None,
            "secret": wanted.secret or None,
            "consent": wanted.consent,
            "thin": wanted.thin,
        }
        return self._lease(await self._post(f"{self._api}/subscriptions", asked))

    async def renew(self, lease_: Lease, expires: str) -> Lease:
        renewed = self._lease(await self._post(f"{self._of(lease_)}/renew", {"expires": expires or None}))
        return _point(renewed, lease_.address) if isinstance(lease_, PullPoint) else renewed

    async def status(self, lease_: Lease) -> Status:
        found = decoded((await self._connection.request("GET", self._of(lease_))).body, _Resource)
        return Status(found.expires or "", found.state, found.reason)

    async def pause(self, lease_: Lease) -> None:
        await self._post(f"{self._of(lease_)}/pause", {})

    async def resume(self, lease_: Lease) -> None:
        await self._post(f"{self._of(lease_)}/resume", {})

    async def unsubscribe(self, lease_: Lease) -> None:
        await self._connection.request("DELETE", self._of(lease_))

    async def create_pull_point(self, wanted: Wanted) -> PullPoint:
        made = self._lease(await self._post(f"{self._api}/pullpoints", _asked(wanted)))
        return _point(made, self.address_of(made.id, "pullpoints"))

    async def pull(self, point: Lease, limit: int, wait: float) -> Sequence[Notification]:
        url = f"{self.address_of(point.id, 'pullpoints')}/messages?limit={limit}&wait={wait:.3f}"
        page = decoded((await self._connection.request("GET", url)).body, _Messages)
        return reading.events([each.event for each in page.items], now())

    async def destroy_pull_point(self, point: Lease) -> None:
        await self._connection.request("DELETE", self.address_of(point.id, "pullpoints"))

    async def current_message(self, topic: Topic) -> Notification:
        url = f"{self._api}/topics/current?{urlencode({'topic': str(topic)})}"
        found = decoded((await self._connection.request("GET", url)).body, _Message)
        return reading.events([found.event], now())[0]

    async def register_publisher(
        self, publisher: str, topics: Sequence[Topic], demand: bool, expires: str
    ) -> Registration:
        asked = {
            "publisher": publisher or None,
            "topics": list(map(str, topics)),
            "demand": demand,
            "expires": expires or None,
        }
        found = await self._post(f"{self._api}/registrations", asked)
        return Registration(self.address_of(found.id, "registrations"), f"{self._connection.broker}/events")

    async def destroy_registration(self, registration: Registration) -> None:
        await self._connection.request("DELETE", self.address_of(registration.id, "registrations"))

    def _of(self, lease_: Lease) -> str:
        """A pull point is a subscription too; only messages are pulled elsewhere."""
        return self.address_of(lease_.id)

    def _lease(self, found: _Resource) -> Lease:
        return lease(self.address_of(found.id), found.expires or "", now())

    async def _post(self, url: str, body: object) -> _Resource:
        answer = await self._connection.request("POST", url, JSON, msgspec.json.encode(body))
        return decoded(answer.body, _Resource)


def decoded(body: bytes, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ClientError(f"the answer cannot be read: {problem}") from None


def _asked(wanted: Wanted) -> dict[str, Any]:
    return {
        "topic": wanted.topic or None,
        "topic_dialect": wanted.topic_dialect,
        "namespaces": dict(wanted.namespaces),
        "filters": filters.documents(wanted),
        "expires": wanted.expires or None,
        "from": _start(wanted.start),
        "graph": wanted.deliver_as or None,
        "bindings": wanted.bindings,
    }


def _mode(wanted: Wanted) -> str:
    if wanted.mode == "batched" or wanted.together > 1:
        return "batched"
    return "binary" if wanted.raw else "structured"


def _start(start: int | str | None) -> dict[str, Any] | None:
    if start is None:
        return None
    return {"offset": start} if isinstance(start, int) else {"time": start}


def _point(own: Lease, address: str) -> PullPoint:
    return PullPoint(address, own.expires, own.seconds)
