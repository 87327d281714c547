"""What the short way does with answers and connections that are not the usual ones."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.wire._plain import Route, Unusual
from tocsin.wire._reading import Reading, seconds_until
from tocsin.wire.addresses import AddressGuard, Pin
from tocsin.wire.http_client import Answer, HttpClient
from tocsin.wire.server import no_more

INSIDE = AddressGuard(loopback_allowed=True)
OK = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"


Converse = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Says one list of pieces after another, a flush after each piece; `None` closes the connection."""

    def __init__(self, *said: list[bytes | None], converse: Converse | None = None) -> None:
        self._said = list(said)
        self._converse = converse or self._answer
        self._tasks: set[asyncio.Task[None]] = set()
        self.bodies: list[bytes] = []
        self.connections = 0
        self.port = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Server"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            await no_more(server)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            await self._converse(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await writer.wait_closed()
        self._tasks.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            self.bodies.append(await reader.readexactly(length))
            for piece in self._said.pop(0) if self._said else [OK]:
                if piece is None:
                    return
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    client = HttpClient(guard=INSIDE, timeout=5.0)
    yield client
    assert not client._posts, "these posts do not need libcurl"
    await client.close()


def posted(client: HttpClient, server: Server, body: bytes = b"x") -> Awaitable[Answer]:
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    client.post(f"http://127.0.0.1:{server.port}/in", (), body, answered.set_result)
    assert not answered.done()
    return asyncio.wait_for(answered, 60)


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10.0):
        while not condition():
            await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("pieces", "status", "body", "kept"),
    [
        ([OK], 202, b"", True),
        ([OK[:5], OK[5:20], OK[20:]], 202, b"", True),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], 204, b"", True),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"0\r\n\r\n"], 200, b"abc", True),
        ([b"HTTP/1.1 103 Hints\r\nLink: <a>\r\n\r\n", OK], 202, b"", True),
        ([b"HTTP/1.1 100 Continue\r\n\r\n" + OK], 202, b"", True),
        ([b"HTTP/1.1 200 OK\r\n\r\nuntil ", b"the end", None], 200, b"until the end", False),
        ([b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"], 200, b"ok", False),
        ([b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", None], 200, b"ok", False),
        ([OK + b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"], 202, b"", False),
        ([OK + b"nobody asked"], 202, b"", False),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", None], 0, b"", False),
        ([b"HTTP/1.1 200 OK\r\nContent-Le", None], 0, b"", False),
        ([None], 0, b"", False),
        ([b"SSH-2.0-what\r\n"], 0, b"", False),
    ],
)
async def test_answers(client: HttpClient, pieces: list[bytes | None], status: int, body: bytes, kept: bool) -> None:
    async with Server(pieces, pieces).running() as server:
        for turn in (1, 2):
            answer = await posted(client, server)
            assert (answer.status, answer.body, bool(answer.error)) == (status, body, status == 0)
            assert server.connections == (1 if kept else turn)


async def test_an_answer_that_was_seen_before_may_be_followed_by_another(client: HttpClient) -> None:
    busy = b"HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n"
    async with Server([OK], [OK], [busy], [OK], [busy]).running() as server:
        answers = [await posted(client, server) for _ in range(5)]
        assert [(each.status, each.retry_after) for each in answers] == [
            (202, 0),
            (202, 0),
            (503, 3),
            (202, 0),
            (503, 3),
        ]
        assert server.connections == 1


async def test_a_kept_connection_that_is_closed_instead_of_an_answer(client: HttpClient) -> None:
    async with Server([OK], [None], [OK]).running() as server:
        assert [(await posted(client, server, body)).status for body in (b"1", b"2")] == [202, 202]
        assert (server.bodies, server.connections) == ([b"1", b"2", b"2"], 2)


class InOrder:
    """An epoll that tells of one number before all others."""

    def __init__(self, real: Any, first: int) -> None:
        self._real, self._first = real, first

    def poll(self, timeout: float) -> list[tuple[int, int]]:
        return sorted(self._real.poll(timeout), key=lambda event: event[0] != self._first)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.parametrize("act", [socket.socket.close, lambda connection: connection.send(OK)])
async def test_what_follows_on_an_answer_takes_a_connection_that_was_just_closed_or_spoke_out_of_turn(
    client: HttpClient, act: Callable[[socket.socket], object]
) -> None:
    answers: list[Answer] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/in"

        def follow(answer: Answer) -> None:
            answers.append(answer)
            for _ in range(2):
                client.post(url, (), b"x", answers.append)

        for _ in range(2):
            client.post(url, (), b"x", answers.append)
        kept = [await _accepted(listener) for _ in range(2)]
        await wait_until(lambda: len(answers) == 2)
        used, idle = client._plain._connections[client._plain._routes[url].idle[-1].number], kept[0]
        if idle.getpeername() == used.socket.getsockname():
            idle = kept[1]
        client.post(url, (), b"x", follow)
        client._plain._epoll = cast(Any, InOrder(client._plain._epoll, used.number))
        (other,) = (each for each in kept if each is not idle)
        act(idle)
        await _say_ok(other)
        fresh = await _accepted(listener)  # whose request goes out a second time, or for the first
        await _say_ok(other)
        await wait_until(lambda: len(answers) == 5)
        assert [each.status for each in answers] == [202] * 5
        for each in (idle, other, fresh):
            each.close()


async def _accepted(listener: socket.socket) -> socket.socket:
    """A connection, its first request answered."""
    listener.setblocking(False)
    async with asyncio.timeout(10.0):
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)
    await _say_ok(connection)
    return connection


async def _say_ok(connection: socket.socket) -> None:
    connection.setblocking(False)
    heard = b""
    while not heard.endswith(b"x"):
        heard += await asyncio.get_running_loop().sock_recv(connection, 1000)
    await asyncio.get_running_loop().sock_sendall(connection, OK)


async def test_a_body_larger_than_any_buffer(client: HttpClient) -> None:
    async with Server().running() as server:
        bodies = [bytes([number]) * (8 << 20) for number in range(3)]
        assert [(await posted(client, server, body)).status for body in bodies] == [202, 202, 202]
        assert (server.bodies, server.connections) == (bodies, 1)


async def test_an_answer_before_the_whole_request_was_sent(client: HttpClient) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with Server(converse=refuse).running() as server:
        assert (await posted(client, server, b"x" * (32 << 20))).status == 413
        assert not client._plain._connections


async def test_the_next_address_when_the_first_refuses() -> None:
    client = HttpClient(guard=INSIDE, resolve=lambda host, port: ["::1", "169.254.0.1", "127.0.0.1"])
    async with Server().running() as server:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        client.post(f"http://two.test:{server.port}/", (), b"x", answered.set_result)
        assert (await answered).status == 202
    await client.close()


async def test_a_connection_that_is_never_made() -> None:
    client = HttpClient(guard=INSIDE, connect_timeout=0.1, timeout=5.0)
    # With a backlog of 0 the kernel takes one connection, and does not answer whoever comes next.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as others:
        for _ in range(3):
            other = others.enter_context(socket.socket())
            other.setblocking(False)
            other.connect_ex(full.getsockname())
        server = Server()
        server.port = full.getsockname()[1]
        answer = await posted(client, server)
    assert answer.status == 0
    assert "timed out" in answer.error
    await client.close()


async def test_idle_connections_go_when_there_are_too_many() -> None:
    client = HttpClient(guard=INSIDE, timeout=0.2, max_connections=2)
    async with Server().running() as server:
        await asyncio.gather(*(posted(client, server) for _ in range(5)))
        assert server.connections == 5
        await wait_until(lambda: len(client._plain._connections) == 2)
        assert (await posted(client, server)).status == 202
        assert server.connections == 5
    await client.close()


@pytest.mark.parametrize(
    "url",
    [
        "https://a/",
        "http://u@a/",
        "http://a/x#f",
        "http://a/x/../y",
        "http://a/./y",
        "http://a/{b}",
        "http://[fe80::1%25eth0]/",
        "HTTP://a/",
    ],
)
def test_urls_for_libcurl(url: str) -> None:
    with pytest.raises(Unusual):
        Route(url, Pin())


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "Expect"])
def test_headers_for_libcurl(name: str) -> None:
    with pytest.raises(Unusual):
        Route("http://a/", Pin()).use(((name, "x"),))


@pytest.mark.parametrize(
    ("url", "first", "host"),
    [
        ("http://a", b"POST / HTTP/1.1", b"Host: a"),
        ("http://a:81?b=c", b"POST /?b=c HTTP/1.1", b"Host: a:81"),
        ("http://[::1]:8080/a.b/c?d", b"POST /a.b/c?d HTTP/1.1", b"Host: [::1]:8080"),
    ],
)
def test_the_first_lines(url: str, first: bytes, host: bytes) -> None:
    assert Route(url, Pin()).use(()).split(b"\r\n")[:2] == [first, host]


def test_addresses() -> None:
    assert Route("http://[::1]:8080/", Pin()).addresses == ("::1",)
    assert Route("http://a/", Pin("a:80:[::1],127.0.0.1")).addresses == ("::1", "127.0.0.1")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("17", 17), (" 0 ", 0), ("Wed, 21 Oct 2026 07:28:00 GMT", 60), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("soon", 0)],
)
def test_retry_after(text: str, seconds: float) -> None:
    assert seconds_until(text, datetime(2026, 10, 21, 7, 27, tzinfo=UTC)) == seconds


@given(
    st.lists(st.integers(1, 200)),
    st.sampled_from(
        [
            OK,
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n",
        ]
    ),
)
def test_where_an_answer_is_cut_makes_no_difference(cuts: list[int], data: bytes) -> None:
    whole, pieces = Reading(1000), Reading(1000)
    assert whole.feed(data) == ""
    ends = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    for start, end in zip([0, *ends], ends, strict=False):
        assert not pieces.complete
        assert pieces.feed(data[start:end]) == ""
    told = [(each.status, each.body, each.complete, each.keep) for each in (whole, pieces)]
    assert told[0] == told[1]
    assert whole.complete
