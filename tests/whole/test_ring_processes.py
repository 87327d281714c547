"""Rings of processes: what is accepted at one node is told by whichever has its key, once; whatever happens to some."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.whole.acts import IMPATIENT, call, get, numbers, publish, subscribe, until
from tests.whole.conftest import Start
from tests.whole.ring_workload import declare, publish_all, subscribe_all, told
from tests.whole.rings import Lines, ProcessRing
from tests.whole.shell import BrokerProcess, accepted, document, run_to_end, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import message, notify

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
SIZES = (("SUBSCRIPTIONS", "140"), ("MESSAGES", "600"), ("NODES", "5"))


@pytest.fixture
def ring(tmp_path: Path, http: HttpClient) -> Iterator[ProcessRing]:
    made = ProcessRing(tmp_path, http)
    yield made
    made.close()


@pytest.fixture
async def lines() -> AsyncIterator[Lines]:
    made = Lines()
    yield made
    await made.close()


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


async def test_a_node_leaves_for_good_and_ends(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(3)
    names = [await subscribe(http, ring.at(each), sink.url(f"t{each}"), f"t{each}") for each in range(6)]
    for number in range(24):
        await publish(http, ring.at(number), f"t{number % 6}", number)
    going = ring.nodes.pop(1)
    words = [sys.executable, "-m", "tocsin", "ring", "leave", "--broker", going.url]
    done = await asyncio.to_thread(run_to_end, words, ring.folder)
    assert done.returncode == 0 and "hands over" in done.stderr, done
    assert await asyncio.to_thread(going.ended) == 0
    assert "has left its ring" in going.said()
    await ring.settled()
    for number in range(24, 48):
        await publish(http, ring.at(number), f"t{number % 6}", number)
    for each, name in enumerate(names):
        assert (await get(http, f"{ring.at(0).url}/api/subscriptions/{name}"))["state"] == "active"
        await wait_until(lambda each=each: len(numbers(sink, f"t{each}")) == 8, f"t{each} is told all")  # type: ignore[misc]
        assert numbers(sink, f"t{each}") == list(range(each, 48, 6))


@pytest.mark.parametrize("relay", ["always", "on-demand"])
async def test_what_all_nodes_had_before_is_told_to_who_begins_in_the_past(
    ring: ProcessRing, http: HttpClient, sink: Sink, relay: str
) -> None:
    await ring.grow(3, **{"ring-relay": relay})
    for number in range(24):
        await publish(http, ring.at(number // 3), f"t{number % 3}", number)
    early, past = list(range(0, 24, 3)), {"from": {"time": "1970-01-01T00:00:00Z"}}
    late = await subscribe(http, ring.at(1), sink.url("late"), "t0")
    name = await subscribe(http, ring.at(2), sink.url("t0"), "t0", **past)
    point = await call(http, "POST", f"{ring.at(0).url}/api/pullpoints", {"topic": "t0"} | past)
    assert point.status == 201, point
    for number in range(24, 30):
        await publish(http, ring.at(number), f"t{number % 3}", number)
    await wait_until(lambda: sorted(numbers(sink, "t0")) == [*early, 24, 27], "all there was is told, once")
    await wait_until(lambda: numbers(sink, "late") == [24, 27], f"{late} is told what came then")
    held, at = list[Any](), f"{ring.at(1).url}/api/pullpoints/{document(point.body)['id']}/messages?wait=30s"
    while len(held) < 10:
        held += (await get(http, at))["items"]
    assert sorted(each["event"]["id"] for each in held) == sorted(f"urn:t0:{each}" for each in (*early, 24, 27))
    assert (await call(http, "DELETE", f"{ring.at(0).url}/api/subscriptions/{name}")).status == 204
    await publish(http, ring.at(2), "t0", 99)
    await wait_until(lambda: 99 in numbers(sink, "late"), "those that stand are told")
    assert 99 not in numbers(sink, "t0")


async def test_each_node_has_offsets_of_its_own(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(2)
    asked = {"consumer": sink.url("x"), "topic": "t", "from": {"offset": 0}}
    answer = await call(http, "POST", f"{ring.at(0).url}/api/subscriptions", asked)
    assert answer.status == 400 and "a log of its own" in document(answer.body)["detail"], answer


async def test_a_ring_of_one_is_not_left(ring: ProcessRing, http: HttpClient) -> None:
    await ring.grow(1)
    answer = await call(http, "POST", f"{ring.at(0).url}/api/ring/leave")
    assert answer.status == 400 and "nobody could go on" in document(answer.body)["detail"]


@pytest.mark.long
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
    topic = await ring.topic_at(bare)
    await subscribe(http, brokers[0], sink.url("x"), topic)
    for each in range(20):
        await publish(http, brokers[each % 2], topic, each)
    await wait_until(lambda: numbers(sink, "x") == list(range(20)), "all are told, by the node without doors")
    members = (await ring.view(bare))["members"]
    mine = next(each for each in members if each["url"] is None)
    assert (mine["subscriptions"], mine["accepted"], mine["delivered"]) == (1, 20, 20)


@pytest.mark.long
async def test_two_nodes_are_cut_off_and_let_back(
    ring: ProcessRing, http: HttpClient, sink: Sink, lines: Lines
) -> None:
    topics = 10
    for _ in range(6):
        await ring.begin_behind(lines)
    await ring.settled()
    for each in range(topics):
        await subscribe(http, ring.at(each), sink.url(f"t{each}"), f"t{each}")
    await subscribe(http, ring.at(0), sink.url("all"), "*//.")
    names = [await ring.name_of(each) for each in ring.each]
    publishers = Publishers(ring, http, topics, seed=2)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(publishers.run())
        await wait_until(lambda: len(publishers.acknowledged) > 40, "some are published")
        lines.cut(names[4:])
        rest = [0, 1, 2, 3]
        await ring.settled(rest)
        before = len(publishers.acknowledged)
        await wait_until(lambda: len(publishers.acknowledged) > before + 40, "those that are left go on")
        for cut_off in (4, 5):
            assert (await ring.view(ring.nodes[cut_off]))["standing"] == "alone"
            said = notify(message('<n xmlns="">-1</n>', "t1"), message_id=f"urn:cut:{cut_off}")
            answer = await http.request("POST", f"{ring.nodes[cut_off].url}/broker", *said)
            assert answer.status >= 500, answer
        lines.cut()
        await ring.settled()
        before = len(publishers.acknowledged)
        await wait_until(lambda: len(publishers.acknowledged) > before + 40, "all of them go on")
        publishers.stop()
    await _told(sink, publishers, topics)


@pytest.mark.long
async def test_what_only_a_node_that_is_put_out_has_is_not_acknowledged_and_taken_when_it_comes_again(
    ring: ProcessRing, lines: Lines, http: HttpClient, sink: Sink
) -> None:
    """It is on the disk of a node that is cut off, waits there for copies, and is not its own when it is back."""
    for _ in range(3):
        await ring.begin_behind(lines)
    await ring.settled()
    last = ring.nodes[2]
    topic = await ring.topic_at(last)
    await subscribe(http, ring.at(0), sink.url("x"), topic)
    said = notify(message('<n xmlns="">7</n>', topic), message_id="urn:only:7")
    lines.cut([await ring.name_of(last)])
    waiting = asyncio.create_task(http.request("POST", f"{last.url}/broker", *said))
    await wait_until(lambda: any(b"urn:only:7" in each.body for each in accepted(last.data)), "it is on disk")
    await ring.settled([0, 1])
    lines.cut()
    assert (await waiting).status >= 500
    await ring.settled()
    before = len(numbers(sink, "x"))  # it may have been told, though nobody was promised that
    for _ in range(2):
        answer = await http.request("POST", f"{last.url}/broker", *said)
        assert answer.status == 202, answer
    await wait_until(lambda: len(numbers(sink, "x")) == before + 1, "it is told")


@pytest.mark.long
@pytest.mark.parametrize("seed", [1])
async def test_a_ring_tells_just_what_one_broker_tells(
    ring: ProcessRing, http: HttpClient, start: Start, tmp_path: Path, seed: int
) -> None:
    """SUBSCRIPTIONS, MESSAGES and NODES make it as large as one likes."""
    many, messages, nodes = (int(os.environ.get(*each)) for each in SIZES)
    alone = start(tmp_path / "alone", IMPATIENT)
    async with Sink().open() as one, Sink().open() as all_of_them:
        await declare(http, alone)
        await subscribe_all(http, [alone], one, seed, many)
        await ring.grow(nodes)
        await declare(http, ring.at(1))
        await subscribe_all(http, ring.each, all_of_them, seed, many)
        await asyncio.gather(publish_all(http, [alone], seed, messages), publish_all(http, ring.each, seed, messages))
        patience = max(60.0, messages / 20)
        await until(lambda: _waiting(http, [alone, *ring.each]), lambda waiting: waiting == 0, patience)
        await wait_until(lambda: len(one.received) == len(all_of_them.received), "the same", patience)
        expected, found = told(one), told(all_of_them)
        assert len(expected) > messages
        assert found == expected


async def _waiting(http: HttpClient, nodes: list[BrokerProcess]) -> int:
    found = [(await get(http, f"{each.url}/api/status"))["delivery"] for each in nodes]
    return sum(each["waiting"] + each["in_flight"] + each["behind"] for each in found)
