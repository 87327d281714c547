"""Bad input gets a fault in the caller's own dialect, and costs nobody else anything."""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.whole.acts import IMPATIENT, JSON, call, dead_letters, get, numbers, publish, subscribe, until
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, accepted, document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import (
    SOAP,
    WSE,
    WSN,
    Said,
    Tongue,
    fault_of,
    message,
    notify,
    wse_event,
    wse_manage,
    wse_subscribe,
    wsn_manage,
    wsn_subscribe,
)

from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
HERE = "http://127.0.0.1:9/"


@pytest.fixture
async def unharmed(broker: BrokerProcess, sink: Sink, http: HttpClient) -> AsyncIterator[None]:
    """Around a test: the subscriptions stay as they are, and a good message right after the bad one arrives."""
    about = f"good/t{uuid4().hex}"
    await subscribe(http, broker, sink.url("good"), about)
    before = await subscriptions(http, broker)
    yield
    await publish(http, broker, about, 1)
    await wait_until(lambda: sink.at("good"), "the good message arrives")
    assert numbers(sink, "good") == [1]
    assert await subscriptions(http, broker) == before


COUNTED = ("waiting", "delivered", "dead_letters")


async def subscriptions(http: HttpClient, broker: BrokerProcess) -> Any:
    """But for what is counted for each."""
    found = (await get(http, f"{broker.url}/api/subscriptions?limit=1000"))["items"]
    return [{name: value for name, value in each.items() if name not in COUNTED} for each in found]


def check_fault(answer: Answer, tongue: Tongue, name: str, *words: str) -> None:
    fault = fault_of(answer.body)
    assert fault.soap == tongue.soap
    assert answer.status == (500 if tongue.soap == "1.1" else 400), answer
    assert name in fault.subcode or name in fault.code or f"{name}".encode() in answer.body, (name, answer.body)
    if tongue.soap == "1.2":
        assert fault.code == f"{{{SOAP['1.2']}}}Sender"
    assert all(word in fault.reason for word in words), fault


TONGUE_11, TONGUE_12 = Tongue("1.1", "2004/08"), Tongue("1.2", "2005/08")
XPATH = '<n:MessageContent Dialect="http://www.w3.org/TR/1999/REC-xpath-19991116">true(</n:MessageContent>'
PULL = "http://schemas.xmlsoap.org/ws/2004/08/eventing/DeliveryModes/Pull"


def wsn_cases(tongue: Tongue) -> dict[str, tuple[Said, str, str]]:
    """What is said, the name of the fault, a word of the reason."""
    kind = tongue.content_type()
    good = notify(message("<a/>", "t"), tongue=tongue)[1]
    wrong = good.replace(WSN.encode(), b"urn:not:wsn")
    creation, ending = "SubscribeCreationFailedFault", "UnacceptableInitialTerminationTimeFault"

    def subscribing(consumer: str, topic: str = "t", **more: str) -> Said:
        return wsn_subscribe(consumer, topic, tongue=tongue, **more)

    return {
        "malformed": ((kind, good[:-20]), "", "line 1"),
        "doctype": ((kind, b'<!DOCTYPE a [<!ENTITY x "y">]>' + good.partition(b"?>")[2]), "", "DOCTYPE"),
        "empty": ((kind, b""), "", ""),
        "not xml": ((kind, b"hello"), "", ""),
        "wrong namespace": ((kind, wrong), "", "urn:not:wsn"),
        "wrong envelope": ((kind, good.replace(SOAP[tongue.soap].encode(), b"urn:not:soap")), "", "urn:not:soap"),
        "no body": ((kind, good.replace(b"e:Body", b"e:Torso")), "", "no Body"),
        "empty body": (tongue.say("urn:a", ""), "", "empty Body"),
        "no message": (notify(tongue=tongue), "", "NotificationMessage"),
        "bad topic": (notify(message("<a/>", "a/"), tongue=tongue), "InvalidTopicExpressionFault", "'a/'"),
        "unknown dialect": (subscribing(HERE, dialect="urn:odd"), "TopicExpressionDialectUnknownFault", "urn:odd"),
        "bad topic expression": (subscribing(HERE, "a//"), "InvalidTopicExpressionFault", "position"),
        "undeclared prefix": (subscribing(HERE, "x:a"), "InvalidTopicExpressionFault", "'x'"),
        "bad content": (subscribing(HERE, inside=XPATH), "InvalidMessageContentExpressionFault", "XPath 1.0"),
        "unsupported filter": (subscribing(HERE, inside="<t:Odd xmlns:t='urn:t'/>"), "InvalidFilterFault", "Odd"),
        "bad expiry": (subscribing(HERE, expires="soon"), ending, "'soon'"),
        "past expiry": (subscribing(HERE, expires="2001-01-01T00:00:00Z"), ending, "future"),
        "mail": (subscribing("mailto:me@example.com"), creation, "http://"),
        "no host": (subscribing("http:///x"), creation, "no host"),
        "multicast": (subscribing("http://224.0.0.1/"), creation, "multicast"),
        "link-local": (subscribing("http://169.254.169.254/"), creation, "link-local"),
        "unknown subscription": (wsn_manage("Unsubscribe", tongue=tongue), "ResourceUnknownFault", "no subscription"),
    }


