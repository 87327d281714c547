"""Old segments go; who still needed them has dead letters, and nothing passes in silence."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.whole.acts import call, numbers
from tests.whole.life import retain
from tests.whole.shell import document, wait_until
from tests.whole.sink import Say, Sink
from tests.whole.speech import message, notify

from tocsin.broker import lifecycle
from tocsin.broker.node import Node
from tocsin.broker.settings import DeliverySettings, Listen, LogSettings, Settings
from tocsin.platform.serving import serving
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
SEGMENT, KEPT = 4096, 12_000
MESSAGES = 150


@pytest.fixture(autouse=True)
def soon_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "DRAIN_SECONDS", 0.2)


@asynccontextmanager
async def small(data: Path) -> AsyncIterator[Node]:
    """Keeps little, and never gives up by itself."""
    settings = Settings(
        data,
        "embedded",
        None,
        Listen(port=0),
        log=LogSettings(SEGMENT, KEPT, None),
        delivery=DeliverySettings(10_000, 0.005, 0.02, 30.0, 5, 10_000, 0.05),
    )
    told = list[str]()
    async with serving(settings, told.append) as node:
        yield node
    assert told == []


async def subscribed(http: HttpClient, node: Node, consumer: str) -> str:
    answer = await call(http, "POST", f"{node.base_url}/api/subscriptions", {"consumer": consumer, "topic": "t"})
    return str(document(answer.body)["id"])


async def published(http: HttpClient, node: Node, number: int) -> None:
    said = notify(message(f'<n xmlns="">{number}</n>', "t"))
    assert (await http.request("POST", f"{node.base_url}/broker", *said)).status == 202


async def letters(http: HttpClient, node: Node, name: str) -> list[Any]:
    answer = await call(http, "GET", f"{node.base_url}/api/dead-letters?limit=1000&subscription={name}")
    return list(document(answer.body)["items"])


async def test_each_is_delivered_or_a_dead_letter(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    down = True
    sink.script = lambda received: Say(503) if down and received.path == "/down" else Say()
    async with small(tmp_path) as node:
        name, up = await subscribed(http, node, sink.url("down")), await subscribed(http, node, sink.url("up"))
        for number in range(MESSAGES):
            await published(http, node, number)
            if number % 10 == 9:
                await retain(node)
        await wait_until(lambda: len(sink.at("up")) == MESSAGES, "the other consumer has all")
        assert sum(segment.size for segment in node.journal.log.segments()) <= KEPT + SEGMENT
        dead = await letters(http, node, name)
        assert dead and {each["reason"] for each in dead} == {
            "the log's retention passed it before it could be delivered"
        }
        down = False
        await wait_until(lambda: MESSAGES - 1 in numbers(sink, "down"), "it catches up with what is kept")
        delivered = list(dict.fromkeys(numbers(sink, "down")))
        lost = [each["offset"] - 2 for each in dead]
        assert sorted(lost) == lost and max(lost) < MESSAGES
        assert sorted({*lost, *delivered}) == list(range(MESSAGES))
        assert len({*lost} & {*delivered}) <= len(numbers(sink, "down")) - len(delivered) + 15
        assert delivered[-1] == MESSAGES - 1 and numbers(sink, "up") == list(range(MESSAGES))
        assert not await letters(http, node, up)


async def test_what_was_given_up_stays_so_after_a_restart_and_can_be_tried_again(
    tmp_path: Path, sink: Sink, http: HttpClient
) -> None:
    sink.script = lambda received: Say(503)
    async with small(tmp_path) as node:
        name = await subscribed(http, node, sink.url("a"))
        for number in range(MESSAGES):
            await published(http, node, number)
        await retain(node)
        dead = await letters(http, node, name)
    assert 0 < len(dead) < MESSAGES
    sink.received.clear()
    sink.script = lambda received: Say()
    async with small(tmp_path) as node:
        assert await letters(http, node, name) == dead
        kept = MESSAGES - len(dead)
        await wait_until(lambda: len(sink.at("a")) == kept, "what is kept is delivered")
        assert numbers(sink, "a") == list(range(len(dead), MESSAGES))
        await call(http, "POST", f"{node.base_url}/api/dead-letters/redrive")
        await wait_until(lambda: len(sink.at("a")) == MESSAGES, "what was given up is delivered")
        assert Counter(numbers(sink, "a")) == Counter(range(MESSAGES))


async def test_who_is_level_with_the_log_is_not_disturbed(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    """The first record that is kept may be on its way just now: it must not be sent twice."""
    async with small(tmp_path) as node:
        await subscribed(http, node, sink.url("a"))
        for number in range(MESSAGES):
            await published(http, node, number)
            await retain(node)
        await wait_until(lambda: len(sink.at("a")) >= MESSAGES, "all arrive")
        assert numbers(sink, "a") == list(range(MESSAGES))


async def test_nothing_goes_when_it_cannot_be_accounted_for(
    tmp_path: Path, sink: Sink, http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.script = lambda received: Say(503)
    async with small(tmp_path) as node:
        await subscribed(http, node, sink.url("a"))
        for number in range(MESSAGES):
            await published(http, node, number)

        def broken(*_: object) -> None:
            raise OSError("the disk hums")

        with monkeypatch.context() as patch:
            patch.setattr(node.engine, "backlog", broken)
            with pytest.raises(OSError, match="hums"):
                await retain(node)
        assert node.journal.log.segments()[0].first == 0
        sink.script = lambda received: Say()
        await wait_until(lambda: len(set(numbers(sink, "a"))) == MESSAGES, "all are delivered after all")


async def test_the_outcomes_do_not_grow_for_ever(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    async with small(tmp_path) as node:
        await subscribed(http, node, sink.url("a"))
        for number in range(MESSAGES):
            await published(http, node, number)
            await node.settlement.save()
        await wait_until(lambda: len(sink.at("a")) == MESSAGES, "all arrive")
        await node.settlement.save()
        assert sum(each.size for each in node.settlement.outcomes.segments()) > KEPT + SEGMENT
        await retain(node)
        assert sum(each.size for each in node.settlement.outcomes.segments()) <= KEPT + SEGMENT
