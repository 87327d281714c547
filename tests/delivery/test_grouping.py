"""Several notifications in one message, over real HTTP on loopback."""

import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.delivery.test_deliverer import wait_until

from tocsin.delivery.courier import CannotDress
from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.grouping import MOST_BYTES
from tocsin.delivery.lane import Entry, Place
from tocsin.delivery.settings import DeliverySettings
from tocsin.mediation.ce.attributes import BATCHED
from tocsin.model.delivery import Delivery, Match, Outcome
from tocsin.model.identity import Instant, MessageId, Node, Pairs, SubscriptionId
from tocsin.model.subscription import Endpoint, Position
from tocsin.wire.http_client import HttpClient

if TYPE_CHECKING:
    from tests.delivery.conftest import Reply, Sink

S = SubscriptionId("s")
QUICK = DeliverySettings(window=100, attempts=3, first_delay=0.001, failures_to_open=100)
BATCH: Pairs = (("Content-Type", BATCHED),)


@dataclass
class Bench:
    """Entries are numbers, or bodies; a text cannot be prepared."""

    client: HttpClient
    sink: "Sink"
    headers: Pairs = BATCH
    outcomes: list[Outcome] = field(default_factory=list)
    told: list[Entry] = field(default_factory=list)
    deliverer: Deliverer = field(init=False)

    def start(self, together: int, settings: DeliverySettings = QUICK) -> Deliverer:
        self.deliverer = Deliverer(
            self.client,
            settings,
            prepare=self.prepare,
            settled=lambda entry, delivery, outcome: self.outcomes.append(outcome),
            backlog=self.backlog,
            now=lambda: Instant(time.time_ns()),
            random=Random(7),
            together=lambda _: together,
        )
        return self.deliverer

    def prepare(self, entry: Entry) -> Delivery:
        if isinstance(entry.what, str):
            raise ValueError("it cannot be said")
        body = entry.what if isinstance(entry.what, bytes) else b"[%d]" % entry.place[0]
        match = Match(MessageId(f"m{entry.place[0]}"), entry.subscription)
        at = Position(Node("n"), entry.place[0])
        return Delivery(match, at, 0, Endpoint(self.sink.url("s")), self.headers, body)

    async def backlog(self, subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]:
        return [entry for entry in self.told if entry.place > after][:limit]

    def tell(self, *offsets: int, what: object = None) -> None:
        """While it is held, so that they are all there when it goes on."""
        self.deliverer.hold(S)
        for offset in offsets:
            self.told.append(Entry(S, (offset, 0), what))
            self.deliverer.offer(self.told[-1])

    async def go(self) -> None:
        self.deliverer.release(S)
        assert await self.deliverer.drain(10)

    def messages(self) -> list[list[int]]:
        return [json.loads(body) for body in self.sink.bodies("s")]

    def results(self) -> list[tuple[int, str, int]]:
        return [(each.at.offset, each.result, each.attempt) for each in self.outcomes]


@pytest.fixture
async def bench(client: HttpClient, sink: "Sink") -> AsyncIterator[Bench]:
    bench = Bench(client, sink)
    yield bench
    await bench.deliverer.close()


async def test_what_waits_goes_out_together_in_order_and_each_is_settled(bench: Bench) -> None:
    bench.start(4)
    bench.tell(*range(10))
    await bench.go()
    assert bench.messages() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert bench.results() == [(n, "delivered", 1) for n in range(10)]
    assert bench.deliverer.figures().delivered == 10
    assert bench.deliverer.unsettled() == {}


async def test_nothing_is_waited_for(bench: Bench) -> None:
    bench.start(10)
    for offset in range(3):
        bench.tell(offset)
        await bench.go()
    assert bench.messages() == [[0], [1], [2]]


async def test_other_formats_go_one_by_one(bench: Bench) -> None:
    bench.headers = (("Content-Type", "application/soap+xml"),)
    bench.start(10)
    bench.tell(*range(3))
    await bench.go()
    assert bench.messages() == [[0], [1], [2]]


async def test_a_failure_is_tried_again_as_the_same_group(bench: Bench, sink: "Sink") -> None:
    bench.start(3)
    sink.answering = lambda path, body: sink.reply(503 if len(sink.received) < 3 else 202)
    bench.tell(*range(5))
    await bench.go()
    assert bench.messages() == [[0, 1, 2]] * 3 + [[3, 4]]
    assert bench.results()[:9] == [
        (n, result, 1 + k) for k, result in enumerate(("retry", "retry", "delivered")) for n in range(3)
    ]


async def test_when_it_is_given_up_each_is_a_dead_letter(bench: Bench, sink: "Sink") -> None:
    bench.start(3)
    sink.answering = lambda path, body: sink.reply(410 if body == b"[0,1,2]" else 202, body=b"gone")
    bench.tell(*range(4))
    await bench.go()
    assert bench.messages() == [[0, 1, 2], [3]]
    assert bench.results() == [(0, "dead", 1), (1, "dead", 1), (2, "dead", 1), (3, "delivered", 1)]
    assert {each.detail for each in bench.outcomes[:3]} == {"HTTP 410: gone"}


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_poison_message_takes_no_neighbours_along(bench: Bench, sink: "Sink", status: int) -> None:
    bench.start(3)

    def answer(path: str, body: bytes) -> "Reply":
        return sink.reply(status if 1 in json.loads(body) else 202)

    sink.answering = answer
    bench.tell(*range(6))
    await bench.go()
    assert bench.messages() == [[0, 1, 2], [0], [1], [2], [3, 4, 5]]
    assert bench.results()[:3] == [(n, "retry", 1) for n in range(3)]
    assert bench.results()[3:] == [(n, "dead" if n == 1 else "delivered", 1) for n in range(6)]


