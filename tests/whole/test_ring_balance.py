"""A node that has much more to do than the others is relieved: one of them moves, and nobody who publishes, subscribes
or fetches meanwhile notices more than a wait."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.whole.acts import call, numbers, publish, subscribe, until
from tests.whole.rings import ProcessRing
from tests.whole.shell import wait_until
from tests.whole.sink import Say, Sink
from tests.whole.speech import message, notify

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
TOPICS = 24  # below one root: their keys are a four-billionth of the circle
BALANCE = {"ring-balance": "2s"}


@pytest.fixture
def ring(tmp_path: Path, http: HttpClient) -> Iterator[ProcessRing]:
    made = ProcessRing(tmp_path, http, BALANCE)
    yield made
    made.close()


class Life:
    """Publishers, and one that looks at a subscription at each node in turn."""

    def __init__(self, ring: ProcessRing, http: HttpClient, looked_at: str) -> None:
        self._ring, self._http, self._name = ring, http, looked_at
        self.acknowledged: list[int] = []
        self.refused: list[Any] = []
        self._number, self.over, self._random = 0, False, Random(1)

    async def publish(self) -> None:
        while not self.over:
            number, self._number = self._number, self._number + 1
            said = notify(message(f'<n xmlns="">{number}</n>', f"hot/s{number % TOPICS}"), message_id=f"urn:{number}")
            node = self._random.choice(self._ring.each)
            answer = await self._http.request("POST", f"{node.url}/broker", *said)
            self._note(answer.status == 202, number, answer)
            await asyncio.sleep(0.02)

    def _note(self, done: bool, number: int, answer: Any) -> None:
        if done:
            self.acknowledged.append(number)
        else:
            self.refused.append(answer)

    async def look(self) -> None:
        while not self.over:
            for node in self._ring.each:
                answer = await call(self._http, "GET", f"{node.url}/api/subscriptions/{self._name}")
                if answer.status != 200:
                    self.refused.append(answer)
            await asyncio.sleep(0.02)


@asynccontextmanager
async def living(ring: ProcessRing, http: HttpClient, sink: Sink) -> AsyncIterator[Life]:
    """All that was acknowledged is told when it is over, of each topic to who asked for that."""
    names = [await subscribe(http, ring.at(each), sink.url(f"s{each}"), f"hot/s{each}") for each in range(TOPICS)]
    await subscribe(http, ring.at(0), sink.url("all"), "hot//.")
    life = Life(ring, http, names[5])
    async with asyncio.TaskGroup() as group:
        for work in (life.publish, life.publish, life.publish, life.look):
            group.create_task(work())
        try:
            yield life
        finally:
            life.over = True
    wanted = set(life.acknowledged)
    await wait_until(lambda: wanted <= set(numbers(sink, "all")), "all that was acknowledged is told")
    for each in range(TOPICS):
        mine = {number for number in wanted if number % TOPICS == each}
        await wait_until(lambda each=each, mine=mine: mine <= set(numbers(sink, f"s{each}")), f"s{each}")  # type: ignore[misc]


def loads(seen: dict[str, Any]) -> list[float]:
    return [each["load"] or 0.0 for each in seen["members"]]


def is_even(seen: dict[str, Any], many: int) -> bool:
    """And something was to do."""
    return len(seen["members"]) == many and all(each["ready"] for each in seen["members"]) and 0 < max(loads(seen)) <= 2


async def mover_of(ring: ProcessRing) -> int:
    """Which of them says that it moves."""

    async def moving() -> list[int]:
        return [number for number, each in ring.nodes.items() if "this node moves on the circle" in each.said()]

    return (await until(moving, bool))[0]


async def delivered(ring: ProcessRing) -> dict[str, int]:
    return {each["node"]: each["delivered"] for each in (await ring.view(ring.at(0)))["members"]}


@pytest.mark.long
async def test_who_has_too_much_to_do_is_relieved(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(4)
    before = {each["node"]: each["id"] for each in (await ring.view(ring.at(0)))["members"]}
    async with living(ring, http, sink) as life:
        await until(lambda: ring.view(ring.at(0)), lambda seen: max(loads(seen)) > 3)
        mover = ring.nodes[await mover_of(ring)]
        seen = await until(lambda: ring.view(ring.at(0)), lambda seen: is_even(seen, 4))
        first, start = await delivered(ring), len(life.acknowledged)
        await wait_until(lambda: len(life.acknowledged) > start + 300, "a later stretch")
        last = await delivered(ring)
    assert not life.refused
    counts = Counter(numbers(sink, "all"))
    assert set(counts.values()) == {1}, "nobody crashed: nothing is told twice"
    done = [last[name] - first[name] for name in first]
    assert max(done) * len(done) / sum(done) < 2.3
    moved = [each for each in seen["members"] if each["id"] != before[each["node"]]]
    assert await ring.name_of(mover) in [each["node"] for each in moved]
    assert "this node has moved, and has a part of what was to do at" in mover.said()
    assert sum("has moved to relieve this node" in each.said() for each in ring.each) >= 1


@pytest.mark.long
async def test_a_node_comes_back_to_its_place(ring: ProcessRing, http: HttpClient) -> None:
    await ring.grow(3)
    places = {each["node"]: each["id"] for each in (await ring.view(ring.at(0)))["members"]}
    ring.kill(1)
    await ring.settled()
    await ring.again(1)
    await ring.settled()
    assert {each["node"]: each["id"] for each in (await ring.view(ring.at(0)))["members"]} == places


@pytest.mark.long
@pytest.mark.parametrize("moment", ["asked", "out"])
async def test_one_that_is_killed_while_it_moves_enters_when_it_is_started_again(
    ring: ProcessRing, http: HttpClient, sink: Sink, moment: str
) -> None:
    await ring.grow(5)
    async with living(ring, http, sink):
        number = await mover_of(ring)
        other = next(each for at, each in ring.nodes.items() if at != number)
        if moment == "out":
            await until(lambda: ring.view(other), lambda seen: len(seen["members"]) < 5 or _has_moved(ring, number))
        ring.kill(number)
        await ring.again(number)
        await ring.settled()
        await until(lambda: ring.view(other), lambda seen: is_even(seen, 5))


def _has_moved(ring: ProcessRing, number: int) -> bool:
    return "this node has moved" in ring.nodes[number].said()


@pytest.mark.long
async def test_one_that_is_to_be_relieved_dies_meanwhile(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(5)
    async with living(ring, http, sink):
        await mover_of(ring)
        seen = await ring.view(ring.at(0))
        heaviest = max(seen["members"], key=lambda each: each["load"] or 0)["node"]
        names = {await ring.name_of(each): at for at, each in ring.nodes.items()}
        ring.kill(names[heaviest])
        await ring.settled()
        await until(lambda: ring.view(ring.at(0)), lambda seen: is_even(seen, 4))


async def test_who_comes_takes_half_of_the_widest_part_where_nothing_is_to_do(
    ring: ProcessRing, http: HttpClient
) -> None:
    await ring.grow(4)
    shares = [each["share"] for each in (await ring.view(ring.at(0)))["members"]]
    assert sorted(shares) == pytest.approx([0.25] * 4)


@pytest.mark.long
async def test_who_comes_takes_half_of_what_the_heaviest_has(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    ring.flags = {"ring-balance": "none"}
    await ring.grow(2)
    async with living(ring, http, sink):
        await until(lambda: ring.view(ring.at(0)), lambda seen: max(loads(seen)) > 1.9)
        await ring.begin()
        await ring.settled()
        seen = await until(lambda: ring.view(ring.at(0)), lambda seen: 1 < max(loads(seen)) < 2)
        assert sorted(each["load"] > 0.5 for each in seen["members"]) == [False, True, True]


@pytest.mark.long
async def test_what_waits_goes_round_the_ring_and_comes_back(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    """Each that has it is put out in turn; who had it in a former life takes it again."""
    down = True
    sink.script = lambda _: Say(503) if down else Say()
    ring.flags = {"ring-balance": "none", "delivery-attempts": "1000000"}
    await ring.grow(3)
    first = ring.at(0)
    topic = await ring.topic_at(first)
    await subscribe(http, first, sink.url("x"), topic)
    await publish(http, ring.at(1), topic, 7)
    members = sorted((await ring.view(first))["members"], key=lambda each: int(each["id"], 16))
    names = {await ring.name_of(each): number for number, each in ring.nodes.items()}
    start = next(at for at, each in enumerate(members) if names[each["node"]] == 0)
    for each in (*members[start:], *members[:start]):
        ring.kill(names[each["node"]])
        await ring.settled()
        await ring.again(names[each["node"]])
        await ring.settled()
    down, before = False, len(sink.received)
    await wait_until(lambda: any(each.path == "/x" for each in sink.received[before:]), "it is told after all")
