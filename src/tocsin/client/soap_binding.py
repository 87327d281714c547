"""A broker spoken to in a SOAP dialect: each operation as the dialect's table has it."""

import asyncio
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from tocsin.client import notifications, requests
from tocsin.client.connection import Connection, now
from tocsin.client.errors import ClientError, Unreachable
from tocsin.client.reply_messages import Asked, asking
from tocsin.client.values import Lease, PullPoint, Registration, Status, Terms, as_time, lease
from tocsin.markup import xml
from tocsin.markup.xml import text_of
from tocsin.mediation import times
from tocsin.mediation.rules import Dialect, Entry, Message, Name
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.entries import Expression, Value, Values, read_entries
from tocsin.mediation.soap.soap import open_envelope
from tocsin.model import paths
from tocsin.model.identity import SECOND
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint
from tocsin.wire.answer import Answer

FIRST_LOOK, LAST_LOOK = 0.05, 1.0  # seconds between two, where a dialect cannot wait at the broker
_REQUEST = "rl"
_TIMES = ("TerminationTime", "CurrentTime")
_PREFIX = Entry("prefix", (Name("", "", f"@xmlns:{_REQUEST}"),))


class AnswerEntries:
    """The entries of an answer, by the table its request names."""

    def __init__(self, body: bytes, content: xml.Element | None, values: Values | None) -> None:
        self.body, self.content, self._values = body, content, values

    def text(self, name: str) -> str:
        return (None if self._values is None else self._values.text(name)) or ""

    def endpoint(self, name: str) -> Endpoint:
        element = None if self._values is None else self._values.element(name)
        try:
            if element is not None:
                return soap.endpoint(element, name)
        except Refusal as refusal:
            raise ClientError(f"the answer cannot be read: {refusal.text}") from None
        raise ClientError(f"the answer names no {name}")

    def address(self, name: str) -> str:
        """Empty when there is none."""
        return soap.address_of(None if self._values is None else self._values.element(name))


