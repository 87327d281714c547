"""Notifications that may wait for one another, over real HTTP on loopback; the loop's clock is the test's to move."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.delivery.test_deliverer import wait_until

from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.gathering import Gathering
from tocsin.delivery.grouping import head_size, saved, together
from tocsin.delivery.lane import Entry, Place
from tocsin.delivery.settings import DeliverySettings
from tocsin.mediation.ce.attributes import BATCHED
from tocsin.model.delivery import Delivery, Match, Outcome
from tocsin.model.identity import Instant, MessageId, Node, Pairs, SubscriptionId
from tocsin.model.subscription import Endpoint, Position
from tocsin.wire.http_client import HttpClient

if TYPE_CHECKING:
    from tests.delivery.conftest import Sink

S = SubscriptionId("s")
PATIENT = DeliverySettings(window=1000, attempts=3, first_delay=0.001, failures_to_open=100)
BATCH: Pairs = (("Content-Type", BATCHED),)
STEP = 0.01  # seconds of the test's clock from one to the next


class Clock:
    """What the deliverer reads; its alarms ring when the test has come to their time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self.now = loop, 1000.0
        self._alarms: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[[], None]) -> asyncio.Handle:
        self._alarms.append((when, call))
        return asyncio.Handle(lambda: None, (), self._loop)

    def __getattr__(self, name: str) -> object:
        return getattr(self._loop, name)

    def until(self, end: float) -> None:
        """One alarm after the other: each may set others."""
        while due := [each for each in self._alarms if each[0] <= end]:
            first = min(due, key=lambda each: each[0])
            self._alarms.remove(first)
            self.now = max(self.now, first[0])
            first[1]()
        self.now = end


@dataclass
class Bench:
    client: HttpClient
    sink: "Sink"
    clock: Clock
    headers: Pairs = BATCH
    outcomes: list[Outcome] = field(default_factory=list)
    told: list[Entry] = field(default_factory=list)
    came: dict[int, float] = field(default_factory=dict)
    went: dict[int, float] = field(default_factory=dict)
    deliverer: Deliverer = field(init=False)

    def start(self, together: int, latency: float, settings: DeliverySettings = PATIENT) -> Deliverer:
        self.deliverer = Deliverer(
            self, settings, prepare=self.prepare, settled=lambda _, __, outcome: self.outcomes.append(outcome),
            backlog=self.backlog, now=lambda: Instant(0), random=Random(7),
            together=lambda _: together, max_latency=lambda _: latency,
        )  # fmt: skip
        for part in (self.deliverer, self.deliverer._courier, self.deliverer._timers):
            part._loop = self.clock  # type: ignore[assignment]
        return self.deliverer

    def post(self, url: str, headers: Pairs, body: bytes, done: Callable[..., None]) -> None:
        for number in json.loads(body):
            self.went.setdefault(number, self.clock.now)
        self.client.post(url, headers, body, done)

    def prepare(self, entry: Entry) -> Delivery:
        if isinstance(entry.what, str):
            raise ValueError("it cannot be said")
        match = Match(MessageId(f"m{entry.place[0]}"), entry.subscription)
        at = Position(Node("n"), entry.place[0])
        return Delivery(match, at, 0, Endpoint(self.sink.url("s")), self.headers, b"[%d]" % entry.place[0])

    async def backlog(self, subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]:
        return [entry for entry in self.told if entry.place > after][:limit]

    def offer(self, offset: int, what: object = None) -> None:
        self.came[offset] = self.clock.now
        self.told.append(Entry(S, (offset, 0), what))
        self.deliverer.offer(self.told[-1])

    async def settled(self, count: int) -> None:
        await wait_until(lambda: len([each for each in self.outcomes if each.result == "delivered"]) >= count)

    async def flow(self, count: int, step: float = STEP, answers: bool = True) -> None:
        """One after the other; each that went is answered before the next comes."""
        for offset in range(len(self.told), len(self.told) + count):
            self.clock.until(self.clock.now + step)
            self.offer(offset)
            if answers:
                await self.settled(len(self.went))

    async def finish(self) -> None:
        """Whatever waits has gone after a maximum latency."""
        self.clock.until(self.clock.now + 1.0)
        await self.settled(len(self.told))

    def messages(self) -> list[list[int]]:
        return [json.loads(body) for body in self.sink.bodies("s")]

    def longest(self) -> float:
        return max(went - self.came[number] for number, went in self.went.items())


@pytest.fixture
async def bench(client: HttpClient, sink: "Sink") -> AsyncIterator[Bench]:
    bench = Bench(client, sink, Clock(asyncio.get_running_loop()))
    yield bench
    await bench.deliverer.close()


