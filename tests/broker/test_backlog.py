"""A subscription that is far behind reads the log in pages."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.broker.records import accepted, subscribed

from tocsin.broker.engines import embedded
from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.flow.flow import Flow
from tocsin.model.identity import SubscriptionId
from tocsin.model.records import Accepted, Changed
from tocsin.store.codec import encode
from tocsin.store.database import Store
from tocsin.store.judge.judge import Judges
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader

RARE = SubscriptionId("rare")


nobody: Any = None
judges: list[Judges] = []


async def engine_on(folder: Path, records: list[Accepted | Changed]) -> EmbeddedEngine:
    store = Store.open(folder / "tocsin.db")
    log = Log.open(folder / "log", before_mark=lambda changes: store.apply(changes))  # type: ignore[arg-type]
    await asyncio.gather(*(log.append(encode(each), each if isinstance(each, Changed) else None) for each in records))
    await log.close()
    judges.append(Judges())
    return EmbeddedEngine(Flow("http://here"), store, LogReader(folder / "log"), judges[-1], nobody)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(embedded, "PAGE", 7)
    yield
    while judges:
        judges.pop().close()


async def test_what_is_wanted_is_found_behind_many_that_are_not(tmp_path: Path) -> None:
    noise = [accepted(offset, "noise") for offset in range(1, 60)]
    engine = await engine_on(tmp_path, [subscribed(0, RARE, "alarm"), *noise, accepted(60, "alarm")])
    (entry,) = await engine.backlog(RARE, (0, 0), 10)
    assert entry.place == (60, 0)
    assert await engine.backlog(RARE, entry.place, 10) == []


async def test_a_page_gives_no_more_than_asked_and_the_rest_follows(tmp_path: Path) -> None:
    records = [accepted(offset, "alarm") for offset in range(1, 30)]
    engine = await engine_on(tmp_path, [subscribed(0, RARE, "alarm"), *records])
    places, after = [], (0, 0)
    while page := await engine.backlog(RARE, after, 3):
        assert len(page) <= 3
        places += [entry.place for entry in page]
        after = page[-1].place
    assert places == [(offset, 0) for offset in range(1, 30)]


async def test_a_read_that_was_cut_short_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = [accepted(offset, "noise") for offset in range(1, 60)]
    engine = await engine_on(tmp_path, [subscribed(0, RARE, "alarm"), *noise, accepted(60, "alarm")])
    starts: list[int] = []
    read_page = engine._read_page

    def cut_short(name: SubscriptionId, after: tuple[int, int], start: int, limit: int) -> object:
        starts.append(start)
        if len(starts) == 3:
            raise TimeoutError
        return read_page(name, after, start, limit)

    monkeypatch.setattr(engine, "_read_page", cut_short)
    with pytest.raises(TimeoutError):
        await engine.backlog(RARE, (0, 0), 10)
    assert [entry.place for entry in await engine.backlog(RARE, (0, 0), 10)] == [(60, 0)]
    assert starts[2] == starts[3] == 14


async def test_a_record_that_todays_rules_refuse_does_not_stop_the_rest(tmp_path: Path) -> None:
    gone, fine = accepted(1, "alarm", dialect="gone"), accepted(2, "alarm")
    engine = await engine_on(tmp_path, [subscribed(0, RARE, "alarm"), gone, fine])
    assert [entry.place for entry in await engine.backlog(RARE, (0, 0), 10)] == [(2, 0)]


async def test_a_page_of_large_ones_ends_by_its_bytes_and_the_rest_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "PAGE_BYTES", 25_000)
    records = [accepted(offset, "alarm", body=b"x" * 10_000) for offset in range(1, 30)]
    engine = await engine_on(tmp_path, [subscribed(0, RARE, "alarm"), *records])
    places, after = [], (0, 0)
    while page := await engine.backlog(RARE, after, 100):
        assert sum(entry.weight for entry in page) < 25_000 + 11_000
        places += [entry.place for entry in page]
        after = page[-1].place
    assert places == [(offset, 0) for offset in range(1, 30)]


async def test_one_that_is_larger_than_a_page_is_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "PAGE_BYTES", 5_000)
    records = [accepted(offset, "alarm", body=b"x" * 10_000) for offset in (1, 2)]
    engine = await engine_on(tmp_path, [subscribed(0, RARE, "alarm"), *records])
    (entry,) = await engine.backlog(RARE, (0, 0), 10)
    assert entry.place == (1, 0)
