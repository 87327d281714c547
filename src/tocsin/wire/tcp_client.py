"""The guarded sender of SOAP over TCP, beside the HTTP client and of the same shape.

A one-way message has no answer. It counts as delivered when the other side's TCP has acknowledged every octet and the
connection is as good as before a moment later; a fault that comes back until then is a failure.
"""

import asyncio
import contextlib
import fcntl
import socket
import struct
import sys
import termios
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from tocsin.markup import xml
from tocsin.mediation.soap import dime
from tocsin.model.identity import Pairs
from tocsin.wire.addresses import (
    KEPT,
    AddressGuard,
    BadAddress,
    Lookup,
    Pin,
    Resolver,
    WireError,
    literal,
    place,
    system_lookup,
)
from tocsin.wire.answer import Answer

Done = Callable[[Answer], None]
Place = tuple[str, int]

SCHEME = "tcp"
SETTLING_SECONDS = 0.02
_LOOK_SECONDS = 0.001
_LONGEST_LOOK = 0.02
_CHUNK = 64 << 10
_IDLE_SECONDS = 100.0
_CLOSED = Answer(0, error="the client was closed")
_DELIVERED = Answer(202)


class _Lost(WireError):
    """The connection ended before the message was taken."""


class TcpSender:
    """Made inside the running loop. Connections are kept; with a guard, it is asked at every connect."""

    def __init__(
        self,
        *,
        connect_timeout: float = 5.0,
        timeout: float = 30.0,
        guard: AddressGuard | None = None,
        resolve: Lookup = system_lookup,
        max_connections: int = 1024,
        max_body: int = 64 << 10,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connect_timeout, self._timeout, self._guard = connect_timeout, timeout, guard
        self._resolver = Resolver(resolve, patience=connect_timeout)
        self._most_idle, self._max_body = max_connections, max_body
        self._idle: dict[Place, list[_Connection]] = {}
        self._kept_in_all = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def post(self, url: str, headers: Pairs, body: bytes, done: Done) -> None:
        """`done` is called once, later, never from inside."""
        if self._closed:
            self._loop.call_soon(done, _CLOSED)
            return
        task = self._loop.create_task(self._post(url, headers, body, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """What is in flight is answered as failed."""
        self._closed = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._resolver.close()
        for each in (connection for idle in self._idle.values() for connection in idle):
            await each.close()
        self._idle.clear()

    async def _post(self, url: str, headers: Pairs, body: bytes, done: Done) -> None:
        started = self._loop.time()
        try:
            async with asyncio.timeout(self._timeout):
                if urlsplit(url).scheme != SCHEME:
                    raise BadAddress(f"{url[:80]!r} is not an address of SOAP over TCP, such as tcp://host:port/path")
                answer = await self._deliver(place(url, soap=True), _framed(headers, body))
        except BadAddress as problem:
            answer = Answer(0, error=str(problem), refused=True)
        except TimeoutError:
            answer = Answer(0, error=f"no success within {self._timeout:g} seconds")
        except (OSError, _Lost) as problem:
            answer = Answer(0, error=str(problem) or type(problem).__name__)
        except asyncio.CancelledError:
            answer = _CLOSED
        self._tell(
            done, Answer(answer.status, answer.body, (), answer.error, self._loop.time() - started, 0.0, answer.refused)
        )

    def _tell(self, done: Done, answer: Answer) -> None:
        try:
            done(answer)
        except Exception as error:
            self._loop.call_exception_handler({"message": "an answer could not be taken", "exception": error})

    async def _deliver(self, at: Place, frame: bytes) -> Answer:
        """A kept connection that turns out to be closed is replaced by a new one without a word."""
        while (kept := self._kept(at)) is not None:
            with contextlib.suppress(OSError, _Lost):
                return await self._send(at, kept, frame)
        return await self._send(at, await self._connect(at), frame)

    async def _send(self, at: Place, connection: "_Connection", frame: bytes) -> Answer:
        try:
            answer = await connection.deliver(frame)
        except BaseException:
            await connection.close()
            raise
        self._keep(at, connection)
        return answer

    def _kept(self, at: Place) -> "_Connection | None":
        idle = self._idle.get(at, [])
        while idle:
            connection = idle.pop()
            self._kept_in_all -= 1
            if connection.is_good(self._loop.time()):
                return connection
            connection.abandon()
        return None

    def _keep(self, at: Place, connection: "_Connection") -> None:
        if self._closed or self._kept_in_all >= self._most_idle:
            connection.abandon()
            return
        if len(self._idle) >= KEPT:
            self._idle = {place: idle for place, idle in self._idle.items() if idle}
        self._kept_in_all += 1
        connection.idle_since = self._loop.time()
        self._idle.setdefault(at, []).append(connection)

    async def _connect(self, at: Place) -> "_Connection":
        """The guard is asked for the very address that is connected to."""
        problem: Exception | None = None
        for address in await self._addresses(at):
            if self._guard is not None:
                self._guard.permit(address, at[1])
            try:
                async with asyncio.timeout(self._connect_timeout):
                    reader, writer = await asyncio.open_connection(address, at[1], limit=_CHUNK)
                return _Connection(reader, writer, self._max_body)
            except TimeoutError:
                problem = _Lost(f"{at[0]}:{at[1]} did not connect within {self._connect_timeout:g} seconds")
            except OSError as error:
                problem = _Lost(f"{at[0]}:{at[1]} cannot be connected to: {error.strerror or error}")
        raise problem or _Lost(f"{at[0]} has no address")

    async def _addresses(self, at: Place) -> list[str]:
        if literal(at[0]) is not None:
            return [at[0]]
        found: asyncio.Future[Pin] = self._loop.create_future()
        self._resolver.find(f"http://{at[0]}:{at[1]}", partial(_found, found))
        pin = await found
        if pin.error:
            raise _Lost(pin.error)
        return [each.strip("[]") for each in pin.resolve.split(":", 2)[2].split(",")]


class _Connection:
    """One message at a time. What comes back while one is under way is about it, unless it says otherwise."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int) -> None:
        self._reader, self._writer = reader, writer
        self._frames = dime.Reader(limit)
        self._frame = b""
        self._answer: asyncio.Future[Answer | _Lost] | None = None
        self._problem: _Lost | None = None
        self._listening = asyncio.create_task(self._listen())
        self.idle_since = 0.0

    def is_good(self, now: float) -> bool:
        return self._problem is None and not self._writer.is_closing() and now - self.idle_since < _IDLE_SECONDS

    async def deliver(self, frame: bytes) -> Answer:
        if self._problem is not None:
            raise self._problem
        self._frame, self._answer = frame, asyncio.get_running_loop().create_future()
        try:
            self._writer.write(frame)
            pause = _LOOK_SECONDS
            while not self._answer.done() and self._unacknowledged():
                await asyncio.wait((self._answer,), timeout=pause)
                pause = min(2 * pause, _LONGEST_LOOK)
            await asyncio.wait((self._answer,), timeout=SETTLING_SECONDS)
            answer = self._answer.result() if self._answer.done() else _DELIVERED
        finally:
            self._answer = None
        if isinstance(answer, _Lost):
            raise answer
        return answer

    async def close(self) -> None:
        self.abandon()
        await asyncio.gather(self._listening, return_exceptions=True)
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    def abandon(self) -> None:
        self._listening.cancel()
        self._writer.transport.abort()

    def _unacknowledged(self) -> int:
        """Octets of ours that the other side's TCP has not confirmed; only Linux tells."""
        if self._writer.is_closing():
            raise _Lost("the connection was closed before the whole message was taken")
        waiting: int = self._writer.transport.get_write_buffer_size()
        opened: socket.socket | None = self._writer.get_extra_info("socket")
        if opened is None or not sys.platform.startswith("linux"):
            return waiting
        (queued,) = struct.unpack("i", fcntl.ioctl(opened.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))
        return int(queued) + waiting

    async def _listen(self) -> None:
        problem = "the connection was closed before the message was known to be taken"
        try:
            while octets := await self._reader.read(_CHUNK):
                for message in self._frames.feed(octets):
                    self._heard(message.data)
        except dime.DimeError as error:
            problem = f"the answer cannot be read: {error.args[0]}"
        except OSError as error:
            problem = f"the connection was lost: {error.strerror or error}"
        self._problem = _Lost(problem)
        self._told(self._problem)

    def _heard(self, body: bytes) -> None:
        """What relates to an earlier message comes too late to matter; between messages all does."""
        if self._answer is not None and _is_about(body, self._frame):
            self._told(_judged(body))

    def _told(self, answer: "Answer | _Lost") -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)


def _is_about(body: bytes, frame: bytes) -> bool:
    try:
        related = xml.parse(body).findtext("{*}Header/{*}RelatesTo")
    except xml.MarkupError:
        return True
    return not related or xml.text(related.strip()) in frame


def _judged(body: bytes) -> Answer:
    """Whose fault it is decides, as over HTTP, whether trying again can help."""
    try:
        fault = xml.parse(body).find("{*}Body/{*}Fault")
    except xml.MarkupError as problem:
        return Answer(502, body, error=f"the answer is not SOAP: {problem}")
    if fault is None:
        return Answer(200, body)
    code = fault.findtext("{*}Code/{*}Value") or fault.findtext("faultcode") or ""
    theirs = code.strip().rpartition(":")[2].partition(".")[0] in ("Sender", "Client", "MustUnderstand")
    return Answer(400 if theirs else 500, _reason(fault).encode())


def _reason(fault: xml.Element) -> str:
    return " ".join((fault.findtext("{*}Reason/{*}Text") or fault.findtext("faultstring") or "a SOAP fault").split())


def _framed(headers: Pairs, body: bytes) -> bytes:
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    return dime.write(dime.of_soap(body, kind))


def _found(future: "asyncio.Future[Pin]", pin: Pin) -> None:
    if not future.done():
        future.set_result(pin)
