"""Several notifications in one message, from the log to the consumer, with either engine."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Literal

import pytest
from tests.whole.acts import call
from tests.whole.shell import document, wait_until
from tests.whole.sink import Say, Sink
from tests.whole.test_outbox_whole import Matcher, published

from tocsin import Received
from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.settings import DeliverySettings, Listen, Settings
from tocsin.client.signatures import verify
from tocsin.mediation.operations import Subscribe
from tocsin.model.access import Secret
from tocsin.model.identity import Instant
from tocsin.model.subscription import Endpoint, Form, Subscription
from tocsin.platform.serving import serving
from tocsin.store.outbox import Outbox
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
KEY = "whsec_" + "QUFB" * 8


@asynccontextmanager
async def running(data: Path, engine: Literal["embedded", "spark"]) -> AsyncIterator[Node]:
    delivery = DeliverySettings(attempts=3, first_backoff=0.005, longest_backoff=0.02)
    settings = Settings(data, engine, None, Listen(port=0), delivery=delivery)
    said: list[str] = []
    async with serving(settings, said.append) as node:
        yield node
    assert said == []


async def grouped(node: Node, consumer: str, together: int, secret: str | None = None) -> Subscription:
    form = Form("cloudevents", together=together)
    return await node.subscriptions.subscribe(NODE, Subscribe(Endpoint(consumer, secret=secret), None, form, (), None))


def groups(sink: Sink) -> list[list[int]]:
    return [[_number(each["data"]) for each in json.loads(received.body)] for received in sink.received]


def _number(data: str) -> int:
    return int(data.partition(">")[2].partition("<")[0])


async def held_back(node: Node, subscription: Subscription, http: HttpClient, count: int) -> None:
    """All are accepted before the first is sent."""
    node.engine.deliverer.hold(subscription.id, "test")
    await published(http, node, *range(count))


async def released(node: Node, subscription: Subscription, count: int) -> None:
    """All are matched before the first is sent: accepted they are on disk, and matched a little later."""
    await wait_until(lambda: node.figures(NODE)["delivery"]["waiting"] == count, "all wait")
    node.engine.deliverer.release(subscription.id, "test")


async def test_the_embedded_engine_sends_what_waits_in_batches(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    async with running(tmp_path, "embedded") as node:
        made = await grouped(node, sink.url("a"), 4)
        await held_back(node, made, http, 10)
        await released(node, made, 10)
        await wait_until(lambda: len(sink.received) == 3, "all are sent")
        assert groups(sink) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        kinds = {dict(each.headers)["content-type"].partition(";")[0] for each in sink.received}
        assert kinds == {"application/cloudevents-batch+json"}
        await wait_until(lambda: node.figures(NODE)["delivery"]["delivered"] == 10, "all are settled")


async def test_the_outbox_is_sent_in_batches_too(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    with closing(Outbox.open(tmp_path / "outbox.db")) as outbox:
        matcher = Matcher(tmp_path, outbox)
        async with running(tmp_path, "spark") as node:
            made = await grouped(node, sink.url("a"), 4)
            await held_back(node, made, http, 10)
            assert matcher.work() == 10
            await released(node, made, 10)
            await wait_until(lambda: len(sink.received) == 3, "all are sent")
            await wait_until(lambda: matcher.left() == 0, "and cleared")
    assert groups(sink) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


async def test_one_that_is_refused_is_the_only_dead_letter(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    def script(received: Received) -> Say:
        return Say(400 if b"<n>2<" in received.body or b">2<" in received.body else 202)

    sink.script = script
    async with running(tmp_path, "embedded") as node:
        made = await grouped(node, sink.url("a"), 5)
        await held_back(node, made, http, 5)
        await released(node, made, 5)
        await wait_until(lambda: node.figures(NODE)["delivery"]["delivered"] == 4, "the others are delivered")
        await node.settlement.save()
        (letter,) = node.dead_letters.page(NODE, 0, 10, made.id)
        assert b">2<" in letter.delivery.body
        sink.script = lambda received: Say()
        answer = await call(http, "POST", f"{node.base_url}/api/dead-letters/redrive")
        assert document(answer.body) == {"redriven": 1}
        await wait_until(lambda: groups(sink)[-1] == [2], "it is delivered alone")


async def test_what_is_not_settled_is_sent_again_after_a_restart(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    async with running(tmp_path, "embedded") as node:
        made = await grouped(node, sink.url("a"), 3)
        await held_back(node, made, http, 7)
    assert sink.received == []
    async with running(tmp_path, "embedded"):
        await wait_until(lambda: sum(map(len, groups(sink))) == 7, "all are sent")
    assert [n for group in groups(sink) for n in group] == list(range(7))
    assert all(len(group) <= 3 for group in groups(sink))


async def test_a_batch_is_signed_whole(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    async with running(tmp_path, "embedded") as node:
        await node.consumers.add_secret(NODE, Secret("s", "hmac", KEY, Instant(1)), replace=False)
        made = await grouped(node, sink.url("a"), 3, "s")
        await held_back(node, made, http, 6)
        await released(node, made, 6)
        await wait_until(lambda: len(sink.received) == 2, "all are sent")
    ids = {verify(KEY, each.headers, each.body, time.time()) for each in sink.received}
    assert groups(sink) == [[0, 1, 2], [3, 4, 5]] and len(ids) == 2


@pytest.mark.parametrize("engine", ["embedded", "spark"])
async def test_a_notify_has_several_messages(
    engine: Literal["embedded", "spark"], tmp_path: Path, sink: Sink, http: HttpClient
) -> None:
    form = Form("wsn-1.3", "1.2", "2005/08", together=4)
    with closing(Outbox.open(tmp_path / "outbox.db")) as outbox:
        async with running(tmp_path, engine) as node:
            asked = Subscribe(Endpoint(sink.url("a")), None, form, (), None)
            made = await node.subscriptions.subscribe(NODE, asked)
            await held_back(node, made, http, 10)
            if engine == "spark":
                Matcher(tmp_path, outbox).work()
            await released(node, made, 10)
            await wait_until(lambda: len(sink.received) == 3, "all are sent")
    assert [len(each.notifications()) for each in sink.received] == [4, 4, 2]
    assert [_number(each.decode()) for each in sink.payloads("a")] == list(range(10))
    assert len({each.id for each in sink.notifications("a")}) == 10
