"""Direct delivery: consumers hear of it while it is being written; what is on disk decides what happened."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.whole.life import Life, living
from tests.whole.shell import records, wait_until
from tests.whole.sink import Say, Sink

from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.settings import SettingsError, load
from tocsin.model.identity import SubscriptionId
from tocsin.store.errors import CannotAppend
from tocsin.store.log.appender import Appender, BeforeMark
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


class Disk:
    """Takes its time, and may fail in the end."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._ready.set()
        self.full = False

    def commit(self, appender: Appender, payloads: Sequence[bytes], rest: Sequence[object], mark: BeforeMark) -> None:
        self._ready.wait(30)
        if self.full and "outcomes" not in str(appender._directory):
            raise CannotAppend("no room")
        COMMIT(appender, payloads, rest, mark)

    @contextmanager
    def busy(self) -> Iterator[None]:
        self._ready.clear()
        try:
            yield
        finally:
            self._ready.set()


COMMIT = Appender.commit


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(
        Appender, "commit", lambda appender, payloads, rest, mark: made.commit(appender, payloads, rest, mark)
    )
    return made


def posted(life: Life, *numbers: int) -> "list[asyncio.Task[Answer]]":
    return [asyncio.create_task(life.post(number)) for number in numbers]


def saved(life: Life) -> tuple[int, Mapping[SubscriptionId, tuple[int, int]]]:
    engine = life.node.engine
    assert isinstance(engine, EmbeddedEngine)
    return engine.progress()


async def test_consumers_hear_of_it_before_it_is_on_disk_and_its_publisher_does_not(
    tmp_path: Path, http: HttpClient, sink: Sink, disk: Disk
) -> None:
    async with living(tmp_path, "embedded", http, sink, mode="direct") as life:
        await life.subscribe("a")
        with disk.busy():
            waiting = posted(life, 1)
            await wait_until(lambda: life.got("a") == [1], "it is told")
            assert not waiting[0].done()
            matched_to, lanes = saved(life)
            assert matched_to == life.node.journal.log.durable == 1 and all(place < (1, 0) for place in lanes.values())
        assert (await waiting[0]).status == 202
        await life.publish(2)
        await wait_until(lambda: life.got("a") == [1, 2], "once each")


async def test_a_change_counts_when_it_is_on_disk_and_order_is_kept(
    tmp_path: Path, http: HttpClient, sink: Sink, disk: Disk
) -> None:
    async with living(tmp_path, "embedded", http, sink, mode="direct") as life:
        await life.subscribe("a")
        await life.publish(0)
        with disk.busy():
            first = posted(life, 1)
            await wait_until(lambda: life.got("a") == [0, 1], "it is told")
            subscribing = asyncio.create_task(life.subscribe("b"))
            await wait_until(lambda: life.node.standing.changing, "the change waits for the disk")
            then = posted(life, 2)
            await wait_until(lambda: len(life.node.journal.waiting) == 3, "and so does what follows")
        await asyncio.gather(*first, subscribing, *then)
        await wait_until(lambda: life.got("b") == [2], "whoever came before it has it")
        await wait_until(lambda: life.got("a") == [0, 1, 2], "in order, once each")


async def test_what_failed_was_sent_and_what_takes_its_place_is_not_lost(
    tmp_path: Path, http: HttpClient, sink: Sink, disk: Disk
) -> None:
    async with living(tmp_path, "embedded", http, sink, mode="direct", attempts=1000, queue=3) as life:
        await life.subscribe("a")
        await life.subscribe("b")
        await life.publish(0)
        await wait_until(lambda: life.got("b") == [0] == life.got("a"), "both stand at the same place")
        sink.script = lambda received: Say(503) if received.path == "/b" else Say()
        disk.full = True
        with disk.busy():
            lost = posted(life, *range(1, 9))
            await wait_until(lambda: len(life.node.journal.waiting) == 8, "all wait for the disk")
            await wait_until(lambda: len(life.got("a")) > 2 and len(life.got("b")) > 2, "what will fail is told")
        assert {each.status for each in await asyncio.gather(*lost)} == {503}
        disk.full = False
        assert saved(life)[0] <= life.node.journal.log.durable == 3
        sink.script = lambda received: Say()
        await life.publish(*range(10, 20))
        await wait_until(lambda: 19 in life.got("a") and 19 in life.got("b"), "it goes on")
        assert life.got("a")[-10:] == list(range(10, 20))
        taken = [each for each in life.got("b") if each >= 10]
        assert taken == list(range(10, 20)), "nothing that was accepted is passed over"
    assert len(records(tmp_path)) == 13


async def test_a_queue_that_overflows_finds_the_rest_in_the_log(
    tmp_path: Path, http: HttpClient, sink: Sink, disk: Disk
) -> None:
    """It asks for what is not on disk yet."""
    async with living(tmp_path, "embedded", http, sink, mode="direct", attempts=1000, queue=2) as life:
        await life.subscribe("a")
        with disk.busy():
            waiting = posted(life, *range(1, 31))
            await wait_until(lambda: len(life.node.journal.waiting) == 30, "all wait for the disk")
            await wait_until(lambda: len(life.got("a")) >= 2, "the first are told")
        await asyncio.gather(*waiting)
        await wait_until(lambda: len(life.got("a")) == 30, "all are told")
        assert sorted(life.got("a")) == list(range(1, 31)), "once each"


async def test_what_is_told_ahead_of_the_disk_is_told_again_after_a_crash_or_not_at_all(
    tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, "embedded", http, sink, mode="direct") as life:
        await life.subscribe("a")
        await life.publish(*range(20))
        await wait_until(lambda: len(life.got("a")) == 20, "all arrive")
    async with living(tmp_path, "embedded", http, sink, mode="direct") as life:
        await life.publish(20)
        await wait_until(lambda: 20 in life.got("a"), "it goes on")
        assert life.got("a") == list(range(21)), "after an orderly end nothing comes twice"


def test_it_needs_the_engine_that_matches_here() -> None:
    with pytest.raises(SettingsError, match=r"delivery\.mode = direct .* needs the embedded engine"):
        load({"delivery-mode": "direct", "engine": "spark"}, {})
    assert load({"delivery-mode": "direct", "engine": "embedded"}, {}).delivery.mode == "direct"
