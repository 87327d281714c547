"""SOAP over TCP with DIME frames, through a started broker, in and out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.whole.acts import IMPATIENT, JSON
from tests.whole.conftest import Start
from tests.whole.people import digest_header, known, with_header
from tests.whole.shell import BrokerProcess, accepted, document, wait_until
from tests.whole.speech import fault_of, manager_of, message, notify, text_at, wsn_manage, wsn_subscribe
from tests.whole.test_onvif_door import TEV, say
from tests.wire.test_tcp_client import Consumer, consumer
from tests.wire.test_tcp_server import Caller

from tocsin.mediation.soap import dime
from tocsin.mediation.soap.dime import Message
from tocsin.model.access import Right
from tocsin.model.identity import Pairs
from tocsin.wire.http_client import HttpClient
from tocsin.wire.server import listen

__all__ = ["consumer"]
WSA = "http://www.w3.org/2005/08/addressing"


def free_port() -> int:
    with contextlib.closing(listen("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def broker_at(start: Start, tmp_path: Path) -> tuple[BrokerProcess, int]:
    port = free_port()
    return start(tmp_path / "data", IMPATIENT | {"tcp-port": str(port)}), port


@pytest.fixture
async def caller(broker_at: tuple[BrokerProcess, int]) -> AsyncIterator[Caller]:
    found = Caller(*await asyncio.open_connection("127.0.0.1", broker_at[1]))
    yield found
    found.writer.close()
    await found.writer.wait_closed()


def framed(said: tuple[Pairs, bytes]) -> bytes:
    return dime.write(dime.of_soap(said[1], dict(said[0])["Content-Type"]), chunk=300)


async def ask(caller: Caller, said: tuple[Pairs, bytes]) -> bytes:
    caller.say(framed(said))
    answer = await caller.hear()
    assert answer is not None
    return answer.data


def to(said: tuple[Pairs, bytes], address: str) -> tuple[Pairs, bytes]:
    return said[0], said[1].replace(b"</e:Header>", f"<a:To>{address}</a:To></e:Header>".encode(), 1)


async def test_subscribe_publish_receive_and_unsubscribe_all_over_tcp(
    broker_at: tuple[BrokerProcess, int], caller: Caller, consumer: Consumer
) -> None:
    manager = manager_of(await ask(caller, wsn_subscribe(consumer.url(), "alarm//.")))
    for number in range(3):
        caller.say(framed(notify(message(f"<n>{number}</n>", "alarm/fire"), message_id=f"urn:{number}")))
    await wait_until(lambda: len(consumer.received) == 3, "all three come over TCP")
    assert [text_at(each.data, "n") for each in consumer.received] == ["0", "1", "2"]
    assert len(consumer.connections) == 1
    assert b"UnsubscribeResponse" in await ask(caller, to(wsn_manage("Unsubscribe"), manager))
    answer = await ask(caller, to(wsn_manage("Unsubscribe"), manager))
    assert "there is no subscription" in fault_of(answer).reason


async def test_an_answer_says_that_what_came_before_is_on_disk(
    broker_at: tuple[BrokerProcess, int], caller: Caller
) -> None:
    for number in range(5):
        caller.say(framed(notify(message(f"<n>{number}</n>", "a"), message_id=f"urn:{number}")))
    await ask(caller, wsn_manage("Unsubscribe"))
    broker_at[0].kill()
    assert len(accepted(broker_at[0].data)) == 5


async def test_faults_come_back_as_frames(caller: Caller) -> None:
    caller.say(dime.write(Message(b"<broken", "text/xml", "media type")))
    told = await caller.hear()
    assert told is not None and fault_of(told.data).soap == "1.1"
    caller.say(b"GET / HTTP/1.1\r\n\r\n")
    last = await caller.hear()
    assert last is not None and "HTTP is served at another port" in fault_of(last.data).reason
    assert await caller.hear() is None


async def test_consumers_of_cloudevents_and_the_brokers_own_port_are_refused(
    broker_at: tuple[BrokerProcess, int], caller: Caller, http: HttpClient
) -> None:
    body = b'{"consumer": "tcp://127.0.0.1:9/x"}'
    answer = await http.request("POST", f"{broker_at[0].url}/api/subscriptions", JSON, body)
    assert answer.status == 400 and b"must begin with http:// or https://" in answer.body
    told = fault_of(await ask(caller, wsn_subscribe(f"tcp://127.0.0.1:{broker_at[1]}/broker", "a")))
    assert "own address" in told.reason


async def test_who_hangs_up_while_pulling_takes_nothing(
    broker_at: tuple[BrokerProcess, int], caller: Caller, http: HttpClient
) -> None:
    broker, port = broker_at
    made = await http.request("POST", f"{broker.url}/api/pullpoints", JSON, b'{"topic": "t"}')
    name = document(made.body)["id"]
    pull = say(TEV, "PullMessages", "<n:Timeout>PT60S</n:Timeout><n:MessageLimit>10</n:MessageLimit>")
    leaving = Caller(*await asyncio.open_connection("127.0.0.1", port))
    leaving.say(framed(to(pull, f"tcp://127.0.0.1:{port}/broker/subscriptions/{name}")))
    await leaving.writer.drain()
    leaving.writer.close()
    await leaving.writer.wait_closed()
    for _ in range(3):  # so that the broker has heard of it
        await ask(caller, wsn_manage("Unsubscribe"))
    caller.say(framed(notify(message("<n>1</n>", "t"), message_id="urn:1")))
    pulled = await ask(caller, to(pull, f"tcp://127.0.0.1:{port}/broker/pullpoints/{name}"))
    assert text_at(pulled, "n") == "1"


async def test_who_guesses_elsewhere_locks_nobody_out(start: Start, tmp_path: Path) -> None:
    port, data = free_port(), tmp_path / "data"
    known(data, "ann", Right("subscribe"))
    start(data, IMPATIENT | {"tcp-port": str(port), "access-on": "true"})

    async def tried(password: str, place: str) -> str:
        async with asyncio.timeout(30):
            found = Caller(*await asyncio.open_connection("127.0.0.1", port, local_addr=(place, 0)))
            said = with_header(wsn_subscribe("http://127.0.0.1:9/", "a"), digest_header("ann", password))
            answer = await ask(found, said)
            found.writer.close()
            await found.writer.wait_closed()
        return answer.decode()

    for _ in range(8):
        await tried("wrong", "127.0.0.2")
    assert "too many failed attempts" in await tried("annann", "127.0.0.2")
    assert "SubscribeResponse" in await tried("annann", "127.0.0.3")
