"""Topics are counted, kept, and bounded."""

from pathlib import Path

import pytest
from tests.broker.records import accepted

from tocsin.broker.topics import topic_counts as topics
from tocsin.broker.topics.topic_counts import TopicCounts
from tocsin.flow.flow import normalise
from tocsin.store.database import Store


async def test_counts_are_kept(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tocsin.db")
    counts = TopicCounts.load(store)
    for offset, topic in enumerate(["a", "b", "a"]):
        counts.count(normalise(accepted(offset, topic)))
    await counts.save(store)
    assert TopicCounts.load(store).rows() == [("a", 2, 2), ("b", 1, 1)]


def test_the_oldest_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "MOST_TOPICS", 3)
    counts = TopicCounts({})
    for offset, topic in enumerate(["a", "b", "c", "a", "d", "e"]):
        counts.count(normalise(accepted(offset, topic)))
    assert [name for name, _, _ in counts.rows()] == ["a", "d", "e"]


def test_a_name_has_a_longest_length() -> None:
    counts = TopicCounts({})
    counts.count(normalise(accepted(0, "a" * 5000)))
    ((name, _, _),) = counts.rows()
    assert len(name) == topics.LONGEST_NAME
