"""The world of implicit notification on a ring of processes: known and changed at every node, its notifiers and the
histories of its messages wherever their keys lie; and the loss of a node loses none of it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole.acts import call, get, until
from tests.whole.rings import ProcessRing
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink

from tocsin.semantics.interest.world_forms import demo, write_world
from tocsin.sim.implicit import disseminate
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
TOPIC, ROOT = "Disaster Info", "IDER"
SENT = "CARE"  # is sent to, in WS-Notification; all others fetch
ALONE = disseminate(demo(), ROOT, TOPIC, "cin")
FIVE = set(ALONE.receivers)


@pytest.fixture
def ring(tmp_path: Path, http: HttpClient) -> Iterator[ProcessRing]:
    made = ProcessRing(tmp_path, http)
    yield made
    made.close()


class Stage:
    def __init__(self, ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
        self.ring, self.http, self.sink = ring, http, sink
        self.boxes: dict[str, str] = {}

    async def load(self, node: BrokerProcess) -> None:
        body = write_world(demo(), "application/json")
        answer = await self.http.request("PUT", f"{node.url}/api/world", (), body)
        assert answer.status == 200, answer

    async def create(self, node: BrokerProcess, name: str) -> None:
        asked: dict[str, Any] = {"name": name, "categories": demo().services[name].categories}
        if name == SENT:
            asked |= {"address": self.sink.url(name), "dialect": "wsn-1.3"}
        answer = await call(self.http, "POST", f"{node.url}/api/notifiers", asked)
        assert answer.status == 201, answer
        self.boxes[name] = document(answer.body)["subscription"]

    async def create_all(self) -> None:
        for number, name in enumerate(sorted(demo().services)):
            await self.create(self.ring.at(number), name)

    async def publish(self, node: BrokerProcess, protocol: str = "dht-cin") -> str:
        asked = {"topic": TOPIC, "data": "Earthquake occurred in California", "protocol": protocol}
        answer = await call(self.http, "POST", f"{node.url}/api/notifiers/{ROOT}/publish", asked)
        assert answer.status == 202, answer
        return str(document(answer.body)["id"])

    async def result(self, node: BrokerProcess, message: str) -> dict[str, Any]:
        return dict(await get(self.http, f"{node.url}/api/disseminations/{message}?wait=20"))

    async def told(self, node: BrokerProcess, name: str) -> list[str]:
        if name == SENT:
            return [each.id for each in self.sink.notifications(name)]
        url = f"{node.url}/api/pullpoints/{self.boxes[name]}/messages?after=0&limit=1000"
        answer = await call(self.http, "GET", url)
        if answer.status != 200:
            return []
        return [str(each["event"]["id"]) for each in document(answer.body)["items"]]

    async def until_told(self, messages: list[str], *, died: bool = False) -> None:
        """Exactly the five, each once of each message, whichever node is asked. Where a node died, what it had just
        delivered is delivered again by whoever goes on for it, as the ring promises of all it delivers."""
        for number, name in enumerate(sorted(FIVE)):
            node = self.ring.at(number)
            found = await until(
                lambda node=node, name=name: self.told(node, name),  # type: ignore[misc]
                lambda told: set(messages) <= set(told),
                60,
            )
            once = set(found) if died else found
            assert sorted(once) == sorted(messages), f"{name} was told twice, or of something else"
        for name in demo().services.keys() - FIVE:
            assert await self.told(self.ring.at(0), name) == []


@pytest.fixture
def stage(ring: ProcessRing, http: HttpClient, sink: Sink) -> Stage:
    return Stage(ring, http, sink)


async def test_the_world_is_known_and_changed_at_every_node(stage: Stage, ring: ProcessRing, http: HttpClient) -> None:
    await ring.grow(2)
    await stage.load(ring.at(1))
    await ring.begin()
    await ring.settled()

    async def vote(number: int) -> int:
        edge = {"source": f"c{number}", "topic": TOPIC, "target": "NewsMedia"}
        node = ring.at(number)
        made = await call(http, "PUT", f"{node.url}/api/world/categories/c{number}", {})
        assert made.status in (200, 201, 204), made
        return (await call(http, "PUT", f"{node.url}/api/world/edges", edge)).status

    statuses = await asyncio.gather(*(vote(number) for number in range(9)))
    assert set(statuses) <= {200, 201, 204}, statuses
    worlds = [await get(http, f"{node.url}/api/world") for node in ring.each]
    assert worlds[0] == worlds[1] == worlds[2]
    assert {f"c{number}" for number in range(9)} <= set(worlds[0]["categories"])
    histories = [await get(http, f"{node.url}/api/world/history?limit=1000") for node in ring.each]
    assert histories[0] == histories[1] == histories[2]


async def test_a_ring_notifies_as_one_node_does(stage: Stage, ring: ProcessRing) -> None:
    await ring.grow(3)
    await stage.load(ring.at(0))
    await stage.create_all()
    messages = []
    for number in range(6):
        messages.append(await stage.publish(ring.at(number)))
        found = await stage.result(ring.at(number + 1), messages[-1])
        assert (found["notifications"], found["repetitions"]) == (ALONE.notifications, 0)
        assert set(found["receivers"]) == FIVE and found["complete"]
    for protocol in ("cin", "din", "hin-din"):
        messages.append(await stage.publish(ring.at(2), protocol))
        assert set((await stage.result(ring.at(0), messages[-1]))["receivers"]) == FIVE
    await stage.until_told(messages)


@pytest.mark.long
async def test_a_node_is_lost_and_nothing_with_it(stage: Stage, ring: ProcessRing, http: HttpClient) -> None:
    await ring.grow(3)
    await stage.load(ring.at(0))
    await stage.create_all()
    messages = [await stage.publish(ring.at(number)) for number in range(4)]
    for message in messages:
        assert (await stage.result(ring.at(1), message))["complete"]
    await stage.until_told(messages)
    ring.kill(1)
    await ring.settled()
    for message in messages:
        found = await stage.result(ring.at(0), message)
        assert set(found["receivers"]) == FIVE and found["repetitions"] == 0
    more = [await stage.publish(ring.at(number)) for number in range(4)]
    for message in more:
        found = await stage.result(ring.at(1), message)
        assert (found["notifications"], found["repetitions"], set(found["receivers"])) == (5, 0, FIVE)
    await stage.until_told(messages + more, died=True)
    made = await call(http, "PUT", f"{ring.at(1).url}/api/world/categories/after", {})
    assert made.status in (200, 201, 204), made


@pytest.mark.long
async def test_notifiers_of_one_node_are_shared_with_those_who_join(stage: Stage, ring: ProcessRing) -> None:
    await ring.begin()
    await stage.load(ring.at(0))
    await stage.create_all()
    messages = [await stage.publish(ring.at(0), protocol) for protocol in ("dht-cin", "hin-din")]
    await stage.until_told(messages)
    await ring.grow(2)
    messages += [await stage.publish(ring.at(number)) for number in range(3)]
    for message in messages:
        found = await stage.result(ring.at(2), message)
        assert found["complete"] and set(found["receivers"]) == FIVE
    await stage.until_told(messages)


class Publishers:
    """They publish at any node that stands, one message after the other, until they are stopped."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._number, self._stop = stage, 0, False
        self.acknowledged: list[str] = []

    async def run(self) -> None:
        stage = self._stage
        while not self._stop:
            self._number += 1
            node = stage.ring.at(self._number)
            asked = {"topic": TOPIC, "data": "shakes", "protocol": "dht-cin"}
            answer = await call(stage.http, "POST", f"{node.url}/api/notifiers/{ROOT}/publish", asked)
            if answer.status == 202:
                self.acknowledged.append(str(document(answer.body)["id"]))

    def stop(self) -> None:
        self._stop = True


