"""Publications that ask for replies: what their publisher sees of these, and how a receiver replies."""

import asyncio
import contextlib
import functools
import math
import operator
from collections.abc import AsyncGenerator, Iterable
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tocsin.client.answers import decoded
from tocsin.client.api import AT_ONCE, JSON, Resource, Way, below, with_query
from tocsin.client.calls import call, series
from tocsin.client.connection import Connection
from tocsin.client.errors import ClientError, Unreachable
from tocsin.client.event_streams import events
from tocsin.client.reply_messages import Asked, reply_in_soap, speaks_soap, spelled
from tocsin.documents.replies import VIEWS, QuestionDocument, ReplyRequestDocument, ViewDocument
from tocsin.model.identity import Pairs
from tocsin.model.notification import Notification
from tocsin.model.paths import REPLIES, SOAP_REPLIES
from tocsin.model.refusal import Refusal
from tocsin.model.replies import REPLY_TO
from tocsin.wire.answer import Answer

USUAL_GRACE = 2.0  # seconds
LOST_SECONDS = 60.0  # that a broker may be away while somebody waits there
_AGAIN = 1.0  # seconds until the next try
_LEAST = 0.001  # seconds that are a wait and no look
_MAY_PASS = (502, 503, 504)
_JSON: Pairs = (("Content-Type", JSON),)
For = str | timedelta  # 30s, 10m; empty is up to the broker


class Condition(Struct, frozen=True):
    """What a wait for replies ends by; several, joined by |, end it as soon as one of them holds."""

    all: bool = False
    fraction: float | None = None
    count: int | None = None
    quiet: float | None = None
    seconds: float | None = None

    def __or__(self, other: "Condition") -> "Condition":
        """Of two of one kind the one that holds first."""
        return Condition(
            self.all or other.all,
            _first(min, self.fraction, other.fraction),
            _first(min, self.count, other.count),
            _first(max, self.quiet, other.quiet),
            _first(min, self.seconds, other.seconds),
        )

    def query(self) -> dict[str, Any]:
        """As a broker is asked; how long to wait there is another matter."""
        said = {"fraction": self.fraction, "count": self.count, "quiet": self.quiet}
        return said | {"all": "true" if self.all else "false"}


def all_replied() -> Condition:
    """Nobody is outstanding, and nobody else can have got it."""
    return Condition(all=True)


def fraction(share: float) -> Condition:
    """That share of those who were reached has replied."""
    return Condition(fraction=share)


def count(replies: int) -> Condition:
    return Condition(count=replies)


def quiet(rate: float) -> Condition:
    """There were replies, and now fewer come in a second than that."""
    return Condition(quiet=rate)


def deadline(seconds: float) -> Condition:
    return Condition(seconds=seconds)


class ReplyView(Resource[Way]):
    """The replies to one publication, as its publisher sees them at its broker.

    `message` is the id under which that was accepted, empty where the view was looked up.
    """

    def __init__(self, connection: Connection, loop: Way, address: str, message: str = "") -> None:
        super().__init__(connection, loop)
        self.address, self.message = address, message

    @property
    def id(self) -> str:
        return self.address.rstrip("/").rpartition("/")[2]

    def __repr__(self) -> str:
        return f"ReplyView({self.address!r})"

    @call
    async def look(self, seconds: float = 0.0) -> ViewDocument:
        """As far as the broker knows; with `seconds`, other nodes are asked first, and waited for so long."""
        return await self._shown("GET", look=f"{min(seconds, AT_ONCE):.3f}")

    @call
    async def wait(self, until: Condition | Iterable[Condition] = Condition(all=True)) -> ViewDocument:  # noqa: B008
        """As it is once one of these holds, and in `met` which; the end of the view is the end of every wait.

        A broker that is away for a while is waited for.
        """
        condition = until if isinstance(until, Condition) else functools.reduce(operator.or_, until, Condition())
        loop, query = asyncio.get_running_loop(), condition.query()
        end = math.inf if condition.seconds is None else loop.time() + condition.seconds
        lost = _Lost()
        while True:
            span = max(_LEAST, min(end - loop.time(), AT_ONCE))
            try:
                found = await self._shown("GET", wait=f"{span:.3f}", **query)
            except ClientError as error:
                await lost.again(error, end)
                continue
            lost.found()
            if found.ended or found.met not in ("deadline", "ended"):
                return found
            if loop.time() >= end:
                return replace(found, met="deadline")
            if found.met == "ended":  # it is the broker that ends, and comes again
                await asyncio.sleep(_AGAIN)

    @series
    async def stream(self) -> AsyncGenerator[ViewDocument]:
        """It, and again whenever it has changed, until it has ended; a line that breaks is opened again."""
        last: ViewDocument | None = None
        lost = _Lost()
        while True:
            try:
                async with contextlib.aclosing(self._changes()) as changes:
                    async for found in changes:
                        lost.found()
                        if found != last:
                            yield found
                        last = found
                if last is not None and last.ended:
                    return
                problem: ClientError = Unreachable("the stream of the view breaks off again and again")
            except ClientError as error:
                problem = error
            await lost.again(problem)

    @call
    async def terminate(self, grace: float = USUAL_GRACE) -> ViewDocument:
        """What comes later does not count; other nodes are waited for so many seconds."""
        return await self._shown("DELETE", grace=f"{min(grace, AT_ONCE):.3f}")

    async def _shown(self, method: str, **query: object) -> ViewDocument:
        answer = await self._connection.request(method, with_query(self.address, **query))
        return decoded(answer.body, ViewDocument)

    async def _changes(self) -> AsyncGenerator[ViewDocument]:
        async with contextlib.aclosing(self._connection.stream(f"{self.address}/stream")) as pieces:
            async for name, data in events(pieces):
                if name == "end":
                    raise ClientError(data.decode(errors="replace"), 404)
                yield decoded(data, ViewDocument)


