"""Publishers that register at a ring: managed through any node, told by anybody's wish, and taken over."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole.acts import call, get, subscribe, until
from tests.whole.producer import Producer
from tests.whole.rings import ProcessRing
from tests.whole.shell import document, wait_until
from tests.whole.sink import Sink
from tests.whole.test_ring_api import spread_topics
from tests.whole.test_ring_pull_points import home_of

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


@pytest.fixture
def ring(tmp_path: Path, http: HttpClient) -> Iterator[ProcessRing]:
    made = ProcessRing(tmp_path, http)
    yield made
    made.close()


@pytest.fixture
async def producer() -> AsyncIterator[Producer]:
    async with Producer().open() as opened:
        yield opened


@pytest.mark.long
async def test_demand_is_that_of_all_nodes_and_outlives_a_home(
    ring: ProcessRing, http: HttpClient, sink: Sink, producer: Producer
) -> None:
    await ring.grow(3)
    topics = await spread_topics(ring, "demand", 1)
    asked = {"publisher": producer.url, "topics": topics, "demand": True}
    answer = await call(http, "POST", f"{ring.at(0).url}/api/registrations", asked)
    assert answer.status == 201, answer
    name = str(document(answer.body)["id"])
    await wait_until(lambda: producer.states() == ["paused"], "nobody wants it: paused")
    for number, topic in enumerate(topics):
        wants = await subscribe(http, ring.at(number), sink.url("w"), topic)
        await wait_until(lambda: producer.states() == ["active"], "somebody wants it at some node: resumed")
        for node in ring.each:
            await _shown(http, f"{node.url}/api/registrations/{name}", "active")
            listed = (await get(http, f"{node.url}/api/registrations"))["items"]
            assert [each["id"] for each in listed] == [name]
        await call(http, "DELETE", f"{ring.at(number + 1).url}/api/subscriptions/{wants}")
        await wait_until(lambda: producer.states() == ["paused"], "nobody wants it any more: paused")
    home = await home_of(ring, name)
    ring.kill(home)
    await ring.settled()
    for node in ring.each:
        await _shown(http, f"{node.url}/api/registrations/{name}", "paused")
    await subscribe(http, ring.at(1), sink.url("w"), topics[2])
    await wait_until(lambda: "active" in producer.states(), "who goes on for its home has resumed it")
    assert producer.operations().count("Subscribe") == 2
    assert (await call(http, "DELETE", f"{ring.at(0).url}/api/registrations/{name}")).status == 204
    for node in ring.each:
        assert not (await get(http, f"{node.url}/api/registrations"))["items"]
        assert (await call(http, "GET", f"{node.url}/api/registrations/{name}")).status == 404
    await wait_until(lambda: "active" not in producer.states(), "unsubscribed")


async def _shown(http: HttpClient, address: str, upstream: str) -> None:
    async def look() -> Any:
        answer = await call(http, "GET", address)
        return document(answer.body) if answer.status == 200 else {"upstream": str(answer)}

    await until(look, lambda found: found["upstream"] == upstream)
