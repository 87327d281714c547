"""The engine over real HTTP on loopback."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest

from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.lane import Entry, Place
from tocsin.delivery.settings import DeliverySettings
from tocsin.model.delivery import Delivery, Match, Outcome
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.subscription import Endpoint, Position
from tocsin.wire.addresses import AddressGuard
from tocsin.wire.http_client import HttpClient

if TYPE_CHECKING:
    from tests.delivery.conftest import Reply, Sink

QUICK = DeliverySettings(window=4, attempts=3, first_delay=0.001, failures_to_open=100)


async def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.001)


@dataclass
class Bench:
    """A deliverer whose entries carry the address they go to; the backlog holds all that was told."""

    client: HttpClient
    outcomes: list[Outcome] = field(default_factory=list)
    told: list[Entry] = field(default_factory=list)
    failing: int = 0
    deliverer: Deliverer = field(init=False)

    def start(self, settings: DeliverySettings = QUICK) -> Deliverer:
        self.deliverer = Deliverer(
            self.client,
            settings,
            prepare=self.prepare,
            settled=lambda entry, delivery, outcome: self.outcomes.append(outcome),
            backlog=self.backlog,
            now=lambda: Instant(time.time_ns()),
            random=Random(7),
        )
        return self.deliverer

    def prepare(self, entry: Entry) -> Delivery:
        if entry.what == "unspeakable":
            raise ValueError("it cannot be said")
        match = Match(MessageId(f"m{entry.place[0]}"), entry.subscription)
        body = str(entry.place[0]).encode()
        return Delivery(
            match, Position(Node("n"), entry.place[0]), 0, Endpoint(str(entry.what)), (), body, snapshot="d1"
        )

    async def backlog(self, subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]:
        if self.failing:
            self.failing -= 1
            raise OSError("the disk is gone")
        mine = [entry for entry in self.told if entry.subscription == subscription and entry.place > after]
        return mine[:limit]

    def tell(self, name: str, offset: int, address: str) -> None:
        self.told.append(Entry(SubscriptionId(name), (offset, 0), address))
        self.deliverer.offer(self.told[-1])

    def results(self, name: str) -> list[tuple[int, str, int]]:
        mine = [outcome for outcome in self.outcomes if outcome.match.subscription == name]
        return [(outcome.at.offset, outcome.result, outcome.attempt) for outcome in mine]


@pytest.fixture
async def bench(client: HttpClient) -> AsyncIterator[Bench]:
    bench = Bench(client)
    bench.start()
    yield bench
    await bench.deliverer.close()


async def test_in_order_and_one_at_a_time(bench: Bench, sink: "Sink") -> None:
    for offset in range(1, 41):
        bench.tell("s", offset, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s") == [str(n).encode() for n in range(1, 41)]
    assert bench.results("s") == [(n, "delivered", 1) for n in range(1, 41)]
    assert bench.deliverer.figures().delivered == 40


async def test_a_consumer_that_never_answers_costs_the_others_nothing(bench: Bench, sink: "Sink") -> None:
    sink.answering = lambda path, body: None if path == "/dead" else sink.reply(202)
    for offset in range(1, 31):
        bench.tell("dead", offset, sink.url("dead"))
        for name in ("a", "b", "c"):
            bench.tell(name, offset, sink.url(name))
    await wait_until(lambda: bench.deliverer.figures().delivered == 90, 15.0)
    assert all(len(sink.bodies(name)) == 30 for name in "abc")
    assert sink.bodies("dead") == [b"1"]
    figures = bench.deliverer.figures()
    assert (figures.delivered, figures.in_flight, figures.waiting, figures.behind) == (90, 1, 3, 1)
    assert bench.deliverer.unsettled() == {"dead": (1, -1)}


async def test_a_failure_is_tried_again_before_what_follows(bench: Bench, sink: "Sink") -> None:
    sink.answering = lambda path, body: sink.reply(503 if len(sink.received) < 3 else 202)
    bench.tell("s", 1, sink.url("s"))
    bench.tell("s", 2, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s") == [b"1", b"1", b"1", b"2"]
    assert bench.results("s") == [(1, "retry", 1), (1, "retry", 2), (1, "delivered", 3), (2, "delivered", 1)]
    assert {each.snapshot for each in bench.outcomes} == {"d1"}, "each says which snapshot decided"


@pytest.mark.parametrize("failures", [1, 100])
async def test_who_is_known_to_be_back_is_not_waited_for(bench: Bench, sink: "Sink", failures: int) -> None:
    """Whether its lane backs off for long, or its breaker is open; the timer that comes later sends nothing."""
    patient = DeliverySettings(first_delay=0.2, longest_delay=3600, failures_to_open=failures, cool_down=3600)
    bench.start(patient)
    sink.answering = lambda path, body: sink.reply(503, "Retry-After: 3600\r\n")
    bench.tell("s", 1, sink.url("s"))
    bench.tell("s", 2, sink.url("s"))
    await wait_until(lambda: len(bench.outcomes) == 1)
    sink.answering = lambda path, body: sink.reply(202)
    bench.deliverer.hurry(SubscriptionId("nobody"))
    bench.deliverer.hurry(SubscriptionId("s"))
    await wait_until(lambda: bench.deliverer.figures().delivered == 2)
    assert bench.results("s") == [(1, "retry", 1), (1, "delivered", 2), (2, "delivered", 1)]
    bench.deliverer.hurry(SubscriptionId("s"))
    assert await bench.deliverer.drain(10) and sink.bodies("s") == [b"1", b"1", b"2"]


async def test_after_the_last_attempt_it_is_a_dead_letter_and_the_next_one_goes(bench: Bench, sink: "Sink") -> None:
    sink.answering = lambda path, body: sink.reply(500 if body == b"1" else 202, body=b"on fire")
    bench.tell("s", 1, sink.url("s"))
    bench.tell("s", 2, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert bench.results("s") == [(1, "retry", 1), (1, "retry", 2), (1, "dead", 3), (2, "delivered", 1)]
    assert bench.outcomes[2].detail == "HTTP 500: on fire"


async def test_a_refusal_is_a_dead_letter_at_once(bench: Bench, sink: "Sink") -> None:
    sink.answering = lambda path, body: sink.reply(410)
    bench.tell("s", 1, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert bench.results("s") == [(1, "dead", 1)]


async def test_nobody_listens(bench: Bench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        bench.tell("s", 1, f"http://127.0.0.1:{taken.getsockname()[1]}/")
        assert await bench.deliverer.drain(10)
    assert [result for _, result, _ in bench.results("s")] == ["retry", "retry", "dead"]
    assert "connect" in bench.outcomes[-1].detail.lower()


async def test_an_address_refused_at_connect_is_a_dead_letter_with_the_reason(sink: "Sink") -> None:
    client = HttpClient(guard=AddressGuard(loopback_allowed=False))
    bench = Bench(client)
    bench.start()
    bench.tell("s", 1, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert bench.results("s") == [(1, "dead", 1)]
    assert "loopback" in bench.outcomes[0].detail
    assert sink.received == []
    await bench.deliverer.close()
    await client.close()


async def test_retry_after_is_waited_for_up_to_the_cap(client: HttpClient, sink: "Sink") -> None:
    bench = Bench(client)
    bench.start(DeliverySettings(first_delay=0.0, longest_retry_after=0.2))
    times: list[float] = []

    def answer(path: str, body: bytes) -> "Reply":
        times.append(time.monotonic())
        return sink.reply(503 if len(times) == 1 else 202, "Retry-After: 3600\r\n")

    sink.answering = answer
    bench.tell("s", 1, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert 0.19 <= times[1] - times[0] < 5
    await bench.deliverer.close()


async def test_an_open_breaker_makes_its_origin_wait_without_using_up_attempts(
    client: HttpClient, sink: "Sink"
) -> None:
    settings = DeliverySettings(attempts=50, first_delay=0.001, longest_delay=0.01, failures_to_open=3, cool_down=0.02)
    bench, broken = Bench(client), True
    bench.start(settings)
    sink.answering = lambda path, body: sink.reply(503 if broken else 202)
    bench.tell("a", 1, sink.url("a"))
    await wait_until(lambda: bench.deliverer.figures().breakers_open == 1)
    for name in "bcdefgh":
        bench.tell(name, 1, sink.url(name))
    figures = bench.deliverer.figures()
    await wait_until(lambda: bench.deliverer.figures().retried >= figures.retried + 3)
    assert await bench.deliverer.drain(10), "a consumer that is down is not waited for"
    broken = False
    await wait_until(lambda: bench.deliverer.figures().delivered == 8)
    assert bench.deliverer.figures().breakers_open == 0
    # Each probe is one attempt of one subscription; the others waited.
    assert len(sink.received) == bench.deliverer.figures().retried + 8
    assert all(bench.results(name)[-1][1] == "delivered" for name in "abcdefgh")
    await bench.deliverer.close()


async def test_a_broken_origin_does_not_stop_another(client: HttpClient, sink: "Sink") -> None:
    bench = Bench(client)
    bench.start(DeliverySettings(attempts=99, first_delay=0.0, failures_to_open=1, cool_down=60.0))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        bench.tell("broken", 1, f"http://127.0.0.1:{taken.getsockname()[1]}/")
        await wait_until(lambda: bench.deliverer.figures().breakers_open == 1)
        bench.tell("fine", 1, sink.url("fine"))
        await wait_until(lambda: bench.results("fine") == [(1, "delivered", 1)])
    await bench.deliverer.close()


async def test_an_origin_gets_no_more_than_its_share_at_a_time(client: HttpClient, sink: "Sink") -> None:
    bench = Bench(client)
    bench.start(DeliverySettings(in_flight_per_origin=2))
    sink.answering = lambda path, body: None if path in ("/a", "/b") else sink.reply(202)
    for name in "abcd":
        bench.tell(name, 1, sink.url(name))
    await wait_until(lambda: len(sink.received) == 2)
    assert bench.deliverer.figures().in_flight == 2
    assert bench.deliverer.figures().waiting == 2
    await bench.deliverer.close()


async def test_what_does_not_fit_comes_from_the_backlog(bench: Bench, sink: "Sink") -> None:
    for offset in range(1, 101):
        bench.tell("s", offset, sink.url("s"))
    assert bench.deliverer.figures().behind == 1
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s") == [str(n).encode() for n in range(1, 101)]
    assert bench.deliverer.figures().behind == 0


async def test_seeded_it_begins_after_that_place(bench: Bench, sink: "Sink") -> None:
    bench.told = [Entry(SubscriptionId("s"), (n, 0), sink.url("s")) for n in range(1, 21)]
    bench.deliverer.seed(SubscriptionId("s"), (5, 0))
    bench.tell("s", 21, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s") == [str(n).encode() for n in range(6, 22)]
    bench.tell("s", 22, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s")[-1] == b"22"
    with pytest.raises(ValueError, match="has a queue"):
        bench.deliverer.seed(SubscriptionId("s"), (5, 0))


async def test_a_backlog_that_fails_is_asked_again(bench: Bench, sink: "Sink", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.delivery.backlog.AGAIN_AFTER", 0.01)
    reports, bench.failing = listen(), 2
    bench.told = [Entry(SubscriptionId("s"), (1, 0), sink.url("s"))]
    bench.deliverer.seed(SubscriptionId("s"), (0, 0))
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s") == [b"1"]
    assert reports == ["the backlog of s could not be read"] * 2


def listen() -> list[str]:
    reports: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context["message"]))
    return reports


async def test_held_it_waits_and_released_it_goes_on(bench: Bench, sink: "Sink") -> None:
    bench.deliverer.hold(SubscriptionId("s"))
    bench.tell("s", 1, sink.url("s"))
    bench.tell("t", 1, sink.url("t"))
    assert await bench.deliverer.drain(10)
    assert [path for path, _ in sink.received] == ["/t"]
    assert bench.deliverer.unsettled() == {"s": (1, -1)}
    bench.deliverer.release(SubscriptionId("s"))
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s") == [b"1"]


async def test_forgotten_what_waits_is_dropped_and_what_flies_may_land(bench: Bench, sink: "Sink") -> None:
    sink.answering = lambda path, body: sink.reply(202)
    for offset in (1, 2, 3):
        bench.tell("s", offset, sink.url("s"))
    bench.deliverer.forget(SubscriptionId("s"))
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s") == [b"1"]
    assert bench.results("s") == [(2, "dropped", 0), (3, "dropped", 0), (1, "delivered", 1)]
    assert bench.deliverer.figures().in_flight == 0


async def test_forgotten_in_flight_it_is_not_tried_again(bench: Bench, sink: "Sink") -> None:
    sink.answering = lambda path, body: sink.reply(503)
    bench.tell("s", 1, sink.url("s"))
    bench.deliverer.forget(SubscriptionId("s"))
    assert await bench.deliverer.drain(10)
    assert bench.results("s") == [(1, "dropped", 1)]


async def test_forgotten_while_backing_off(client: HttpClient, sink: "Sink") -> None:
    bench = Bench(client)
    bench.start(DeliverySettings(first_delay=60.0))
    sink.answering = lambda path, body: sink.reply(503)
    bench.tell("s", 1, sink.url("s"))
    await wait_until(lambda: bench.results("s") == [(1, "retry", 1)])
    bench.deliverer.forget(SubscriptionId("s"))
    assert bench.deliverer.idle()
    assert bench.results("s") == [(1, "retry", 1), (1, "dropped", 1)]
    await bench.deliverer.close()


async def test_drain_gives_up_in_time(bench: Bench, sink: "Sink") -> None:
    sink.answering = lambda path, body: None
    bench.tell("s", 1, sink.url("s"))
    assert not await bench.deliverer.drain(0.05)
    assert not bench.deliverer.idle()


async def test_an_entry_that_cannot_be_prepared_does_not_stop_the_rest(bench: Bench, sink: "Sink") -> None:
    reports = listen()
    bench.tell("s", 1, "unspeakable")
    bench.tell("s", 2, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s") == [b"2"]
    assert reports == ["the entry of s at (1, 0) could not be prepared"]
    assert bench.deliverer.figures().dropped == 1


async def test_whoever_is_told_of_an_outcome_may_fail(client: HttpClient, sink: "Sink") -> None:
    reports, bench = listen(), Bench(client)

    def settled(entry: Entry, delivery: Delivery, outcome: Outcome) -> None:
        raise RuntimeError("not now")

    bench.start()
    bench.deliverer._courier._settled = settled
    bench.tell("s", 1, sink.url("s"))
    bench.tell("s", 2, sink.url("s"))
    assert await bench.deliverer.drain(10)
    assert sink.bodies("s") == [b"1", b"2"]
    assert len(reports) == 2
    await bench.deliverer.close()
