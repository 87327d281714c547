import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest
from tests.whole.shell import wait_until

from tocsin.mediation.soap import dime
from tocsin.mediation.soap.dime import Message
from tocsin.wire.addresses import AddressGuard
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.server import listen, no_more
from tocsin.wire.tcp_client import TcpSender

SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
WSA = "http://www.w3.org/2005/08/addressing"
HEADERS = (("Content-Type", "application/soap+xml; charset=utf-8"), ("SOAPAction", "x"))
Script = Callable[["Consumer", Message], bytes | None]  # what to say; None hangs up


def envelope(content: str, header: str = "") -> bytes:
    return (
        f'<e:Envelope xmlns:e="{SOAP_12}"><e:Header>{header}</e:Header><e:Body>{content}</e:Body></e:Envelope>'.encode()
    )


def fault(code: str, reason: str, header: str = "") -> bytes:
    inside = f"<e:Code><e:Value>e:{code}</e:Value></e:Code><e:Reason><e:Text>{reason}</e:Text></e:Reason>"
    return dime.write(Message(envelope(f"<e:Fault>{inside}</e:Fault>", header), SOAP_12, "uri"))


@dataclass
class Consumer:
    script: Script = lambda consumer, message: b""
    received: list[Message] = field(default_factory=list)
    connections: list[asyncio.StreamWriter] = field(default_factory=list)
    port: int = 0

    def url(self, path: str = "in") -> str:
        return f"tcp://127.0.0.1:{self.port}/{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        frames = dime.Reader(1 << 22)
        with contextlib.suppress(OSError):
            while octets := await reader.read(1 << 16):
                for message in frames.feed(octets):
                    self.received.append(message)
                    said = self.script(self, message)
                    if said is None:
                        writer.transport.abort()
                        return
                    writer.write(said)


@pytest.fixture
async def consumer() -> AsyncIterator[Consumer]:
    listener, found = listen("127.0.0.1", 0), Consumer()
    found.port = listener.getsockname()[1]
    server = await asyncio.start_server(found.serve, sock=listener)
    yield found
    await no_more(server)
    for each in found.connections:
        each.transport.abort()
    await server.wait_closed()


@pytest.fixture
async def sender() -> AsyncIterator[TcpSender]:
    opened = TcpSender(timeout=5)
    yield opened
    await opened.close()


async def post(sender: TcpSender | HttpClient, url: str, body: bytes = b"<x/>") -> Answer:
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    sender.post(url, HEADERS, body, answered.set_result)
    assert not answered.done(), "never from inside"
    async with asyncio.timeout(60):
        return await answered


async def test_one_way_messages_are_delivered_over_one_connection(consumer: Consumer, sender: TcpSender) -> None:
    for number in range(5):
        answer = await post(sender, consumer.url(), envelope(f"<n>{number}</n>"))
        assert answer.status == 202
    assert [each.data for each in consumer.received] == [envelope(f"<n>{number}</n>") for number in range(5)]
    assert {(each.type, each.format) for each in consumer.received} == {(SOAP_12, "uri")}
    assert len(consumer.connections) == 1


async def test_many_at_once_each_arrive_once(consumer: Consumer, sender: TcpSender) -> None:
    bodies = [envelope(f"<n>{number}</n>" + "x" * 20_000) for number in range(40)]
    answers = await asyncio.gather(*(post(sender, consumer.url(), body) for body in bodies))
    assert {answer.status for answer in answers} == {202}
    assert sorted(each.data for each in consumer.received) == sorted(bodies)


@pytest.mark.parametrize(("code", "status"), [("Sender", 400), ("Receiver", 500), ("MustUnderstand", 400)])
async def test_a_fault_is_a_failure(code: str, status: int, consumer: Consumer, sender: TcpSender) -> None:
    consumer.script = lambda consumer, message: fault(code, "not  now")
    answer = await post(sender, consumer.url())
    assert (answer.status, answer.body) == (status, b"not now")


async def test_a_soap_11_fault_is_a_failure(consumer: Consumer, sender: TcpSender) -> None:
    inside = "<faultcode>e:Client.Authentication</faultcode><faultstring>who?</faultstring>"
    said = dime.write(Message(envelope(f"<e:Fault>{inside}</e:Fault>"), "text/xml", "media type"))
    consumer.script = lambda consumer, message: said
    answer = await post(sender, consumer.url())
    assert (answer.status, answer.body) == (400, b"who?")


async def test_any_other_answer_is_a_success(consumer: Consumer, sender: TcpSender) -> None:
    consumer.script = lambda consumer, message: dime.write(Message(envelope("<ok/>"), SOAP_12, "uri"), chunk=9)
    answer = await post(sender, consumer.url())
    assert (answer.status, answer.body) == (200, envelope("<ok/>"))


