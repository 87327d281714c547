from collections.abc import AsyncIterator, Iterator

import pytest
from tests.whole.acts import IMPATIENT
from tests.whole.shell import BrokerProcess
from tests.whole.sink import Sink

from tocsin.wire.http_client import HttpClient


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all tests that leave it as it was: each uses topics and consumers of its own."""
    process = BrokerProcess.start(tmp_path_factory.mktemp("clients"), IMPATIENT)
    yield process
    process.kill()


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with Sink().open() as opened:
        yield opened


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient(max_body=8 << 20)
    yield client
    await client.close()
