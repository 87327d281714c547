"""What only shows when several things happen at once in one node."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from tests.whole.acts import call
from tests.whole.shell import document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import message, notify

from tocsin.broker import lifecycle
from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.settings import Listen, Settings
from tocsin.mediation.operations import Renew
from tocsin.model.delivery import Outcome
from tocsin.model.identity import after
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form
from tocsin.platform.serving import serving
from tocsin.store.errors import CannotAppend
from tocsin.store.log.reader import LogReader
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


@asynccontextmanager
async def running(data: Path) -> AsyncIterator[Node]:
    told = list[str]()
    async with serving(Settings(data, "embedded", None, Listen(port=0)), told.append) as node:
        yield node
    assert told == []


async def subscribed(http: HttpClient, node: Node, consumer: str = "http://127.0.0.1:9/", topic: str = "t") -> str:
    answer = await call(http, "POST", f"{node.base_url}/api/subscriptions", {"consumer": consumer, "topic": topic})
    return str(document(answer.body)["id"])


def renewal(node: Node, name: str) -> Renew:
    return Renew(name, after(node.now(), 1800), Form("cloudevents"))


async def test_who_was_told_that_it_ended_is_not_renewed(tmp_path: Path, http: HttpClient) -> None:
    """Both are asked before either is on disk."""
    async with running(tmp_path) as node:
        names = [await subscribed(http, node) for _ in range(20)]
        for name in names:
            ended, renewed = await asyncio.gather(
                node.subscriptions.unsubscribe(NODE, name),
                node.subscriptions.renew(NODE, renewal(node, name)),
                return_exceptions=True,
            )
            assert not isinstance(ended, BaseException) and isinstance(renewed, Refusal)
        assert node.subscriptions.page(NODE, "", 100) == []
    async with running(tmp_path) as node:
        assert node.subscriptions.page(NODE, "", 100) == []


async def test_who_renews_in_time_is_not_reaped(
    tmp_path: Path, http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as node:
        name = await subscribed(http, node)
        over = after(node.now(), 4000)

        def expired() -> list[str]:
            with monkeypatch.context() as later:
                later.setattr(node.standing, "_now", lambda: over)
                return [each.id for each in node.standing.expired()]

        assert expired() == [name]
        renewing = asyncio.create_task(
            node.subscriptions.renew(NODE, Renew(name, after(node.now(), 5000), Form("cloudevents")))
        )
        await asyncio.sleep(0)  # it is asked, and not yet on disk
        assert expired() == []
        await renewing
        assert expired() == []


async def test_a_refused_change_leaves_things_as_they_are(
    tmp_path: Path, http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as node:
        name = await subscribed(http, node)

        def full(*_: object) -> "asyncio.Future[int]":
            future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            future.set_exception(CannotAppend("no room"))
            return future

        with monkeypatch.context() as patch:
            patch.setattr(node.journal.log, "append_all", full)
            for _ in range(3):
                answer = await call(http, "DELETE", f"{node.base_url}/api/subscriptions/{name}")
                assert answer.status == 503 and dict(answer.headers)["retry-after"]
                answer = await http.request("POST", f"{node.base_url}/broker", *notify(message("<a/>", "t")))
                assert answer.status == 503
        assert len(node.journal.waiting) == 0, "what failed is not kept"
        assert [each.id for each in node.subscriptions.page(NODE, "", 10)] == [name]
        await node.subscriptions.renew(NODE, renewal(node, name))


async def test_every_outcome_is_in_the_history_after_an_orderly_end(
    tmp_path: Path, sink: Sink, http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the end meets the checkpoints."""
    monkeypatch.setattr(lifecycle, "CHECKPOINT_SECONDS", 0.001)
    for number in range(8):
        data = tmp_path / str(number)
        async with running(data) as node:
            await subscribed(http, node, sink.url(f"{number}"))
            for _ in range(5 + number):
                await http.request("POST", f"{node.base_url}/broker", *notify(message("<a/>", "t")))
        reader = LogReader(data / "outcomes")
        outcomes = [each for _, payload in reader.frames(0, reader.end()) for each in decoded(payload)]
        reader.close()
        assert Counter(each.result for each in outcomes) == {"delivered": 5 + number}
        assert len({(each.at, each.index) for each in outcomes}) == 5 + number
        assert len(sink.at(f"{number}")) == 5 + number


def decoded(payload: bytes) -> list[Outcome]:
    return msgspec.msgpack.decode(payload, type=list[Outcome])


async def test_topics_are_counted_while_they_are_saved(
    tmp_path: Path, http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "CHECKPOINT_SECONDS", 0.001)
    async with running(tmp_path) as node:
        for batch in range(20):
            messages = [message("<a/>", f"many/t{each % 97}") for each in range(batch, batch + 50)]
            assert (await http.request("POST", f"{node.base_url}/broker", *notify(*messages))).status == 202
        assert sum(count for _, count, _ in node.topics.counts(NODE)) == 1000
    async with running(tmp_path) as node:
        assert sum(count for _, count, _ in node.topics.counts(NODE)) == 1000


async def test_a_change_of_mind_in_the_queue(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    """What was matched before the end of a subscription and not yet sent is not sent after it."""
    async with running(tmp_path) as node:
        name = await subscribed(http, node, sink.url("a"))
        await http.request("POST", f"{node.base_url}/broker", *notify(message("<a/>", "t")))
        await wait_until(lambda: sink.at("a"), "the first arrives")
        await asyncio.gather(
            *(http.request("POST", f"{node.base_url}/broker", *notify(message("<a/>", "t"))) for _ in range(20)),
            call(http, "DELETE", f"{node.base_url}/api/subscriptions/{name}"),
        )
        heard = len(sink.at("a"))
        await subscribed(http, node, sink.url("b"))
        await http.request("POST", f"{node.base_url}/broker", *notify(message("<a/>", "t")))
        await wait_until(lambda: sink.at("b"), "a later one arrives elsewhere")
        assert len(sink.at("a")) <= heard + 1, "at most what was in flight"
