"""A dialect that is not SOAP, such as CloudEvents: everything but publishing goes by the JSON API."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tocsin.client import filters, notifications, requests
from tocsin.client.api import below
from tocsin.client.connection import Connection, now
from tocsin.client.errors import ClientError
from tocsin.client.reply_messages import Asked
from tocsin.client.resources import PullPoints, Registrations, Subscriptions, Topics
from tocsin.client.values import Lease, PullPoint, Registration, Status, Terms, lease
from tocsin.documents.pull_points import PULL_POINTS, PullPointDocument, PullPointRequest
from tocsin.documents.registrations import REGISTRATIONS, RegisterRequest
from tocsin.documents.subscriptions import SUBSCRIPTIONS, StartRequest, SubscribeRequest, SubscriptionDocument
from tocsin.flow.thin import as_event
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.rules import Dialect
from tocsin.model import paths
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.wire.answer import Answer

_PLACES = {
    "subscriptions": SUBSCRIPTIONS,
    "pullpoints": PULL_POINTS,
    "registrations": REGISTRATIONS,
}
# A field that both have goes from one to the other.
_SHARED = frozenset(Terms.__struct_fields__) & frozenset(SubscribeRequest.__struct_fields__)


class JsonBinding:
    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection, self._dialect = connection, dialect
        self._subscriptions, self._pull_points = Subscriptions(connection, None), PullPoints(connection, None)
        self._topics, self._registrations = Topics(connection, None), Registrations(connection, None)

    def address_of(self, name: str, what: str = "subscriptions") -> str:
        return self._connection.broker + below(_PLACES[what], name)

    async def publish(self, notification: Notification, asked: Asked | None = None) -> Answer:
        if asked is not None:
            told = as_event(notification) if self._dialect.name == cloudevents.NAME else notification
            notification = replace(told, attributes=(*told.attributes, *asked.attributes()))
        url, (headers, body) = requests.publication(self._dialect, notification, self._connection.broker)
        return await self._connection.request("POST", url, headers, body)

    async def subscribe(self, terms: Terms) -> Lease:
        if terms.end_to:
            raise ClientError(f"{self._dialect.title} has no place for end_to: the API tells how a subscription stands")
        request = SubscribeRequest(dialect=self._dialect.name, **_terms(terms))
        return self._lease(await self._subscriptions.create(request))

    async def renew(self, held: Lease, expires: str) -> Lease:
        """A pull point is a subscription too; only messages are pulled elsewhere."""
        renewed = self._lease(await self._subscriptions.renew(held.id, expires))
        return _point(renewed, held.address) if isinstance(held, PullPoint) else renewed

    async def status(self, held: Lease) -> Status:
        found = await self._subscriptions.get(held.id)
        return Status(found.expires or "", found.state, found.reason)

    async def pause(self, held: Lease) -> None:
        await self._subscriptions.pause(held.id)

    async def resume(self, held: Lease) -> None:
        await self._subscriptions.resume(held.id)

    async def unsubscribe(self, held: Lease) -> None:
        await self._subscriptions.remove(held.id)

    async def create_pull_point(self, terms: Terms) -> PullPoint:
        made = self._lease(await self._pull_points.create(PullPointRequest(**_terms(terms))))
        return _point(made, self.address_of(made.id, "pullpoints"))

    async def pull(self, point: Lease, limit: int, wait: float) -> Sequence[Notification]:
        page = await self._pull_points.messages(point.id, limit=limit, wait=wait)
        return notifications.events([each.event for each in page.items], now())

    async def destroy_pull_point(self, point: Lease) -> None:
        await self._pull_points.remove(point.id)

    async def current_message(self, topic: Topic) -> Notification:
        found = await self._topics.current(str(topic))
        return notifications.events([found.event], now())[0]

    async def register_publisher(
        self, publisher: str, topics: Sequence[Topic], demand: bool, expires: str
    ) -> Registration:
        request = RegisterRequest(publisher or None, [*map(str, topics)], demand, expires or None)
        found = await self._registrations.create(request)
        return Registration(self.address_of(found.id, "registrations"), self._connection.broker + paths.EVENTS)

    async def destroy_registration(self, registration: Registration) -> None:
        await self._registrations.remove(registration.id)

    def _lease(self, found: SubscriptionDocument | PullPointDocument) -> Lease:
        return lease(self.address_of(found.id), found.expires or "", now())


def _terms(terms: Terms) -> dict[str, Any]:
    """As they are, but for what a request says in other words."""
    start = None
    if terms.start is not None:
        start = StartRequest(offset=terms.start) if isinstance(terms.start, int) else StartRequest(time=terms.start)
    batched = terms.mode == "batched" or terms.together > 1
    return {name: getattr(terms, name) for name in _SHARED} | {
        "mode": "batched" if batched else "binary" if terms.raw else "structured",
        "topic": terms.topic or None,
        "namespaces": dict(terms.namespaces),
        "filters": filters.documents(terms),
        "expires": terms.expires or None,
        "start": start,
        "secret": terms.secret or None,
        "together": terms.together if terms.together != 1 else None,
        "max_latency": terms.max_latency or None,
        "graph": terms.deliver_as or None,
    }


def _point(own: Lease, address: str) -> PullPoint:
    return PullPoint(address, own.expires, own.seconds)
