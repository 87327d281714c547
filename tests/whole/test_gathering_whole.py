"""A subscription with a maximum latency, at a started broker: grouped messages, all of it, in order; others at once."""

import asyncio
from functools import partial
from uuid import uuid4

import pytest
from tests.whole.acts import call, get, numbers, publish, subscribe
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
MANY = 3  # in one message
MOST = 3000


def largest(sink: Sink, path: str) -> int:
    return max((in_one(each.body) for each in sink.at(path)), default=0)


def in_one(body: bytes) -> int:
    """Without reading it: it is asked again and again."""
    return body.count(b'"specversion"') + body.count(b"<wsnt:NotificationMessage>")


async def test_it_is_grouped_and_one_without_is_told_at_once(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    topic, latency = f"t{uuid4().hex}", "PT0.4S"
    batches, notify, plain = (uuid4().hex for _ in range(3))
    await subscribe(http, broker, sink.url(batches), topic, max_latency=latency)
    await subscribe(http, broker, sink.url(notify), topic, dialect="wsn-1.3", together=50, max_latency=latency)
    await subscribe(http, broker, sink.url(plain), topic)
    count, overtaken = 0, False
    while count < MOST and not (overtaken and largest(sink, batches) > MANY and largest(sink, notify) > MANY):
        await publish(http, broker, topic, count)
        count += 1
        await wait_until(
            partial(lambda there: len(sink.at(plain)) == there, count), "one without is told before the next comes"
        )
        overtaken = overtaken or sum(in_one(each.body) for each in sink.at(batches)) < count - 1
    assert overtaken and count < MOST
    for path in (batches, notify):
        await wait_until(partial(lambda of: len(sink.notifications(of)) == count, path), "all of it comes")
        assert numbers(sink, path) == list(range(count))
        assert len(sink.at(path)) < count
        assert [each.id for each in sink.notifications(path)] == [each.id for each in sink.notifications(plain)]
    assert numbers(sink, plain) == list(range(count)) and len(sink.at(plain)) == count


async def test_what_is_asked_for_is_shown(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    made = await subscribe(http, broker, sink.url("x"), "nowhere", max_latency="PT1M")
    assert (await get(http, f"{broker.url}/api/subscriptions/{made}"))["max_latency"] == "PT1M0S"
    other = await subscribe(http, broker, sink.url("x"), "nowhere")
    assert "max_latency" not in await get(http, f"{broker.url}/api/subscriptions/{other}")


@pytest.mark.parametrize(
    "asked,why",
    [
        ({"max_latency": "-PT1S"}, "PT0.25S"),
        ({"max_latency": "1"}, "PT0.25S"),
        ({"max_latency": "PT1M1S"}, "60 s is the longest here (delivery.longest_latency)"),
        ({"max_latency": "PT1S", "together": 1}, "one by one"),
        ({"max_latency": "PT1S", "mode": "binary"}, "one by one"),
        ({"max_latency": "PT1S", "dialect": "wse-2011"}, "one by one"),
        ({"max_latency": "PT1S", "dialect": "wsn-1.3", "mode": "binary"}, "one by one"),
        ({"max_latency": "PT1S", "dialect": "webhook"}, "one by one"),
        ({"max_latency": 1}, "max_latency"),
    ],
)
async def test_what_cannot_be_is_refused(
    broker: BrokerProcess, http: HttpClient, asked: dict[str, object], why: str
) -> None:
    answer = await call(http, "POST", f"{broker.url}/api/subscriptions", {"consumer": "http://127.0.0.1:9/"} | asked)
    assert answer.status == 400 and why in str(document(answer.body)), answer


async def test_what_is_pulled_does_not_wait(broker: BrokerProcess, http: HttpClient) -> None:
    answer = await call(http, "POST", f"{broker.url}/api/pullpoints", {"max_latency": "PT1S"})
    assert answer.status == 400 and b"pulled" in answer.body


async def test_by_the_cloudevents_subscriptions_api(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    path = f"{broker.url}/api/cloudevents/subscriptions"
    asked = {"protocol": "HTTP", "sink": sink.url("x"), "config": {"mode": "batched", "max_latency": "PT2S"}}
    made = document((await call(http, "POST", path, asked)).body)
    assert made["config"]["max_latency"] == "PT2S"
    await call(http, "PUT", f"{path}/{made['id']}", asked | {"config": {"mode": "batched"}})
    assert "max_latency" not in document((await call(http, "GET", f"{path}/{made['id']}")).body)["config"]
    refused = await call(http, "POST", path, asked | {"config": {"max_latency": "PT2S"}})
    assert refused.status == 400 and b"one by one" in refused.body
    assert document((await call(http, "OPTIONS", path)).body)["config"]["max_latency"] == "a duration"


async def test_what_was_gathered_is_sent_before_it_stops(
    tmp_path_factory: pytest.TempPathFactory, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path_factory.mktemp("node"))
    await subscribe(http, broker, sink.url("a"), "t", max_latency="PT0.4S", together=1000)
    count = 0
    while count < MOST and largest(sink, "a") <= MANY:
        await publish(http, broker, "t", count)
        count += 1
    assert count < MOST
    await publish(http, broker, "t", *range(count, count + 5))
    assert await asyncio.to_thread(broker.stop) == 0
    assert numbers(sink, "a") == list(range(count + 5))
