"""`Client`: one broker, one dialect."""

import time
import uuid

import msgspec
from msgspec import Struct

from tocsin.client import requests
from tocsin.client.answers import ClientError, granted_expiry, manager_address, problem_of
from tocsin.mediation import cloudevents, wse_2004_08, wsn_1_3
from tocsin.mediation.dialects import PUBLISH_DOOR
from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

DIALECTS = (wsn_1_3.NAME, wse_2004_08.NAME, cloudevents.NAME)
LONGEST_ANSWER = 64 << 20  # pages of the API are longer than what a consumer may answer
_JSON: Pairs = (("Content-Type", "application/json"),)


class Lease(Struct, frozen=True):
    """A subscription as its owner holds it: where to manage it, and until when it stands."""

    address: str
    expires: str

    @property
    def id(self) -> str:
        return self.address.rpartition("/")[2]


class Client:
    """Made inside the running loop; the same calls whatever the dialect."""

    def __init__(self, broker: str, dialect: str = cloudevents.NAME, http: HttpClient | None = None) -> None:
        if dialect not in DIALECTS:
            raise ClientError(f"{dialect!r} is not a dialect; choose one of {', '.join(DIALECTS)}")
        self._broker, self.dialect = broker.rstrip("/"), dialect
        self._http = http or HttpClient(max_body=LONGEST_ANSWER)

    async def close(self) -> None:
        await self._http.close()

    async def publish(
        self,
        payload: bytes,
        *,
        media_type: str = "application/xml",
        topic: Topic = NO_TOPIC,
        producer: str = "",
        kind: str | None = None,
        message_id: str | None = None,
    ) -> str:
        """The id under which it was accepted, and is on disk; repeating it with that id is harmless."""
        notification = Notification(
            MessageId(message_id or f"urn:uuid:{uuid.uuid4()}"),
            requests.NOWHERE,
            0,
            Instant(time.time_ns()),
            "raw",
            "",
            producer,
            topic,
            kind,
            (),
            Payload(media_type, payload),
        )
        url, (headers, body) = self._publication(notification)
        await self._post(url, headers, body)
        return notification.id

    def _publication(self, notification: Notification) -> tuple[str, requests.Said]:
        if self.dialect == wsn_1_3.NAME:
            url = f"{self._broker}/broker"
            return url, requests.wsn_notify(notification, url)
        if self.dialect == wse_2004_08.NAME:
            url = f"{self._broker}{PUBLISH_DOOR}"
            return url, requests.wse_event(notification, url)
        return f"{self._broker}/events", requests.cloud_event(notification)

    async def subscribe(
        self,
        consumer: str,
        *,
        topic: str = "",
        topic_dialect: str = "full",
        namespaces: Pairs = (),
        expires: str = "",
        mode: str = "structured",
    ) -> Lease:
        if self.dialect == cloudevents.NAME:
            asked = {
                "consumer": consumer,
                "mode": mode,
                "topic": topic or None,
                "topic_dialect": topic_dialect,
                "namespaces": dict(namespaces),
                "expires": expires or None,
            }
            answer = await self._post(f"{self._broker}/api/subscriptions", _JSON, msgspec.json.encode(asked))
            return self._lease(msgspec.json.decode(answer.body))
        url = f"{self._broker}/broker"
        say = requests.wsn_subscribe if self.dialect == wsn_1_3.NAME else requests.wse_subscribe
        answer = await self._post(url, *say(url, consumer, topic, topic_dialect, namespaces, expires))
        return Lease(manager_address(answer.body), granted_expiry(answer.body))

    async def renew(self, address: str, expires: str = "") -> Lease:
        if self.dialect == cloudevents.NAME:
            body = msgspec.json.encode({"expires": expires or None})
            answer = await self._post(f"{address}/renew", _JSON, body)
            return self._lease(msgspec.json.decode(answer.body))
        say = requests.wsn_renew if self.dialect == wsn_1_3.NAME else requests.wse_renew
        answer = await self._post(address, *say(address, expires))
        return Lease(address, granted_expiry(answer.body))

    async def unsubscribe(self, address: str) -> None:
        if self.dialect == cloudevents.NAME:
            _checked(await self._http.request("DELETE", address))
            return
        say = requests.wsn_unsubscribe if self.dialect == wsn_1_3.NAME else requests.wse_unsubscribe
        await self._post(address, *say(address))

    def address_of(self, subscription: str) -> str:
        """Where a subscription of that id is managed in this dialect."""
        path = "api" if self.dialect == cloudevents.NAME else "broker"
        return f"{self._broker}/{path}/subscriptions/{subscription}"

    async def get(self, path: str) -> object:
        """A document of the JSON API."""
        return msgspec.json.decode(_checked(await self._http.request("GET", self._broker + path)).body)

    async def post(self, path: str, body: object) -> object:
        return msgspec.json.decode((await self._post(self._broker + path, _JSON, msgspec.json.encode(body))).body)

    def _lease(self, document: dict[str, str]) -> Lease:
        return Lease(self.address_of(document["id"]), document["expires"] or "")

    async def _post(self, url: str, headers: Pairs, body: bytes) -> Answer:
        return _checked(await self._http.request("POST", url, headers, body))


def _checked(answer: Answer) -> Answer:
    if not 200 <= answer.status < 300:
        raise ClientError(problem_of(answer))
    return answer