def wse_cases(tongue: Tongue) -> dict[str, tuple[Said, str, str]]:
    kind = tongue.content_type()
    good = wse_subscribe(HERE, "t", tongue=tongue)[1]

    def subscribing(consumer: str, topic: str = "t", **more: str) -> Said:
        return wse_subscribe(consumer, topic, tongue=tongue, **more)

    return {
        "malformed": ((kind, good[:-20]), "InvalidMessage", "line 1"),
        "doctype": ((kind, b"<!DOCTYPE a>" + good.partition(b"?>")[2]), "InvalidMessage", "DOCTYPE"),
        "no body": ((kind, good.replace(b"e:Body", b"e:Torso")), "InvalidMessage", "no Body"),
        "unknown operation": (wse_manage("Dance", tongue=tongue), "InvalidMessage", "Dance"),
        "no consumer": (wse_manage("Subscribe", tongue=tongue), "InvalidMessage", "NotifyTo"),
        "unknown filter": (subscribing(HERE, dialect="urn:klingon"), "FilteringRequestedUnavailable", "urn:klingon"),
        "bad topic expression": (subscribing(HERE, "a//"), "FilteringRequestedUnavailable", "position"),
        "delivery mode": (subscribing(HERE, mode=PULL), "DeliveryModeRequestedUnavailable", PULL),
        "bad expiry": (subscribing(HERE, expires="soon"), "InvalidExpirationTime", "'soon'"),
        "mail": (subscribing("mailto:me@example.com"), "InvalidMessage", "http://"),
        "unknown subscription": (wse_manage("GetStatus", tongue=tongue), "InvalidMessage", "no subscription"),
        "unknown, renewed": (wse_manage("Renew", tongue=tongue), "InvalidMessage", "no subscription"),
    }


@pytest.mark.parametrize("tongue", [TONGUE_11, TONGUE_12], ids=["1.1", "1.2"])
@pytest.mark.parametrize("case", wsn_cases(TONGUE_12))
@pytest.mark.usefixtures("unharmed")
async def test_wsn_refuses(case: str, tongue: Tongue, broker: BrokerProcess, http: HttpClient) -> None:
    said, name, word = wsn_cases(tongue)[case]
    path = "/broker/subscriptions/none" if case.startswith("unknown sub") else "/broker"
    check_fault(await http.request("POST", broker.url + path, *said), tongue, name, word)


@pytest.mark.parametrize("tongue", [TONGUE_11, TONGUE_12], ids=["1.1", "1.2"])
@pytest.mark.parametrize("case", wse_cases(TONGUE_12))
@pytest.mark.usefixtures("unharmed")
async def test_wse_refuses(case: str, tongue: Tongue, broker: BrokerProcess, http: HttpClient) -> None:
    said, name, word = wse_cases(tongue)[case]
    path = "/broker/subscriptions/none" if case.startswith("unknown") and "sub" in said[1].decode() else "/broker"
    answer = await http.request("POST", broker.url + path, *said)
    check_fault(answer, tongue, name, word)
    fault = fault_of(answer.body)
    assert f"{{{WSE}}}{name}" == (fault.code if tongue.soap == "1.1" else fault.subcode)


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (wse_event("", "t"), "one element"),
        (wse_event("<a/>", "a//b"), "wildcards"),
        ((TONGUE_12.content_type(), b"<a>"), ""),
        ((TONGUE_12.content_type(), b"<a/>"), "Envelope"),
        (((("Content-Type", "application/xml"),), b"<a><b></a>"), ""),
    ],
)
@pytest.mark.usefixtures("unharmed")
async def test_events_that_are_none(said: Said, word: str, broker: BrokerProcess, http: HttpClient) -> None:
    answer = await http.request("POST", f"{broker.url}/broker/publish", *said)
    assert 400 <= answer.status <= 500 and word in fault_of(answer.body).reason, answer


