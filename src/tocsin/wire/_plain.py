"""Posts over plain HTTP without libcurl: a third of the work for each, on sockets that stay in one epoll."""

import asyncio
import os
import re
import select
import socket
from collections import deque
from collections.abc import Callable
from time import monotonic

from tocsin.model.identity import Pairs
from tocsin.wire._reading import Reading
from tocsin.wire._transfer import Done, header_line
from tocsin.wire.addresses import KEPT, AddressGuard, BadAddress, Pin, place
from tocsin.wire.answer import Answer

# Only what every client writes alike: no user, no fragment, nothing to escape, no `/.` that libcurl would resolve.
_URL = re.compile(r"http://([A-Za-z0-9.:\[\]-]+)((?:(?=[/?])(?:(?!/\.)[A-Za-z0-9/?&=+%:@,;.~_!$'()*-])*)?)")
_OURS = frozenset({"connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"})


class Unusual(Exception):
    """A post for libcurl."""


class Route:
    """`idle` are the kept connections to its host and port, which it shares with other routes."""

    __slots__ = ("_authority", "_target", "addresses", "head", "headers", "idle", "name", "port", "until")

    def __init__(self, url: str, pin: Pin) -> None:
        written = _URL.fullmatch(url)
        if written is None:
            raise Unusual
        self._authority, target = written.groups()
        self._target = target if target.startswith("/") else f"/{target}"
        self.name, self.port = place(url)
        listed = pin.resolve.split(":", 2)[2].split(",") if pin.resolve else [self.name]
        self.addresses, self.until = tuple(each.strip("[]") for each in listed if each) or (self.name,), pin.until
        self.idle: list[Connection] = []
        self.headers: Pairs | None = None
        self.head = b""

    def use(self, headers: Pairs) -> bytes:
        """The head, up to the length of the body; BadAddress when a header cannot be written."""
        if any(name.lower() in _OURS for name, _ in headers):
            raise Unusual
        lines = [f"POST {self._target} HTTP/1.1".encode(), f"Host: {self._authority}".encode(), b"Accept: */*"]
        lines += [header_line(name, value) for name, value in headers]
        self.headers, self.head = headers, b"\r\n".join((*lines, b"Content-Length: "))
        return self.head


_IN, _OUT = select.EPOLLIN, select.EPOLLOUT
_CHUNK = 16 << 10
_IDLE_SECONDS = 100.0
_MOST_KNOWN = 1024
_LONGEST_KNOWN = 512

Tell = Callable[[Done | None, Answer], None]
Post = Callable[[str, Pairs, bytes, Done], None]


class Connection:
    """Idle while `done` is None. `left` are the addresses that are not tried yet, None once it is connected."""

    __slots__ = (
        "done",
        "kept",
        "left",
        "number",
        "pending",
        "reading",
        "recv",
        "request",
        "route",
        "send",
        "socket",
        "started",
        "unsent",
    )

    def __init__(self, route: Route, opened: socket.socket, left: deque[str]) -> None:
        self.route, self.socket, self.number = route, opened, opened.fileno()
        self.send, self.recv = opened.send, opened.recv
        self.left: deque[str] | None = left
        self.done: Done | None = None
        self.request = b""
        self.pending: memoryview | None = None
        self.reading: Reading | None = None
        self.started = 0.0
        self.kept = self.unsent = False


