"""A node with the Spark engine: what is published in the outbox is sent, whoever put it there."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.whole.acts import call, numbers
from tests.whole.life import retain
from tests.whole.shell import document, records, wait_until
from tests.whole.sink import Say, Sink
from tests.whole.speech import message, notify

from tocsin.broker import lifecycle
from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.settings import DeliverySettings, Listen, LogSettings, Settings
from tocsin.flow.flow import Flow, normalise
from tocsin.model.delivery import Delivery
from tocsin.model.records import Accepted, Changed
from tocsin.platform.serving import serving
from tocsin.store.blocks import in_blocks
from tocsin.store.errors import DatabaseFailed
from tocsin.store.outbox import Outbox
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


@pytest.fixture(autouse=True)
def soon_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "DRAIN_SECONDS", 0.2)


class Matcher:
    """Does what the pipeline does, on command: reads the log, publishes what is new."""

    def __init__(self, data: Path, outbox: Outbox) -> None:
        self._data, self._outbox, self._batches, self._seen = data, outbox, count(), 0

    def work(self) -> int:
        found, self._seen = self._deliveries(), len(records(self._data))
        end = msgspec.json.encode({"log": self._seen, "outcomes": 0}).decode()
        assert self._outbox.publish(next(self._batches), in_blocks(found), rows=len(found), end=end)
        return len(found)

    def _deliveries(self) -> list[Delivery]:
        flow, found = Flow("http://nowhere"), list[Delivery]()
        for offset, record in enumerate(records(self._data)):
            if isinstance(record, Changed):
                flow.apply(record.subscription)
            elif isinstance(record, Accepted) and offset >= self._seen:
                pairs = ((each, wanted) for each in normalise(record) for wanted in flow.match(each).wanted)
                found += [flow.deliver(*pair) for pair in pairs]
        return found

    def left(self) -> int:
        return len(self._outbox.pending(0, 10_000))


@pytest.fixture
def matcher(tmp_path: Path) -> Iterator[Matcher]:
    with closing(Outbox.open(tmp_path / "outbox.db")) as outbox:
        yield Matcher(tmp_path, outbox)


@asynccontextmanager
async def running(data: Path, told: list[str] | None = None, **log: Any) -> AsyncIterator[Node]:
    delivery = DeliverySettings(3, 0.005, 0.02, 30.0, 5, 1000, 0.05)
    settings = Settings(data, "spark", None, Listen(port=0), delivery=delivery, log=LogSettings(**log))
    said = list[str]() if told is None else told
    async with serving(settings, said.append) as node:
        yield node
    assert said == [] or told is not None, said


async def subscribed(http: HttpClient, node: Node, consumer: str) -> str:
    answer = await call(http, "POST", f"{node.base_url}/api/subscriptions", {"consumer": consumer, "topic": "t"})
    return str(document(answer.body)["id"])


async def published(http: HttpClient, node: Node, *numbers: int) -> None:
    for number in numbers:
        said = notify(message(f'<n xmlns="">{number}</n>', "t"))
        assert (await http.request("POST", f"{node.base_url}/broker", *said)).status == 202


async def test_what_is_published_is_sent_in_order_and_cleared(
    tmp_path: Path, matcher: Matcher, sink: Sink, http: HttpClient
) -> None:
    async with running(tmp_path) as node:
        await subscribed(http, node, sink.url("a"))
        for start in (0, 40):
            await published(http, node, *range(start, start + 40))
            assert matcher.work() == 40
        await wait_until(lambda: len(sink.at("a")) == 80, "all are sent")
        await wait_until(lambda: matcher.left() == 0, "and cleared")
        assert numbers(sink, "a") == list(range(80)), "also past the bound of the queue, which is 5"


async def test_rows_survive_a_restart(tmp_path: Path, matcher: Matcher, sink: Sink, http: HttpClient) -> None:
    async with running(tmp_path) as node:
        await subscribed(http, node, sink.url("a"))
        await published(http, node, *range(20))
    matcher.work()
    async with running(tmp_path):
        await wait_until(lambda: len(sink.at("a")) == 20, "all are sent")
    assert numbers(sink, "a") == list(range(20)) and matcher.left() == 0


async def test_dead_letters_leave_the_outbox_and_can_be_tried_again(
    tmp_path: Path, matcher: Matcher, sink: Sink, http: HttpClient
) -> None:
    sink.script = lambda received: Say(400)
    async with running(tmp_path) as node:
        await subscribed(http, node, sink.url("a"))
        await published(http, node, *range(12))
        matcher.work()
        await wait_until(lambda: len(node.dead_letters.page(NODE, 0, 100, None)) == 12, "all are dead letters")
        await wait_until(lambda: matcher.left() == 0, "none is left in the outbox")
        sink.script = lambda received: Say()
        assert await node.dead_letters.redrive(NODE, None) == 12
        await wait_until(lambda: not node.dead_letters.page(NODE, 0, 100, None), "all are delivered")
        assert sorted(numbers(sink, "a")) == sorted([*range(12)] * 2)


async def test_rows_of_a_subscription_that_ended_are_not_sent(
    tmp_path: Path, matcher: Matcher, sink: Sink, http: HttpClient
) -> None:
    """Neither those in the queue, nor those behind it, nor those that come later, nor after a restart."""
    sink.script = lambda received: Say(503)
    async with running(tmp_path) as node:
        name = await subscribed(http, node, sink.url("a"))
        await subscribed(http, node, sink.url("b"))
        await published(http, node, *range(20))
        matcher.work()
        await wait_until(lambda: sink.at("a"), "it is being tried")
        await published(http, node, 20)
        await node.subscriptions.unsubscribe(NODE, name)
        heard = len(sink.at("a"))
        matcher.work()
        sink.script = lambda received: Say()
        await wait_until(lambda: 20 in numbers(sink, "b"), "the other one hears it")
        assert len(sink.at("a")) <= heard + 1
    sink.received.clear()
    async with running(tmp_path) as node:
        await published(http, node, 21)
        matcher.work()
        await wait_until(lambda: 21 in numbers(sink, "b"), "the other one hears more")
        await wait_until(lambda: matcher.left() == 0, "nothing is left in the outbox")
        assert not sink.at("a")


async def test_it_goes_on_when_the_outbox_could_not_be_read(
    tmp_path: Path, matcher: Matcher, sink: Sink, http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, pending, told = iter(range(3)), Outbox.pending, list[str]()

    def sometimes(outbox: Outbox, after: int, limit: int) -> Any:
        if next(failures, None) is not None:
            raise DatabaseFailed("locked for too long")
        return pending(outbox, after, limit)

    async with running(tmp_path, told) as node:
        await subscribed(http, node, sink.url("a"))
        await published(http, node, 1)
        monkeypatch.setattr(Outbox, "pending", sometimes)
        matcher.work()
        await wait_until(lambda: sink.at("a"), "it is sent all the same")
    assert told == ["DatabaseFailed: locked for too long"]


async def test_what_spark_has_not_seen_is_kept(tmp_path: Path, matcher: Matcher, http: HttpClient) -> None:
    async with running(tmp_path, segment_bytes=2048, retain_bytes=4096) as node:
        await published(http, node, *range(60))
        await retain(node)
        assert node.journal.log.segments()[0].first == 0
        matcher.work()
        await retain(node)
        assert node.journal.log.segments()[0].first > 0
