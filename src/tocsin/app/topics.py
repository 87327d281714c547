"""The topics this node has seen, for people who look for the one to subscribe to."""

import asyncio
from collections.abc import Iterable

import msgspec

from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.store.database import Store

_META = "topics"
MOST_TOPICS = 10_000


class TopicCounts:
    """Kept with each checkpoint, so that a crash loses counts of a moment at most."""

    def __init__(self, seen: dict[str, tuple[int, Instant]]) -> None:
        self._seen = seen
        self._fresh: dict[Topic, list[int]] = {}
        self._unsaved = False

    @classmethod
    def load(cls, store: Store) -> "TopicCounts":
        text = store.meta(_META)
        return cls(msgspec.json.decode(text, type=dict[str, tuple[int, Instant]]) if text else {})

    def count(self, notifications: Iterable[Notification]) -> None:
        for each in notifications:
            entry = self._fresh.get(each.topic)
            if entry is None:
                self._fresh[each.topic] = [1, each.when]
            else:
                entry[0] += 1
                entry[1] = each.when

    def rows(self) -> list[tuple[str, int, Instant]]:
        self._fold()
        return sorted((name, count, last) for name, (count, last) in self._seen.items())

    async def save(self, store: Store) -> None:
        """Only a copy leaves the loop, in which everything is counted."""
        self._fold()
        if self._unsaved:
            self._unsaved = False
            await asyncio.to_thread(_save, store, dict(self._seen))

    def _fold(self) -> None:
        fresh, self._fresh = self._fresh, {}
        self._unsaved = self._unsaved or bool(fresh)
        for topic, (count, last) in fresh.items():
            name = str(topic)
            if name in self._seen or len(self._seen) < MOST_TOPICS:
                self._seen[name] = (self._seen.get(name, (0, 0))[0] + count, Instant(last))


def _save(store: Store, seen: dict[str, tuple[int, Instant]]) -> None:
    store.set_meta(_META, msgspec.json.encode(seen).decode())
