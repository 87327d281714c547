"""`Client`: one broker, one dialect."""

import time
import uuid

import msgspec
from msgspec import Struct

from tocsin.client import requests
from tocsin.client.answers import ClientError, Said, problem_of, said
from tocsin.mediation import cloudevents
from tocsin.mediation.dialects import BY_NAME, NAMES
from tocsin.mediation.rules import Message
from tocsin.mediation.writing import Value
from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Endpoint
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

DIALECTS = NAMES
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
        self._broker, self.dialect, self._rules = broker.rstrip("/"), dialect, BY_NAME[dialect]
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
        url, (headers, body) = requests.publication(self._rules, notification, self._broker)
        await self._post(url, headers, body)
        return notification.id

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
        values: dict[str, Value] = {
            "consumer": Endpoint(consumer),
            "expires": expires or None,
            **requests.topic_filter(topic, topic_dialect, namespaces),
        }
        said = await self._ask("Subscribe", f"{self._broker}/broker", values)
        return Lease(said.address("subscription"), said.text("expires"))

    async def renew(self, address: str, expires: str = "") -> Lease:
        if self.dialect == cloudevents.NAME:
            body = msgspec.json.encode({"expires": expires or None})
            answer = await self._post(f"{address}/renew", _JSON, body)
            return self._lease(msgspec.json.decode(answer.body))
        said = await self._ask("Renew", address, {"expires": expires or "PT1H"})
        return Lease(address, said.text("expires"))

    async def unsubscribe(self, address: str) -> None:
        if self.dialect == cloudevents.NAME:
            _checked(await self._http.request("DELETE", address))
            return
        await self._ask("Unsubscribe", address, {})

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

    async def _ask(self, operation: str, to: str, values: dict[str, Value]) -> Said:
        """A request of the dialect's own, and the entries of its answer."""
        message = self._message(operation)
        answer = await self._post(to, *requests.request(self._rules, message, to, values))
        return said(message, answer.body)

    def _message(self, operation: str) -> Message:
        message = requests.operation(self._rules, operation)
        if message is None:
            raise ClientError(f"{self._rules.title} has no operation {operation}")
        return message

    async def _post(self, url: str, headers: Pairs, body: bytes) -> Answer:
        return _checked(await self._http.request("POST", url, headers, body))


def _checked(answer: Answer) -> Answer:
    if not 200 <= answer.status < 300:
        raise ClientError(problem_of(answer))
    return answer