@pytest.mark.long
async def test_a_node_dies_while_messages_are_on_their_way(stage: Stage, ring: ProcessRing) -> None:
    """Lemma 1: nobody is told by two. Who was just being told when its node died may be told again by the next."""
    await ring.grow(4)
    await stage.load(ring.at(0))
    await stage.create_all()
    publishers = Publishers(stage)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(publishers.run())
        for number in (2, 0):
            before = len(publishers.acknowledged)
            await wait_until(lambda before=before: len(publishers.acknowledged) > before + 20, "some are published")  # type: ignore[misc]
            ring.kill(number)
            await ring.begin()
            await ring.settled()
        publishers.stop()
    assert len(publishers.acknowledged) > 40
    for message in publishers.acknowledged:
        found = await stage.result(ring.at(0), message)
        assert (found["complete"], found["repetitions"], set(found["receivers"])) == (True, 0, FIVE), found
    wanted = set(publishers.acknowledged)
    for name in sorted(FIVE):
        await until(lambda name=name: stage.told(ring.at(0), name), lambda told: wanted <= set(told), 60)  # type: ignore[misc]


@pytest.mark.long
@pytest.mark.parametrize("is_put_out", [False, True])
async def test_a_node_comes_back_and_has_what_is_its_own(stage: Stage, ring: ProcessRing, is_put_out: bool) -> None:
    """In time it goes on with what it had; later it has what the others have, and nothing of its own."""
    await ring.grow(3)
    await stage.load(ring.at(0))
    await stage.create_all()
    messages = [await stage.publish(ring.at(number)) for number in range(3)]
    await stage.until_told(messages)
    ring.kill(1)
    if is_put_out:
        await ring.settled()
        messages.append(await stage.publish(ring.at(0)))
    await ring.again(1)
    await ring.settled()
    messages += [await stage.publish(ring.at(number)) for number in range(3)]
    for message in messages:
        found = await stage.result(ring.at(2), message)
        assert (found["complete"], found["repetitions"], set(found["receivers"])) == (True, 0, FIVE)
    await stage.until_told(messages, died=True)
