"""Publications that ask for replies: each receiver replies in its own way, once, and the publisher sees a histogram."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from lxml import etree
from tests.whole.acts import IMPATIENT, call, get, subscribe, until
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Say, Sink
from tests.whole.speech import message, notify
from tests.whole.worlds import TOPIC, create, graph, node_of

from tocsin import Received
from tocsin.broker.caller import NODE
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
R = "{urn:tocsin:reply}"
WSA = "{http://www.w3.org/2005/08/addressing}"
REPLY = (
    '<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Header>{header}</s:Header>'
    '<s:Body><r:Reply xmlns:r="urn:tocsin:reply"><r:Value>{value}</r:Value></r:Reply></s:Body></s:Envelope>'
)
SOAP_12 = (("Content-Type", "application/soap+xml"),)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One that nobody else subscribes at: receivers are counted."""
    process = BrokerProcess.start(tmp_path_factory.mktemp("replies"), IMPATIENT | {"delivery-attempts": "3"})
    yield process
    process.kill()


async def say(http: HttpClient, broker: BrokerProcess, topic: str, **more: str) -> Answer:
    event = {"specversion": "1.0", "id": str(uuid4()), "source": "/desk", "type": "ask", "subject": topic, "data": "?"}
    headers = (("Content-Type", "application/cloudevents+json"),)
    return await http.request("POST", f"{broker.url}/events", headers, json.dumps(event | more).encode())


async def ask(http: HttpClient, broker: BrokerProcess, topic: str, **more: str) -> str:
    """The address of the view of a CloudEvent that asks for replies."""
    answer = await say(http, broker, topic, **more)
    assert answer.status == 202, answer
    return where(answer)


def where(answer: Answer) -> str:
    return next(value for name, value in answer.headers if name.lower() == "location")


async def view_when(http: HttpClient, view: str, **expected: object) -> dict[str, Any]:
    return await until(
        lambda: get(http, view), lambda found: all(found[name] == value for name, value in expected.items())
    )


def histogram(view: dict[str, Any]) -> dict[str, int]:
    return {each["value"]: each["count"] for each in view["histogram"]}


