"""Bare ASGI: on the hot doors a framework would cost more than the work itself."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping, Sequence
from typing import Any, TypeVar

import msgspec
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from tocsin.mediation.operations import Reply
from tocsin.model.identity import Pairs
from tocsin.model.refusal import Refusal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

Headers = Iterable[tuple[bytes, bytes]]
_PACKED = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}

BODY_SECONDS = 30.0


class Disconnected(Exception):
    """The caller went away before it had said everything."""


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Refuses as soon as it is known that the body is too large; what follows is read and thrown away by the server."""
    cycle = getattr(receive, "__self__", None)
    if type(cycle) is not RequestResponseCycle or cycle.more_body:
        body = await _received(scope, receive, limit)
    elif cycle.disconnected:
        raise Disconnected
    else:  # all of it has come; `receive` would take ten times as long
        body, cycle.body = bytes(cycle.body), bytearray()
        cycle.message_event.clear()
        cycle.flow.resume_reading()
    if len(body) > limit:
        raise _too_large(limit)
    for name, value in scope["headers"]:
        if name == b"content-encoding":
            return _unpacked(body, str(value, "latin-1"), limit)
    return body


async def _received(scope: Scope, receive: Receive, limit: int) -> bytes:
    length = header(scope, b"content-length")
    if length.isdigit() and int(length) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _in_parts(receive, limit)
    except TimeoutError:
        raise Refusal("too-slow", f"the body did not come within {BODY_SECONDS:.0f} seconds") from None


async def _in_parts(receive: Receive, limit: int) -> bytes:
    parts, size, more = list[bytes](), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise _too_large(limit)
        more = message.get("more_body", False)
    return b"".join(parts)


def _unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    """No more of it than is accepted, however small it was on the way."""
    if not encoding:
        return body
    if encoding.lower() not in _PACKED:
        raise Refusal("malformed", f"the content encoding {encoding!r} is not supported; gzip is")
    unpacker = zlib.decompressobj(wbits=_PACKED[encoding.lower()])
    try:
        found = unpacker.decompress(body, limit + 1)
    except zlib.error as problem:
        raise Refusal("malformed", f"the body is not what its content encoding {encoding} says: {problem}") from None
    if len(found) > limit:
        raise _too_large(limit)
    if not unpacker.eof:
        raise Refusal("malformed", f"the body ends before its content encoding {encoding} does")
    return found


def header(scope: Scope, name: bytes) -> str:
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return ""


async def send_reply(send: Send, reply: Reply) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in reply.headers]
    headers.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def only(*methods: str) -> Reply:
    """RFC 9457 has it that a problem is told in JSON, also one of the method alone."""
    allowed = ", ".join(methods)
    told = {
        "type": "urn:tocsin:refusal:method",
        "title": "method not allowed",
        "status": 405,
        "detail": f"this address takes {allowed} only",
    }
    headers = (("Allow", allowed), ("Content-Type", "application/problem+json"))
    return Reply(405, headers, msgspec.json.encode(told))


_ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n%b\r\n"
_NO_LENGTH = (b"content-length", b"0")
_EMPTY_BODY = {"type": "http.response.body", "body": b""}


async def send_accepted(send: Send, location: bytes = b"") -> None:
    """202 and an empty body: the one answer to a one-way message that every client takes. `location` is where more is
    to be seen of it.

    In ASGI's two messages, which are for any answer, it takes three times as long; so it is said at once where there
    is nothing more to be said.
    """
    cycle = getattr(send, "__self__", None)
    if (
        type(cycle) is not RequestResponseCycle
        or cycle.response_started
        or cycle.disconnected
        or not cycle.keep_alive
        or cycle.default_headers
        or cycle.flow.write_paused
    ):
        headers = [_NO_LENGTH, (b"location", location)] if location else [_NO_LENGTH]
        await send({"type": "http.response.start", "status": 202, "headers": headers})
        await send(_EMPTY_BODY)
        return
    cycle.response_started = cycle.response_complete = True
    cycle.transport.write(_ACCEPTED % (b"location: %b\r\n" % location if location else b""))
    cycle.message_event.set()
    cycle.on_response()


def _too_large(limit: int) -> Refusal:
    return Refusal("too-large", f"the body has more than the {limit} bytes that are accepted here")


Found = TypeVar("Found")


async def while_connected(receive: Receive, work: Coroutine[Any, Any, Found]) -> Found:
    """What comes of the work; it is cancelled when the caller goes away before that. The body must have been read."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Disconnected
        return working.result()
    finally:
        await ended(working, leaving)


async def ended(*tasks: "asyncio.Task[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


ANY = "*"


def options(scope: Scope, origins: Sequence[str]) -> Reply:
    """Consent is in the headers alone; without them the answer says no more than which method is taken."""
    asked = header(scope, b"webhook-request-origin").strip()
    headers: Pairs = (("Allow", "POST, OPTIONS"),)
    if asked and (ANY in origins or asked.lower() in origins):
        headers += (("WebHook-Allowed-Origin", ANY if ANY in origins else asked), ("WebHook-Allowed-Rate", ANY))
    return Reply(200, headers, b"")
