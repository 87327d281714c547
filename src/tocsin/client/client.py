"""`Client`: one broker, one dialect."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack, cast

import msgspec
from msgspec.structs import replace

from tocsin.client import keeping, requests
from tocsin.client.answers import ClientError
from tocsin.client.connection import Connection, Credentials, now, trust_of
from tocsin.client.consumer import Consumer, Handler, Told, Whole
from tocsin.client.interactions import Interacting
from tocsin.client.json_speech import JSON, JsonSpeech, decoded
from tocsin.client.soap_speech import SoapSpeech
from tocsin.client.speech import Speech
from tocsin.client.values import (
    About,
    Ended,
    Expires,
    Lease,
    Mode,
    Namespaces,
    Options,
    PullPoint,
    Registration,
    Start,
    Status,
    expires_text,
    topic_of,
    topic_of_space,
    wanted,
)
from tocsin.client.world import Notifiers, World
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import NAMES
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.identity import MessageId
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.wire.http_client import HttpClient

DIALECTS = NAMES
AT_ONCE = 20.0  # seconds that one request waits at the broker; a longer wait is several of them


class Client(Interacting):
    """The same calls whatever the dialect; what a dialect has no operation for is a `ClientError` that says who has.

    `user` and `password` are shown as HTTP Basic, with `digest` in the header of WS-Security; `token` as Bearer.
    `endpoint` is where SOAP requests go that create something, for producers that are not a broker of ours. `http` is
    shared with others and stays open. `world` and `notifiers` are for implicit notification.
    """

    def __init__(
        self,
        broker: str = "http://127.0.0.1:8080",
        dialect: str = cloudevents.NAME,
        http: HttpClient | None = None,
        *,
        user: str = "",
        password: str = "",
        token: str = "",
        digest: bool = False,
        ca_file: Path | str | None = None,
        client_cert: Path | str | None = None,
        client_key: Path | str | None = None,
        soap: str = "1.2",
        endpoint: str = "",
    ) -> None:
        self._rules = rules = requests.dialect_named(dialect)
        self.dialect, self.broker = dialect, broker.rstrip("/")
        if digest and not (rules.is_soap and user):
            raise ClientError("a digest is made of a user and a password, and travels in SOAP; choose such a dialect")
        trust = trust_of(ca_file, client_cert, client_key)
        self._connection = Connection(broker, Credentials(user, password, token, digest), trust, http)
        self.world, self.notifiers = World(self._connection), Notifiers(self._connection)
        self._speech: Speech = JsonSpeech(self._connection, rules)
        if rules.is_soap:
            self._speech = SoapSpeech(self._connection, rules, soap, endpoint)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()

    async def publish(
        self,
        payload: bytes,
        *,
        media_type: str = "application/xml",
        topic: Topic | str = NO_TOPIC,
        producer: str = "",
        kind: QName | str | None = None,
        message_id: str | None = None,
        content_topic: str = "",
    ) -> str:
        """The id under which it was accepted, and is on disk; repeating it with that id is harmless.

        `content_topic` is a point of an information space, such as weather:Piscataway,NJ/29/48.9; without a topic it
        is about the topic named after that space.
        """
        notification = Notification(
            MessageId(message_id or f"urn:uuid:{uuid.uuid4()}"),
            requests.NOWHERE,
            0,
            now(),
            "raw",
            "",
            producer,
            topic_of(topic if topic != NO_TOPIC or not content_topic else topic_of_space(content_topic)),
            kind,
            ((CONTENT_TOPIC, content_topic),) if content_topic else (),
            Payload(media_type, payload),
        )
        await self._speech.publish(notification)
        return notification.id

    async def subscribe(
        self,
        consumer: str,
        *,
        topic: str | None = None,
        topic_dialect: str = "full",
        namespaces: Namespaces = (),
        content: str | None = None,
        content_language: str = "xpath",
        types: Sequence[str] = (),
        producers: Sequence[str] = (),
        box: str | None = None,
        pattern: str | None = None,
        sparql: str | None = None,
        plain: bool = False,
        deliver_as: str = "",
        bindings: bool = False,
        expires: Expires = "",
        mode: Mode = "",
        together: int = 1,
        start: Start | None = None,
        secret: str = "",
        consent: bool = False,
        end_to: str = "",
        thin: bool = False,
    ) -> Lease:
        """What is about `topic`, or everything, is sent to the address `consumer` from now on.

        `topic` is an expression in `topic_dialect`: simple, concrete, full or concrete-set, with prefixes from
        `namespaces`. What else is said must hold as well: `content` is an expression in `content_language` (xpath,
        items or jsonpath over the payload, cesql over the attributes, xpath-envelope over the message as delivered,
        xpath-producer or sparql over what the producer declared); `types` are names of payload elements or of
        CloudEvents, `producers` addresses or category:NAME, one of each is enough; `box` is a region of an information
        space, such as weather:*,NJ/>25/<50. `pattern` and `sparql` ask of the event graph, by statement patterns or a
        query; `plain` gives the query SPARQL's own meaning. `deliver_as` (turtle, n-quads, json-ld, rdf-xml) has that
        graph sent, and `bindings` what the variables stand for. `mode` is wrapped (Notify, Wrap, structured) or raw
        (UseRaw, Unwrap, binary); by default what the dialect prefers. Up to `together` notifications come in one
        message, where the format has room for several. With `start` it begins in the past: at an offset of the log, or
        a time. `secret` is the name of a secret at the broker that deliveries are signed or authorised with, `consent`
        has the consumer asked first, and `end_to` is who is told of an end that nobody asked for (WS-Eventing). With
        `thin` the consumer is told of each message without its data, which `fetch` gets.
        """
        options = Options(
            topic=topic,
            topic_dialect=topic_dialect,
            namespaces=namespaces,
            content=content,
            content_language=content_language,
            types=types,
            producers=producers,
            box=box,
            pattern=pattern,
            sparql=sparql,
            plain=plain,
            deliver_as=deliver_as,
            bindings=bindings,
            expires=expires,
            mode=mode,
            together=together,
            start=start,
            secret=secret,
            consent=consent,
            end_to=end_to,
            thin=thin,
        )
        asked = wanted(consumer, options)
        requests.check_form(self._rules, asked)
        return await self._speech.subscribe(asked)

    async def renew(self, subscription: Lease | str, expires: Expires = "") -> Lease:
        """Of a subscription or a pull point; without `expires` for as long as the broker gives."""
        return await self._speech.renew(self._lease(subscription), expires_text(expires))

    async def status(self, subscription: Lease | str) -> Status:
        return await self._speech.status(self._lease(subscription))

    async def pause(self, subscription: Lease | str) -> None:
        """What is published until it is resumed is not for this subscription."""
        await self._speech.pause(self._lease(subscription))

    async def resume(self, subscription: Lease | str) -> None:
        await self._speech.resume(self._lease(subscription))

    async def unsubscribe(self, subscription: Lease | str) -> None:
        await self._speech.unsubscribe(self._lease(subscription))

    async def create_pull_point(self, **about: Unpack[About]) -> PullPoint:
        """A place where what is wanted, said as to `subscribe`, waits until it is pulled: for who has no address."""
        return await self._speech.create_pull_point(wanted("", cast(Options, about)))

    async def pull(self, point: Lease | str, *, limit: int = 100, wait: float = 0.0) -> Sequence[Notification]:
        """What waits there, up to so many; when nothing does, after `wait` seconds at most. What is given is gone."""
        loop = asyncio.get_running_loop()
        lease, deadline = self._lease(point, "pullpoints"), loop.time() + wait
        while True:
            left = max(0.0, deadline - loop.time())
            found = await self._speech.pull(lease, limit, min(left, AT_ONCE))
            if found or left <= AT_ONCE:
                return found

    async def destroy_pull_point(self, point: Lease | str) -> None:
        await self._speech.destroy_pull_point(self._lease(point, "pullpoints"))

    async def current_message(self, topic: Topic | str) -> Notification:
        """The last one about that topic. Dialects of SOAP tell its payload alone."""
        return await self._speech.current_message(topic_of(topic))

    async def register_publisher(
        self,
        publisher: str = "",
        *,
        topics: Iterable[Topic | str] = (),
        demand: bool = False,
        expires: Expires = "",
    ) -> Registration:
        """With `demand` the broker subscribes at `publisher` (in WS-Notification) while somebody wants its topics."""
        found = tuple(map(topic_of, topics))
        return await self._speech.register_publisher(publisher, found, demand, expires_text(expires))

    async def destroy_registration(self, registration: Registration | str) -> None:
        if isinstance(registration, str):
            registration = Registration(self._address(registration, "registrations"))
        await self._speech.destroy_registration(registration)

    @contextlib.asynccontextmanager
    async def listening(
        self,
        handler: Handler | None = None,
        *,
        received: Whole | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        address: str = "",
        ended: Told | None = None,
        signed_with: str = "",
        **options: Unpack[Options],
    ) -> AsyncIterator[Lease]:
        """Calls `handler` with each notification for as long as it is open, `received` with each request as it came.

        It listens at `host` and `port`, subscribes that (or `address`, where we are behind something), renews when half
        of the lease has passed, and unsubscribes on the way out. A subscription that the broker lost while it could not
        be reached is made again; `ended` is called when it was ended there without our asking.
        `signed_with` is the secret itself that messages must be signed with (see `subscribe` for its name).
        """
        held = keeping.Held(self._speech)

        async def tell(end: Ended) -> None:
            held.over.set()
            if ended is not None and (answer := ended(end)) is not None:
                await answer

        async def noticed(end: Ended) -> None:
            if end.subscription in ("", held.lease.address):
                await tell(end)

        async def gone(reason: str) -> None:
            await tell(Ended(self.dialect, held.lease.address, "", reason))

        consumer = Consumer(handler, received=received, ended=noticed, signed_with=signed_with)
        async with consumer.listening(host, port):
            asked = wanted(address or consumer.url, options)
            requests.check_form(self._rules, asked)
            if self._can_tell_ends() and not asked.end_to:
                asked = replace(asked, end_to=asked.consumer)
            async with held.kept(asked, gone) as lease:
                yield lease

    @contextlib.asynccontextmanager
    async def pulling(self, **about: Unpack[About]) -> AsyncIterator[PullPoint]:
        """A pull point that is renewed while it is open, and destroyed on the way out."""
        point = await self.create_pull_point(**about)
        try:
            async with keeping.renewed(self._speech, point, expires_text(about.get("expires", ""))):
                yield point
        finally:
            with contextlib.suppress(ClientError):
                await self.destroy_pull_point(point)

    def address_of(self, subscription: str) -> str:
        """Where a subscription of that id is managed in this dialect."""
        return self._speech.address_of(subscription)

    async def get(self, path: str) -> object:
        """A document of the JSON API."""
        return decoded((await self._connection.request("GET", self.broker + path)).body, object)

    async def post(self, path: str, body: object) -> object:
        answer = await self._connection.request("POST", self.broker + path, JSON, msgspec.json.encode(body))
        return decoded(answer.body, object)

    def _lease(self, subscription: Lease | str, what: str = "subscriptions") -> Lease:
        return Lease(self._address(subscription, what)) if isinstance(subscription, str) else subscription

    def _address(self, name: str, what: str) -> str:
        return name if "://" in name else self._speech.address_of(name, what)

    def _can_tell_ends(self) -> bool:
        rules = self._rules
        message = requests.operation(rules, "Subscribe", needs="consumer") if rules.is_soap else None
        return message is not None and requests.has(message, "end_to")