class _Lost:
    """Since when a broker cannot be reached."""

    def __init__(self) -> None:
        self._since: float | None = None

    def found(self) -> None:
        self._since = None

    async def again(self, error: ClientError, end: float = math.inf) -> None:
        """Returns when it is worth another try; else what went wrong is raised."""
        now = asyncio.get_running_loop().time()
        since = self._since = now if self._since is None else self._since
        passes = isinstance(error, Unreachable) or error.status in _MAY_PASS
        if not passes or now >= min(end, since + LOST_SECONDS):
            raise error
        await asyncio.sleep(_AGAIN)


def asked_of(reply_type: str | None, within: For) -> Asked | None:
    if reply_type is None:
        if within:
            raise ClientError("reply_for is about replies: say with reply_type which are asked for")
        return None
    return Asked(reply_type, f"{within.total_seconds():.3f}s" if isinstance(within, timedelta) else within)


def view_of(answer: Answer, connection: Connection, loop: Way, message: str) -> ReplyView[Way]:
    """Of what was published: where the broker says that its replies are to be seen."""
    address = next((value for name, value in answer.headers if name.lower() == "location"), "")
    return named_view(connection, loop, address, message)


def named_view(connection: Connection, loop: Way, address: str | None, message: str = "") -> ReplyView[Way]:
    if not address:
        raise ClientError("it was published, but who took it gathers no replies: it names no view of them")
    place = address if "://" in address else connection.broker + below(VIEWS, address)
    return ReplyView(connection, loop, place, message)


# What receivers do


async def question(connection: Connection, to: Notification | str) -> QuestionDocument:
    answer = await connection.request_elsewhere("GET", _place(connection, to))
    return decoded(answer.body, QuestionDocument)


async def reply(connection: Connection, to: Notification | str, value: object) -> None:
    try:
        if isinstance(to, Notification) and to.reply_type and speaks_soap(to):
            headers, body = reply_in_soap(to, value)
            await connection.request_elsewhere("POST", to.attribute(REPLY_TO) or "", headers, body)
            return
        place = _place(connection, to)
        said = value if isinstance(to, str) else spelled(to.reply_type, value)
        body = msgspec.json.encode(ReplyRequestDocument(said))
    except Refusal as refusal:
        raise ClientError(refusal.text, 400) from None
    except TypeError as problem:
        raise ClientError(f"a reply is JSON: {problem}", 400) from None
    await connection.request_elsewhere("POST", place, _JSON, body)


def _place(connection: Connection, to: Notification | str) -> str:
    """Where a token is asked about and used: its address may be the one that is for SOAP."""
    if isinstance(to, Notification):
        if not to.reply_type:
            raise ClientError("this notification asks for no reply")
        to = to.attribute(REPLY_TO) or ""
    if "://" in to:
        return to.replace(f"{SOAP_REPLIES}/", f"{REPLIES}/", 1)
    if not to.strip():
        raise ClientError("a reply goes to a notification that asks for one, its address, or its token")
    return connection.broker + below(REPLIES, to)


def _first(choose: Any, one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else choose(one, other)
