"""A subscription that begins in the past: what is kept from there on, in order, then what is new."""

from pathlib import Path

import pytest
from tests.whole.life import ENGINES, Engine, living, retain
from tests.whole.shell import document, records, wait_until
from tests.whole.sink import Say, Sink

from tocsin.broker.engines.settlement import Settlement
from tocsin.mediation.times import timestamp
from tocsin.model.identity import Instant, after
from tocsin.wire.http_client import HttpClient

pytestmark = [pytest.mark.broker, pytest.mark.parametrize("engine", ENGINES)]


async def test_from_an_offset(engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    """More than a queue holds, and more comes while it is read."""
    async with living(tmp_path, engine, http, sink, queue=7) as life:
        for start in range(0, 60, 20):
            await life.publish(*range(start, start + 20))
            await life.publish(start, topic="other")
        name = await life.subscribe("a", {"offset": 10})
        assert document((await life.api(f"/{name}", method="GET")).body)["since"] == 10
        await life.publish(*range(60, 70))
        await wait_until(lambda: 69 in life.got("a"), "all arrive")
        assert life.got("a") == list(range(10, 70))


async def test_from_a_time(engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        await life.publish(*range(10))
        whens = [record.when for record in records(tmp_path)]
        for path, when, first in [
            ("at", whens[4], 4),
            ("between", Instant(whens[4] + 1), 5),
            ("before", Instant(0), 0),
            ("now", life.node.now(), 10),
        ]:
            await life.subscribe(path, {"time": timestamp(when)})
            await life.publish()
            await wait_until(lambda: len(life.got(path)) == 10 - first, path)  # noqa: B023
            assert life.got(path) == list(range(first, 10))
        await life.publish(10)
        await wait_until(lambda: life.got("now") == [10], "and what is new")


async def test_what_cannot_be_begun_with_is_refused(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        await life.publish(1, 2)
        tomorrow = timestamp(after(life.node.now(), 86_400))
        for start, words in [
            ({"offset": 3}, "no record 3"),
            ({"time": tomorrow}, "is in the future"),
            ({"time": "yesterday"}, "not a time to begin at"),
            ({}, "name one of the two"),
            ({"offset": 1, "time": "2020-01-01T00:00:00Z"}, "name one of the two"),
            ({"offset": -1}, ">= 0"),
        ]:
            answer = await life.api("", {"consumer": sink.url("a"), "from": start})
            assert answer.status == 400 and words in document(answer.body)["detail"], answer
        assert len(records(tmp_path)) == 2
        await life.subscribe("a", {"offset": 2})
        await life.publish(3)
        await wait_until(lambda: life.got("a") == [3], "the end of the log is a place to begin")


async def test_what_is_gone_is_gone(engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, engine, http, sink, log={"segment_bytes": 1024, "retain_bytes": 2048}) as life:
        for number in range(60):
            await life.publish(number)
        await retain(life.node)
        first = life.node.journal.log.segments()[0].first
        assert first > 0
        name = await life.subscribe("a", {"offset": 0})
        assert document((await life.api(f"/{name}", method="GET")).body)["since"] == first
        await life.publish()
        await wait_until(lambda: 59 in life.got("a"), "the rest arrives")
        assert life.got("a") == list(range(first, 60))


async def test_a_crash_while_it_catches_up(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before anything was saved: the change is met again, and so is what was before it."""
    with monkeypatch.context() as patch:
        patch.setattr(Settlement, "save", nothing)
        async with living(tmp_path, engine, http, sink, attempts=1000) as life:
            await life.publish(*range(10))
            sink.script = lambda received: Say(503)
            await life.subscribe("a", {"offset": 2})
            await life.publish(10)
    sink.script = lambda received: Say()
    sink.received.clear()
    async with living(tmp_path, engine, http, sink) as life:
        await life.publish(11)
        await wait_until(lambda: 11 in life.got("a"), "it goes on")
        assert life.got("a") == list(range(2, 12))


async def test_a_restart_while_it_catches_up(engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, engine, http, sink, attempts=1000, queue=3) as life:
        await life.publish(*range(10))
        sink.script = lambda received: Say() if document(received.body)["data"] < 5 else Say(503)
        await life.subscribe("a", {"offset": 2})
        await life.publish(10)
        await wait_until(lambda: 5 in life.got("a"), "half of it")
    sink.script = lambda received: Say()
    sink.received.clear()
    async with living(tmp_path, engine, http, sink, queue=3) as life:
        await life.publish(11)
        await wait_until(lambda: 11 in life.got("a"), "it goes on")
        assert life.got("a") == list(range(5, 12))


async def nothing(settlement: Settlement) -> None:
    """Stands for a checkpoint that the end of the process prevented."""
