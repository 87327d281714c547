"""Bytes by hand, for what no client library would send."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from tests.whole.speech import SOAP, WSA, WSN


@dataclass(frozen=True)
class Heard:
    status: int
    head: str
    body: bytes


async def speak(port: int, *parts: bytes, end: bool = False, seconds: float = 20.0) -> list[Heard]:
    """All answers until the other side closes; with `end` it is told that nothing more will come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with contextlib.suppress(OSError):  # it may have heard enough
            for part in parts:
                writer.write(part)
                await writer.drain()
            if end:
                writer.write_eof()
        async with asyncio.timeout(seconds):
            return [each async for each in _answers(reader)]
    finally:
        writer.transport.abort()


async def _answers(reader: asyncio.StreamReader) -> AsyncIterator[Heard]:
    while head := await _head(reader):
        length = int(head.lower().partition("content-length: ")[2].partition("\r\n")[0] or "0")
        yield Heard(int(head.split(" ")[1]), head, await reader.readexactly(length))


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return ""


def post(body: bytes, *headers: str, path: str = "/broker", version: str = "1.1", framing: bool = True) -> bytes:
    lines = [f"POST {path} HTTP/{version}", "Host: x", "Content-Type: application/soap+xml", "Connection: close"]
    lines += [f"Content-Length: {len(body)}"] if framing else []
    return "\r\n".join((*lines, *headers, "", "")).encode("latin-1") + body


def envelope(content: str, headers: str = "", attributes: str = "", declaration: str = "") -> str:
    """WS-Notification 1.3 over SOAP 1.2, with whatever is to be added."""
    return (
        f'{declaration}<e:Envelope xmlns:e="{SOAP["1.2"]}" xmlns:a="{WSA["2005/08"]}" xmlns:n="{WSN}"{attributes}>'
        f"<e:Header><a:Action>urn:x</a:Action>{headers}</e:Header><e:Body>{content}</e:Body></e:Envelope>"
    )


def notify(payload: str, topic: str = "t", more: str = "") -> str:
    return (
        f"<n:Notify><n:NotificationMessage><n:Topic>{topic}</n:Topic>"
        f"<n:Message>{payload}</n:Message></n:NotificationMessage>{more}</n:Notify>"
    )


def subscribe(consumer: str, inside: str = "", parameters: str = "", attributes: str = "") -> str:
    return (
        f"<n:Subscribe{attributes}><n:ConsumerReference><a:Address>{consumer}</a:Address>{parameters}"
        f"</n:ConsumerReference>{inside}</n:Subscribe>"
    )
