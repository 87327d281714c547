"""What nobody wants stays where it was published (paper 004 s5.B), and what somebody wants never does."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from tests.whole.acts import IMPATIENT, call, get, numbers, publish, subscribe, until
from tests.whole.conftest import Start
from tests.whole.ring_workload import PLACES, SPACE, declare, events, publish_all, subscribe_all, told
from tests.whole.rings import Lines, ProcessRing
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import message, notify

from tocsin.documents.declarations import SpaceRequest
from tocsin.model.areas import areas_in
from tocsin.model.filters import InBox
from tocsin.model.names import QName, Topic
from tocsin.routing.ring.curves import curve_through
from tocsin.routing.ring.topic_keys import key_of_topic
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
ON_DEMAND = {"ring-relay": "on-demand"}
WSNT = "http://docs.oasis-open.org/wsn/b-2"
SIMPLE = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Simple"


@pytest.fixture
def ring(tmp_path: Path, http: HttpClient) -> Iterator[ProcessRing]:
    made = ProcessRing(tmp_path, http, ON_DEMAND)
    yield made
    made.close()


@pytest.fixture
async def lines() -> AsyncIterator[Lines]:
    made = Lines()
    yield made
    await made.close()


async def _seat(ring: ProcessRing, node: BrokerProcess) -> dict[str, Any]:
    name = await ring.name_of(node)
    return dict(next(each for each in (await ring.view(node))["members"] if each["node"] == name))


async def _is_left(ring: ProcessRing, http: HttpClient, node: BrokerProcess, topic: str) -> bool:
    """Whether the next one is."""
    before = (await _seat(ring, node))["left"]
    await publish(http, node, topic, 0)
    return bool((await _seat(ring, node))["left"] > before)


async def _current(http: HttpClient, node: BrokerProcess, topic: str) -> bytes:
    asked = (
        '<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope"><e:Body>'
        f'<w:GetCurrentMessage xmlns:w="{WSNT}"><w:Topic Dialect="{SIMPLE}">{topic}</w:Topic></w:GetCurrentMessage>'
        "</e:Body></e:Envelope>"
    )
    headers = (("Content-Type", "application/soap+xml"),)
    return (await http.request("POST", f"{node.url}/broker", headers, asked.encode())).body


async def test_what_nobody_wants_stays_where_it_came(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(3)
    first, _, owner = ring.each
    topic = await ring.topic_at(owner)
    await publish(http, first, topic, *range(10))
    seat = await _seat(ring, first)
    assert (seat["relayed"], seat["left"]) == (1, 9)
    assert (await _seat(ring, owner))["accepted"] == 1
    for node in ring.each:
        assert b">9<" in await _current(http, node, topic)
        topics = (await get(http, f"{node.url}/api/topics"))["items"]
        assert [each["notifications"] for each in topics if each["topic"] == topic] == [10]

    name = await subscribe(http, ring.at(1), sink.url("x"), topic)
    for number, node in enumerate(ring.each, 10):
        await publish(http, node, topic, number)
    await wait_until(lambda: sorted(numbers(sink, "x")) == [10, 11, 12], "what follows on the subscription is told")
    assert (await call(http, "DELETE", f"{ring.at(2).url}/api/subscriptions/{name}")).status == 204
    await until(lambda: _is_left(ring, http, first, topic), bool)
    assert sorted(numbers(sink, "x")) == [10, 11, 12]


async def test_several_in_one_request_are_judged_one_by_one(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(3)
    first, second, third = ring.each
    mine, wanted, unwanted = [await ring.topic_at(each) for each in (first, second, third)]
    for topic in (mine, wanted):
        await subscribe(http, second, sink.url(topic), topic)
    await publish(http, first, unwanted, 0)
    before = await _seat(ring, first)
    said = notify(*(message(f'<n xmlns="">{number}</n>', each) for number, each in enumerate((mine, wanted, unwanted))))
    assert (await http.request("POST", f"{first.url}/broker", *said)).status == 202
    for number, topic in enumerate((mine, wanted)):
        await wait_until(lambda topic=topic, number=number: numbers(sink, topic) == [number], topic)  # type: ignore[misc]
    after = await _seat(ring, first)
    assert (after["left"] - before["left"], after["relayed"] - before["relayed"]) == (1, 1)
    assert b">2<" in await _current(http, second, unwanted)


@pytest.mark.long
async def test_one_that_is_resumed_is_told_what_follows_and_one_that_expired_wants_nothing(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    await ring.grow(3)
    first, second, owner = ring.each
    topic = await ring.topic_at(owner)
    await publish(http, first, topic, 0)
    name = await subscribe(http, second, sink.url("x"), f"{topic}//.", expires="PT8S")
    at = f"{second.url}/api/subscriptions/{name}"
    assert document((await call(http, "POST", f"{at}/pause")).body)["state"] == "paused"
    await publish(http, first, topic, 1)
    assert document((await call(http, "POST", f"{at}/resume")).body)["state"] == "active"
    await publish(http, first, topic, 2)
    await wait_until(lambda: numbers(sink, "x") == [2], "what comes after it was resumed is told")
    await until(lambda: _is_left(ring, http, first, topic), bool)


def _point(number: int) -> str:
    """No two are the same."""
    return f"weather:{PLACES[number % len(PLACES)]}/{number % 100}.5/{number % 60}"


async def _publish_point(http: HttpClient, node: BrokerProcess, number: int) -> None:
    named = (("ce-specversion", "1.0"), ("ce-id", f"p{number}"), ("ce-source", "/w"), ("ce-type", "w"))
    place = ("ce-contenttopic", _point(number))
    answer = await http.request("POST", f"{node.url}/events", (*named, ("ce-topic", "points"), place), b"")
    assert answer.status in (202, 204), answer


async def test_a_point_is_left_where_nobody_asks_for_any_of_its_space(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    await ring.grow(3)
    await declare(http, ring.at(0))
    before, owner = [await _seat(ring, each) for each in ring.each], await ring.owners()
    space = msgspec.convert(SPACE, SpaceRequest).space("weather")
    topic = owner(key_of_topic(Topic((QName("", "points"),))))
    others: Counter[str] = Counter()  # that a node has neither by their topic nor by their point
    for number in range(60):
        await _publish_point(http, ring.at(number), number)
        (at,) = areas_in(space, _point(number))
        assert not isinstance(at, InBox)
        name = before[number % 3]["node"]
        others[name] += name not in (topic, owner(curve_through(space).key(at)))
    after = [await _seat(ring, each) for each in ring.each]
    left = {each["node"]: each["left"] - seat["left"] for each, seat in zip(after, before, strict=True)}
    assert left[topic] == others[topic] == 0
    for name, many in others.items():  # but for one for the topic, and one for each other node that has some points
        assert many - 3 <= left[name] <= many
    box = [{"urn:tocsin:dialect:content-topic": "weather:*/0..100/*"}]
    asked = {"consumer": sink.url("box"), "filters": box}
    assert (await call(http, "POST", f"{ring.at(1).url}/api/subscriptions", asked)).status == 201
    for number in range(60, 120):
        await _publish_point(http, ring.at(number), number)
    await wait_until(lambda: len(told(sink)) >= 60, "each point is told")
    assert sorted(name for _, name in told(sink)) == sorted(f"p{number}" for number in range(60, 120))


class Noise:
    """Publishes on topics that are sometimes wanted, at any node that stands, so that all of them leave much."""

    def __init__(self, ring: ProcessRing, http: HttpClient, topics: list[str], seed: int) -> None:
        self._ring, self._http, self._topics, self._random = ring, http, topics, Random(seed)
        self._numbers = count(1_000_000)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._run()) for _ in range(3)]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            node, topic = self._random.choice(self._ring.each), self._random.choice(self._topics)
            await said(self._http, node, topic, next(self._numbers))
            await asyncio.sleep(0.005)


async def said(http: HttpClient, node: BrokerProcess, topic: str, number: int) -> bool:
    """Whether it is acknowledged."""
    asked = notify(message(f'<n xmlns="">{number}</n>', topic), message_id=f"urn:{number}")
    return (await http.request("POST", f"{node.url}/broker", *asked)).status == 202


class Rounds:
    """Somebody subscribes, and from then on whatever any node acknowledges must be told."""

    def __init__(self, ring: ProcessRing, http: HttpClient, sink: Sink, topics: list[str], seed: int) -> None:
        self._ring, self._http, self._sink, self._topics, self._random = ring, http, sink, topics, Random(seed)
        self._numbers, self.done = count(), 0

    async def run(self, many: int) -> None:
        for _ in range(many):
            await self.one()

    async def one(self) -> None:
        topic, path = self._random.choice(self._topics), f"r{self.done}"
        wanted = self._random.choice([topic, f"{topic}//.", "*//."])
        name = await until(lambda: self._subscribe(wanted, path), bool)
        told = {next(self._numbers): node for node in self._ring.each}
        heard = await asyncio.gather(*(said(self._http, node, topic, number) for number, node in told.items()))
        must = {number for number, is_told in zip(told, heard, strict=True) if is_told}
        await wait_until(lambda: must <= set(numbers(self._sink, path)), f"{must} on {topic} for {wanted}")
        await until(lambda: self._end(name), bool)
        self.done += 1

    async def _subscribe(self, topic: str, path: str) -> str:
        """Empty where it could not be had; who asks again may have it twice."""
        node, asked = self._random.choice(self._ring.each), {"consumer": self._sink.url(path), "topic": topic}
        answer = await call(self._http, "POST", f"{node.url}/api/subscriptions", asked)
        return str(document(answer.body)["id"]) if answer.status == 201 else ""

    async def _end(self, name: str) -> bool:
        node = self._random.choice(self._ring.each)
        answer = await call(self._http, "DELETE", f"{node.url}/api/subscriptions/{name}")
        return answer.status in (204, 404)


TOPICS = [f"t{number}" for number in range(6)]


async def test_whoever_subscribes_is_told_what_follows_from_any_node(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    await ring.grow(4)
    async with Noise(ring, http, TOPICS, 1).running():
        await Rounds(ring, http, sink, TOPICS, 1).run(25)
    assert sum([(await _seat(ring, each))["left"] for each in ring.each]) > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
async def test_nodes_are_killed_come_back_and_join_meanwhile(
    ring: ProcessRing, http: HttpClient, sink: Sink, seed: int
) -> None:
    """Also one that comes back within the silence, and knows nothing of what it promised."""
    await ring.grow(4)
    rounds, random = Rounds(ring, http, sink, TOPICS, seed), Random(seed)
    async with Noise(ring, http, TOPICS, seed).running():
        await rounds.run(3)
        for _ in range(2):
            killed = random.choice(list(ring.nodes))
            ring.kill(killed)
            await ring.again(killed)
            await rounds.run(4)
        ring.kill(random.choice(list(ring.nodes)))
        await rounds.run(4)
        await ring.settled()
        await ring.begin()
        await rounds.run(4)
        await ring.settled()
        stopped = random.choice(list(ring.nodes))
        ring.gone[stopped] = ring.nodes.pop(stopped)
        stopping = asyncio.create_task(asyncio.to_thread(ring.gone[stopped].stop))
        await rounds.run(4)
        await stopping


@pytest.mark.long
async def test_a_node_is_cut_off_meanwhile(ring: ProcessRing, http: HttpClient, sink: Sink, lines: Lines) -> None:
    for _ in range(4):
        await ring.begin_behind(lines)
    await ring.settled()
    names = [await ring.name_of(each) for each in ring.each]
    rounds = Rounds(ring, http, sink, TOPICS, seed=3)
    async with Noise(ring, http, TOPICS, seed=3).running():
        await rounds.run(3)
        lines.cut(names[3:])
        await rounds.run(6)
        lines.cut()
        await rounds.run(4)
        await ring.settled()


async def _make_known(http: HttpClient, ring: ProcessRing) -> None:
    """That nobody wants anything, wherever it is published."""
    for event in events(1, 100):
        for node in ring.each:
            unnamed = [each for each in event.headers if each[0] != "ce-id"]
            headers = (("ce-id", f"known-{event.id}-{node.port}"), *unnamed)
            assert (await http.request("POST", f"{node.url}/events", headers, event.body)).status in (202, 204)
    assert sum([(await _seat(ring, each))["left"] for each in ring.each]) > 100


@pytest.mark.long
async def test_a_ring_on_demand_tells_just_what_one_broker_tells(
    ring: ProcessRing, http: HttpClient, start: Start, tmp_path: Path
) -> None:
    alone = start(tmp_path / "alone", IMPATIENT)
    async with Sink().open() as one, Sink().open() as all_of_them:
        await ring.grow(4)
        await declare(http, alone)
        await declare(http, ring.at(1))
        await _make_known(http, ring)
        await subscribe_all(http, [alone], one, 1, 70)
        await subscribe_all(http, ring.each, all_of_them, 1, 70)
        await asyncio.gather(publish_all(http, [alone], 1, 300), publish_all(http, ring.each, 1, 300))
        await wait_until(lambda: len(one.received) > 0 and len(one.received) == len(all_of_them.received), "the same")
        assert told(all_of_them) == told(one)