async def test_a_message_has_a_bound_of_bytes(bench: Bench, sink: "Sink") -> None:
    bench.start(100)
    third = b'["' + b"x" * (MOST_BYTES // 3) + b'"]'
    bench.tell(0, 1, 2, 3, what=third)
    bench.tell(4, what=b'["' + b"y" * MOST_BYTES + b'"]')
    bench.tell(5)
    await bench.go()
    assert [len(json.loads(body)) for body in sink.bodies("s")] == [2, 2, 1, 1]


async def test_what_cannot_be_prepared_is_left_out(bench: Bench) -> None:
    bench.start(10)
    bench.deliverer._loop.set_exception_handler(lambda loop, context: None)
    bench.tell(0, 1)
    bench.tell(2, what="unspeakable")
    bench.tell(3, 4)
    await bench.go()
    assert bench.messages() == [[0, 1], [3, 4]]
    assert bench.deliverer.figures().dropped == 1


async def test_an_end_while_a_group_is_under_way_lets_it_finish_and_drops_the_rest(bench: Bench, sink: "Sink") -> None:
    bench.start(2)
    sink.answering = lambda path, body: None
    bench.tell(*range(5))
    bench.deliverer.release(S)
    await wait_until(lambda: len(sink.received) == 1)
    figures = bench.deliverer.figures()
    assert (figures.in_flight, figures.waiting) == (1, 3)
    bench.deliverer.forget(S)
    assert bench.results() == [(n, "dropped", 0) for n in (2, 3, 4)]


async def test_an_end_between_two_tries_drops_the_group_with_its_attempts(bench: Bench, sink: "Sink") -> None:
    bench.start(2, DeliverySettings(window=100, attempts=3, first_delay=1000.0))
    sink.answering = lambda path, body: sink.reply(503)
    bench.tell(*range(3))
    bench.deliverer.release(S)
    await wait_until(lambda: len(bench.outcomes) == 2)
    bench.deliverer.forget(S)
    assert bench.results() == [
        (0, "retry", 1),
        (1, "retry", 1),
        (0, "dropped", 1),
        (1, "dropped", 1),
        (2, "dropped", 0),
    ]


async def test_behind_its_window_it_reads_on_and_loses_nothing(bench: Bench) -> None:
    bench.start(5, DeliverySettings(window=8, attempts=3, first_delay=0.001))
    bench.tell(*range(50))
    await bench.go()
    assert [n for message in bench.messages() for n in message] == list(range(50))


async def test_it_is_held_until_nothing_holds_it_any_more(bench: Bench) -> None:
    bench.start(1)
    bench.deliverer.hold(S, "no consent yet")
    bench.tell(1)
    bench.deliverer.release(S)
    assert await bench.deliverer.drain(10) and bench.messages() == []
    bench.deliverer.release(S, "no consent yet")
    assert await bench.deliverer.drain(10) and bench.messages() == [[1]]


async def test_a_pace_is_kept(bench: Bench) -> None:
    bench.start(2)
    bench.deliverer.pace(S, 0.05)
    bench.tell(*range(6))
    began = time.monotonic()
    await bench.go()
    assert bench.messages() == [[0, 1], [2, 3], [4, 5]]
    assert time.monotonic() - began >= 0.1


async def test_each_attempt_is_dressed_anew_and_what_cannot_be_is_dead(client: HttpClient, sink: "Sink") -> None:
    seen: list[Outcome] = []
    kept: list[Delivery] = []
    tries = 0

    def dress(delivery: Delivery) -> Pairs:
        nonlocal tries
        tries += 1
        if delivery.to.secret == "gone":
            raise CannotDress("there is no such secret")
        return (*delivery.headers, ("X-Try", str(tries)))

    def settled(entry: Entry, delivery: Delivery, outcome: Outcome) -> None:
        seen.append(outcome)
        kept.append(delivery)

    async def backlog(subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]:
        return ()

    def prepare(entry: Entry) -> Delivery:
        to = Endpoint(sink.url("s"), secret=str(entry.what))
        return Delivery(Match(MessageId("m"), S), Position(Node("n"), entry.place[0]), 0, to, (), b"x")

    deliverer = Deliverer(
        client, QUICK, prepare=prepare, settled=settled, backlog=backlog,
        now=lambda: Instant(0), random=Random(1), dress=dress,
    )  # fmt: skip
    sink.answering = lambda path, body: sink.reply(503 if len(sink.received) < 2 else 202)
    deliverer.offer(Entry(S, (0, 0), "known"))
    deliverer.offer(Entry(S, (1, 0), "gone"))
    assert await deliverer.drain(10)
    assert [(each.result, each.attempt) for each in seen] == [("retry", 1), ("delivered", 2), ("dead", 1)]
    assert seen[-1].detail == "there is no such secret"
    assert len(sink.received) == 2 and tries == 3
    assert all(each.headers == () for each in kept), "what is shown is never part of what is kept"
    await deliverer.close()
