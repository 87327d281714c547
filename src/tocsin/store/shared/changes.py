"""The one order of subscriptions and declarations that nodes share, and the past by it for who is no node."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Message
from msgspec.structs import replace

from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.records import Accepted, Changed, Declared, Position
from tocsin.store.codec import decode
from tocsin.store.database import Store
from tocsin.store.judge.judge import FILTER_SECONDS
from tocsin.store.past import Past
from tocsin.store.places import Places
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import SharedLogError, answering, bounds, reader
from tocsin.store.shared.reading import header, read_range

NODE, NUMBER, LAST, BASE_URL = "node", "number", "last", "base-url"  # headers of a change
_CHANGES = Node("changes")  # in place of a node: where a change stands in the order that all share
_PAGE = 10_000


class SharedChange(NamedTuple):
    """A change as it stands in the shared log: who proposed it, and whether it is the last of what was proposed."""

    offset: int
    record: Changed | Declared
    node: str
    number: int
    last: bool


def change_of(message: Message) -> SharedChange:
    record = decode(message.value() or b"")
    if isinstance(record, Accepted):
        raise SharedLogError(f"record {message.offset()} of {message.topic()} is no change: something else wrote there")
    number, last = int(header(message, NUMBER) or 0), header(message, LAST) == "1"
    return SharedChange(int(message.offset() or 0), record, header(message, NODE), number, last)


class Admission:
    """Two nodes may change one subscription at once: what ended stays so, for all who read the order."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self._ended: set[SubscriptionId] = set()  # among those that the past does not have yet

    def admits(self, record: Changed | Declared) -> bool:
        if isinstance(record, Declared):
            return True
        subscription = record.subscription
        if subscription.id in self._ended or self._past.state_of(subscription.id) == "ended":
            return False
        if subscription.state == "ended":
            self._ended.add(subscription.id)
        return True


class SharedPast:
    """A database of the changes alone, by their offsets in the shared log; a Spark driver's, which is no node."""

    def __init__(self, data: Path, shared: SharedLog) -> None:
        data.mkdir(parents=True, exist_ok=True)
        self._shared = shared
        self.store = Store.open(Places(data).database)
        if self.store.meta("node") is not None:
            self.store.close()
            raise SharedLogError(f"{data} is a node's data directory; give the pipeline one of its own with --data")
        if (known := self.store.meta("shared")) not in (None, shared.shown):
            self.store.close()
            raise SharedLogError(f"{data} belongs to the shared log {known}; give {shared.shown} another with --data")
        self.store.set_meta("shared", shared.shown)
        self.store.claim_engine("spark")
        if self.store.meta(BASE_URL_KEY) is None:
            self.store.set_meta(BASE_URL_KEY, "")

    def close(self) -> None:
        self.store.close()

    def bring_up(self) -> None:
        """To what is in the shared log by now: no record there has met a later change."""
        start = self.store.past.end()
        with answering(self._shared):
            _, stop = bounds(reader(self._shared), self._shared.changes, 0)
        for page in _pages(read_range(self._shared, self._shared.changes, 0, start, stop)):
            admission = Admission(self.store.past)
            changes = [change_of(each) for each in page]
            records = [
                replace(each.record, at=Position(_CHANGES, each.offset))
                for each in changes
                if admission.admits(each.record)
            ]
            self.store.apply(records)
            self.store.set_meta(BASE_URL_KEY, header(page[-1], BASE_URL))
            self.store.set_meta(FILTER_SECONDS, header(page[-1], FILTER_SECONDS))


BASE_URL_KEY = "base_url"


def _pages(messages: Iterator[Message]) -> Iterator[list[Message]]:
    page: list[Message] = []
    for each in messages:
        page.append(each)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page
