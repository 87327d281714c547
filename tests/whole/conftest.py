from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from tests.whole.acts import IMPATIENT
from tests.whole.shell import NONE, BrokerProcess, Flags
from tests.whole.sink import Sink

from tocsin.wire.http_client import HttpClient

Start = Callable[..., BrokerProcess]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all tests that leave it as it was: each uses topics and consumers of its own."""
    process = BrokerProcess.start(tmp_path_factory.mktemp("shared"), IMPATIENT | {"delivery-attempts": "3"})
    yield process
    process.kill()


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts brokers that end with the test."""
    started: list[BrokerProcess] = []

    def begin(data: Path, settings: Flags = NONE) -> BrokerProcess:
        started.append(BrokerProcess.start(data, settings))
        return started[-1]

    yield begin
    for each in started:
        each.kill()


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with Sink().open() as opened:
        yield opened


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient(max_body=8 << 20)
    yield client
    await client.close()
