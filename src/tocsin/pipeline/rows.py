"""What came of records, as rows of the tables."""

from collections import Counter
from dataclasses import dataclass, field

from tocsin.model.delivery import Outcome
from tocsin.model.notification import Notification
from tocsin.pipeline.hop import Failed, Seen, Told
from tocsin.pipeline.part import Part, Row
from tocsin.pipeline.source import LOG, OUTCOMES
from tocsin.pipeline.tables import DELIVERIES, ERRORS, HISTORY, MATCHES, NOTIFICATIONS
from tocsin.store.codec import encode

RECORDS = "records"


@dataclass
class Sink:
    """Counts all that is added, and writes the tables that are asked for."""

    part: Part
    tables: frozenset[str]
    counted: Counter[str] = field(default_factory=Counter)
    by_subscription: Counter[str] = field(default_factory=Counter)

    def add(self, table: str, row: Row, size: int = 0) -> None:
        self.counted[table] += 1
        if table in self.tables:
            self.part.add(table, row, size)

    def add_seen(self, seen: Seen) -> None:
        if seen.late:  # the record and its notifications have their rows
            for told in seen.told:
                self._add_matched(told)
            return
        self.counted[RECORDS] += 1
        for failed in seen.failed:
            self._add_failed(LOG, seen.offset, failed)
        for told in seen.told:
            self._add_told(told)

    def add_outcomes(self, offset: int, outcomes: tuple[Outcome, ...] | Failed) -> None:
        self.counted[RECORDS] += 1
        if isinstance(outcomes, Failed):
            self._add_failed(OUTCOMES, offset, outcomes)
            return
        for outcome in outcomes:
            self.add(HISTORY, _history_row(outcome))

    def _add_told(self, told: Told) -> None:
        said = told.notification
        self.add(NOTIFICATIONS, _notification_row(said), len(said.payload.data))
        self._add_matched(told)

    def _add_matched(self, told: Told) -> None:
        said = told.notification
        for subscription in told.matched:
            self.add(MATCHES, (said.id, *_place(said), subscription.id, said.when // 1_000))
        for delivery in told.deliveries:
            self.add(DELIVERIES, (encode(delivery),), len(delivery.body))
        for failed in told.failed:
            self._add_failed(LOG, said.at.offset, failed)
        self.by_subscription.update(each.id for each in told.matched)

    def _add_failed(self, log: str, offset: int, failed: Failed) -> None:
        self.add(ERRORS, (log, offset, failed.subscription, failed.reason))


def _place(value: Notification | Outcome) -> tuple[str, int, int]:
    return value.at.node, value.at.offset, value.index


def _notification_row(said: Notification) -> Row:
    kind = None if said.type is None else str(said.type)
    words = (said.dialect, said.producer, str(said.topic), kind, said.attributes)
    payload = (said.payload.media_type, said.payload.data)
    return (said.id, *_place(said), said.when // 1_000, *words, *payload, said.cause)


def _history_row(outcome: Outcome) -> Row:
    match = outcome.match
    came = (outcome.when // 1_000, outcome.result, outcome.attempt, outcome.detail)
    return (match.notification, match.subscription, *_place(outcome), *came)
