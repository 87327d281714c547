"""Who publishes more than can be stored or sent is told to come again."""

import asyncio
import contextlib
import time
from pathlib import Path

import pytest
from tests.whole.acts import until
from tests.whole.life import living, work
from tests.whole.shell import document, wait_until
from tests.whole.sink import Say, Sink
from tests.whole.speech import message, notify
from tests.whole.test_direct import Disk, disk

from tocsin.broker import lifecycle
from tocsin.store.log import log as log_module
from tocsin.wire import server
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
__all__ = ["disk"]


def is_pressure(answer: Answer) -> bool:
    return answer.status == 503 and int(dict(answer.headers)["retry-after"]) > 0


@pytest.mark.parametrize("bound", ["bytes", "records"])
async def test_what_waits_for_the_disk_is_bounded(
    bound: str, tmp_path: Path, http: HttpClient, sink: Sink, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bound == "records":
        monkeypatch.setattr(log_module, "MOST_WAITING", 5)
    limits = {"waiting_bytes": 2000} if bound == "bytes" else {}
    async with living(tmp_path, "embedded", http, sink, limits=limits) as life:
        await life.subscribe("a")
        with disk.busy():
            posts = [asyncio.create_task(life.post(number)) for number in range(40)]
            refused = await wait_until(lambda: [each for each in posts if each.done()], "some are refused")
            for each in refused:
                answer = each.result()
                assert is_pressure(answer), answer
                assert document(answer.body)["title"] == "overloaded"
                assert "the disk does not keep up" in document(answer.body)["detail"]
            spoken = await http.request("POST", f"{life.node.base_url}/broker", *notify(message("<a/>", "t")))
            assert is_pressure(spoken) and b"<s:Value>s:Receiver</s:Value>" in spoken.body
        statuses = [each.status for each in await asyncio.gather(*posts)]
        assert set(statuses) == {202, 503}
        await life.publish(100)
        await wait_until(lambda: 100 in life.got("a"), "it goes on")
        assert len(life.got("a")) == statuses.count(202) + 1, "what was refused is not told"


async def test_what_waits_to_be_sent_is_bounded(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, "spark", http, sink, limits={"outbox_rows": 10}, attempts=10_000) as life:
        await life.subscribe("a")
        sink.script = lambda received: Say(503)
        await life.publish(*range(11))
        await wait_until(lambda: life.node.engine.overload, "it is noticed")
        answer = await life.post(11)
        assert is_pressure(answer) and "more than 10 deliveries wait" in document(answer.body)["detail"]
        sink.script = lambda received: Say()
        await wait_until(lambda: life.node.engine.overload is None, "and noticed when it is over")
        assert (await life.post(11)).status == 202
        work(tmp_path)
        await wait_until(lambda: 11 in life.got("a"), "it goes on")


async def test_more_connections_than_there_is_room_for(
    tmp_path: Path, http: HttpClient, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_most_connections", lambda: 3)
    async with living(tmp_path, "embedded", http, sink) as life, contextlib.AsyncExitStack() as stack:
        place = life.node.base_url.removeprefix("http://").split(":")
        for _ in range(3):
            _, writer = await asyncio.open_connection(place[0], int(place[1]))
            stack.callback(writer.close)
        answer = await until(lambda: life.post(1), is_pressure)
        assert "too many connections" in document(answer.body)["detail"]
        assert dict(answer.headers)["connection"] == "close"
        await stack.aclose()
        await until(lambda: life.post(1), lambda found: found.status == 202)


async def test_the_end_does_not_wait_for_consumers_that_are_down(
    tmp_path: Path, http: HttpClient, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "DRAIN_SECONDS", 200.0)
    async with living(tmp_path, "embedded", http, sink, attempts=1000, breaker_cooldown=20.0) as life:
        await life.subscribe("a")
        await life.subscribe("b")
        await life.publish(1)
        await wait_until(lambda: life.got("a") and life.got("b"), "both are there")
        await sink.down()
        await life.publish(2, 3)
        await wait_until(lambda: life.node.engine.deliverer.figures().breakers_open, "they are down")
        began = time.monotonic()
    assert time.monotonic() - began < 100
    await sink.up()
    async with living(tmp_path, "embedded", http, sink) as life:
        await wait_until(lambda: life.got("a") == [1, 2, 3] == life.got("b"), "nothing is lost")
