import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tocsin.mediation.operations import Reply
from tocsin.mediation.soap import dime
from tocsin.mediation.soap.dime import Message
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import Receive, while_connected
from tocsin.wire.server import listen
from tocsin.wire.tcp_server import Client, Handle, Patience, TcpDoor, path_of, tcp_served

SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
WSA = "http://www.w3.org/2005/08/addressing"
XML = (("Content-Type", "text/xml; charset=utf-8"),)
LIMIT = 10_000


def envelope(content: str, to: str = "") -> bytes:
    header = f'<e:Header><a:To xmlns:a="{WSA}">{to}</a:To></e:Header>' if to else ""
    return f'<e:Envelope xmlns:e="{SOAP_11}">{header}<e:Body>{content}</e:Body></e:Envelope>'.encode()


def refuse(content_type: str, refusal: Refusal) -> Reply:
    return Reply(400, XML, f"<refused as='{content_type}' why='{refusal.reason}'>{refusal.text}</refused>".encode())


class Caller:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._frames = dime.Reader(1 << 20)
        self._read: list[Message] = []

    def say(self, octets: bytes) -> None:
        self.writer.write(octets)

    async def hear(self) -> Message | None:
        """None when they hung up."""
        while not self._read:
            async with asyncio.timeout(60):
                octets = await self.reader.read(1 << 16)
            if not octets:
                return None
            self._read = self._frames.feed(octets)
        return self._read.pop(0)


@contextlib.asynccontextmanager
async def calling(handle: Handle, patience: Patience | None = None) -> AsyncIterator[Callable[[], Awaitable[Caller]]]:
    listener = listen("127.0.0.1", 0)
    opened: list[Caller] = []

    async def call() -> Caller:
        opened.append(Caller(*await asyncio.open_connection(*listener.getsockname())))
        return opened[-1]

    try:
        async with tcp_served(TcpDoor(handle, refuse, LIMIT, patience), listener):
            yield call
            for each in opened:
                each.writer.close()
                with contextlib.suppress(OSError):
                    await each.writer.wait_closed()
    finally:
        listener.close()


async def echo(path: str, content_type: str, body: bytes, receive: Receive, client: Client) -> Reply | None:
    return None if b"one-way" in body else Reply(200, XML, f"<r>{path} {content_type}</r>".encode() + body)


def soap(body: bytes) -> bytes:
    return dime.write(Message(body, SOAP_11, "uri"))


async def test_a_message_is_answered_on_the_same_connection() -> None:
    async with calling(echo) as call:
        caller = await call()
        caller.say(soap(envelope("<x/>", "tcp://127.0.0.1:9/broker/publish/a/b")))
        answer = await caller.hear()
        assert answer is not None and (answer.type, answer.format) == (SOAP_11, "uri")
        assert answer.data.startswith(b"<r>/broker/publish/a/b text/xml; charset=utf-8</r>")


async def test_pipelined_and_chunked_messages_are_answered_in_order_and_one_way_ones_not_at_all() -> None:
    async with calling(echo) as call:
        caller = await call()
        said = [envelope(f"<n>{number}</n>" if number % 3 else "one-way") for number in range(12)]
        caller.say(b"".join(dime.write(Message(each, "text/xml", "media type"), chunk=50) for each in said))
        answers = [await caller.hear() for each in said if b"one-way" not in each]
        assert [each.data.partition(b"</r>")[2] for each in answers if each] == [s for s in said if b"one-way" not in s]


async def test_a_refusal_is_an_answer_and_the_connection_goes_on() -> None:
    async def handle(path: str, content_type: str, body: bytes, receive: Receive, client: Client) -> Reply | None:
        if b"bad" in body:
            raise Refusal("malformed", "no")
        return await echo(path, content_type, body, receive, client)

    async with calling(handle) as call:
        caller = await call()
        caller.say(soap(envelope("bad")) + soap(envelope("good")))
        first, second = await caller.hear(), await caller.hear()
        assert first is not None and first.data == b"<refused as='text/xml; charset=utf-8' why='malformed'>no</refused>"
        assert second is not None and b"good" in second.data


