"""The notifiers of a node that is asked over sockets: who is heard there, what is refused, and who fetches."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole.acts import JSON
from tests.whole.people import basic, digest_header, known
from tests.whole.shell import document
from tests.whole.speech import fault_of, message, notify
from tests.whole.test_door_tcp import ask, free_port
from tests.whole.worlds import TOPIC
from tests.wire.test_tcp_server import Caller

from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.settings import AccessSettings, Listen, Settings, TcpSettings
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.soap.namespaces import WSA_2005
from tocsin.mediation.ws.notifier_messages import PublishRequest, notify_request, publish_request
from tocsin.model.access import Right
from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.notification import Copy, Message, Payload
from tocsin.model.refusal import Refusal
from tocsin.platform.serving import serving
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
WORLD = {"topics": {TOPIC: None}, "categories": {"A": None, "B": None}, "edges": [["A", TOPIC, "B"]]}
EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "subject": TOPIC, "data": 7}
PUBLISH = publish_request(PublishRequest(TOPIC, Payload("application/xml", b"<quake/>")))
Saying = tuple[Pairs, bytes]


@contextlib.asynccontextmanager
async def node_at(data: Path, *, closed: bool = False) -> AsyncIterator[tuple[Node, Caller]]:
    """And a connection to its TCP door."""
    port, told = free_port(), list[str]()
    settings = Settings(
        data, "embedded", listen=Listen(port=0), tcp=TcpSettings(port), access=AccessSettings(on=closed)
    )
    async with serving(settings, told.append) as node:
        caller = Caller(*await asyncio.open_connection("127.0.0.1", port))
        try:
            yield node, caller
        finally:
            caller.writer.close()
            await caller.writer.wait_closed()
    assert told == []


async def made(http: HttpClient, node: Node, name: str, category: str, who: Pairs = (), **more: str) -> str:
    """The pull point of its service."""
    asked = json.dumps({"name": name, "categories": [category], **more}).encode()
    answer = await http.request("POST", f"{node.base_url}/api/notifiers", (*JSON, *who), asked)
    assert answer.status == 201, answer.body
    return str(document(answer.body)["subscription"])


async def begun(http: HttpClient, node: Node, who: Pairs = ()) -> None:
    answer = await http.request("PUT", f"{node.base_url}/api/world", (*JSON, *who), json.dumps(WORLD).encode())
    assert answer.status == 200, answer.body


async def fetched(http: HttpClient, node: Node, pull_point: str, who: Pairs = (), wait: int = 0) -> Any:
    url = f"{node.base_url}/api/pullpoints/{pull_point}/messages?wait={wait}s"
    answer = await http.request("GET", url, who, b"")
    return answer.status, [each["event"]["subject"] for each in document(answer.body).get("items", ())]


def to(path: str, said: Saying, more: str = "") -> Saying:
    block = f'<w:To xmlns:w="{WSA_2005}">tcp://x:1{path}</w:To>{more}'.encode()
    changed = said[1].replace(b"</s:Header>", block + b"</s:Header>", 1).replace(b"</e:Header>", block + b"</e:Header>")
    assert changed != said[1]
    return said[0], changed


async def test_over_tcp_a_notifier_is_as_over_http(tmp_path: Path, http: HttpClient) -> None:
    """A WSN Notify, which the broker would take, is not told to a service as if it came from a notifier."""
    said = Message(MessageId("m"), "din", "Desk 1", TOPIC, Payload("text/plain", b"7"), Instant(0))
    copy = Copy("c", said, "Desk 1", "TV", 1)
    async with node_at(tmp_path) as (node, caller):
        await begun(http, node)
        await made(http, node, "Desk 1", "A")
        box = await made(http, node, "TV", "B")
        forged = fault_of(await ask(caller, to("/notifiers/TV", notify(message("<forged/>", "t")))))
        assert "is not an operation of a notifier" in forged.reason
        assert b"NotProven" in await ask(caller, to("/notifiers/TV", notify_request(copy, "forged")))
        assert b"UnknownName" in await ask(caller, to("/notifiers/Nobody", PUBLISH))
        assert await fetched(http, node, box) == (200, [])
        assert b"PublishResponse" in await ask(caller, to("/notifiers/Desk%201", PUBLISH))
        assert await fetched(http, node, box, wait=60) == (200, ["Disaster-Info"])


async def test_over_tcp_too_callers_say_who_they_are(tmp_path: Path, http: HttpClient) -> None:
    known(tmp_path, "root", Right("manage"), Right("publish"))
    async with node_at(tmp_path, closed=True) as (node, caller):
        await begun(http, node, basic("root"))
        await made(http, node, "Desk", "A", basic("root"))
        assert b"FailedAuthentication" in await ask(caller, to("/notifiers/Desk", PUBLISH))
        assert b"FailedAuthentication" in await ask(caller, to("/notifiers/Nobody", PUBLISH))
        assert b"PublishResponse" in await ask(caller, to("/notifiers/Desk", PUBLISH, digest_header("root")))


@pytest.mark.parametrize("door", ["/notifiers/TV", "/notifiers/"])
async def test_nobody_but_its_notifier_tells_a_service(door: str, tmp_path: Path, http: HttpClient) -> None:
    async with node_at(tmp_path) as (node, _):
        await begun(http, node)
        box, end = await made(http, node, "TV", "B"), node.journal.log.next_offset
        body = json.dumps(EVENT).encode()
        with pytest.raises(Refusal, match="notifier"):
            await node.publishing.publish(
                NODE, door, cloudevents.NAME, (("content-type", cloudevents.STRUCTURED),), body
            )
        assert node.journal.log.next_offset == end and await fetched(http, node, box) == (200, [])


BINARY: Pairs = tuple((f"ce-{name}", str(value)) for name, value in EVENT.items() if name != "data")


@pytest.mark.parametrize(
    ("headers", "body", "why"),
    [
        ((("Content-Type", cloudevents.STRUCTURED),), json.dumps(EVENT | {"expirytime": "soon"}), b"expirytime"),
        ((*BINARY, ("ce-expirytime", "soon"), ("Content-Type", "text/plain")), "7", b"expirytime"),
        ((*BINARY, ("ce-data", "x"), ("Content-Type", "image/png")), "7", b"not both"),
    ],
)
async def test_what_could_not_be_told_is_not_accepted(
    headers: Pairs, body: str, why: bytes, tmp_path: Path, http: HttpClient
) -> None:
    async with node_at(tmp_path) as (node, _):
        await begun(http, node)
        await made(http, node, "Desk", "A")
        box = await made(http, node, "TV", "B")
        refused = await http.request("POST", f"{node.base_url}/notifiers/Desk", headers, body.encode())
        assert refused.status == 400 and why in refused.body, refused.body
        listed = await http.request("GET", f"{node.base_url}/api/disseminations", (), b"")
        assert document(listed.body)["items"] == []
        good = json.dumps(EVENT | {"expirytime": "2100-01-01T00:00:00Z"}).encode()
        kind = (("Content-Type", cloudevents.STRUCTURED),)
        assert (await http.request("POST", f"{node.base_url}/notifiers/Desk", kind, good)).status == 202
        assert (await fetched(http, node, box, wait=60))[1] == ["Disaster-Info"]


@pytest.mark.parametrize("more", [{}, {"only": []}, {"only": None}])
async def test_directly_is_told_who_is_named(more: dict[str, object], tmp_path: Path, http: HttpClient) -> None:
    said = {"topic": TOPIC, "data": 7, "protocol": "direct"}
    async with node_at(tmp_path) as (node, _):
        await begun(http, node)
        box = await made(http, node, "TV", "B")
        await made(http, node, "Desk", "A")
        at = f"{node.base_url}/api/notifiers/Desk/publish"
        refused = await http.request("POST", at, JSON, json.dumps(said | more).encode())
        assert refused.status == 400 and "tells those that `only` names" in document(refused.body)["detail"]
        plain = f"{node.base_url}/notifiers/Desk?topic=Disaster%20Info&protocol=direct"
        assert (await http.request("POST", plain, (("Content-Type", "text/plain"),), b"7")).status == 400
        listed = await http.request("GET", f"{node.base_url}/api/disseminations", (), b"")
        assert document(listed.body)["items"] == []
        assert (await http.request("POST", at, JSON, json.dumps(said | {"only": ["TV"]}).encode())).status == 202
        assert (await fetched(http, node, box, wait=60))[1] == ["Disaster-Info"]


async def test_who_owns_a_notifier_fetches_for_its_service(tmp_path: Path, http: HttpClient) -> None:
    known(tmp_path, "root", Right("manage"), Right("publish"))
    for name in ("tv", "eve"):
        known(tmp_path, name)
    root = basic("root")
    async with node_at(tmp_path, closed=True) as (node, _):
        await begun(http, node, root)
        mine = await made(http, node, "Desk", "A", root)
        box = await made(http, node, "TV", "B", root, owner="tv")
        assert [node.standing.get(each).owner for each in (mine, box)] == ["root", "tv"]
        said = {"topic": TOPIC, "data": 7}
        answer = await http.request(
            "POST", f"{node.base_url}/api/notifiers/Desk/publish", (*JSON, *root), json.dumps(said).encode()
        )
        assert answer.status == 202
        assert (await fetched(http, node, box, basic("eve")))[0] == 403
        assert await fetched(http, node, box, basic("tv"), 60) == (200, ["Disaster-Info"])
        asked = {"name": "X", "categories": ["B"], "owner": "nobody"}
        body = json.dumps(asked).encode()
        refused = await http.request("POST", f"{node.base_url}/api/notifiers", (*JSON, *root), body)
        assert refused.status == 404 and b"users add" in refused.body
        there = await http.request("GET", f"{node.base_url}/api/notifiers/X", root, b"")
        assert there.status == 404
