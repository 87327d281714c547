"""Pull points through the JSON API, Server-Sent Events and WebSockets, as clients see them."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from tests.effort import examples
from tests.whole.acts import call, get, publish, until
from tests.whole.conftest import Start
from tests.whole.shell import PATIENCE, BrokerProcess, document, wait_until
from tests.whole.speech import message, notify
from tests.whole.streams import listening
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


async def pull_point(http: HttpClient, broker: BrokerProcess, topic: str, **more: object) -> str:
    answer = await call(http, "POST", f"{broker.url}/api/pullpoints", {"topic": topic} | more)
    assert answer.status == 201, answer
    return str(document(answer.body)["id"])


def payload(event: Any) -> int:
    return int(event["data"].partition(">")[2].partition("<")[0])


async def messages(http: HttpClient, broker: BrokerProcess, name: str, query: str = "") -> list[tuple[int, int]]:
    """Number and payload of each."""
    found = await get(http, f"{broker.url}/api/pullpoints/{name}/messages?{query}")
    return [(each["number"], payload(each["event"])) for each in found["items"]]


async def state(http: HttpClient, broker: BrokerProcess, name: str) -> Any:
    return await get(http, f"{broker.url}/api/pullpoints/{name}")


def socket_url(broker: BrokerProcess, path: str) -> str:
    return f"ws{broker.url.removeprefix('http')}/api/{path}"


async def heard(socket: ClientConnection) -> tuple[int, int]:
    async with asyncio.timeout(PATIENCE):
        said = msgspec.json.decode(await socket.recv())
    return said["number"], payload(said["event"])


async def test_messages_are_handed_out_and_can_be_read_again(broker: BrokerProcess, http: HttpClient) -> None:
    name = await pull_point(http, broker, "pulled")
    await publish(http, broker, "pulled", 1, 2, 3)
    assert await messages(http, broker, name, "limit=2") == [(1, 1), (2, 2)]
    shown = await state(http, broker, name)
    assert (shown["waiting"], shown["last"], shown["handed_to"], shown["overflowed"]) == (1, 3, 2, 0)
    assert shown["address"] == f"{broker.url}/broker/pullpoints/{name}"
    assert shown["messages"] == f"{broker.url}/api/pullpoints/{name}/messages"
    assert shown["topics"] == ["pulled"]
    assert await messages(http, broker, name, "after=1") == [(2, 2), (3, 3)]
    assert await messages(http, broker, name) == [(3, 3)]
    page = await get(http, f"{broker.url}/api/pullpoints/{name}/messages?after=0&limit=2")
    assert page["next"] == "2"
    assert page["items"][0]["subscription"] == name
    event = page["items"][0]["event"]
    assert (event["specversion"], event["subject"], event["id"]) == ("1.0", "pulled", "urn:pulled:1")
    assert (await call(http, "DELETE", f"{broker.url}/api/pullpoints/{name}")).status == 204
    assert (await call(http, "GET", f"{broker.url}/api/pullpoints/{name}/messages")).status == 404


async def test_a_long_poll_is_answered_by_the_first_message(broker: BrokerProcess, http: HttpClient) -> None:
    name = await pull_point(http, broker, "polled")
    waiting = asyncio.create_task(messages(http, broker, name, "wait=60s"))
    reading = asyncio.create_task(messages(http, broker, name, "wait=1m&after=0"))
    await state(http, broker, name)
    assert not waiting.done()
    await publish(http, broker, "polled", 7)
    async with asyncio.timeout(PATIENCE):
        assert await waiting == await reading == [(1, 7)]
    assert await messages(http, broker, name, "wait=1ms") == []


async def test_who_hangs_up_while_waiting_takes_nothing(broker: BrokerProcess, http: HttpClient) -> None:
    name = await pull_point(http, broker, "hung-up")
    _, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    writer.write(f"GET /api/pullpoints/{name}/messages?wait=60s HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    await writer.drain()
    await state(http, broker, name)
    writer.close()
    await writer.wait_closed()
    for _ in range(3):  # so that the broker has heard of it
        await state(http, broker, name)
    await publish(http, broker, "hung-up", 1)
    assert await messages(http, broker, name, "wait=10s") == [(1, 1)]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/messages?wait=soon", 400),
        ("GET", "/messages?limit=-1", 400),
        ("GET", "/messages?after=x", 400),
        ("HEAD", "/messages", 405),
        ("HEAD", "/stream", 405),
        ("POST", "/messages", 405),
    ],
)
async def test_bad_requests_hand_out_nothing(
    broker: BrokerProcess, http: HttpClient, method: str, path: str, status: int
) -> None:
    topic = "untouched" + "".join(filter(str.isalnum, method + path))  # a repeated message would not be accepted
    name = await pull_point(http, broker, topic)
    await publish(http, broker, topic, 1)
    answer = await call(http, method, f"{broker.url}/api/pullpoints/{name}{path}")
    assert answer.status == status, answer
    assert (await state(http, broker, name))["waiting"] == 1


async def test_what_is_no_pull_point(broker: BrokerProcess, http: HttpClient) -> None:
    body = {"consumer": "http://127.0.0.1:9/", "topic": "x"}
    pushed = document((await call(http, "POST", f"{broker.url}/api/subscriptions", body)).body)["id"]
    for name in (pushed, "none"):
        for path in ("", "/messages", "/messages?after=0", "/stream"):
            answer = await call(http, "GET", f"{broker.url}/api/pullpoints/{name}{path}")
            assert answer.status == 404, answer
        assert (await call(http, "DELETE", f"{broker.url}/api/pullpoints/{name}")).status == 404
    for bad in ({"consumer": "http://127.0.0.1:9/"}, {"topik": "x"}, {"topic": "a//b//"}):
        answer = await call(http, "POST", f"{broker.url}/api/pullpoints", bad)
        assert answer.status == 400, answer
    assert (await call(http, "GET", f"{broker.url}/api/subscriptions/{pushed}")).status == 200


async def test_a_subscription_feeds_a_pull_point_by_its_address(broker: BrokerProcess, http: HttpClient) -> None:
    box = await pull_point(http, broker, "nothing-else")
    address = f"{broker.url}/broker/pullpoints/{box}"
    body = {"consumer": address, "topic": "fed"}
    assert (await call(http, "POST", f"{broker.url}/api/subscriptions", body)).status == 201
    refused = await call(http, "POST", f"{broker.url}/api/subscriptions", body | {"consumer": f"{address}x"})
    assert refused.status == 400
    assert b"no pull point" in refused.body
    await publish(http, broker, "fed", 1)
    assert await messages(http, broker, box, "wait=10s") == [(1, 1)]


async def test_a_notify_to_a_pull_point_is_for_it_alone(broker: BrokerProcess, http: HttpClient) -> None:
    box, other = [await pull_point(http, broker, each) for each in ("aside-box", "aside")]
    said = notify(message('<n xmlns="">5</n>', "aside"), message_id="urn:aside")
    assert (await http.request("POST", f"{broker.url}/broker/pullpoints/{box}", *said)).status == 202
    assert await messages(http, broker, box) == [(1, 5)]
    assert await messages(http, broker, other) == []
    assert (await http.request("POST", f"{broker.url}/broker/pullpoints/none", *said)).status >= 400


async def test_the_current_message_of_a_topic(broker: BrokerProcess, http: HttpClient) -> None:
    await publish(http, broker, "current-a", 1, 2)
    found = await get(http, f"{broker.url}/api/topics/current?topic=current-a")
    assert (found["topic"], payload(found["event"])) == ("current-a", 2)
    for query, status in (("", 400), ("?topic=current-none", 404), ("?topic=current-a|b", 400), ("?topic=p:a", 400)):
        answer = await call(http, "GET", f"{broker.url}/api/topics/current{query}")
        assert answer.status == status, answer
    wanted = f"xmlns:p={quote('urn:n')}&topic={quote('p:b')}"
    assert (await call(http, "GET", f"{broker.url}/api/topics/current?{wanted}")).status == 404


async def test_a_stream_goes_on_where_the_last_one_was_cut(broker: BrokerProcess, http: HttpClient) -> None:
    name = await pull_point(http, broker, "streamed")
    url = f"{broker.url}/api/pullpoints/{name}/stream"
    await publish(http, broker, "streamed", 1, 2)
    async with listening(url) as stream:
        assert (stream.status, "text/event-stream" in stream.head) == (200, True)
        said = [await stream.next(), await stream.next()]
        assert [(each.id, payload(each.json())) for each in said] == [("1", 1), ("2", 2)]
        await publish(http, broker, "streamed", 3)
        assert (await stream.next()).id == "3"
    await until(lambda: state(http, broker, name), lambda found: bool(found["handed_to"] == 3))
    await publish(http, broker, "streamed", 4)
    async with listening(url, "Last-Event-ID: 1") as stream:
        assert [(await stream.next()).id for _ in range(3)] == ["2", "3", "4"]
    async with listening(url, "Last-Event-ID: what") as stream:
        await publish(http, broker, "streamed", 5)
        assert (await stream.next()).id == "5"


async def test_a_stream_tells_that_its_pull_point_ended(broker: BrokerProcess, http: HttpClient) -> None:
    name = await pull_point(http, broker, "stream-ends")
    async with listening(f"{broker.url}/api/pullpoints/{name}/stream") as stream:
        assert (await call(http, "DELETE", f"{broker.url}/api/pullpoints/{name}")).status == 204
        assert (await stream.next()).event == "end"
        with pytest.raises(EOFError):
            await stream.next()


async def test_a_payload_with_line_breaks_arrives_whole(broker: BrokerProcess, http: HttpClient) -> None:
    event = b'{"specversion":"1.0","id":"1","source":"urn:p","type":"t","subject":"lines","data":{\n"a":\r\n1}\r}'
    async with listening(f"{broker.url}/api/stream?topic=lines") as stream:
        headers = (("Content-Type", "application/cloudevents+json"),)
        assert (await http.request("POST", f"{broker.url}/events", headers, event)).status == 202
        assert (await stream.next()).json()["data"] == {"a": 1}


async def standing(http: HttpClient, broker: BrokerProcess, topic: str) -> list[str]:
    found = await get(http, f"{broker.url}/api/subscriptions?limit=1000")
    return [each["id"] for each in found["items"] if each["topics"] == [topic]]


async def test_a_pull_point_made_for_a_connection_ends_with_it(broker: BrokerProcess, http: HttpClient) -> None:
    async with listening(f"{broker.url}/api/stream?topic=own-stream") as stream:
        await publish(http, broker, "own-stream", 1)
        assert payload((await stream.next()).json()) == 1
        assert len(await standing(http, broker, "own-stream")) == 1
    await until(lambda: standing(http, broker, "own-stream"), lambda found: found == [])
    async with connect(socket_url(broker, "socket?topic=own-socket")) as socket:
        await publish(http, broker, "own-socket", 1)
        assert await heard(socket) == (1, 1)
    await until(lambda: standing(http, broker, "own-socket"), lambda found: found == [])
    async with listening(f"{broker.url}/api/stream?topic=a//") as stream:
        assert stream.status == 400


async def test_a_socket_hands_out_what_it_sends(broker: BrokerProcess, http: HttpClient) -> None:
    name = await pull_point(http, broker, "socket")
    await publish(http, broker, "socket", 1, 2)
    async with connect(socket_url(broker, f"pullpoints/{name}/socket")) as socket:
        assert [await heard(socket) for _ in range(2)] == [(1, 1), (2, 2)]
        await socket.send('{"ack": 1}')
        await publish(http, broker, "socket", 3)
        assert await heard(socket) == (3, 3)
    assert (await state(http, broker, name))["waiting"] == 0


async def test_what_is_not_acknowledged_is_sent_again(broker: BrokerProcess, http: HttpClient) -> None:
    name = await pull_point(http, broker, "acks")
    url = socket_url(broker, f"pullpoints/{name}/socket?ack=true")
    await publish(http, broker, "acks", 1, 2, 3)
    async with connect(url) as socket:
        assert [await heard(socket) for _ in range(3)] == [(1, 1), (2, 2), (3, 3)]
        await socket.send('{"ack": 2}')
        await until(lambda: state(http, broker, name), lambda found: bool(found["handed_to"] == 2))
        socket.transport.abort()
    async with connect(url) as socket:
        assert await heard(socket) == (3, 3)
        await publish(http, broker, "acks", 4)
        assert await heard(socket) == (4, 4)
        await socket.send('{"ack": 4}')
        await until(lambda: state(http, broker, name), lambda found: bool(found["waiting"] == 0))


@pytest.mark.parametrize("said", ["hello", "{}", '{"ack": -1}', '{"ack": 9}', b"\x00", "x" * 70_000])
async def test_a_socket_closes_on_what_it_does_not_understand(
    broker: BrokerProcess, http: HttpClient, said: str | bytes
) -> None:
    name = await pull_point(http, broker, "nonsense")
    async with connect(socket_url(broker, f"pullpoints/{name}/socket?ack=true")) as socket:
        await socket.send(said)
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(socket.recv(), PATIENCE)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code in (1008, 1009), closed.value
    assert (await state(http, broker, name))["handed_to"] == 0


async def test_a_socket_tells_that_its_pull_point_ended(broker: BrokerProcess, http: HttpClient) -> None:
    name = await pull_point(http, broker, "socket-ends")
    for query in ("", "?ack=true"):
        async with connect(socket_url(broker, f"pullpoints/{name}/socket{query}")) as socket:
            if query:
                assert (await call(http, "DELETE", f"{broker.url}/api/pullpoints/{name}")).status == 204
                with pytest.raises(ConnectionClosed) as closed:
                    await asyncio.wait_for(socket.recv(), PATIENCE)
                assert closed.value.rcvd is not None
                assert "ended" in closed.value.rcvd.reason


async def test_sockets_that_are_refused(broker: BrokerProcess, http: HttpClient) -> None:
    name = await pull_point(http, broker, "denied")
    wanted = f"pullpoints/{name}/socket"
    for path, origin, status in (
        ("pullpoints/none/socket", None, 404),
        (f"{wanted}?ack=yes", None, 400),
        ("socket?topic=a//", None, 400),
        (wanted, "http://evil.example", 403),
        ("nowhere", None, 403),
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with connect(socket_url(broker, path), origin=origin):  # type: ignore[arg-type]
                pass
        assert refused.value.response.status_code == status, path
    async with connect(socket_url(broker, wanted), origin=broker.url):  # type: ignore[arg-type]
        pass


async def test_a_broker_that_ends_lets_nobody_wait(tmp_path: Path, start: Start, http: HttpClient) -> None:
    broker = start(tmp_path / "data")
    name = await pull_point(http, broker, "t")
    polling = asyncio.create_task(call(http, "GET", f"{broker.url}/api/pullpoints/{name}/messages?wait=60s"))
    async with (
        listening(f"{broker.url}/api/stream?topic=t") as stream,
        connect(socket_url(broker, f"pullpoints/{name}/socket?ack=true")) as socket,
    ):
        await publish(http, broker, "t", 1)
        await stream.next()
        assert await heard(socket) == (1, 1)
        assert document((await polling).body)["items"][0]["number"] == 1
        polling = asyncio.create_task(call(http, "GET", f"{broker.url}/api/pullpoints/{name}/messages?wait=60s"))
        await state(http, broker, name)
        assert await asyncio.to_thread(broker.stop, 20.0) == 0
        answer = await polling
        assert (answer.status, document(answer.body)["items"]) == (200, [])
        with contextlib.suppress(EOFError):
            await stream.next()
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    assert all(word not in broker.said() for word in ("Traceback", "Error", "Cancel")), broker.said()
    again = start(tmp_path / "data")
    assert len(await standing(http, again, "t")) == 1


@pytest.mark.kills
async def test_each_is_pulled_once_through_kills(tmp_path: Path, start: Start, http: HttpClient) -> None:
    """Killed between publishing and pulling, while both go on: nothing is missing, no number has two messages."""
    data = tmp_path / "data"
    broker = start(data)
    box = await pull_point(http, broker, "k", expires="PT1H")
    published, handed, found = list[int](), list[tuple[int, int]](), dict[int, int]()
    for round_ in range(max(2, examples(4))):
        stop = asyncio.Event()
        talking = asyncio.create_task(_talk(broker, round_ * 10_000, published, stop))
        pulling = asyncio.create_task(_pull(broker, box, handed, stop))
        target = len(handed) + 40
        await wait_until(lambda: len(handed) >= target, "messages come")  # noqa: B023
        broker.kill()
        stop.set()
        await asyncio.gather(talking, pulling)
        broker = start(data)
    found |= dict(handed)
    while rest := await messages(http, broker, box, "limit=1000"):
        handed += rest
        found |= dict(rest)
    assert len(handed) == len(found), "no number was handed out twice"
    lost = [number for number in range(1, max(found) + 1) if number not in found]
    for number in lost:  # handed out, but the answer was lost with the process
        found |= dict(await messages(http, broker, box, f"after={number - 1}&limit=1"))
    found |= dict(await messages(http, broker, box, f"after={max(found)}&limit=1000"))  # lost with the last of them
    values = [found[number] for number in sorted(found)]
    assert sorted(found) == list(range(1, max(found) + 1))
    assert len(values) == len(set(values)), "nothing twice"
    assert set(published) <= set(values), "nothing missing"
    assert values == sorted(values), "in order"
    assert len(published) > 50


async def _talk(broker: BrokerProcess, first: int, published: list[int], stop: asyncio.Event) -> None:
    http = HttpClient()
    number = first
    with contextlib.suppress(AssertionError):
        while not stop.is_set():
            await publish(http, broker, "k", number)
            published.append(number)
            number += 1
    await http.close()


async def _pull(broker: BrokerProcess, box: str, handed: list[tuple[int, int]], stop: asyncio.Event) -> None:
    http = HttpClient(max_body=8 << 20)
    with contextlib.suppress(AssertionError):
        while not stop.is_set():
            handed += await messages(http, broker, box, "wait=5s&limit=10")
    await http.close()
