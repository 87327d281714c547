"""The current message of each topic: the last that was published on it (WS-BaseNotification 1.3 s4.3)."""

from collections.abc import Awaitable, Callable, Iterable

from tocsin.broker.caller import Caller
from tocsin.broker.journal import Arrival, Follower, arrival
from tocsin.model.filters import TopicIs
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.runtime.write_behind import WriteBehind
from tocsin.store.topics import CurrentMessageTable, CurrentSaving

MOST_TOPICS = 10_000
MOST_BYTES = 64 << 20
SAVE_SECONDS = 5.0
_OVERHEAD = 1024  # bytes that a notification takes besides its payload, or a little less
_Topics = dict[Topic, None]
_LOOKED_BACK = 100_000  # records, when nothing was saved before


Elsewhere = Callable[[Topic, bool], Awaitable[Iterable[Notification]]]


class CurrentMessages:
    """Bounded in number and in bytes; topics that were silent for longest are forgotten first. `elsewhere` are those
    of other nodes in a ring: whoever has the key of a topic now need not be who had it when something was said."""

    def __init__(self, table: CurrentMessageTable, end: int, elsewhere: Elsewhere) -> None:
        self._elsewhere = elsewhere
        self._writer = WriteBehind(self._collect, lambda what: table.save(what[0]), self._put_back)
        self._last: dict[Topic, Notification] = {}
        self._bytes = 0
        self._offset = 0
        self._fresh: _Topics = {}
        self._gone: _Topics = {}

        offset, saved = table.load()
        self._arrived(arrival(0, list(saved), None, None))
        self._fresh.clear()
        self._offset = max(0, end - _LOOKED_BACK) if offset is None else offset

    def follower(self) -> Follower:
        return Follower(accepted=self._arrived, since=self._offset)

    async def get(self, caller: Caller, asked: TopicIs) -> Notification:
        if not caller.may_subscribe((asked,)):
            raise caller.may_not("hear of this topic")
        topic = _one_topic(asked)
        own = self.at(topic)
        known: list[Notification] = [*(() if own is None else (own,)), *await self._elsewhere(topic, own is not None)]
        if not known:
            raise Refusal("no-current-message", f"nothing was published on {topic} yet; subscribe to be told")
        return max(known, key=lambda each: each.when)

    def at(self, topic: Topic) -> Notification | None:
        return self._last.get(topic)

    def latest(self, most: int) -> list[Notification]:
        """One of each topic, those that were silent for longest first; of the topics heard of last."""
        found = list(self._last.values())
        return found[-most:]

    async def save(self) -> None:
        if self._fresh or self._gone:
            self._writer.changed()
        await self._writer.save()

    def _collect(self) -> tuple[CurrentSaving, _Topics, _Topics]:
        """Only references leave the loop, in which everything is noted."""
        fresh, self._fresh = self._fresh, {}
        gone, self._gone = self._gone, {}
        last = self._last
        saving = CurrentSaving(
            self._offset,
            [last[topic] for topic in fresh if topic in last],
            [str(topic) for topic in gone if topic not in last],
        )
        return saving, fresh, gone

    def _put_back(self, what: tuple[CurrentSaving, _Topics, _Topics]) -> None:
        _, fresh, gone = what
        self._fresh, self._gone = fresh | self._fresh, gone | self._gone

    def _arrived(self, arrived: Arrival) -> None:
        last = self._last
        for each in arrived.public:
            topic = each.topic
            before = last.pop(topic, None)
            if before is not None:
                self._bytes -= len(before.payload.data) + _OVERHEAD
            last[topic] = each
            self._fresh[topic] = None
            self._bytes += len(each.payload.data) + _OVERHEAD
        if len(last) > MOST_TOPICS or self._bytes > MOST_BYTES:
            self._make_room()
        self._offset = arrived.offset + 1

    def _make_room(self) -> None:
        while len(self._last) > MOST_TOPICS or (self._bytes > MOST_BYTES and len(self._last) > 1):
            topic = next(iter(self._last))
            self._bytes -= len(self._last.pop(topic).payload.data) + _OVERHEAD
            self._fresh.pop(topic, None)
            self._gone[topic] = None


def _one_topic(asked: TopicIs) -> Topic:
    steps = asked.alternatives[0] if len(asked.alternatives) == 1 else ()
    names = tuple(step for step in steps if isinstance(step, QName) and step.local != "*")
    if not names or len(names) < len(steps):
        raise Refusal("several-topics", "a current message is of one topic: name it without wildcards or alternatives")
    return Topic(names)
