"""Events seen before: all but the id, the time and the data of a sender's events is the same from one to the next.

The outcome is that of reading in full. Only an event that has nothing beyond what is compared here is remembered, and
only when its data is a text that needs no second look at the JSON.
"""

from msgspec import Struct

from tocsin.mediation.ce.attributes import LONGEST_NAME, is_time
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted

MOST_KNOWN = 8192
LONGEST_KEPT = 512
_SAME = ("specversion", "source", "type", "subject", "datacontenttype")
_Key = tuple[object, ...]


class _Known(Struct, frozen=True):
    producer: str
    topic: Topic
    kind: QName | str | None
    media_type: str
    subject: Pairs


class EventMemo:
    """A bounded cache; it is emptied when it is full, for then its senders do not repeat themselves."""

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._known: dict[_Key, _Known] = {}

    def recall(self, record: Accepted, event: dict[str, object]) -> Notification | None:
        get = event.get
        name, data, time = get("id"), get("data"), get("time")
        if type(name) is not str or type(data) is not str or type(time) is not str:
            return None
        key = (get("specversion"), get("source"), get("type"), get("subject"), get("datacontenttype"), len(event))
        try:
            known = self._known.get(key)
        except TypeError:  # a list or an object where a text should be
            return None
        if known is None or not _is_plain(name) or not is_time(time):
            return None
        return Notification(
            MessageId(name),
            record.at,
            0,
            record.when,
            self._dialect,
            record.cause,
            known.producer,
            known.topic,
            known.kind,
            (*known.subject, ("time", time)),
            Payload(known.media_type, data.encode()),
        )

    def learn(self, event: dict[str, object], read: Notification) -> None:
        same = tuple(event.get(name) for name in _SAME)
        present = [value for value in same if value is not None]
        # Beside those there are an id, a time and data, and nothing else.
        if len(event) != len(present) + 3 or not all(type(event.get(name)) is str for name in ("id", "time", "data")):
            return
        if event["data"] != _text(read.payload.data) or not all(len(str(each)) < LONGEST_KEPT for each in present):
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        subject = tuple(pair for pair in read.attributes if pair[0] == "subject")
        self._known[*same, len(event)] = _Known(read.producer, read.topic, read.type, read.payload.media_type, subject)


def _is_plain(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isascii() and name.isprintable() and not name.isspace()


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
