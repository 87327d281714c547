"""Callers that do not finish what they began."""

import asyncio
from pathlib import Path

import pytest

from tocsin.broker.settings import load
from tocsin.platform.serving import serving
from tocsin.wire import asgi

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("path", ["/broker", "/events"])
async def test_a_body_that_does_not_come_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(asgi, "BODY_SECONDS", 0.1)
    settings = load({"port": "0", "data": str(tmp_path), "engine": "embedded"}, {})
    async with serving(settings, print) as node:
        host, _, port = node.base_url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n<".encode())
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        writer.close()
        assert b" 408 " in head.split(b"\r\n")[0]
        assert node.journal.log.durable == 0