@pytest.mark.usefixtures("unharmed")
async def test_an_address_that_is_no_topic(broker: BrokerProcess, http: HttpClient) -> None:
    answer = await http.request("POST", f"{broker.url}/broker/publish/a//b", JSON, b"{}")
    assert answer.status == 400 and "a//b" in document(answer.body)["detail"]


STRUCTURED = (("Content-Type", "application/cloudevents+json"),)


@pytest.mark.parametrize(
    ("headers", "body", "word"),
    [
        (STRUCTURED, b"{", "JSON"),
        (STRUCTURED, b"[]", "JSON"),
        (STRUCTURED, b'{"specversion": "1.0", "id": "1", "source": "/"}', "type"),
        (STRUCTURED, b'{"specversion": "0.2", "id": "1", "source": "/", "type": "t"}', "'0.2'"),
        (STRUCTURED, b'{"specversion": "1.0", "id": {}, "source": "/", "type": "t"}', "id"),
        (JSON, b"{}", "specversion"),
        ((("Content-Type", "application/cloudevents-batch+json"),), b"{}", "batch"),
        ((("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/"), *JSON), b"{}", "type"),
    ],
)
@pytest.mark.usefixtures("unharmed")
async def test_cloudevents_are_refused_with_a_problem(
    headers: Any, body: bytes, word: str, broker: BrokerProcess, http: HttpClient
) -> None:
    answer = await http.request("POST", f"{broker.url}/events", headers, body)
    assert answer.status == 400 and dict(answer.headers)["content-type"] == "application/problem+json"
    assert word in document(answer.body)["detail"]


HUGE = 100 << 20


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("path", ["/broker", "/events", "/api/subscriptions"])
@pytest.mark.usefixtures("unharmed")
async def test_a_hundred_megabytes_are_not_read_into_memory(path: str, chunked: bool, broker: BrokerProcess) -> None:
    kind = "application/soap+xml" if path == "/broker" else "application/json"
    before = broker.peak_memory()
    status, body = await send_huge(broker.port, path, kind, chunked)
    assert status == 413
    reason = fault_of(body).reason if path == "/broker" else document(body)["detail"]
    assert "1048576 bytes" in reason
    assert broker.peak_memory() - before < 20 << 20