async def test_an_answer_that_is_no_frame_is_a_failure(consumer: Consumer, sender: TcpSender) -> None:
    consumer.script = lambda consumer, message: b"HTTP/1.1 200 OK\r\n\r\n"
    answer = await post(sender, consumer.url())
    assert answer.status == 0 and "the answer cannot be read" in answer.error


async def test_a_late_fault_is_not_taken_for_the_next_message(consumer: Consumer, sender: TcpSender) -> None:
    about = f'<a:RelatesTo xmlns:a="{WSA}">urn:1</a:RelatesTo>'
    consumer.script = lambda consumer, message: fault("Sender", "late", about) if b"urn:2" in message.data else b""
    assert (await post(sender, consumer.url(), envelope("urn:1"))).status == 202
    assert (await post(sender, consumer.url(), envelope("urn:2"))).status == 202
    assert (await post(sender, consumer.url(), envelope("urn:1 urn:2"))).status == 400


async def test_a_connection_closed_meanwhile_is_replaced(consumer: Consumer, sender: TcpSender) -> None:
    assert (await post(sender, consumer.url())).status == 202
    consumer.connections[0].close()
    await consumer.connections[0].wait_closed()
    assert (await post(sender, consumer.url())).status == 202
    assert len(consumer.received) == 2 and len(consumer.connections) == 2


async def test_who_hangs_up_on_the_message_did_not_take_it(consumer: Consumer, sender: TcpSender) -> None:
    consumer.script = lambda consumer, message: None
    answer = await post(sender, consumer.url())
    assert answer.status == 0 and "connection" in answer.error.lower()


async def test_who_does_not_read_did_not_take_it(consumer: Consumer) -> None:
    sender = TcpSender(timeout=0.3)
    listener = listen("127.0.0.1", 0)  # accepts in the kernel, reads nothing
    answer = await post(sender, f"tcp://127.0.0.1:{listener.getsockname()[1]}/", b"x" * (32 << 20))
    assert answer.status == 0 and answer.error == "no success within 0.3 seconds"
    listener.close()
    await sender.close()


async def test_nobody_there(sender: TcpSender) -> None:
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    listener.close()
    answer = await post(sender, f"tcp://127.0.0.1:{port}/x")
    assert answer.status == 0 and f"127.0.0.1:{port} cannot be connected to" in answer.error and not answer.refused


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("tcp://127.0.0.1/x", "names no port"),
        ("http://127.0.0.1:1/x", "not an address of SOAP over TCP"),
        ("tcp://u:p@127.0.0.1:1/", "password"),
        ("tcp://:1/", "no host"),
    ],
)
async def test_addresses_that_are_refused(url: str, why: str, sender: TcpSender) -> None:
    answer = await post(sender, url)
    assert answer.refused and why in answer.error


async def test_the_guard_is_asked_for_the_address_a_name_stands_for(consumer: Consumer) -> None:
    guard = AddressGuard(loopback_allowed=False)
    sender = TcpSender(guard=guard, resolve=lambda host, port: ["127.0.0.1"])
    answer = await post(sender, f"tcp://innocent.example:{consumer.port}/")
    assert answer.refused and "loopback" in answer.error and not consumer.connections
    await sender.close()


async def test_names_are_resolved(consumer: Consumer) -> None:
    sender = TcpSender(resolve=lambda host, port: ["::1", "127.0.0.1"])
    assert (await post(sender, f"tcp://consumer.example:{consumer.port}/")).status == 202
    await sender.close()


async def test_a_name_that_does_not_resolve() -> None:
    def fail(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    sender = TcpSender(resolve=fail)
    answer = await post(sender, "tcp://nowhere.example:1/")
    assert answer.status == 0 and "nowhere.example cannot be resolved" in answer.error and not answer.refused
    await sender.close()


async def test_closing_answers_what_is_in_flight(consumer: Consumer) -> None:
    sender = TcpSender()
    listener = listen("127.0.0.1", 0)
    answers: list[Answer] = []
    sender.post(f"tcp://127.0.0.1:{listener.getsockname()[1]}/", HEADERS, b"x" * (32 << 20), answers.append)
    await asyncio.sleep(0)
    await sender.close()
    sender.post(consumer.url(), HEADERS, b"<x/>", answers.append)
    await wait_until(lambda: len(answers) == 2, "both are told")
    assert {answer.error for answer in answers} == {"the client was closed"}
    listener.close()


async def test_each_scheme_has_its_sender(consumer: Consumer, sender: TcpSender) -> None:
    client = HttpClient(schemes={"tcp": sender})
    assert (await post(client, consumer.url())).status == 202
    assert (await post(client, consumer.url().replace("tcp", "TCP"))).status == 202
    assert "cannot connect" in (await post(client, "http://127.0.0.1:1/")).error
    assert len(consumer.received) == 2
    await client.close()