async def test_each_receiver_replies_in_its_own_way(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    def script(received: Received) -> Say:
        return Say(200, body=b'{"reply": "yes"}') if received.path == "/answers" else Say()

    sink.script, topic = script, f"ways{uuid4().hex}"
    await subscribe(http, broker, sink.url("answers"), topic)
    await subscribe(http, broker, sink.url("posts"), topic)
    await subscribe(http, broker, sink.url("soap"), topic, dialect="wsn-1.3")
    await subscribe(http, broker, sink.url("raw"), topic, dialect="wse-2004-08")
    await subscribe(http, broker, sink.url("json"), topic, dialect="webhook")
    answer = await call(http, "POST", f"{broker.url}/api/pullpoints", {"topic": topic})
    pull_point = document(answer.body)
    view = await ask(http, broker, topic, replytype="enum:yes,no")
    await wait_until(lambda: len(sink.received) == 5, "all are told")

    told = json.loads(sink.at("posts")[0].body)
    assert told["replytype"] == "enum:yes,no"
    assert (await call(http, "POST", told["replyto"], {"value": "no"})).status == 204
    plain = json.loads(sink.at("json")[0].body)["attributes"]
    assert (await call(http, "POST", plain["replyto"], {"value": "no"})).status == 204
    for path in ("soap", "raw"):
        header = etree.fromstring(sink.at(path)[0].body).find(f".//{R}ReplyTo")
        assert header is not None and header.findtext(f"{R}ReplyType") == "enum:yes,no"
        address = header.findtext(f"{R}Endpoint/{WSA}Address") or header.findtext(".//{*}Address")
        assert address is not None
        answer = await http.request("POST", address, SOAP_12, REPLY.format(header="", value="yes").encode())
        assert answer.status == 200 and b"ReplyResponse" in answer.body, answer
    (held,) = (await get(http, pull_point["messages"]))["items"]
    assert (await call(http, "POST", held["event"]["replyto"], {"value": "no"})).status == 204

    found = await view_when(http, view, complete=True)
    assert histogram(found) == {"yes": 3, "no": 3}
    assert [found[name] for name in ("receivers", "replied", "outstanding", "not_reached", "late")] == [6, 6, 0, 0, 0]
    assert found["exact"] and found["ended"] == ""
    assert "127.0.0.1" not in json.dumps(found), "nobody learns where the others are"


async def test_soap_publishers_ask_in_a_header_and_replies_may_echo_the_token(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    topic = f"soap{uuid4().hex}"
    await subscribe(http, broker, sink.url("a"), topic, dialect="wsn-1.3")
    headers, body = notify(message("<beds/>", topic))
    asked = b'<r:ReplyType xmlns:r="urn:tocsin:reply" for="10m">int:0..500</r:ReplyType>'
    begin = body.index(b"Header>") + len(b"Header>")
    body = body[:begin] + asked + body[begin:]
    answer = await http.request("POST", f"{broker.url}/broker", headers, body)
    assert answer.status == 202, answer
    view = where(answer)
    await wait_until(lambda: len(sink.received) == 1, "it is told")
    token = etree.fromstring(sink.received[0].body).findtext(f".//{R}Token")
    echo = f'<r:Token xmlns:r="urn:tocsin:reply">{token}</r:Token>'
    for value, status, said in (("900", 400, b"from 0 to 500"), ("12", 200, b"ReplyResponse"), ("13", 400, b"before")):
        answer = await http.request(
            "POST", f"{broker.url}/broker", SOAP_12, REPLY.format(header=echo, value=value).encode()
        )
        assert answer.status == status and said in answer.body, answer
    assert histogram(await view_when(http, view, complete=True)) == {"12": 1}


async def test_what_is_wrong_with_a_reply_is_said(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    topic = f"wrong{uuid4().hex}"
    await subscribe(http, broker, sink.url("a"), topic)
    view = await ask(http, broker, topic, replytype="text:5", replyfor="5m")
    await wait_until(lambda: len(sink.received) == 1, "it is told")
    to = json.loads(sink.received[0].body)["replyto"]
    assert document((await call(http, "GET", to)).body)["reply_type"] == "text:5"
    start, _, proof = to.rpartition(".")
    cases = [
        (to, {"value": "longer"}, 400, "at most 5"),
        (f"{start}.{proof[::-1]}", {"value": "ok"}, 403, "not made here"),
        (f"{broker.url}/api/replies/nothing", {"value": "ok"}, 404, "no token"),
        (to.replace("/api/replies/", "/api/replies/0"), {"value": "ok"}, 409, "not known here"),
        (to, {"worth": "ok"}, 400, "worth"),
    ]
    for address, said, status, why in cases:
        answer = await call(http, "POST", address, said)
        assert answer.status == status and why in document(answer.body)["detail"], (address, answer)
    assert (await call(http, "POST", to, {"value": "ok"})).status == 204
    again = await call(http, "POST", to, {"value": "ok"})
    assert again.status == 409 and "one reply counts" in document(again.body)["detail"]
    ended = document((await call(http, "DELETE", view)).body)
    assert ended["ended"] == "terminated" and histogram(ended) == {"ok": 1}
    assert (await get(http, f"{view}?wait=5s"))["met"] == "ended"


@pytest.mark.parametrize(
    "asked, lasts, why",
    [
        ("enum:", "", "is no reply type"),
        ("number", "", "is no reply type"),
        ("int:5..1", "", "nothing lies between"),
        ("json:{", "", "not a JSON Schema"),
        ("text", "soon", "no time to wait"),
        ("text", "900d", "at most here"),
    ],
)
async def test_what_is_no_reply_type_is_refused(
    broker: BrokerProcess, http: HttpClient, asked: str, lasts: str, why: str
) -> None:
    answer = await say(http, broker, "t", replytype=asked, replyfor=lasts)
    assert answer.status == 400 and why in document(answer.body)["detail"], answer


async def test_a_late_reply_is_counted_as_that(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    topic = f"late{uuid4().hex}"
    await subscribe(http, broker, sink.url("a"), topic)
    view = await ask(http, broker, topic, replytype="boolean")
    await wait_until(lambda: len(sink.received) == 1, "it is told")
    await call(http, "DELETE", view)
    answer = await call(http, "POST", json.loads(sink.received[0].body)["replyto"], {"value": True})
    assert answer.status == 409 and "too late" in document(answer.body)["detail"]
    assert (await get(http, view))["late"] == 1


async def test_a_dead_letter_is_not_outstanding(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    topic = f"dead{uuid4().hex}"
    sink.script = lambda received: Say(410 if received.path == "/gone" else 202)
    await subscribe(http, broker, sink.url("gone"), topic)
    await subscribe(http, broker, sink.url("silent"), topic)
    view = await ask(http, broker, topic, replytype="boolean")
    found = await view_when(http, view, not_reached=1)
    assert (found["receivers"], found["outstanding"], found["complete"]) == (2, 1, False)


@pytest.mark.parametrize(
    "condition, met", [("count=2", "count"), ("fraction=0.5", "fraction"), ("quiet=0.5", "quiet"), ("", "deadline")]
)
async def test_a_wait_says_what_it_ended_by(
    broker: BrokerProcess, sink: Sink, http: HttpClient, condition: str, met: str
) -> None:
    topic = f"wait{uuid4().hex}"
    for number in range(4):
        await subscribe(http, broker, sink.url(str(number)), topic)
    view = await ask(http, broker, topic, replytype="int")
    seconds = "300ms" if met == "deadline" else "60s"
    waiting = asyncio.create_task(get(http, f"{view}?wait={seconds}&{condition}"))
    await wait_until(lambda: len(sink.received) == 4, "all are told")
    for number in range(2):
        await call(http, "POST", json.loads(sink.received[number].body)["replyto"], {"value": number})
    found = await waiting
    assert found["met"] == met and (met == "deadline" or found["replied"] == 2)


async def test_a_stream_shows_the_histogram_as_it_grows(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    topic = f"stream{uuid4().hex}"
    await subscribe(http, broker, sink.url("a"), topic)
    view = await ask(http, broker, topic, replytype="enum:a,b")
    await wait_until(lambda: len(sink.received) == 1, "it is told")
    host, _, path = view.removeprefix("http://").partition("/")
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(f"GET /{path}/stream HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    first = await asyncio.wait_for(reader.readuntil(b'"replied":0'), 30)
    assert b"text/event-stream" in first
    await call(http, "POST", json.loads(sink.received[0].body)["replyto"], {"value": "b"})
    await asyncio.wait_for(reader.readuntil(b'"complete":true'), 30)
    await call(http, "DELETE", view)
    await asyncio.wait_for(reader.readuntil(b'"ended":"terminated"'), 30)
    writer.close()


async def test_a_broker_that_was_killed_resumes_its_views(
    start: Start, tmp_path: Path, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path, IMPATIENT)
    for number in range(3):
        await subscribe(http, broker, sink.url(str(number)), "t")
    pulls = document((await call(http, "POST", f"{broker.url}/api/pullpoints", {"topic": "t"})).body)
    view = await ask(http, broker, "t", replytype="enum:yes,no")
    await wait_until(lambda: len(sink.received) == 3, "all are told")
    tokens = [json.loads(each.body)["replyto"] for each in sink.received]
    (held,) = (await get(http, pulls["messages"]))["items"]
    assert (await call(http, "POST", tokens[0], {"value": "yes"})).status == 204
    broker.kill()
    again = BrokerProcess.start(tmp_path, IMPATIENT, broker.port)
    try:
        await _the_rest_reply(http, view, tokens, held["event"]["replyto"])
    finally:
        again.kill()


async def _the_rest_reply(http: HttpClient, view: str, tokens: list[str], pulled: str) -> None:
    second = await call(http, "POST", tokens[0], {"value": "no"})
    assert second.status == 409, second
    for token in (*tokens[1:], pulled):
        assert (await call(http, "POST", token, {"value": "no"})).status == 204
    found = await view_when(http, view, complete=True)
    assert histogram(found) == {"yes": 1, "no": 3} and found["receivers"] == 4


async def test_whoever_the_graph_tells_can_answer_and_nobody_counts_twice(
    start: Start, tmp_path: Path, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path, IMPATIENT)
    world = {
        "topics": {"Beds": None},
        "categories": {"Desks": None, "Hospitals": None, "Clinics": None},
        "edges": [["Desks", "Beds", "Hospitals"], ["Desks", "Beds", "Clinics"], ["Hospitals", "Beds", "Clinics"]],
    }
    answer = await call(http, "PUT", f"{broker.url}/api/world", world)
    assert answer.status < 300, answer
    for name, category in (("desk", "Desks"), ("north", "Hospitals"), ("south", "Clinics"), ("mute", "Clinics")):
        made = {"name": name, "categories": [category]} | ({} if name == "mute" else {"address": sink.url(name)})
        answer = await call(http, "POST", f"{broker.url}/api/notifiers", made)
        assert answer.status == 201, answer
    asked = {"topic": "Beds", "data": "how many?", "protocol": "din", "reply_type": "int:0.."}
    answer = await call(http, "POST", f"{broker.url}/api/notifiers/desk/publish", asked)
    assert answer.status == 202, answer
    view = document(answer.body)["view"]
    await wait_until(lambda: sink.at("north") and sink.at("south"), "both are told")
    for name, beds in (("north", 12), ("south", 30)):
        for received in sink.at(name):
            await call(http, "POST", json.loads(received.body)["replyto"], {"value": beds})
    found = await view_when(http, view, replied=2, exact=True)
    assert histogram(found) == {"12": 1, "30": 1}
    assert (found["receivers"], found["outstanding"]) == (3, 1)


async def test_services_of_another_node_reply_to_the_root_of_the_message(tmp_path: Path, http: HttpClient) -> None:
    async with node_of(tmp_path / "a") as keeper, node_of(tmp_path / "b", keeper) as other:
        await keeper.implicit.change_world(NODE, graph(("Desks", "Near"), ("Desks", "Far")), "operator")
        await create(keeper, "desk", "Desks")
        points = {
            "near": (keeper, await create(keeper, "near", "Near")),
            "far": (other, await create(other, "far", "Far")),
        }
        event = {"specversion": "1.0", "id": "1", "source": "/d", "type": "ask", "subject": TOPIC, "replytype": "int"}
        headers = (("Content-Type", "application/cloudevents+json"),)
        address = f"{keeper.base_url}/notifiers/desk?protocol=din"
        answer = await http.request("POST", address, headers, json.dumps(event).encode())
        assert answer.status == 202, answer
        view = document(answer.body)["view"]
        for name, (node, point) in points.items():
            url = f"{node.base_url}/api/pullpoints/{point}/messages?wait=60s"
            (held,) = (await get(http, url))["items"]
            assert held["event"]["replyto"].startswith(node.base_url), "it is contacted where it was told"
            assert "replyview" not in held["event"]
            assert (await call(http, "POST", held["event"]["replyto"], {"value": len(name)})).status == 204
        found = await view_when(http, view, complete=True)
        assert histogram(found) == {"3": 1, "4": 1} and found["receivers"] == 2


async def test_with_direct_delivery_a_reply_may_be_faster_than_the_disk(
    start: Start, tmp_path: Path, sink: Sink, http: HttpClient
) -> None:
    sink.script = lambda received: Say(200, body=b'{"reply": true}')
    broker = start(tmp_path, IMPATIENT | {"delivery-mode": "direct"})
    for number in range(20):
        await subscribe(http, broker, sink.url(str(number)), "t")
    view = await ask(http, broker, "t", replytype="boolean")
    assert histogram(await view_when(http, view, complete=True)) == {"true": 20}