class Plain:
    """`tell` is called with each `done` and its answer, later, never from inside `post`.

    `otherwise` takes each post for which no connection is open; it comes back by `route` and `begin` if it is plain.
    """

    def __init__(
        self,
        tell: Tell,
        otherwise: Post,
        guard: AddressGuard | None,
        timing: tuple[float, float],
        *,
        limit: int,
        idle_connections: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._tell, self._otherwise, self._guard = tell, otherwise, guard
        self._routes: dict[str, Route] = {}
        self._connect_timeout, self._timeout = timing
        self._pause = min(1.0, self._timeout / 8, self._connect_timeout / 8)
        self._limit, self._most = limit, idle_connections
        self._epoll = select.epoll()
        self._connections: dict[int, Connection] = {}
        self._idle: dict[tuple[str, int], list[Connection]] = {}
        # Answers of a few lines that were read in full once: whoever says the same again means the same.
        self._known: dict[bytes, int] = {}
        self._following: list[Connection] | None = None  # what is still to be sent, while answers are heard
        self._alarm: asyncio.TimerHandle | None = None
        self._loop.add_reader(self._epoll.fileno(), self._ready)

    def post(self, url: str, headers: Pairs, body: bytes, done: Done) -> None:
        """`done` is called once, later, never from inside."""
        route, now = self._routes.get(url), monotonic()
        if route is not None and headers is route.headers and route.until > now and route.idle:
            connection = route.idle.pop()
            connection.done, connection.started = done, now
            self._send(connection, b"%b%d\r\n\r\n%b" % (route.head, len(body), body))
        else:
            self._otherwise(url, headers, body, done)

    def route(self, url: str, pin: Pin) -> Route:
        """Unusual when libcurl must do it."""
        known = self._routes.get(url)
        if known is not None and known.until > monotonic():
            return known
        if len(self._routes) >= KEPT:
            self._routes.clear()
        route = self._routes[url] = Route(url, pin)
        if len(self._idle) >= KEPT:
            self._idle = {at: idle for at, idle in self._idle.items() if idle}
        route.idle = self._idle.setdefault((route.name, route.port), route.idle)
        return route

    def begin(self, route: Route, headers: Pairs, body: bytes, done: Done) -> None:
        """BadAddress when a header cannot be written, Unusual when libcurl must do it."""
        head, now = route.head if headers is route.headers else route.use(headers), monotonic()
        request = b"%b%d\r\n\r\n%b" % (head, len(body), body)
        if route.idle:
            connection = route.idle.pop()
            connection.done, connection.started = done, now
            self._send(connection, request)
        else:
            self._open(route, deque(route.addresses), done, request, now)

    def close(self) -> list[Done]:
        """Those who wait; they are the caller's to answer."""
        self._routes.clear()
        self._loop.remove_reader(self._epoll.fileno())
        if self._alarm is not None:
            self._alarm.cancel()
        waiting = [each.done for each in self._connections.values() if each.done is not None]
        for connection in list(self._connections.values()):
            self._drop(connection)
        self._epoll.close()
        return waiting

    def _open(self, route: Route, left: deque[str], done: Done, request: bytes, started: float) -> None:
        """To the first address that is permitted and does not refuse at once."""
        problem = Answer(0, error=f"{route.name} has no address")
        while left:
            address = left.popleft()
            try:
                opened = self._connect(address, route.port)
            except BadAddress as error:
                problem = Answer(0, error=str(error), refused=True)
            except OSError as error:
                problem = Answer(0, error=_not_reached(route, error))
            else:
                self._watch(Connection(route, opened, left), done, request, started)
                return
        self._loop.call_soon(self._tell, done, problem)

    def _connect(self, address: str, port: int) -> socket.socket:
        """The one place where a connection begins: this address, and no other, is connected to."""
        if self._guard is not None:
            self._guard.permit(address, port)
        opened = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            opened.setblocking(False)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.connect((address, port))
        except BlockingIOError:
            pass
        except OSError:
            opened.close()
            raise
        return opened

    def _watch(self, connection: Connection, done: Done, request: bytes, started: float) -> None:
        connection.done, connection.request, connection.started = done, request, started
        self._connections[connection.number] = connection
        self._epoll.register(connection.number, _OUT)
        if self._alarm is None:
            self._alarm = self._loop.call_later(self._pause, self._sweep)

    def _send(self, connection: Connection, request: bytes) -> None:
        """What follows on answers that came together goes out together: to wake up who reads it costs as much as to
        send it."""
        connection.request = request
        if self._following is None:
            self._write(connection, request)
        else:
            connection.unsent = True
            self._following.append(connection)

    def _write(self, connection: Connection, request: bytes) -> None:
        connection.unsent = False
        try:
            sent = connection.send(request)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._loop.call_soon(self._broken, connection, connection.done, str(error))
            return
        if sent < len(request):
            connection.pending = memoryview(request)[sent:]
            self._epoll.modify(connection.number, _IN | _OUT)

    def _ready(self) -> None:
        connections, known = self._connections, self._known
        following = self._following = []
        try:
            for number, event in self._epoll.poll(0):
                connection = connections.get(number)
                if connection is None:
                    continue
                if event != _IN or connection.done is None or connection.reading is not None or connection.unsent:
                    self._woken(connection, event)
                    continue
                try:
                    data = connection.recv(_CHUNK)
                except OSError as error:
                    self._not_read(connection, error)
                    continue
                status = known.get(data)
                if status is None or connection.pending is not None:
                    self._heard(connection, data)
                else:
                    done, connection.done, connection.request, connection.kept = connection.done, None, b"", True
                    # Idle before the answer is told: what follows on this answer finds this connection.
                    connection.route.idle.append(connection)
                    self._tell(done, Answer(status, b"", (), "", monotonic() - connection.started))
        finally:
            self._following = None
            for connection in following:
                if connection.done is not None:  # else it was lost meanwhile, and the request taken to another
                    self._write(connection, connection.request)

    def _woken(self, connection: Connection, event: int) -> None:
        """Whatever happens seldom."""
        if connection.left is not None:
            self._connected(connection)
        elif connection.done is None:  # the other side closed, or speaks out of turn
            connection.route.idle.remove(connection)
            self._drop(connection)
        elif connection.unsent:  # likewise, when it was just taken
            self._broken(connection, connection.done, "the connection was closed before the request was sent")
        elif connection.pending is not None and not event & _IN:
            self._send_more(connection, connection.pending)
        else:
            self._read(connection)

    def _connected(self, connection: Connection) -> None:
        code = connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._next_address(connection, OSError(code, os.strerror(code)))
            return
        try:
            connection.socket.getpeername()
        except OSError:
            return  # an event of another socket, that had this number before
        connection.left = None
        self._epoll.modify(connection.number, _IN)
        self._send(connection, connection.request)

    def _next_address(self, connection: Connection, error: OSError) -> None:
        route, left, done = connection.route, connection.left, connection.done
        self._drop(connection)
        assert done is not None
        if left:
            self._open(route, left, done, connection.request, connection.started)
        else:
            self._tell(done, Answer(0, error=_not_reached(route, error)))

    def _send_more(self, connection: Connection, pending: memoryview) -> None:
        try:
            pending = pending[connection.send(pending) :]
        except BlockingIOError:
            return
        except OSError as error:
            self._broken(connection, connection.done, str(error))
            return
        connection.pending = pending if len(pending) else None
        if connection.pending is None:
            self._epoll.modify(connection.number, _IN)

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.recv(_CHUNK)
        except OSError as error:
            self._not_read(connection, error)
        else:
            self._heard(connection, data)

    def _not_read(self, connection: Connection, error: OSError) -> None:
        if not isinstance(error, BlockingIOError):
            self._broken(connection, connection.done, str(error))

    def _heard(self, connection: Connection, data: bytes) -> None:
        first = connection.reading is None
        if first and not data:
            self._broken(connection, connection.done, "the connection was closed without an answer")
            return
        reading = connection.reading = connection.reading or Reading(self._limit)
        problem = reading.feed(data) if data else reading.ended()
        if problem:
            self._finish(connection, Answer(0, error=problem, seconds=monotonic() - connection.started), keep=False)
        elif reading.complete or reading.too_long:
            keep = reading.complete and reading.keep and not reading.too_long and connection.pending is None
            if first and keep and not reading.size and 200 <= reading.status < 300:
                self._remember(data, reading.status)
            self._finish(connection, _answer(reading, self._limit, connection.started), keep=keep)

    def _remember(self, data: bytes, status: int) -> None:
        if len(data) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[data] = status

    def _finish(self, connection: Connection, answer: Answer, *, keep: bool) -> None:
        done, connection.done, connection.reading = connection.done, None, None
        if keep:
            connection.request, connection.kept = b"", True
            connection.route.idle.append(connection)
        else:
            self._drop(connection)
        self._tell(done, answer)

    def _broken(self, connection: Connection, done: Done | None, problem: str) -> None:
        """Before the first byte of an answer. A connection that was kept may have been closed at any time before."""
        if connection.done is not done or done is None:
            return
        route, started = connection.route, connection.started
        self._drop(connection)
        if connection.kept:
            self._open(route, deque(route.addresses), done, connection.request, started)
        else:
            self._tell(done, Answer(0, error=problem, seconds=monotonic() - started))

    def _drop(self, connection: Connection) -> None:
        connection.done = None
        del self._connections[connection.number]
        connection.socket.close()

    def _sweep(self) -> None:
        """All deadlines at once: an alarm for each post would cost as much as the post."""
        now = monotonic()
        for connection in list(self._connections.values()):
            waited = now - connection.started
            if connection.done is None:
                if waited > _IDLE_SECONDS or len(self._connections) > self._most:
                    connection.route.idle.remove(connection)
                    self._drop(connection)
            elif waited > self._timeout or (connection.left is not None and waited > self._connect_timeout):
                where = "connecting" if connection.left is not None else "waiting for the answer"
                late = Answer(0, error=f"timed out after {waited:.1f} s, {where}", seconds=waited)
                self._finish(connection, late, keep=False)
        self._alarm = self._loop.call_later(self._pause, self._sweep) if self._connections else None


def _answer(reading: Reading, limit: int, started: float) -> Answer:
    error = f"the answer is longer than {limit} bytes" if reading.too_long else ""
    return Answer(reading.status, reading.body, (), error, monotonic() - started, reading.retry_after)


def _not_reached(route: Route, error: OSError) -> str:
    return f"cannot connect to {route.name} port {route.port}: {error.strerror or error}"