class SoapBinding:
    def __init__(self, connection: Connection, dialect: Dialect, version: str, endpoint: str) -> None:
        self._connection, self._dialect, self._version = connection, dialect, version
        self._endpoint = endpoint or connection.broker + paths.BROKER

    def address_of(self, name: str, what: str = "subscriptions") -> str:
        return f"{self._connection.broker}{paths.BROKER}/{what}/{name}"

    async def publish(self, notification: Notification, asked: Asked | None = None) -> Answer:
        broker = self._connection.broker
        url, (headers, body) = requests.publication(self._dialect, notification, broker, self._version)
        return await self._connection.post_soap(url, headers, body if asked is None else asking(body, asked))

    async def subscribe(self, terms: Terms) -> Lease:
        message = requests.needed(self._dialect, "Subscribe", needs="consumer")
        return await self._subscribe(message, terms)

    async def _subscribe(self, message: Message, terms: Terms) -> Lease:
        asked = now()
        values = requests.subscription(self._dialect, message, terms, asked)
        answer = await self._ask(message, self._endpoint, values)
        manager = answer.endpoint("subscription")
        granted = lease(manager.address, answer.text("expires"), now(), answer.text("now"), manager.reference)
        if message.answer is None or requests.has(message.answer, "expires"):
            return granted
        return await self._read_later(granted, as_time(terms.expires, asked))

    async def _read_later(self, granted: Lease, asked: str) -> Lease:
        """The drafts of WS-Notification do not answer what was granted, which may be less than what was asked for.

        It is a property of the subscription; what was asked for counts only where that cannot be read.
        """
        try:
            expires, their_now = await self._times(granted)
        except ClientError as error:
            if isinstance(error, Unreachable):
                raise
            expires, their_now = asked, ""
        return lease(granted.address, expires, now(), their_now, granted.reference)

    async def renew(self, lease_: Lease, expires: str) -> Lease:
        message = requests.needed(self._dialect, "Renew")
        values: dict[str, Value] = {"expires": requests.expiry(self._dialect, expires, now())}
        answer = await self._manage(message, lease_, values)
        renewed = lease(lease_.address, answer.text("expires"), now(), answer.text("now"), lease_.reference)
        if not isinstance(lease_, PullPoint) or lease_.feed is None:
            return renewed
        return _point(renewed, await self.renew(lease_.feed, expires))

    async def status(self, lease_: Lease) -> Status:
        message = requests.operation(self._dialect, "GetStatus")
        if message is None:
            return Status((await self._times(lease_))[0])
        answer = await self._manage(message, lease_, {})
        return Status(lease(lease_.address, answer.text("expires"), now()).expires)

    async def _times(self, lease_: Lease) -> tuple[str, str]:
        """Until when it stands, and what time it is there: resource properties (WS-ResourceLifetime s5.1)."""
        namespace = requests.lifetime(self._dialect)
        # For several properties at once; where one is asked for, its name stands in the element and so does its prefix
        several = requests.operation(self._dialect, "GetProperties", needs="property")
        one = requests.operation(self._dialect, "GetProperties", needs="name")
        message = several or (None if one is None else replace(one, entries=(_PREFIX, *one.entries)))
        if message is None or not namespace:
            raise requests.lacking(self._dialect, "GetStatus", _tells_status)
        names = tuple(Expression(f"{_REQUEST}:{each}", "", ((_REQUEST, namespace),)) for each in _TIMES)
        values: dict[str, Value] = {"property": names, "name": names[0], "prefix": namespace}
        content = (await self._manage(message, lease_, values)).content
        expires, their_now = (_text_below(content, each) for each in _TIMES)
        return expires, their_now

    async def pause(self, lease_: Lease) -> None:
        await self._manage(requests.needed(self._dialect, "Pause"), lease_, {})

    async def resume(self, lease_: Lease) -> None:
        await self._manage(requests.needed(self._dialect, "Resume"), lease_, {})

    async def unsubscribe(self, lease_: Lease) -> None:
        await self._manage(requests.needed(self._dialect, "Unsubscribe"), lease_, {})

    async def create_pull_point(self, terms: Terms) -> PullPoint:
        """One that feeds itself, or a mailbox and a subscription that fills it (WSN 1.3 s5)."""
        message = requests.own_pull_point(self._dialect)
        if message is not None:
            return _point(await self._subscribe(message, terms))
        answer = await self._ask(requests.needed(self._dialect, "CreatePullPoint"), self._endpoint, {})
        manager = answer.endpoint("subscription")
        point = Lease(manager.address, reference=manager.reference)
        return _point(point, await self.subscribe(replace(terms, consumer=manager.address)))

    async def pull(self, point: Lease, limit: int, wait: float) -> Sequence[Notification]:
        message = requests.needed(self._dialect, "Pull")
        if requests.has(message, "timeout"):
            return await self._pulled(
                message, point, {"most": str(limit), "timeout": times.lasting(round(wait * SECOND))}
            )
        once = partial(self._pulled, message, point, {"most": str(limit)})
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + wait, FIRST_LOOK
        while not (found := await once()) and (left := deadline - loop.time()) > 0:
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, LAST_LOOK)
        return found

    async def _pulled(self, message: Message, point: Lease, values: dict[str, Value]) -> Sequence[Notification]:
        answer = await self._manage(message, point, values)
        return notifications.pulled(self._dialect, answer.content, now())

    async def destroy_pull_point(self, point: Lease) -> None:
        own = requests.own_pull_point(self._dialect) is not None
        message = requests.needed(self._dialect, "Unsubscribe" if own else "DestroyPullPoint")
        if isinstance(point, PullPoint) and point.feed is not None:
            await self.unsubscribe(point.feed)
        await self._manage(message, point, {})

    async def current_message(self, topic: Topic) -> Notification:
        message = requests.needed(self._dialect, "GetCurrentMessage")
        answer = await self._ask(message, self._endpoint, {"topic": requests.topic_path(self._dialect, topic)})
        return notifications.current(self._dialect, answer.body, answer.content, topic, now())

    async def register_publisher(
        self, publisher: str, topics: Sequence[Topic], demand: bool, expires: str
    ) -> Registration:
        values: dict[str, Value] = {
            "publisher": Endpoint(publisher) if publisher else None,
            "topic": tuple(requests.topic_path(self._dialect, each) for each in topics),
            "demand": "true" if demand else "false",
            "expires": requests.expiry(self._dialect, expires, now()),
        }
        answer = await self._ask(requests.needed(self._dialect, "RegisterPublisher"), self._endpoint, values)
        found = answer.endpoint("registration")
        return Registration(found.address, answer.address("consumer"), found.reference)

    async def destroy_registration(self, registration: Registration) -> None:
        message = requests.needed(self._dialect, "DestroyRegistration")
        await self._ask(message, Endpoint(registration.address, registration.reference), {})

    async def _manage(self, message: Message, lease_: Lease, values: dict[str, Value]) -> AnswerEntries:
        return await self._ask(message, Endpoint(lease_.address, lease_.reference), values)

    async def _ask(self, message: Message, to: str | Endpoint, values: dict[str, Value]) -> AnswerEntries:
        """A request of the dialect's own, and the entries of its answer."""
        headers, body = requests.request(self._dialect, message, to, values, self._version)
        url = to if isinstance(to, str) else to.address
        return _entries(message, (await self._connection.post_soap(url, headers, body)).body)


def _entries(message: Message, body: bytes) -> AnswerEntries:
    answer = message.answer
    try:
        content = open_envelope(body).content if body else None
        if answer is None or content is None:
            return AnswerEntries(body, content, None)
        return AnswerEntries(body, content, read_entries(content, answer.entries))
    except Refusal as problem:
        raise ClientError(f"the answer cannot be read: {problem.text}") from None


def _text_below(content: xml.Element | None, name: str) -> str:
    return "" if content is None else text_of(next(content.iter(f"{{*}}{name}"), None))


def _tells_status(dialect: Dialect) -> bool:
    ask = requests.operation
    return ask(dialect, "GetStatus") is not None or ask(dialect, "GetProperties") is not None


def _point(own: Lease, feed: Lease | None = None) -> PullPoint:
    """It lasts as long as what fills it: whoever pulls keeps the mailbox itself alive."""
    told = own if feed is None else feed
    return PullPoint(own.address, told.expires, told.seconds, own.reference, feed)
