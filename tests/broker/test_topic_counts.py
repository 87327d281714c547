"""Topics are counted, kept, and bounded."""

from pathlib import Path

import pytest
from tests.broker.records import accepted

from tocsin.broker.journal import Arrival, arrival
from tocsin.broker.topics import topics
from tocsin.broker.topics.topics import TopicCounts
from tocsin.flow.flow import normalise
from tocsin.store.database import Store


def heard(offset: int, topic: str) -> Arrival:
    return arrival(offset, normalise(accepted(offset, topic)), None, None)


async def test_counts_are_kept(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tocsin.db")
    counts = TopicCounts(store)
    for offset, topic in enumerate(["a", "b", "a"]):
        counts.arrived(heard(offset, topic))
    await counts.save()
    assert TopicCounts(store).rows() == [("a", 2, 2), ("b", 1, 1)]


def test_the_oldest_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "MOST_TOPICS", 3)
    counts = TopicCounts(Store.open(tmp_path / "tocsin.db"))
    for offset, topic in enumerate(["a", "b", "c", "a", "d", "e"]):
        counts.arrived(heard(offset, topic))
    assert [name for name, _, _ in counts.rows()] == ["a", "d", "e"]


def test_a_name_has_a_longest_length(tmp_path: Path) -> None:
    counts = TopicCounts(Store.open(tmp_path / "tocsin.db"))
    counts.arrived(heard(0, "a" * 5000))
    ((name, _, _),) = counts.rows()
    assert len(name) == topics.LONGEST_NAME
