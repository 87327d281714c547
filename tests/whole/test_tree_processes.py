"""A tree of processes: whatever happens to one of them, what was accepted anywhere is told once and in order."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.whole.acts import IMPATIENT, get, numbers, publish, subscribe, until
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import wse_event
from tests.whole.worlds import key_file

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


@dataclass
class Grove:
    """Nodes by number; `parents` says below which each is."""

    folder: Path
    http: HttpClient
    parents: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, BrokerProcess] = field(default_factory=dict)

    def begin(self, number: int, parent: int | None, port: int = 0) -> BrokerProcess:
        settings = IMPATIENT | {"implicit-key-file": str(key_file(self.folder))}
        if parent is not None:
            settings["parent"] = self.nodes[parent].url
            self.parents[number] = parent
        return BrokerProcess.start(self.folder / f"node{number}", settings, port)

    async def grow(self, *levels: dict[int, int | None]) -> None:
        """A level after the other, for a node must know where its parent is."""
        for level in levels:
            made = (asyncio.to_thread(self.begin, number, parent) for number, parent in level.items())
            self.nodes |= dict(zip(level, await asyncio.gather(*made), strict=True))

    async def heard(self) -> None:
        """From below upwards: until all that is asked for is known above."""
        for number in sorted(self.parents, reverse=True):
            await until(lambda number=number: get(self.http, f"{self.nodes[number].url}/api/tree"), _is_told)  # type: ignore[misc]

    async def again(self, number: int) -> None:
        """Killed, and started at the same place."""
        before = self.nodes[number]
        before.kill()
        self.nodes[number] = await asyncio.to_thread(self.begin, number, self.parents.get(number), before.port)


def _is_told(found: dict[str, bool]) -> bool:
    return found["told"]


@pytest.fixture
def grove(tmp_path: Path, http: HttpClient) -> Iterator[Grove]:
    made = Grove(tmp_path, http)
    yield made
    for each in made.nodes.values():
        each.kill()


@pytest.mark.long
async def test_the_one_between_is_killed_and_nothing_is_lost(grove: Grove, http: HttpClient, sink: Sink) -> None:
    await grove.grow({0: None}, {1: 0}, {2: 1})
    await subscribe(http, grove.nodes[2], sink.url("leaf"), "down//.", dialect="wsn-1.3")
    await subscribe(http, grove.nodes[0], sink.url("root"), "up//.", dialect="wse-2004-08")
    await grove.heard()
    await publish(http, grove.nodes[0], "down", *range(30))
    await publish(http, grove.nodes[2], "up", *range(30))
    await grove.again(1)
    await publish(http, grove.nodes[0], "down", *range(30, 40))
    await publish(http, grove.nodes[2], "up", *range(30, 40))
    for path in ("leaf", "root"):
        await wait_until(lambda path=path: len(numbers(sink, path)) >= 40, f"all are at {path}")  # type: ignore[misc]
        assert numbers(sink, path) == list(range(40))
    for number in range(3):
        assert (await get(http, f"{grove.nodes[number].url}/api/dead-letters"))["items"] == []


@pytest.mark.long
async def test_from_any_leaf_of_a_binary_tree_to_all_others(grove: Grove, http: HttpClient, sink: Sink) -> None:
    """Published in WS-Eventing at one, received in another dialect at each; the nodes between die meanwhile."""
    await grove.grow({0: None}, {1: 0, 2: 0}, {3: 1, 4: 1, 5: 2, 6: 2})
    dialects = {3: "wsn-1.3", 4: "cloudevents", 5: "wse-2004-08", 6: "webhook"}
    for number, dialect in dialects.items():
        await subscribe(http, grove.nodes[number], sink.url(str(number)), f"all|of{number}", dialect=dialect)
    await grove.heard()
    count = 0
    for at in range(7):
        for _ in range(5):
            said = wse_event(f'<n xmlns="">{count}</n>', "all", message_id=f"urn:all:{count}", producer="urn:p")
            answer = await http.request("POST", f"{grove.nodes[at].url}/broker/publish", *said)
            assert answer.status == 202, answer
            count += 1
        if at in (2, 4):
            await grove.again(1 if at == 2 else 0)
    for number in dialects:
        await wait_until(lambda number=number: len(numbers(sink, str(number))) >= count, f"all are at {number}")  # type: ignore[misc]
        found = numbers(sink, str(number))
        assert sorted(found) == list(range(count))
        for at in range(7):  # each publisher's in its order
            mine = [each for each in found if each // 5 == at]
            assert mine == sorted(mine)
    await publish(http, grove.nodes[3], "of6", 1000)
    await wait_until(lambda: numbers(sink, "6")[-1] == 1000, "what one asked for goes there")
    for number in (4, 5):  # and nowhere else
        status = await get(http, f"{grove.nodes[number].url}/api/status")
        assert sum(status["accepted"].values()) == count