async def test_a_flow_is_grouped_all_of_it_in_order_and_none_waits_too_long(bench: Bench) -> None:
    bench.start(1000, 1.0)
    await bench.flow(400)
    await bench.finish()
    assert [number for message in bench.messages() for number in message] == list(range(400))
    assert max(map(len, bench.messages())) > 50
    assert 0.5 < bench.longest() <= 1.0 + 1e-9
    assert [each.at.offset for each in bench.outcomes] == list(range(400))
    assert bench.deliverer.unsettled() == {} and bench.deliverer.idle()


async def test_a_slow_flow_is_told_at_once(bench: Bench) -> None:
    bench.start(1000, 1.0)
    await bench.flow(30, 1.5)
    assert bench.messages() == [[number] for number in range(30)]
    assert bench.longest() == 0.0


@pytest.mark.parametrize("together,latency", [(1000, 0.0), (1, 1.0)])
async def test_without_a_latency_or_with_one_at_a_time_nothing_is_waited_for(
    bench: Bench, together: int, latency: float
) -> None:
    bench.start(together, latency)
    await bench.flow(200)
    assert bench.messages() == [[number] for number in range(200)]
    assert bench.deliverer._lanes[S].gathering is None


async def test_a_full_group_goes_before_its_time(bench: Bench) -> None:
    bench.start(7, 1.0)
    await bench.flow(400)
    assert bench.messages()[-1] and {len(each) for each in bench.messages()[-20:]} == {7}
    assert bench.longest() < 0.1


async def test_the_nodes_longest_latency_counts_where_it_is_smaller(bench: Bench) -> None:
    bench.start(1000, 5.0, DeliverySettings(window=1000, longest_latency=0.1))
    await bench.flow(100)
    await bench.finish()
    assert 0.03 < bench.longest() <= 0.1 + 1e-9


async def test_what_came_while_one_was_under_way_waits_from_when_it_came(bench: Bench, sink: "Sink") -> None:
    bench.start(1000, 1.0)
    await bench.flow(300)
    await bench.finish()
    bench.offer(300)
    bench.clock.until(bench.clock.now + 1.0)
    assert 0.5 < bench.went[300] - bench.came[300] <= 1.0
    bench.offer(301)  # nobody has answered yet
    bench.clock.until(bench.clock.now + 0.2)
    await bench.settled(301)
    assert bench.deliverer._lanes[S].stage == "gathering" and 301 not in bench.went
    await bench.finish()
    assert 0.2 < bench.went[301] - bench.came[301] <= 1.0 + 1e-9


async def test_what_fails_is_tried_again_as_it_was_and_what_follows_is_gathered(bench: Bench, sink: "Sink") -> None:
    bench.start(1000, 1.0)
    await bench.flow(300)
    await bench.finish()
    failed: list[bytes] = []

    def answer(path: str, body: bytes) -> object:
        failed.append(body)
        return sink.reply(503 if len(failed) == 1 else 202)

    sink.answering = answer  # type: ignore[assignment]
    await bench.flow(20, answers=False)
    bench.clock.until(bench.clock.now + 1.0)
    await wait_until(lambda: len(failed) == 1)
    await wait_until(lambda: any(each.result == "retry" for each in bench.outcomes))
    await bench.finish()
    assert failed[1] == failed[0]


async def test_one_that_is_refused_is_the_only_dead_letter_and_its_neighbours_wait_no_more(
    bench: Bench, sink: "Sink"
) -> None:
    bench.start(1000, 1.0)
    await bench.flow(300)
    await bench.finish()
    sink.answering = lambda path, body: sink.reply(400 if 305 in json.loads(body) else 202)
    await bench.flow(10, answers=False)
    bench.clock.until(bench.clock.now + 1.0)
    await wait_until(lambda: bench.deliverer.idle())
    dead = [each.at.offset for each in bench.outcomes if each.result == "dead"]
    assert dead == [305] and bench.deliverer.unsettled() == {}


async def test_what_cannot_be_prepared_does_not_stop_the_gathering(bench: Bench) -> None:
    bench.deliverer = bench.start(1000, 1.0)
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    await bench.flow(200)
    await bench.finish()
    bench.offer(200, "unspeakable")
    bench.clock.until(bench.clock.now + 1.0)
    await wait_until(lambda: bench.deliverer.figures().dropped == 1)
    for offset in range(201, 500):
        bench.clock.until(bench.clock.now + STEP)
        bench.offer(offset)
        await bench.settled(len(bench.went))
    bench.clock.until(bench.clock.now + 1.0)
    await bench.settled(499)
    assert len(bench.messages()[-2]) > 30, "it gathers on"


