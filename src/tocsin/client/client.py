"""`Client`: one broker, one dialect."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack, cast

from msgspec.structs import replace

from tocsin.client import requests
from tocsin.client.api import AT_ONCE, Way
from tocsin.client.calls import call, context, either, result_of
from tocsin.client.connection import Access, Connection, now
from tocsin.client.consumer import Consumer, EndHandler, Handler, Received, RequestHandler
from tocsin.client.errors import ClientError
from tocsin.client.json_binding import JsonBinding
from tocsin.client.leases import Binding, KeptLease, renewed
from tocsin.client.publishing import AwaitedPublish, WaitedPublish
from tocsin.client.replies import For, ReplyView, asked_of, named_view, question, reply, view_of
from tocsin.client.resources import Resources
from tocsin.client.soap_binding import SoapBinding
from tocsin.client.values import (
    About,
    Ended,
    Expires,
    Lease,
    Options,
    PullPoint,
    Registration,
    Status,
    expires_text,
    joined_topics,
    terms_of,
    topic_of,
    topic_of_space,
)
from tocsin.documents.replies import VIEWS, QuestionDocument, ViewDocument
from tocsin.documents.subscriptions import Page
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import NAMES
from tocsin.model import paths
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.identity import MessageId
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.wire.http_client import HttpClient

DIALECTS = NAMES
BROKER = "http://127.0.0.1:8080"


class AnyClient(Resources[Way]):
    """The same calls whatever the dialect; what a dialect has no operation for is a `ClientError` that says who has.

    `soap` is the version of SOAP, `endpoint` where SOAP requests go that create something, for producers that are not a
    broker of ours. What stands in an attribute goes by the JSON API whatever the dialect.
    """

    def __init__(
        self,
        loop: Way,
        broker: str,
        dialect: str,
        http: HttpClient | None,
        soap: str,
        endpoint: str,
        access: Access,
    ) -> None:
        self._rules = rules = requests.dialect_named(dialect)
        self.dialect, self.broker = dialect, broker.rstrip("/")
        if access.get("digest") and not (rules.is_soap and access.get("user")):
            raise ClientError("a digest is made of a user and a password, and travels in SOAP; choose such a dialect")
        connection = Connection(broker, access, http)
        super().__init__(connection, loop)
        self._binding: Binding = JsonBinding(connection, rules)
        if rules.is_soap:
            self._binding = SoapBinding(connection, rules, soap, endpoint)

    @property
    def missing(self) -> Sequence[str]:
        """Nodes of a ring that did not answer when something was asked of all, so far."""
        return list(self._connection.missing)

    async def _publish(
        self,
        payload: bytes,
        *,
        media_type: str = "application/xml",
        topic: Topic | str = NO_TOPIC,
        producer: str = "",
        kind: QName | str | None = None,
        message_id: str | None = None,
        content_topic: str | Sequence[str] = "",
        reply_type: str | None = None,
        reply_for: For = "",
    ) -> "str | ReplyView[Way]":
        """The id under which it was accepted, and is on disk; repeating it with that id is harmless.

        `content_topic` is a point of an information space, such as weather:Piscataway,NJ/29/48.9, a span of it, such as
        weather:*,NJ/29/48.9, or several of these; without a topic it is about the topic named after the first's space.
        Whoever asks for any of them is told once. With `reply_type`, such as enum:yes,no or int:0..500, whoever gets it
        can reply, for the time that `reply_for` says: then the result is the view of the replies.
        """
        asked, content = asked_of(reply_type, reply_for), joined_topics(content_topic)
        notification = Notification(
            MessageId(message_id or f"urn:uuid:{uuid.uuid4()}"),
            requests.NOWHERE,
            0,
            now(),
            "raw",
            "",
            producer,
            topic_of(topic if topic != NO_TOPIC or not content else topic_of_space(content)),
            kind,
            ((CONTENT_TOPIC, content),) if content else (),
            Payload(media_type, payload),
        )
        answer = await self._binding.publish(notification, asked)
        if asked is None:
            return notification.id
        return view_of(answer, self._connection, self._loop, notification.id)

    publish: either[AwaitedPublish, WaitedPublish] = either(_publish)

    def view(self, name: str) -> "ReplyView[Way]":
        """The view of that id or address of the replies to a publication."""
        return named_view(self._connection, self._loop, name)

    @call
    async def views(self) -> Sequence[ViewDocument]:
        """Of the replies that we asked for."""
        return (await self._ask(Page[ViewDocument], "GET", VIEWS)).items

    @call
    async def reply(self, to: Notification | Received | str, value: object) -> None:
        """Replies, once: to a notification or a request that was received, at an address that one told, or by a token.

        Texts, numbers, true and false, or for a type that is JSON any JSON. Nobody is shown who we are.
        """
        await reply(self._connection, _asked_in(to), value)

    @call
    async def question(self, to: Notification | Received | str) -> QuestionDocument:
        """What is asked there, and until when."""
        return await question(self._connection, _asked_in(to))

    @call
    async def subscribe(self, consumer: str, **options: Unpack[Options]) -> Lease:
        """What the options ask for, or everything, is sent to the address `consumer` from now on.

        `topic` is an expression in `topic_dialect`: simple, concrete, full or concrete-set, with prefixes from
        `namespaces`. What else is said must hold as well: `content` is an expression in `content_language` (xpath,
        items or jsonpath over the payload, cesql over the attributes, xpath-envelope over the message as delivered,
        xpath-producer or sparql over what the producer declared); `types` are names of payload elements or of
        CloudEvents, `producers` addresses or category:NAME, one of each is enough; `box` is a region of an information
        space, such as weather:*,NJ/>25/<50. `pattern` and `sparql` ask of the event graph, by statement patterns or a
        query; `plain` gives the query SPARQL's own meaning. `deliver_as` (turtle, n-quads, json-ld, rdf-xml) has that
        graph sent, and `bindings` what the variables stand for. `mode` is wrapped (Notify, Wrap, structured) or raw
        (UseRaw, Unwrap, binary); by default what the dialect prefers. Up to `together` notifications come in one
        message, where the format has room for several; with `max_latency`, a duration, they wait so long at most to
        be sent together. With `start` it begins in the past: at an offset of the log, or a time. `secret` is the name
        of a secret at the broker that deliveries are signed or authorised with, `consent` has the consumer asked first,
        and `end_to` is who is told of an end that nobody asked for (WS-Eventing). With `thin` the consumer is told of
        each message without its data, which `fetch` gets.
        """
        terms = terms_of(consumer, options)
        requests.check_form(self._rules, terms)
        return await self._binding.subscribe(terms)

    @call
    async def renew(self, subscription: Lease | str, expires: Expires = "") -> Lease:
        """Of a subscription or a pull point; without `expires` for as long as the broker gives."""
        return await self._binding.renew(self._lease(subscription), expires_text(expires))

    @call
    async def status(self, subscription: Lease | str) -> Status:
        return await self._binding.status(self._lease(subscription))

    @call
    async def pause(self, subscription: Lease | str) -> None:
        """What is published until it is resumed is not for this subscription."""
        await self._binding.pause(self._lease(subscription))

    @call
    async def resume(self, subscription: Lease | str) -> None:
        await self._binding.resume(self._lease(subscription))

    @call
    async def unsubscribe(self, subscription: Lease | str) -> None:
        await self._binding.unsubscribe(self._lease(subscription))

    @call
    async def create_pull_point(self, **about: Unpack[About]) -> PullPoint:
        """A place where what is wanted, said as to `subscribe`, waits until it is pulled: for who has no address."""
        return await self._binding.create_pull_point(terms_of("", cast(Options, about)))

    @call
    async def pull(self, point: Lease | str, *, limit: int = 100, wait: float = 0.0) -> Sequence[Notification]:
        """What waits there, up to so many; when nothing does, after `wait` seconds at most. What is given is gone."""
        loop = asyncio.get_running_loop()
        lease, deadline = self._lease(point, "pullpoints"), loop.time() + wait
        while True:
            left = max(0.0, deadline - loop.time())
            found = await self._binding.pull(lease, limit, min(left, AT_ONCE))
            if found or left <= AT_ONCE:
                return found

    @call
    async def destroy_pull_point(self, point: Lease | str) -> None:
        await self._binding.destroy_pull_point(self._lease(point, "pullpoints"))

    @call
    async def current_message(self, topic: Topic | str) -> Notification:
        """The last one about that topic. Dialects of SOAP tell its payload alone."""
        return await self._binding.current_message(topic_of(topic))

    @call
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
        return await self._binding.register_publisher(publisher, found, demand, expires_text(expires))

    @call
    async def destroy_registration(self, registration: Registration | str) -> None:
        if isinstance(registration, str):
            registration = Registration(self._address(registration, "registrations"))
        await self._binding.destroy_registration(registration)

    @context
    async def listening(
        self,
        handler: Handler | None = None,
        *,
        received: RequestHandler | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        address: str = "",
        ended: EndHandler | None = None,
        signed_with: str = "",
        **options: Unpack[Options],
    ) -> AsyncIterator[Lease]:
        """Calls `handler` with each notification for as long as it is open, `received` with each request as it came.
        What the handler returns is its reply, where one is asked for.

        It listens at `host` and `port`, subscribes that (or `address`, where we are behind something), renews when half
        of the lease has passed, and unsubscribes on the way out. A subscription that the broker lost while it could not
        be reached is made again; `ended` is called when it was ended there without our asking.
        `signed_with` is the secret itself that messages must be signed with (see `subscribe` for its name). Programs
        without a loop have handlers called in a thread of their own, one after the other.
        """
        kept = KeptLease(self._binding)
        if self._loop is not None:
            handler, received = self._loop.in_thread(handler), self._loop.in_thread(received)
            ended = self._loop.in_thread(ended)

        async def end(told: Ended) -> None:
            kept.over.set()
            if ended is not None:
                await result_of(ended, told)

        async def noticed(told: Ended) -> None:
            if told.subscription in ("", kept.lease.address):
                await end(told)

        async def gone(reason: str) -> None:
            await end(Ended(self.dialect, kept.lease.address, "", reason))

        consumer = Consumer(handler, received=received, ended=noticed, signed_with=signed_with)
        async with consumer.replying_by(self._connection).listening(host, port):
            terms = terms_of(address or consumer.url, options)
            requests.check_form(self._rules, terms)
            if self._can_tell_ends() and not terms.end_to:
                terms = replace(terms, end_to=terms.consumer)
            async with kept.kept(terms, gone) as lease:
                yield lease

    @context
    async def pulling(self, **about: Unpack[About]) -> AsyncIterator[PullPoint]:
        """A pull point that is renewed while it is open, and destroyed on the way out."""
        point = await self._binding.create_pull_point(terms_of("", cast(Options, about)))
        try:
            async with renewed(self._binding, point, expires_text(about.get("expires", ""))):
                yield point
        finally:
            with contextlib.suppress(ClientError):
                await self._binding.destroy_pull_point(point)

    def address_of(self, subscription: str) -> str:
        """Where a subscription of that id is managed in this dialect."""
        return self._binding.address_of(subscription)

    @call
    async def figures(self) -> Mapping[str, Any]:
        """What the broker counts."""
        return await self._ask(dict[str, Any], "GET", paths.STATUS)

    @call
    async def get(self, path: str) -> object:
        """A document of the JSON API."""
        return await self._ask(object, "GET", path)

    @call
    async def post(self, path: str, body: object) -> object:
        return await self._ask(object, "POST", path, body)

    def _lease(self, subscription: Lease | str, what: str = "subscriptions") -> Lease:
        return Lease(self._address(subscription, what)) if isinstance(subscription, str) else subscription

    def _address(self, name: str, what: str) -> str:
        return name if "://" in name else self._binding.address_of(name, what)

    def _can_tell_ends(self) -> bool:
        rules = self._rules
        message = requests.operation(rules, "Subscribe", needs="consumer") if rules.is_soap else None
        return message is not None and requests.has(message, "end_to")


def _asked_in(to: Notification | Received | str) -> Notification | str:
    if not isinstance(to, Received):
        return to
    found = [each for each in to.notifications() if each.reply_type]
    if len(found) != 1:
        raise ClientError(f"{len(found) or 'no'} notifications of this request ask for a reply; name the one")
    return found[0]


class Client(AnyClient[None]):
    __doc__ = AnyClient.__doc__

    def __init__(
        self,
        broker: str = BROKER,
        dialect: str = cloudevents.NAME,
        http: HttpClient | None = None,
        *,
        soap: str = "1.2",
        endpoint: str = "",
        **access: Unpack[Access],
    ) -> None:
        """`http` is shared with others and stays open; `access` says who asks, and whom to believe over TLS."""
        super().__init__(None, broker, dialect, http, soap, endpoint, access)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()
