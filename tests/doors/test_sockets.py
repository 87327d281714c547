"""A WebSocket whose client acknowledges slowly, at a real node: what it reads from must not end meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.websockets import WebSocket
from tests.broker.test_pull_points import FORM, running, say

from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.doors.api import sockets
from tocsin.doors.api import streams as visits
from tocsin.doors.api.sockets import _Conversation
from tocsin.doors.api.streams import Visit
from tocsin.mediation.operations import CreatePullPoint
from tocsin.model.identity import Instant
from tocsin.wire.asgi import ended


class Client:
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.said: asyncio.Queue[str] = asyncio.Queue()
        self.closed: str | None = None

    async def send_text(self, text: str) -> None:
        self.heard.append(text)

    async def receive(self) -> dict[str, Any]:
        return {"type": "websocket.receive", "text": await self.said.get()}

    async def close(self, code: int, reason: str) -> None:
        self.closed = reason


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "WINDOW", 2)
    monkeypatch.setattr(sockets, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(visits, "_RENEW_SECONDS", 0.0)


@asynccontextmanager
async def talking(visit: Visit) -> AsyncIterator[Client]:
    client = Client()
    conversation = _Conversation(cast(WebSocket, client), visit, True, await visit.handed_to())
    holding = asyncio.create_task(conversation.hold())
    yield client
    await ended(holding)


async def heard(client: Client, count: int) -> None:
    async with asyncio.timeout(60):
        while len(client.heard) < count:
            await asyncio.sleep(0.001)
    assert len(client.heard) == count


async def lasts_longer(node: Node, name: str) -> None:
    before = node.subscriptions.get(NODE, name).expires
    assert before is not None
    async with asyncio.timeout(60):
        while (node.subscriptions.get(NODE, name).expires or 0) <= before:
            await asyncio.sleep(0.001)


async def test_a_subscription_lasts_while_its_client_is_slow(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        visit = await Visit.begin(node, NODE, None)
        async with talking(visit) as client:
            await say(node, "a", 1, 2, 3)
            await heard(client, 2)
            await lasts_longer(node, visit.pull_point)
            await lasts_longer(node, visit.pull_point)
            client.said.put_nowait('{"ack": 1}')
            await heard(client, 3)
            assert await visit.handed_to() == 1
        await visit.end()


@pytest.mark.parametrize("messages", [0, 3])
async def test_a_mailbox_lasts_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, messages: int) -> None:
    async with running(tmp_path, pull_idle=1000.0) as node:
        box = await node.pull_points.create(NODE, CreatePullPoint(FORM))
        headers = (("content-type", "text/plain"),)
        for number in range(messages):
            await node.publishing.publish(NODE, f"/broker/pullpoints/{box.id}", "raw", headers, b"%d" % number)
        async with talking(Visit(node, NODE, box.id)) as client:
            await heard(client, min(messages, 2))
            later = Instant(cast(int, box.expires) - 400 * 10**9)
            monkeypatch.setattr(node.pull_points, "_now", lambda: later)
            await lasts_longer(node, box.id)


async def test_who_has_no_room_is_told_that_the_broker_ends(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        visit = await Visit.begin(node, NODE, None)
        async with talking(visit) as client, asyncio.timeout(60):
            await say(node, "a", 1, 2, 3)
            await heard(client, 2)
            node.stop_waiting()
            while client.closed is None:
                await asyncio.sleep(0.001)
        assert client.closed == "the broker ends"
        await visit.end()
