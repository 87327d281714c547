"""Cross delivery: what each client publishes, every other one receives, through one broker."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from uuid import uuid4

import pytest
import pytest_asyncio
from tests.clients.peers import sdc
from tests.clients.peers.peer import Event, Receiver, canonical
from tests.clients.peers.registry import PUBLISHERS, RECEIVERS
from tests.clients.peers.table import COMMAND, documented, table
from tests.whole.acts import IMPATIENT, until
from tests.whole.shell import BrokerProcess

pytestmark = [pytest.mark.clients, pytest.mark.asyncio(loop_scope="module")]

EVERYTHING = "matrix//."


@pytest.fixture(scope="module")
def meeting_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker with nobody else at it: some receive whatever there is."""
    process = BrokerProcess.start(tmp_path_factory.mktemp("matrix"), IMPATIENT)
    yield process
    process.kill()


@dataclass(frozen=True)
class Crowd:
    said: Mapping[str, Event]
    receivers: Mapping[str, Receiver]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def crowd(meeting_place: BrokerProcess) -> AsyncIterator[Crowd]:
    """Everybody listens, then everybody publishes once."""
    url = meeting_place.url
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        receivers = {name: await enter(each(url, EVERYTHING)) for name, each in RECEIVERS.items()}
        said = dict[str, Event]()
        for number, (name, each) in enumerate(PUBLISHERS.items()):
            publisher = await enter(each(url))
            said[name] = Event(f"matrix/from{number}", canonical(sdc.report(f"urn:uuid:{uuid4()}")))
            await publisher.publish(said[name])
        yield Crowd(said, receivers)


@pytest.mark.parametrize("receiver", RECEIVERS)
@pytest.mark.parametrize("publisher", PUBLISHERS)
async def test_what_one_publishes_the_other_receives(publisher: str, receiver: str, crowd: Crowd) -> None:
    said, listening = crowd.said[publisher], crowd.receivers[receiver]
    heard = await until(listening.heard, lambda found: any(each.payload == said.payload for each in found))
    assert [each for each in heard if each.payload == said.payload] == [said], "once, and under its topic"


@pytest.mark.parametrize("receiver", RECEIVERS)
async def test_nothing_comes_twice(receiver: str, crowd: Crowd) -> None:
    heard = await until(crowd.receivers[receiver].heard, lambda found: len(found) >= len(PUBLISHERS))
    assert sorted(each.topic for each in heard) == sorted(each.topic for each in crowd.said.values())


async def test_the_documentation_has_them_all() -> None:
    assert documented() == table(), f"docs/clients.md is stale; run {COMMAND}"