async def test_behind_its_window_it_waits_for_nothing(bench: Bench) -> None:
    bench.start(4, 1.0, DeliverySettings(window=8))
    bench.deliverer.hold(S)
    for offset in range(50):
        bench.offer(offset)
    bench.deliverer.release(S)
    await bench.settled(50)
    assert [number for message in bench.messages() for number in message] == list(range(50))


async def test_what_is_held_goes_when_it_is_released(bench: Bench) -> None:
    bench.start(1000, 1.0)
    await bench.flow(300)
    await bench.finish()
    await bench.flow(5, answers=False)
    assert bench.deliverer._lanes[S].stage == "gathering"
    bench.deliverer.hold(S)
    bench.clock.until(bench.clock.now + 5)
    assert 304 not in bench.went
    bench.deliverer.release(S)
    await bench.settled(305)


async def test_an_end_drops_what_was_gathered(bench: Bench) -> None:
    bench.start(1000, 1.0)
    await bench.flow(300)
    await bench.finish()
    await bench.flow(5, answers=False)
    gathered = [number for number in range(300, 305) if number not in bench.went]
    bench.deliverer.forget(S)
    assert [each.at.offset for each in bench.outcomes if each.result == "dropped"] == gathered != []
    bench.clock.until(bench.clock.now + 5)
    assert bench.deliverer.idle()


async def test_who_drains_waits_for_nothing(bench: Bench) -> None:
    bench.start(1000, 1.0)
    await bench.flow(300)
    assert bench.deliverer._lanes[S].stage == "gathering"
    assert await bench.deliverer.drain(10)
    assert len(bench.went) == 300 and bench.deliverer.unsettled() == {}


async def test_another_latency_counts_from_now_on(bench: Bench) -> None:
    bench.start(1000, 1.0)
    await bench.flow(300)
    assert bench.deliverer._lanes[S].stage == "gathering"
    known = bench.deliverer._lanes[S].gathering
    bench.deliverer.reform(S, 1000, 1.0)
    assert bench.deliverer._lanes[S].gathering is known, "nothing was changed"
    bench.deliverer.reform(S, 1000, 0.0)
    await bench.settled(300)
    await bench.flow(3)
    assert bench.messages()[-3:] == [[300], [301], [302]]
    bench.deliverer.reform(S, 1000, 1.0)
    assert bench.deliverer._lanes[S].gathering is not None
    bench.deliverer.reform(SubscriptionId("unknown"), 5, 1.0)


# What is known of sizes


async def test_the_head_of_a_request_is_as_it_was_counted(client: HttpClient) -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port, told = server.sockets[0].getsockname()[1], asyncio.Event()
    for path in ("/s", "", "/a/b?c=d"):
        to = Endpoint(f"http://127.0.0.1:{port}{path}")
        delivery = Delivery(Match(MessageId("m"), S), Position(Node("n"), 0), 0, to, BATCH, b"[1]" * 50)
        told.clear()
        client.post(to.address, delivery.headers, delivery.body, lambda _: told.set())
        await told.wait()
        assert len(heads[-1]) == head_size(delivery), heads[-1]
    server.close()


def test_what_is_saved_is_what_a_group_of_many_does_not_send() -> None:
    body = b'[{"id":"1","data":"x"}]'
    delivery = Delivery(Match(MessageId("m"), S), Position(Node("n"), 0), 0, Endpoint("http://h:1/s"), BATCH, body)
    alone = 10 * (len(body) + head_size(delivery))
    group = together((delivery,) * 10)
    assert alone - len(group.body) - head_size(delivery) == pytest.approx(9 * saved(delivery), abs=2)


def test_payload_and_overhead_are_those_of_what_went() -> None:
    gathering = Gathering(1.0, 100)
    body = b'[{"id":"1","data":"%b"}]' % (b"x" * 500)
    delivery = Delivery(Match(MessageId("m"), S), Position(Node("n"), 0), 0, Endpoint("http://h:1/s"), BATCH, body)
    entry = Entry(S, (0, 0), None)
    assert gathering.arrived(entry, 0.0)
    gathering.left((delivery,), 0)
    assert gathering.manager.overhead == saved(delivery)
    for number in range(1, 600):
        if gathering.arrived(entry, number / 20):
            gathering.left((delivery,), 0)
    assert gathering.manager.payload == pytest.approx(len(body) - 1, rel=0.05)
