"""The prototype of paper 000 (s5): twenty notifiers, here in four processes; one of them keeps world and history.

IDER's message of "Disaster Info" reaches the five services of Fig. 16 and nobody else, with every protocol, whatever
happens to one of the processes meanwhile.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.whole.acts import IMPATIENT, call, get, until
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink
from tests.whole.worlds import key_file

from tocsin.semantics.interest.world_forms import demo, write_world
from tocsin.store.database import Store
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import decode_part

pytestmark = pytest.mark.broker
TOPIC, ROOT = "Disaster Info", "IDER"
FIVE = {"CARE", "UnitedNationsDRB", "USNationalGov", "USGS", "USPEER"}
SENT = "CARE"  # is sent to, in WS-Notification; all others fetch
COUNTS = {"cin": (5, 0), "din": (15, 10), "hin": (5, 0), "hin-din": (5, 0)}  # notifications, repetitions


@dataclass
class Prototype:
    """The first process keeps the world; `places` says at which each notifier is, `boxes` how its service fetches."""

    folder: Path
    http: HttpClient
    sink: Sink
    brokers: list[BrokerProcess] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    boxes: dict[str, str] = field(default_factory=dict)

    def begin(self, number: int, port: int = 0) -> BrokerProcess:
        settings = IMPATIENT | {"implicit-key-file": str(key_file(self.folder))}
        if number:
            settings["implicit-registry"] = self.brokers[0].url
        return BrokerProcess.start(self.folder / f"node{number}", settings, port)

    async def build(self) -> None:
        self.brokers.append(self.begin(0))
        self.brokers += await asyncio.gather(*(asyncio.to_thread(self.begin, number) for number in (1, 2, 3)))
        world = demo()
        body = write_world(world, "application/json")
        answer = await self.http.request("PUT", f"{self.brokers[0].url}/api/world", (), body)
        assert answer.status == 200, answer
        first = ["USNationalGov", ROOT, "USGS", "CARE"]  # so that each process has one of them
        for number, name in enumerate([*first, *sorted(world.services.keys() - set(first))]):
            await self._create(number % 4, name, world.services[name].categories)
        await wait_until(self._all_know, "each node has its part of the world", 60)

    async def _create(self, number: int, name: str, categories: tuple[str, ...]) -> None:
        asked: dict[str, Any] = {"name": name, "categories": categories}
        if name == SENT:
            asked |= {"address": self.sink.url(name), "dialect": "wsn-1.3"}
        answer = await call(self.http, "POST", f"{self.brokers[number].url}/api/notifiers", asked)
        assert answer.status == 201, answer
        self.places[name], self.boxes[name] = number, document(answer.body)["subscription"]

    def _all_know(self) -> bool:
        """As they have written it down."""
        with _store(self.brokers[0]) as store:
            last = store.implicit.changes()[-1].version
        return all(_version(each) == last for each in self.brokers[1:])

    async def publish(self, protocol: str, limit: int | None = None) -> str:
        asked = {"topic": TOPIC, "data": "Earthquake occurred in California", "protocol": protocol, "limit": limit}
        url = f"{self.brokers[self.places[ROOT]].url}/api/notifiers/{ROOT}/publish"
        answer = await call(self.http, "POST", url, asked)
        assert answer.status == 202, answer
        return str(document(answer.body)["id"])

    async def result(self, message: str, seconds: int = 60) -> dict[str, Any]:
        root = self.brokers[self.places[ROOT]].url
        return dict(await get(self.http, f"{root}/api/disseminations/{message}?wait={seconds}"))

    async def told(self, name: str) -> list[str]:
        """What the service has been told until now, by the ids of the messages."""
        if name == SENT:
            return [each.id for each in self.sink.notifications(name)]
        url = f"{self.brokers[self.places[name]].url}/api/pullpoints/{self.boxes[name]}/messages?after=0&limit=1000"
        return [str(each["event"]["id"]) for each in (await get(self.http, url))["items"]]

    async def until_told(self, name: str, messages: set[str]) -> None:
        found = await until(lambda: self.told(name), lambda told: messages <= set(told), 60)
        assert len(found) == len(set(found)), f"{name} was told twice of a message"


@contextlib.contextmanager
def _store(broker: BrokerProcess) -> Iterator[Store]:
    store = Store.open(broker.data / "tocsin.db", read_only=True)
    try:
        yield store
    finally:
        store.close()


def _version(broker: BrokerProcess) -> int:
    with _store(broker) as store:
        body = store.implicit.part()
        return 0 if body is None else decode_part(body).version


@pytest.fixture
async def prototype(tmp_path: Path, http: HttpClient, sink: Sink) -> AsyncIterator[Prototype]:
    made = Prototype(tmp_path, http, sink)
    try:
        await made.build()
        yield made
    finally:
        for each in made.brokers:
            each.kill()


async def test_twenty_notifiers_in_four_processes(prototype: Prototype) -> None:
    assert len(prototype.places) == 20 and len({prototype.places[name] for name in {ROOT, *FIVE}}) == 4
    messages = await _with_every_protocol(prototype)
    for name in FIVE:
        await prototype.until_told(name, messages)
    for name in prototype.places.keys() - FIVE:
        assert await prototype.told(name) == []
    await _with_one_process_killed(prototype)


async def _with_every_protocol(prototype: Prototype) -> set[str]:
    """The basic protocol has no end of its own, and is bounded."""
    messages: set[str] = set()
    for protocol, counts in COUNTS.items():
        found = await prototype.result(message := await prototype.publish(protocol))
        assert set(found["receivers"]) == FIVE and found["complete"], found
        assert (found["notifications"], found["repetitions"]) == counts, found
        messages.add(message)
    found = await prototype.result(message := await prototype.publish("bin", limit=3))
    assert set(found["receivers"]) == FIVE and found["stopped"] == "limit"
    assert found["notifications"] == 3 * 3 * 5  # so often three research organisations tell five each
    return {*messages, message}


async def _with_one_process_killed(prototype: Prototype) -> None:
    """While messages are on their way, and before others are published."""
    dead = prototype.places["USGS"]
    port = prototype.brokers[dead].port
    travelling = await asyncio.gather(*(prototype.publish("din") for _ in range(20)))
    prototype.brokers[dead].kill()
    later = [await prototype.publish(protocol) for protocol in ("cin", "din", "hin-din")]
    messages = {*travelling, *later}
    lost = {name for name in FIVE if prototype.places[name] == dead}
    for name in FIVE - lost:
        await prototype.until_told(name, messages)
    for message in later:
        await until(partial(prototype.result, message, 0), lambda found: set(found["waiting"]) == lost, 60)
    prototype.brokers[dead] = prototype.begin(dead, port)
    for message in messages:
        found = await prototype.result(message)
        assert found["complete"] and set(found["receivers"]) == FIVE, found
    for name in lost:
        await prototype.until_told(name, messages)