async def send_huge(port: int, path: str, kind: str, chunked: bool) -> tuple[int, bytes]:
    """Sends on while it listens, as long as the other side takes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {HUGE}"
    writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n{length}\r\n\r\n".encode())
    sending = asyncio.create_task(_send_all(writer, chunked))
    try:
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode().lower()
        size = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        return int(head.split(" ")[1]), await asyncio.wait_for(reader.readexactly(size), 60)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.transport.abort()


async def _send_all(writer: asyncio.StreamWriter, chunked: bool) -> None:
    part = b" " * (1 << 16)
    for _ in range(HUGE >> 16):
        writer.write(b"10000\r\n" + part + b"\r\n" if chunked else part)
        await writer.drain()


@pytest.mark.usefixtures("unharmed")
async def test_a_caller_that_goes_away_half_way(broker: BrokerProcess) -> None:
    for sent in (b"", b"POST /broker HTTP/1.1\r\n", b"POST /broker HTTP/1.1\r\nContent-Length: 100\r\n\r\n<a"):
        _, writer = await asyncio.open_connection("127.0.0.1", broker.port)
        writer.write(sent)
        await writer.drain()
        writer.transport.abort()


@pytest.mark.usefixtures("unharmed")
async def test_what_is_no_http(broker: BrokerProcess) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    writer.write(b"\x16\x03\x01\x00garbage\r\n\r\n")
    assert (await asyncio.wait_for(reader.read(), 60)).startswith(b"HTTP/1.1 400")
    writer.close()


async def test_an_expired_subscription_is_over(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about = f"short/t{uuid4().hex}"
    name = await subscribe(http, broker, sink.url("short"), about, expires="PT0.3S")
    address = f"{broker.url}/broker/subscriptions/{name}"

    async def status() -> Answer:
        return await http.request("POST", address, *wse_manage("GetStatus"))

    answer = await until(status, lambda found: found.status != 200)
    assert "expired at" in fault_of(answer.body).reason or "there is no subscription" in fault_of(answer.body).reason
    for said in (wsn_manage("Unsubscribe"), wsn_manage("Renew", "<n:TerminationTime>PT1H</n:TerminationTime>")):
        assert b"ResourceUnknownFault" in (await http.request("POST", address, *said)).body
    await subscribe(http, broker, sink.url("long"), about)
    await publish(http, broker, about, 1)
    await wait_until(lambda: sink.at("long"), "the one that stands hears it")
    assert not sink.at("short")

    async def listed() -> list[str]:
        return [each["id"] for each in await subscriptions(http, broker)]

    await until(listed, lambda found: name not in found)


async def test_an_unreachable_consumer_is_a_dead_letter(broker: BrokerProcess, http: HttpClient) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/"
    about = f"nobody/t{uuid4().hex}"
    for consumer, word in [(nobody, "connect"), ("http://no-such-host.invalid/", "no-such-host.invalid")]:
        name = await subscribe(http, broker, consumer, about)
        await publish(http, broker, about, len(word))
        (letter,) = await until(lambda name=name: dead_letters(http, broker, name), bool)  # type: ignore[misc]
        assert word in letter["reason"].lower() and letter["attempts"] == 3
        await call(http, "DELETE", f"{broker.url}/api/subscriptions/{name}")


async def test_our_own_address_is_no_consumer(broker: BrokerProcess, http: HttpClient) -> None:
    for host in ("127.0.0.1", "localhost"):
        asked = {"consumer": f"http://{host}:{broker.port}/events"}
        answer = await call(http, "POST", f"{broker.url}/api/subscriptions", asked)
        assert answer.status == 400 and "own address" in document(answer.body)["detail"]


async def test_loopback_is_no_consumer_of_a_broker_that_listens_to_all(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    everywhere = {"host": "0.0.0.0", "advertise": "http://127.0.0.1:1", "access-open": "true"}
    broker = start(tmp_path / "data", IMPATIENT | everywhere)
    broker.url = broker.local_url()
    for host in ("127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"):
        asked = {"consumer": f"http://{host}:{sink.port}/"}
        answer = await call(http, "POST", f"{broker.url}/api/subscriptions", asked)
        assert answer.status == 400 and "loopback" in document(answer.body)["detail"]
    name = await subscribe(http, broker, f"http://localhost:{sink.port}/", "t")
    await publish(http, broker, "t", 1)
    (letter,) = await until(lambda: dead_letters(http, broker, name), bool)
    assert "loopback" in letter["reason"] and letter["attempts"] == 1
    assert not sink.received


async def test_a_repeated_message_id_is_one_record_and_one_delivery(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT)
    event = b'{"specversion":"1.0","id":"7","source":"/s","type":"t","subject":"t","data":1}'
    doors = {
        "urn:m5": ("/broker", notify(message("<a/>", "t"), message_id="urn:m5")),
        "urn:m6": ("/broker/publish", wse_event("<a/>", "t", "urn:m6")),
        "7": ("/events", (STRUCTURED, event)),
    }

    async def repeat(times: int) -> None:
        asked = [http.request("POST", broker.url + path, *said) for path, said in doors.values() for _ in range(times)]
        assert {(each.status, each.body) for each in await asyncio.gather(*asked)} == {(202, b"")}

    await subscribe(http, broker, sink.url("a"), "t")
    await repeat(8)
    await wait_until(lambda: len(sink.received) == 3, "each arrives")
    broker.kill()
    broker = start(tmp_path / "data", IMPATIENT)
    await repeat(2)
    await publish(http, broker, "t", 1)
    await wait_until(lambda: sink.notifications("a")[-1].id == "urn:t:1", "what follows arrives")
    assert len(accepted(broker.data)) == 4
    found = Counter(each.id for each in sink.notifications("a"))
    assert set(found) == {*doors, "urn:t:1"} and max(found.values()) <= 2, "once, and perhaps again after the crash"


async def test_one_id_of_two_producers_is_two_messages(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about, name = f"two/t{uuid4().hex}", f"urn:{uuid4()}"
    await subscribe(http, broker, sink.url("a"), about)
    for producer in ("http://a.example/", "http://b.example/"):
        said = notify(message("<a/>", about, producer), message_id=name)
        assert (await http.request("POST", f"{broker.url}/broker", *said)).status == 202
    await wait_until(lambda: len(sink.at("a")) == 2, "both arrive")
