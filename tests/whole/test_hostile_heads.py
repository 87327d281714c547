"""Heads of requests that come slowly, or never end."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.whole import hostility as by_hand
from tests.whole.hostility import Heard, envelope, notify
from tests.whole.shell import document, wait_until
from websockets.asyncio.client import connect

from tocsin.broker.node import Node
from tocsin.broker.settings import load
from tocsin.platform.serving import serving
from tocsin.wire import _protocol as _heads

pytestmark = pytest.mark.broker
GOOD = envelope(notify("<a/>")).encode()
DEADLINE = 0.3


@pytest.fixture
async def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    monkeypatch.setattr(_heads, "HEAD_SECONDS", DEADLINE)
    monkeypatch.setattr(_heads, "LINGER_SECONDS", 0.05)
    settings = load({"port": "0", "data": str(tmp_path), "engine": "embedded"}, {})
    async with serving(settings, print) as made:
        yield made


def port_of(node: Node) -> int:
    return int(node.base_url.rpartition(":")[2])


async def past_the_deadline() -> None:
    late = time.monotonic() + 2 * DEADLINE
    await wait_until(lambda: time.monotonic() > late, "time passes")


def told(heard: Heard, status: int, word: str) -> None:
    assert heard.status == status and "connection: close" in heard.head.lower()
    assert document(heard.body)["status"] == status and word in document(heard.body)["detail"]


@pytest.mark.parametrize(
    "sent", [b"P", b"POST /broker HTTP/1.1\r\nHost: x\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 1000]
)
async def test_a_head_that_does_not_come_to_its_end(sent: bytes, node: Node) -> None:
    (heard,) = await by_hand.speak(port_of(node), sent)
    told(heard, 408, "the head did not come")


async def test_a_head_that_comes_byte_by_byte(node: Node) -> None:
    """The deadline is for all of it: each byte does not begin it anew."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(node))

    async def trickle() -> None:
        for byte in by_hand.post(GOOD) * 100:
            writer.write(bytes([byte]))
            await asyncio.sleep(DEADLINE / 20)

    trickling = asyncio.create_task(trickle())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
    trickling.cancel()
    await asyncio.gather(trickling, return_exceptions=True)
    writer.transport.abort()
    assert head.startswith(b"HTTP/1.1 408")


async def test_who_says_nothing_is_let_go(node: Node) -> None:
    assert await by_hand.speak(port_of(node)) == []


async def test_empty_lines_are_nothing(node: Node) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(node))
    with contextlib.suppress(ConnectionError):
        while not reader.at_eof():
            writer.write(b"\r\n")
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(), DEADLINE / 10)
    writer.transport.abort()


@pytest.mark.parametrize("endless", ["name", "value", "headers", "address"])
async def test_a_head_without_end(endless: str, node: Node) -> None:
    start, part = {
        "name": (b"GET / HTTP/1.1\r\n", b"x" * 8192),
        "value": (b"GET / HTTP/1.1\r\nA: ", b"x" * 8192),
        "headers": (b"GET / HTTP/1.1\r\n", b"A: b\r\n" * 1000),
        "address": (b"GET /", b"x" * 8192),
    }[endless]
    (heard,) = await by_hand.speak(port_of(node), start, *[part] * 40)
    told(heard, 431, "65536 bytes")


async def test_a_second_head_has_its_time_too(node: Node) -> None:
    good = by_hand.post(GOOD).replace(b"Connection: close\r\n", b"")
    first, second = await by_hand.speak(port_of(node), good, b"POST /bro")
    assert first.status == 202
    told(second, 408, "the head did not come")


async def test_what_takes_its_time_after_its_head_is_not_cut_off(node: Node) -> None:
    """Bodies have a deadline of their own, and who waits for messages is answered when there are some."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(node))
    request = by_hand.post(GOOD)
    writer.write(request[:-10])
    await past_the_deadline()
    writer.write(request[-10:])
    assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).startswith(b"HTTP/1.1 202")
    writer.transport.abort()


async def test_a_websocket_outlives_the_deadline(node: Node) -> None:
    async with connect(f"ws://127.0.0.1:{port_of(node)}/api/socket?topic=t") as socket:
        await past_the_deadline()
        await asyncio.wait_for(await socket.ping(), 60)


async def test_trailers_without_end_are_cut_off(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_heads, "MOST_FRAMING", 100_000)
    head = by_hand.post(b"", "Transfer-Encoding: chunked", framing=False)
    body = b"%x\r\n%b\r\n0\r\nX: " % (len(GOOD), GOOD)
    assert await by_hand.speak(port_of(node), head, body, *[b"x" * 8192] * 40) == []
    assert node.journal.log.durable == 0
