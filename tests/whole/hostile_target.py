"""A broker under attack, and what is asked of it around each test."""

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
from tests.whole.acts import IMPATIENT, call, numbers, publish
from tests.whole.acts import subscribe as subscribed
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import fault_of

from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

MANY = 100_000
SOON = 15.0
LITTLE = 250 << 20
SOAP_12 = (("Content-Type", "application/soap+xml; charset=utf-8"),)
HERE = "http://127.0.0.1:9/"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    folder = tmp_path_factory.mktemp("hostile") / "data"
    settings = IMPATIENT | {"delivery-attempts": "2", "advertise": "http://Broker.Example:4321"}
    process = BrokerProcess.start(folder, settings)
    process.url = process.local_url()
    yield process
    process.kill()
    assert "Traceback" not in process.said()


@pytest.fixture(autouse=True)
async def in_time_and_room(target: BrokerProcess, sink: Sink, http: HttpClient) -> AsyncIterator[None]:
    """Around each test: it takes little processor time and memory, and what is good works right after."""
    before, began = target.peak_memory(), target.processor_seconds()
    yield
    assert target.processor_seconds() - began < SOON
    assert target.peak_memory() - before < LITTLE
    about = f"well/t{uuid4().hex}"
    name = await subscribed(http, target, sink.url("well"), about)
    await publish(http, target, about, 1)
    await wait_until(lambda: numbers(sink, "well") == [1], "the broker is well")
    await call(http, "DELETE", f"{target.url}/api/subscriptions/{name}")


async def say(http: HttpClient, broker: BrokerProcess, text: str | bytes, path: str = "/broker") -> Answer:
    return await http.request("POST", broker.url + path, SOAP_12, text.encode() if isinstance(text, str) else text)


async def refused(http: HttpClient, broker: BrokerProcess, text: str | bytes, word: str, path: str = "/broker") -> None:
    before = await offset(http, broker)
    answer = await say(http, broker, text, path)
    assert answer.status in (400, 413), answer
    assert word in fault_of(answer.body).reason and len(answer.body) < 20_000
    assert await offset(http, broker) == before


async def offset(http: HttpClient, broker: BrokerProcess) -> int:
    return int(document((await call(http, "GET", f"{broker.url}/api/status")).body)["offset"])