@pytest.mark.parametrize(
    ("octets", "why"),
    [
        (b"POST /broker HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP is served at another port"),
        (soap(b"x" * (LIMIT + 1)), b"why='too-large'"),
        (bytes([0b00001_100, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), b"attachments"),
    ],
)
async def test_a_bad_frame_is_told_and_ends_the_connection_after_what_was_whole(octets: bytes, why: bytes) -> None:
    async with calling(echo) as call:
        caller = await call()
        caller.say(soap(envelope("before")) + octets)
        first, second = await caller.hear(), await caller.hear()
        assert first is not None and b"before" in first.data
        assert second is not None and why in second.data
        assert await caller.hear() is None


async def test_who_sends_slowly_is_told_and_hung_up_on() -> None:
    async with calling(echo, Patience(message=0.05)) as call:
        caller = await call()
        caller.say(soap(envelope("x"))[:20])
        told = await caller.hear()
        assert told is not None and b"why='too-slow'" in told.data
        assert await caller.hear() is None


async def test_who_says_nothing_is_hung_up_on() -> None:
    async with calling(echo, Patience(idle=0.05)) as call:
        assert await (await call()).hear() is None


async def test_who_does_not_read_its_answers_is_hung_up_on() -> None:
    ended = asyncio.Event()

    async def large(path: str, content_type: str, body: bytes, receive: Receive, client: Client) -> Reply | None:
        try:
            return Reply(200, XML, b"<r>" + b"x" * (8 << 20) + b"</r>")
        finally:
            if b"second" in body:
                ended.set()

    async with calling(large, Patience(answer=0.2)) as call:
        caller = await call()
        caller.reader._transport.pause_reading()  # type: ignore[attr-defined]
        caller.say(soap(envelope("first")) + soap(envelope("second")))
        await asyncio.sleep(0)
        with pytest.raises((ConnectionError, TimeoutError)):
            async with asyncio.timeout(5):
                while True:
                    caller.say(b"\0" * 4096)
                    await caller.writer.drain()
                    await asyncio.sleep(0.01)
        assert not ended.is_set()


async def test_one_connection_too_many_is_refused_and_the_others_go_on() -> None:
    async with calling(echo, Patience(connections=1)) as call:
        first = await call()
        first.say(soap(envelope("x")))
        assert await first.hear() is not None
        second = await call()
        told = await second.hear()
        assert told is not None and b"why='overloaded'" in told.data
        assert await second.hear() is None
        first.say(soap(envelope("y")))
        assert await first.hear() is not None


async def test_what_is_being_handled_is_answered_before_the_end() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(path: str, content_type: str, body: bytes, receive: Receive, client: Client) -> Reply | None:
        begun.set()
        await go.wait()
        return Reply(200, XML, b"<done/>")

    listener = listen("127.0.0.1", 0)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(tcp_served(TcpDoor(slow, refuse, LIMIT), listener))
        caller = Caller(*await asyncio.open_connection(*listener.getsockname()))
        silent = Caller(*await asyncio.open_connection(*listener.getsockname()))
        caller.say(soap(envelope("x")))
        await begun.wait()
        asyncio.get_running_loop().call_later(0.05, go.set)
    told = await caller.hear()
    assert told is not None and told.data == b"<done/>"
    assert await silent.hear() is None
    for each in (caller, silent):
        each.writer.close()
    listener.close()


class Waiting:
    """Answers what asks to wait when it may, unless the caller goes away first."""

    def __init__(self) -> None:
        self.begun, self.go, self.left = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(
        self, path: str, content_type: str, body: bytes, receive: Receive, client: Client
    ) -> Reply | None:
        if b"wait" in body:
            await while_connected(receive, self._wait())
        return await echo(path, content_type, body, receive, client)

    async def _wait(self) -> None:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.left.set()
            raise


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_who_hangs_up_while_waiting_is_noticed(how: str) -> None:
    waiting = Waiting()
    async with calling(waiting) as call:
        caller = await call()
        caller.say(soap(envelope("wait")))
        await waiting.begun.wait()
        caller.writer.transport.abort() if how == "abort" else caller.writer.close()
        async with asyncio.timeout(60):
            await waiting.left.wait()


async def test_what_is_said_behind_one_that_waits_is_answered_behind_it() -> None:
    waiting = Waiting()
    said = [envelope("wait"), *(envelope(f"<n>{number}</n>" + "x" * 5000) for number in range(1000))]
    async with calling(waiting) as call:
        caller = await call()
        caller.say(b"".join(map(soap, said)))
        await waiting.begun.wait()
        asyncio.get_running_loop().call_later(0.05, waiting.go.set)
        answers = [await caller.hear() for _ in said]
        assert [each.data.partition(b"</r>")[2] for each in answers if each] == said


@pytest.mark.parametrize(
    ("to", "path"),
    [
        ("", "/broker"),
        ("tcp://h:1/", "/broker"),
        ("tcp://h:1/broker", "/broker"),
        ("tcp://h:1/broker/publish/a", "/broker/publish/a"),
        ("http://h/broker/subscriptions/7?x#y", "/broker/subscriptions/7"),
        (f"{WSA}/anonymous", "/broker"),
        ("urn:x", "/broker"),
        ("tcp://[", "/broker"),
        ("tcp://h/api/status", "/broker"),
    ],
)
def test_the_path_is_that_of_wsa_to(to: str, path: str) -> None:
    assert path_of(envelope("", to)) == path


def test_what_is_no_envelope_goes_to_the_broker() -> None:
    assert path_of(b"<broken") == path_of(b"") == path_of(b"<a/>") == "/broker"


async def test_who_calls_is_told() -> None:
    async def who(path: str, content_type: str, body: bytes, receive: Receive, client: Client) -> Reply | None:
        return Reply(200, XML, repr(client).encode())

    async with calling(who) as call:
        caller = await call()
        caller.say(soap(envelope("<x/>")))
        answer = await caller.hear()
        assert answer is not None and answer.data.decode() == repr(caller.writer.get_extra_info("sockname"))
