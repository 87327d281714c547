"""Rings of processes: what is accepted at one node is told by whichever has its key, once; whatever happens to some."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.whole.acts import call, get, numbers, publish, subscribe
from tests.whole.rings import ProcessRing
from tests.whole.shell import document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import message, notify

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


@pytest.fixture
def ring(tmp_path: Path, http: HttpClient) -> Iterator[ProcessRing]:
    made = ProcessRing(tmp_path, http)
    yield made
    made.close()


async def test_three_nodes_are_one_broker(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(3)
    names = [await subscribe(http, ring.at(each), sink.url(f"t{each}"), f"t{each}") for each in range(6)]
    everything = await subscribe(http, ring.at(1), sink.url("all"), "*//.", dialect="wsn-1.3")
    for number in range(60):
        await publish(http, ring.at(number), f"t{number % 6}", number)
    await wait_until(lambda: len(numbers(sink, "all")) == 60, "all of them are told")
    assert sorted(numbers(sink, "all")) == list(range(60))
    for each in range(6):
        await wait_until(lambda each=each: len(numbers(sink, f"t{each}")) == 10, f"t{each}")  # type: ignore[misc]
        assert numbers(sink, f"t{each}") == list(range(each, 60, 6))
    for node in ring.each:
        for name in (*names, everything):
            found = await get(http, f"{node.url}/api/subscriptions/{name}")
            assert found["state"] == "active"


async def test_a_subscription_is_managed_at_any_node(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(3)
    name = await subscribe(http, ring.at(0), sink.url("x"), "*//.")
    for at, (act, state) in enumerate((("pause", "paused"), ("resume", "active"))):
        answer = await call(http, "POST", f"{ring.at(at + 1).url}/api/subscriptions/{name}/{act}")
        assert document(answer.body)["state"] == state
    for number in range(9):
        await publish(http, ring.at(number), f"r{number}", number)
    await wait_until(lambda: len(numbers(sink, "x")) == 9, "all are told after it was resumed")
    assert (await call(http, "DELETE", f"{ring.at(2).url}/api/subscriptions/{name}")).status == 204
    for node in ring.each:
        assert (await call(http, "GET", f"{node.url}/api/subscriptions/{name}")).status == 404
    for number in range(9):
        await publish(http, ring.at(number), f"r{number}", number)
    after = await subscribe(http, ring.at(0), sink.url("after"), "last")
    await publish(http, ring.at(1), "last", 99)
    await wait_until(lambda: numbers(sink, "after") == [99], f"{after} is told")
    assert len(numbers(sink, "x")) == 9


def distinct(sink: Sink, path: str) -> list[int]:
    """What was on its way when a node died may come twice."""
    return list(dict.fromkeys(numbers(sink, path)))


class Publishers:
    """They publish one after the other, at any node that stands, until they are stopped."""

    def __init__(self, ring: ProcessRing, http: HttpClient, topics: int, seed: int) -> None:
        self._ring, self._http, self._topics, self._random = ring, http, topics, Random(seed)
        self.acknowledged: list[int] = []
        self._number, self._stop = 0, False

    async def run(self) -> None:
        while not self._stop:
            number, self._number = self._number, self._number + 1
            said = notify(message(f'<n xmlns="">{number}</n>', f"t{number % self._topics}"), message_id=f"urn:{number}")
            node = self._random.choice(self._ring.each)
            answer = await self._http.request("POST", f"{node.url}/broker", *said)
            if answer.status == 202:
                self.acknowledged.append(number)
            await asyncio.sleep(0.01)

    def stop(self) -> None:
        self._stop = True


async def _told(sink: Sink, publishers: Publishers, topics: int) -> Counter[int]:
    """All that was acknowledged, where it was asked for; how often each was."""
    wanted = set(publishers.acknowledged)
    await wait_until(lambda: wanted <= set(numbers(sink, "all")), "all that was acknowledged is told")
    for each in range(topics):
        mine = {number for number in wanted if number % topics == each}
        await wait_until(lambda each=each, mine=mine: mine <= set(numbers(sink, f"t{each}")), f"t{each}")  # type: ignore[misc]
        assert {number % topics for number in numbers(sink, f"t{each}")} <= {each}
    return Counter(numbers(sink, "all"))


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.long)])
async def test_nodes_are_killed_and_others_join(ring: ProcessRing, http: HttpClient, sink: Sink, kills: int) -> None:
    topics, random = 10, Random(kills)
    await ring.grow(4)
    for each in range(topics):
        await subscribe(http, ring.at(each), sink.url(f"t{each}"), f"t{each}")
    await subscribe(http, ring.at(0), sink.url("all"), "*//.")
    publishers = Publishers(ring, http, topics, seed=kills)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(publishers.run())
        for _ in range(kills):
            before = len(publishers.acknowledged)
            await wait_until(lambda before=before: len(publishers.acknowledged) > before + 30, "some are published")  # type: ignore[misc]
            ring.kill(random.choice(list(ring.nodes)))
            await ring.begin()
            await ring.settled()
        publishers.stop()
    counts = await _told(sink, publishers, topics)
    repeated = sum(count - 1 for count in counts.values())
    assert repeated <= 20 * kills  # those that were on their way when somebody died


@pytest.mark.long
async def test_a_node_that_was_put_out_comes_back_with_nothing_of_its_own(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    await ring.grow(4)
    names = [await subscribe(http, ring.at(each), sink.url(f"t{each}"), f"t{each}") for each in range(8)]
    for number in range(16):
        await publish(http, ring.at(number), f"t{number % 8}", number)
    await wait_until(lambda: sum(len(numbers(sink, f"t{each}")) for each in range(8)) == 16, "all are told")
    ring.kill(1)
    await ring.settled()
    assert (await call(http, "DELETE", f"{ring.at(0).url}/api/subscriptions/{names[3]}")).status == 204
    await ring.again(1)
    await ring.settled()
    for number in range(16, 32):
        await publish(http, ring.at(number), f"t{number % 8}", number)
    rest = [each for each in range(8) if each != 3]
    for each in rest:
        await wait_until(lambda each=each: len(distinct(sink, f"t{each}")) == 4, f"t{each} is told all")  # type: ignore[misc]
        assert distinct(sink, f"t{each}") == list(range(each, 32, 8))
    assert distinct(sink, "t3") == [3, 11]


async def test_a_node_without_doors_stores_and_matches_and_names_those_that_have_them(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    await ring.grow(2)
    bare = await ring.begin(**{"ring-role": "dht"})
    await ring.settled()
    brokers = [each for each in ring.each if each is not bare]
    for path in ("/broker", "/events", "/api/subscriptions"):
        answer = await call(http, "POST", f"{bare.url}{path}", {})
        assert answer.status == 421
        assert sorted(document(answer.body)["doors"]) == sorted(each.url for each in brokers)
    for each in range(20):
        await subscribe(http, brokers[each % 2], sink.url(f"t{each}"), f"t{each}")
    for each in range(20):
        await publish(http, brokers[(each + 1) % 2], f"t{each}", each)
    for each in range(20):
        await wait_until(lambda each=each: numbers(sink, f"t{each}") == [each], f"t{each}")  # type: ignore[misc]
    members = (await ring.view(bare))["members"]
    mine = next(each for each in members if each["url"] is None)
    assert mine["subscriptions"] and mine["accepted"] and mine["delivered"]
