"""From the door to the consumer: order, retries, dead letters, slow and dead consumers, restarts."""

import asyncio
import random
import time
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest
from tests.whole.acts import IMPATIENT, call, dead_letters, get, numbers, publish, subscribe, until
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import HANG_UP, NEVER, Say, Sink

from tocsin import Received
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


def first_receipts(found: list[int]) -> list[int]:
    return list(dict.fromkeys(found))


async def test_order_is_kept_however_often_it_is_retried(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT | {"delivery-attempts": "20", "delivery-breaker-failures": "50"})
    dice, taken = random.Random(7), list[bytes]()

    def script(received: Received) -> Say:
        said = dice.choice([Say(), Say(), Say(), Say(500), Say(503), Say(429), HANG_UP])
        if said.status == 202:
            taken.append(received.body)
        return said

    sink.script = script
    await subscribe(http, broker, sink.url("a"), "order")
    await publish(http, broker, "order", *range(60))
    await wait_until(lambda: len(taken) == 60, "all are taken at last")
    found = numbers(sink, "a")
    assert first_receipts(found) == list(range(60))
    assert found == sorted(found), "the next is never sent before the one before it is settled"
    assert len(set(taken)) == 60


@pytest.mark.parametrize(("said", "tries"), [(Say(410), 1), (Say(500), 3), (Say(429), 3), (Say(301), 3), (HANG_UP, 3)])
async def test_how_often_it_is_tried(
    said: Say, tries: int, broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    about, sink.script = f"tries/t{uuid4().hex}", lambda received: said
    name = await subscribe(http, broker, sink.url("a"), about)
    await publish(http, broker, about, 1)
    (letter,) = await until(lambda: dead_letters(http, broker, name), bool)
    assert (letter["attempts"], letter["state"], letter["consumer"]) == (tries, "dead", sink.url("a"))
    assert numbers(sink, "a") == [1] * tries
    assert str(said.status) in letter["reason"] if said.status else letter["reason"]
    sink.script = lambda received: Say()
    await publish(http, broker, about, 2)
    await wait_until(lambda: numbers(sink, "a")[-1] == 2, "what follows a dead letter is delivered")


async def test_dead_letters_survive_a_crash_and_are_tried_again(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT)
    sink.script = lambda received: Say(400)
    await subscribe(http, broker, sink.url("a"), "t")
    await publish(http, broker, "t", *range(5))
    letters = await until(lambda: dead_letters(http, broker), lambda found: len(found) == 5)
    broker.kill()
    broker = start(tmp_path / "data", IMPATIENT)
    assert await dead_letters(http, broker) == letters
    sink.script = lambda received: Say()
    answer = await call(http, "POST", f"{broker.url}/api/dead-letters/redrive")
    assert answer.body == b'{"redriven":5}'
    await until(lambda: dead_letters(http, broker), lambda found: not found)
    assert numbers(sink, "a") == [0, 1, 2, 3, 4] * 2
    broker.kill()
    assert await dead_letters(http, start(tmp_path / "data")) == []


async def test_more_dead_letters_than_a_queue_holds_are_all_tried_again(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT | {"delivery-queue": "4"})
    sink.script = lambda received: Say(400)
    await subscribe(http, broker, sink.url("a"), "t")
    await publish(http, broker, "t", *range(30))
    await until(lambda: dead_letters(http, broker), lambda found: len(found) == 30)
    await call(http, "POST", f"{broker.url}/api/dead-letters/redrive")
    again = await until(lambda: dead_letters(http, broker), lambda found: all(each["attempts"] == 2 for each in found))
    assert {each["state"] for each in again} == {"dead"} and len(again) == 30
    sink.script = lambda received: Say()
    await call(http, "POST", f"{broker.url}/api/dead-letters/redrive")
    await until(lambda: dead_letters(http, broker), lambda found: not found)
    assert Counter(numbers(sink, "a")) == Counter(list(range(30)) * 3)


async def test_what_was_marked_to_be_tried_again_is_after_a_crash(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT | {"delivery-attempts": "1000", "delivery-timeout": "1h"})
    sink.script = lambda received: Say(400)
    await subscribe(http, broker, sink.url("a"), "t")
    await publish(http, broker, "t", 1, 2)
    await until(lambda: dead_letters(http, broker), lambda found: len(found) == 2)
    sink.script = lambda received: NEVER
    await call(http, "POST", f"{broker.url}/api/dead-letters/redrive")
    assert {each["state"] for each in await dead_letters(http, broker)} == {"queued"}
    broker.kill()
    sink.script = lambda received: Say()
    broker = start(tmp_path / "data", IMPATIENT)
    await until(lambda: dead_letters(http, broker), lambda found: not found)
    assert numbers(sink, "a")[-2:] == [1, 2]


async def test_a_consumer_that_never_answers_delays_nobody(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT | {"delivery-timeout": "1h"})
    sink.script = lambda received: NEVER if received.path == "/slow" else Say()
    await subscribe(http, broker, sink.url("slow"), "t")
    await subscribe(http, broker, sink.url("quick"), "t")
    await publish(http, broker, "t", *range(200))
    await wait_until(lambda: len(sink.at("quick")) == 200, "the quick one has all")
    assert len(sink.at("slow")) == 1


async def test_a_consumer_that_answers_too_late_is_tried_again(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT | {"delivery-timeout": "100ms"})
    sink.script = lambda received: NEVER if len(sink.received) < 2 else Say()
    await subscribe(http, broker, sink.url("a"), "t")
    await publish(http, broker, "t", 1, 2)
    await wait_until(lambda: len(sink.at("a")) == 4, "delivered at the third try")
    assert numbers(sink, "a") == [1, 1, 1, 2]


async def test_the_breaker_spares_a_dead_consumer_and_lets_it_come_back(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    patience = {"delivery-attempts": "1000", "delivery-breaker-failures": "3", "delivery-breaker-cooldown": "300ms"}
    broker = start(tmp_path / "data", IMPATIENT | patience)
    sink.script = lambda received: Say(503)
    for path in ("a", "b", "c"):
        await subscribe(http, broker, sink.url(path), "t")
    await publish(http, broker, "t", *range(10))
    figures = await until(
        lambda: get(http, f"{broker.url}/api/status"), lambda found: found["delivery"]["breakers_open"]
    )
    assert figures["delivery"]["waiting"] + figures["delivery"]["in_flight"] == 30
    # Without a breaker, three lanes that back off for at most 40 ms try some 150 times in a second.
    before, began = len(sink.received), time.monotonic()
    await wait_until(lambda: len(sink.received) >= before + 3, "it is probed now and then")
    assert time.monotonic() - began > 0.5
    sink.script = lambda received: Say()
    await wait_until(lambda: {len(set(numbers(sink, path))) for path in "abc"} == {10}, "it came back")
    for path in ("a", "b", "c"):
        assert first_receipts(numbers(sink, path)) == list(range(10))
    assert not await dead_letters(http, broker)


async def test_a_full_queue_catches_up_from_the_log(tmp_path: Path, start: Start, sink: Sink, http: HttpClient) -> None:
    settings = IMPATIENT | {"delivery-queue": "10", "delivery-attempts": "1000"}
    broker = start(tmp_path / "data", settings)
    await subscribe(http, broker, sink.url("a"), "t")
    await subscribe(http, broker, sink.url("b"), "other")
    await sink.down()
    for number in range(0, 500, 2):
        await publish(http, broker, "t", number, number + 1)
        await publish(http, broker, "other", number)
    figures = await until(lambda: get(http, f"{broker.url}/api/status"), lambda found: found["delivery"]["behind"] == 2)
    assert figures["delivery"]["waiting"] + figures["delivery"]["in_flight"] == 20
    await sink.up()
    await wait_until(lambda: len(sink.at("a")) >= 500 and len(sink.at("b")) >= 250, "all arrive")
    await until(lambda: get(http, f"{broker.url}/api/status"), lambda found: found["delivery"]["waiting"] == 0)
    assert numbers(sink, "a") == list(range(500)), "in order, once each"
    assert numbers(sink, "b") == list(range(0, 500, 2))
    await publish(http, broker, "t", 500)
    await wait_until(lambda: len(sink.at("a")) == 501, "and it goes on")
    assert not await dead_letters(http, broker)


async def test_a_backlog_survives_a_crash(tmp_path: Path, start: Start, sink: Sink, http: HttpClient) -> None:
    settings = IMPATIENT | {"delivery-queue": "5", "delivery-attempts": "1000"}
    broker = start(tmp_path / "data", settings)
    await subscribe(http, broker, sink.url("a"), "t")
    await publish(http, broker, "t", *range(20))
    await wait_until(lambda: len(sink.at("a")) == 20, "the first part arrives")
    await sink.down()
    await publish(http, broker, "t", *range(20, 100))
    broker.kill()
    await sink.up()
    broker = start(tmp_path / "data", settings)
    await wait_until(lambda: 99 in numbers(sink, "a"), "the rest arrives")
    assert first_receipts(numbers(sink, "a")) == list(range(100))
    # What was delivered in the moment before a crash may come again; no more than that.
    assert len(numbers(sink, "a")) <= 120


async def test_sigterm_delivers_what_was_accepted(tmp_path: Path, start: Start, sink: Sink, http: HttpClient) -> None:
    broker = start(tmp_path / "data", IMPATIENT)
    sink.script = lambda received: Say(503) if len(sink.received) % 3 == 0 else Say()
    await subscribe(http, broker, sink.url("a"), "t")
    await publish(http, broker, "t", *range(50))
    assert await asyncio.to_thread(broker.stop) == 0
    assert first_receipts(numbers(sink, "a")) == list(range(50))
    again = start(tmp_path / "data", IMPATIENT)
    await publish(http, again, "t", 50)
    await wait_until(lambda: numbers(sink, "a")[-1] == 50, "a new one arrives")
    assert Counter(numbers(sink, "a"))[49] <= 2, "nothing is sent again after an orderly end"
