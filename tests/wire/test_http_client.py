"""The client against real servers on loopback."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest
import uvloop

from tocsin.model.identity import Pairs
from tocsin.wire._plain import Plain, Route, Unusual
from tocsin.wire.addresses import AddressGuard, Pin
from tocsin.wire.http_client import Answer, HttpClient
from tocsin.wire.server import no_more

INSIDE = AddressGuard(loopback_allowed=True)
OK = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
Say = Callable[[str, bytes], bytes | None]


class Server:
    """Says what it is told for each request; `None` is to close without a word, b"" to say nothing for ever."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}/in"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while (said := await self._hear(reader)) is not None:
                writer.write(said)
                await writer.drain()
                if b"Connection: close" in said:
                    break
        writer.close()
        self._tasks.discard(task)

    async def _hear(self, reader: asyncio.StreamReader) -> bytes | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lengths = [int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")]
        self.heads.append(head)
        self.bodies.append(await reader.readexactly(lengths[0]) if lengths else b"")
        return self.say(head, self.bodies[-1])

    def hang_up(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def close(self, server: asyncio.Server) -> None:
        await no_more(server)
        tasks = list(self._tasks)
        self.hang_up()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    made = Server(lambda head, body: OK)
    listening = await asyncio.start_server(made._serve, "127.0.0.1", 0, backlog=512)
    made.port = listening.sockets[0].getsockname()[1]
    yield made
    await made.close(listening)


@pytest.fixture(autouse=True, params=["plain", "libcurl"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything holds for posts that go the short way, and for those that libcurl does."""

    def unusual(plain: Plain, url: str, pin: Pin) -> Route:
        raise Unusual

    if request.param == "libcurl":
        monkeypatch.setattr(Plain, "route", unusual)
    return str(request.param)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as made:
        yield made


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    client = HttpClient(guard=INSIDE, timeout=10.0)
    yield client
    await client.close()


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10.0):
        while not condition():
            await asyncio.sleep(0.001)


def posted(client: HttpClient, url: str, headers: Pairs = (), body: bytes = b"x") -> Awaitable[Answer]:
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    client.post(url, headers, body, answered.set_result)
    assert not answered.done()
    return asyncio.wait_for(answered, 60)


async def test_a_post_is_what_was_asked_for_and_no_more(server: Server, client: HttpClient) -> None:
    headers = (("Content-Type", "text/xml"), ("SOAPAction", '"urn:a"'), ("X-Empty", ""), ("X-Word", "für"))
    answer = await posted(client, server.url(), headers, b"<a/>")
    assert (answer.status, answer.body, answer.error, answer.refused) == (202, b"", "", False)
    assert answer.seconds > 0
    assert server.bodies == [b"<a/>"]
    lines = server.heads[0].encode("latin-1").decode().split("\r\n")
    assert lines[0] == "POST /in HTTP/1.1"
    for line in ("Content-Type: text/xml", 'SOAPAction: "urn:a"', "X-Empty:", "X-Word: für", "Content-Length: 4"):
        assert line in lines
    assert not [line for line in lines if line.lower().startswith("expect")]


async def test_no_content_type_of_its_own(server: Server, client: HttpClient) -> None:
    await posted(client, server.url())
    assert "content-type" not in server.heads[0].lower()


async def test_connections_are_kept(server: Server, client: HttpClient) -> None:
    for number in range(20):
        assert (await posted(client, server.url(), (("X-Number", str(number)),), b"x" * number)).status == 202
    assert server.connections == 1
    assert [len(body) for body in server.bodies] == list(range(20))
    assert [f"X-Number: {number}" in head for number, head in enumerate(server.heads)] == [True] * 20


async def test_a_kept_connection_that_was_closed_is_replaced(server: Server, client: HttpClient) -> None:
    for _ in range(3):
        assert (await posted(client, server.url())).status == 202
        server.hang_up()
        await wait_until(lambda: not server._tasks)
    assert server.connections == 3


async def test_descriptors_that_come_back_as_other_sockets(server: Server, client: HttpClient) -> None:
    closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    server.say = lambda head, body: closing if body in (b"0", b"3") else None if body == b"5" else OK
    for _ in range(20):
        answers = await asyncio.gather(*(posted(client, server.url(), (), str(n % 7).encode()) for n in range(21)))
        assert [answer.status for answer in answers] == [[200, 202, 202, 200, 202, 0, 202][n % 7] for n in range(21)]


async def test_many_at_once(server: Server, client: HttpClient) -> None:
    answers = await asyncio.gather(*(posted(client, server.url()) for _ in range(200)))
    assert {answer.status for answer in answers} == {202}


async def test_a_body_is_kept_up_to_the_limit_and_the_status_beyond(server: Server) -> None:
    client = HttpClient(guard=INSIDE, max_body=1000)
    sizes = iter([1000, 1001, 500_000, 10])

    def say(head: str, body: bytes) -> bytes:
        size = next(sizes)
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"y" * size

    server.say = say
    answers = [await posted(client, server.url()) for _ in range(4)]
    assert [(answer.status, len(answer.body)) for answer in answers] == [
        (200, 1000),
        (200, 1000),
        (200, 1000),
        (200, 10),
    ]
    assert ["longer than 1000" in answer.error for answer in answers] == [False, True, True, False]
    await client.close()


async def test_what_a_refusal_says(server: Server, client: HttpClient) -> None:
    server.say = lambda head, body: b"HTTP/1.1 503 Busy\r\nRetry-After: 17\r\nContent-Length: 5\r\n\r\nlater"
    answer = await posted(client, server.url())
    assert (answer.status, answer.body, answer.retry_after) == (503, b"later", 17)
    server.say = lambda head, body: OK
    answer = await posted(client, server.url())
    assert (answer.status, answer.body, answer.retry_after) == (202, b"", 0)


async def test_a_path_is_sent_as_it_is_written(server: Server, client: HttpClient) -> None:
    await posted(client, server.url() + "/../a/./%2e%2e/b")
    await client.request("OPTIONS", server.url() + "/../a")
    assert [head.split()[1].lower() for head in server.heads] == ["/in/../a/./%2e%2e/b", "/in/../a"]


async def test_redirects_are_not_followed(server: Server, client: HttpClient) -> None:
    moved = f"HTTP/1.1 307 There\r\nLocation: {server.url()}\r\nContent-Length: 0\r\n\r\n".encode()
    server.say = lambda head, body: moved
    assert (await posted(client, server.url())).status == 307
    assert len(server.heads) == 1


async def test_no_proxy_of_the_environment(server: Server, client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert (await posted(client, server.url())).status == 202


async def test_every_wait_has_a_deadline(server: Server) -> None:
    client = HttpClient(guard=INSIDE, timeout=0.1)
    server.say = lambda head, body: b""
    answer = await posted(client, server.url())
    assert answer.status == 0
    assert "timed out" in answer.error.lower()
    server.say = lambda head, body: OK
    assert (await posted(client, server.url())).status == 202
    await client.close()


async def test_nobody_listens(client: HttpClient) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        answer = await posted(client, f"http://127.0.0.1:{taken.getsockname()[1]}/")
    assert (answer.status, answer.refused) == (0, False)
    assert answer.error


async def test_nonsense_for_an_answer(server: Server, client: HttpClient) -> None:
    server.say = lambda head, body: b"\x00\x01 what?\r\n\r\nConnection: close"
    answer = await posted(client, server.url())
    assert answer.status == 0
    assert answer.error


@pytest.mark.parametrize("header", [("X-A", "b\r\nX-C: d"), ("X A", "b"), ("X:A", "b"), ("", "b")])
async def test_a_header_that_would_become_two(server: Server, client: HttpClient, header: tuple[str, str]) -> None:
    answer = await posted(client, server.url(), (header,))
    assert (answer.status, answer.refused) == (0, True)
    assert (await posted(client, server.url())).status == 202
    assert len(server.heads) == 1


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "file:///etc/hosts", "http://", "nonsense", "http://a@127.0.0.1/"])
async def test_an_address_with_a_bad_form_is_refused(client: HttpClient, url: str) -> None:
    answer = await posted(client, url)
    assert (answer.status, answer.refused) == (0, True)
    assert answer.error


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
async def test_the_guard_sees_the_address_that_is_connected_to(server: Server, host: str) -> None:
    client = HttpClient(guard=AddressGuard(loopback_allowed=False))
    answer = await posted(client, server.url(host))
    assert (answer.status, answer.refused) == (0, True)
    assert "loopback" in answer.error or "is a number and no usual address" in answer.error
    assert server.connections == 0
    await client.close()


async def test_a_name_that_resolves_to_where_nothing_is_sent(server: Server) -> None:
    client = HttpClient(guard=INSIDE, resolve=lambda host, port: ["169.254.169.254"])
    answer = await posted(client, server.url("metadata.test"))
    assert answer.refused
    assert "link-local" in answer.error
    await client.close()


async def test_one_look_up_for_a_name_with_many_posts(server: Server) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    client = HttpClient(guard=INSIDE, resolve=resolve)
    answers = await asyncio.gather(*(posted(client, server.url("sink.test")) for _ in range(50)))
    answers += [await posted(client, server.url("sink.test") + "/more")]
    assert {answer.status for answer in answers} == {202}
    assert asked == ["sink.test"]
    assert f"Host: sink.test:{server.port}" in server.heads[0]
    await client.close()


async def test_a_handle_goes_from_a_name_to_another_and_to_an_address(server: Server, way: str) -> None:
    found = {"one.test": ["127.0.0.1"], "two.test": ["::1", "127.0.0.1"]}
    client = HttpClient(guard=INSIDE, resolve=lambda host, port: found[host])
    for host in ("one.test", "127.0.0.1", "two.test", "one.test", "127.0.0.1"):
        answer = await posted(client, server.url(host))
        assert (answer.status, answer.error) == (202, "")
    assert len(client._posts) == (way == "libcurl")
    await client.close()


async def test_a_name_that_does_not_resolve_holds_nobody_up(server: Server) -> None:
    waiting = threading.Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        if host == "lost.test":
            raise OSError("no such name")
        waiting.wait(20)
        return []

    client = HttpClient(guard=INSIDE, resolve=resolve, connect_timeout=0.2)
    slow = [asyncio.ensure_future(posted(client, server.url("slow.test"))) for _ in range(40)]
    assert (await posted(client, server.url())).status == 202
    assert "cannot be resolved: no such name" in (await posted(client, server.url("lost.test"))).error
    answers = await asyncio.gather(*slow)
    assert {answer.error for answer in answers} == {"slow.test was not resolved in time"}
    assert not answers[0].refused
    waiting.set()
    await client.close()


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE", "POST", "PUT", "PATCH"])
async def test_any_method_with_the_headers_of_the_answer(server: Server, client: HttpClient, method: str) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
    server.say = lambda head, body: hints + b"HTTP/1.1 200 OK\r\nAllow: A\r\nX-B:  c: d \r\nContent-Length: 0\r\n\r\n"
    body = b"{}" if method[0] == "P" else b""
    answer = await client.request(method, server.url(), (("Accept", "application/json"),), body)
    assert (answer.status, answer.headers) == (200, (("allow", "A"), ("x-b", "c: d"), ("content-length", "0")))
    assert server.heads[0].startswith(f"{method} /in HTTP/1.1\r\n")
    assert "Accept: application/json" in server.heads[0]
    assert server.bodies == [body]


async def test_a_request_with_an_answer(server: Server, client: HttpClient) -> None:
    server.say = lambda head, body: (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    assert (await client.request("GET", server.url())).body == b"abcde"
    assert (await client.request("GET", "nonsense")).refused
    assert (await client.request("GET", server.url(), (("X", "\n"),))).refused


async def test_a_cancelled_request_leaves_the_client_well(server: Server, client: HttpClient) -> None:
    server.say = lambda head, body: b""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.request("GET", server.url()), 0.05)
    server.say = lambda head, body: OK
    assert (await client.request("GET", server.url())).status == 202


async def test_a_stream_is_told_piece_by_piece(server: Server, client: HttpClient) -> None:
    server.say = lambda *_: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"
    *pieces, end = [each async for each in client.stream(server.url(), patience=10)]
    assert b"".join(each for each in pieces if isinstance(each, bytes)) == b"abcdef"
    assert isinstance(end, Answer) and (end.status, end.body) == (200, b"")
    assert server.heads[0].startswith("GET ")


async def test_what_is_no_stream_is_told_whole(server: Server, client: HttpClient) -> None:
    server.say = lambda *_: b"HTTP/1.1 404 No\r\nContent-Length: 7\r\n\r\nnothing"
    (end,) = [each async for each in client.stream(server.url(), patience=10)]
    assert isinstance(end, Answer) and (end.status, end.body) == (404, b"nothing")
    (end,) = [each async for each in client.stream("http://127.0.0.1:1/", patience=10)]
    assert isinstance(end, Answer) and end.status == 0 and end.error


async def test_a_stream_that_says_nothing_or_is_left_ends(server: Server, client: HttpClient) -> None:
    server.say = lambda *_: b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"
    first, end = [each async for each in client.stream(server.url(), patience=0.2)]
    assert first == b"abc"
    assert isinstance(end, Answer) and "nothing came for 0.2 seconds" in end.error
    async with contextlib.aclosing(client.stream(server.url(), patience=10)) as pieces:
        assert await anext(pieces) == b"abc"
    server.say = lambda *_: OK
    assert (await client.request("GET", server.url())).status == 202


async def test_a_stream_that_is_not_read_is_ended(server: Server, client: HttpClient) -> None:
    server.say = lambda *_: b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + bytes(1 << 26)
    async with contextlib.aclosing(client.stream(server.url(), patience=10)) as pieces:
        await anext(pieces)
        await asyncio.sleep(0.5)
        rest = [each async for each in pieces]
    assert isinstance(rest[-1], Answer) and rest[-1].error
    assert len(rest) <= 1025


async def test_closed_everything_is_answered(server: Server) -> None:
    looking = threading.Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        looking.wait(20)
        return []

    client = HttpClient(guard=INSIDE, resolve=resolve)
    server.say = lambda head, body: b""
    waiting = [asyncio.ensure_future(posted(client, server.url(host))) for host in ("127.0.0.1", "slow.test")]
    waiting.append(asyncio.ensure_future(client.request("GET", server.url())))
    await wait_until(lambda: len(server.heads) == 2)
    await client.close()
    await client.close()
    looking.set()
    answers = [*await asyncio.gather(*waiting), await posted(client, server.url()), await client.request("GET", "x")]
    assert {(answer.status, answer.error) for answer in answers} == {(0, "the client was closed")}


async def test_whoever_takes_an_answer_may_fail(server: Server, client: HttpClient) -> None:
    reports: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context["message"]))

    def fail(answer: Answer) -> None:
        raise RuntimeError("not now")

    client.post(server.url(), (), b"x", fail)
    await wait_until(lambda: bool(reports))
    assert (await posted(client, server.url())).status == 202


@pytest.mark.parametrize(
    "test",
    [
        test_connections_are_kept,
        test_a_kept_connection_that_was_closed_is_replaced,
        test_descriptors_that_come_back_as_other_sockets,
        test_many_at_once,
        test_a_request_with_an_answer,
        test_a_cancelled_request_leaves_the_client_well,
    ],
)
def test_the_same_inside_uvloop(test: Callable[[Server, HttpClient], Awaitable[None]]) -> None:
    async def run() -> None:
        client = HttpClient(guard=INSIDE, timeout=10.0)
        async with serving() as server:
            await test(server, client)
            await client.close()

    uvloop.run(run())


def test_a_deadline_inside_uvloop() -> None:
    async def run() -> None:
        async with serving() as server:
            await test_every_wait_has_a_deadline(server)

    uvloop.run(run())
