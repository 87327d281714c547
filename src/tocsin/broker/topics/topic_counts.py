"""The topics this node has seen, for people who look for the one to subscribe to."""

import asyncio

import msgspec

from tocsin.broker.journal import Arrival
from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.store.database import Store

_META = "topics"
MOST_TOPICS = 2_000
LONGEST_NAME = 256
SAVE_SECONDS = 5.0
_Seen = dict[str, tuple[int, Instant]]


class TopicCounts:
    """Bounded, the oldest go first; kept every few seconds, so that a crash loses counts of a moment at most."""

    def __init__(self, store: Store) -> None:
        text = store.meta(_META)
        self._store = store
        self._seen: dict[str, tuple[int, Instant]] = msgspec.json.decode(text, type=_Seen) if text else {}
        self._fresh: dict[Topic, list[int]] = {}
        self._unsaved = False

    def arrived(self, arrived: Arrival) -> None:
        for each in arrived.public:
            entry = self._fresh.get(each.topic)
            if entry is None:
                if len(self._fresh) >= MOST_TOPICS:
                    self._fold()
                self._fresh[each.topic] = [1, each.when]
            else:
                entry[0] += 1
                entry[1] = each.when

    def rows(self) -> list[tuple[str, int, Instant]]:
        self._fold()
        return sorted((name, count, last) for name, (count, last) in self._seen.items())

    async def save(self) -> None:
        """Only a copy leaves the loop, in which everything is counted."""
        self._fold()
        if self._unsaved:
            self._unsaved = False
            await asyncio.to_thread(_save, self._store, dict(self._seen))

    def _fold(self) -> None:
        fresh, self._fresh = self._fresh, {}
        self._unsaved = self._unsaved or bool(fresh)
        for topic, (count, last) in sorted(fresh.items(), key=lambda each: each[1][1]):
            name = str(topic)[:LONGEST_NAME]
            before, _ = self._seen.pop(name, (0, 0))
            if len(self._seen) >= MOST_TOPICS:
                del self._seen[next(iter(self._seen))]
            self._seen[name] = (before + count, Instant(last))


def _save(store: Store, seen: dict[str, tuple[int, Instant]]) -> None:
    store.set_meta(_META, msgspec.json.encode(seen).decode())
