"""The table `subscriptions`, kept where a job reads several nodes: each once, as its last change left it.

One that spans several nodes stands in the log of each, under the same id. The last change is the latest by the time of
its record; of two at one time that which ended it, then by the node's name and the record. Which of two is the last
does not depend on when they are told, so the rows are the same in whatever order they come, and however often.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, Protocol

import pyarrow as pa
from deltalake import DeltaTable, PostCommitHookProperties
from deltalake.exceptions import DeltaError

from tocsin.matching.explain.wording import filter_text
from tocsin.model.identity import SECOND
from tocsin.model.records import Changed
from tocsin.pipeline.tables.schemas import DAY, SUBSCRIPTIONS, as_stored
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.outbox import Outbox

TOGETHER = 50_000  # changes that are merged at once
TIDY_COMMITS = 50
VACUUM_HOURS = 1  # whoever reads an old version has so long
_KNOWN = "subscriptions"
_RANK = ("time", "state = 'ended'", "node", "log_offset")
_QUIET = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


class Past(Protocol):
    """What changed in one node's log, from one record up to another."""

    def changes(self, since: int, before: int) -> Iterator[Changed]: ...


class SubscriptionTable:
    """Goes by the nodes' databases, which keep what retention takes from their logs. `pasts` are by the names that the
    offsets of batches have."""

    def __init__(self, storage: Storage, outbox: Outbox, pasts: Callable[[], Mapping[str, Past]]) -> None:
        self._storage, self._outbox, self._pasts = storage, outbox, pasts
        self._table: DeltaTable | None = None
        self._commits = 0

    def keep_up(self) -> None:
        """With the batches that are published. How far that is, is noted last: killed in between it is done again."""
        last = self._outbox.last()
        end, known = {} if last is None else json.loads(last.end), self._known()
        pasts = self._pasts()
        fresh = chain(*(past.changes(known.get(name, 0), end.get(name, 0)) for name, past in pasts.items()))
        while some := list(islice(fresh, TOGETHER)):
            self._merge(rows(some))
            known |= {name: end[name] for name in pasts.keys() & end.keys()}
        if known != self._known():
            self._outbox.name(_KNOWN, json.dumps({"tables": self._storage.uri, "end": known}))

    def _known(self) -> dict[str, int]:
        """Of these tables; others know nothing yet."""
        noted = json.loads(self._outbox.named(_KNOWN) or "{}")
        return noted["end"] if noted.get("tables") == self._storage.uri else {}

    def _merge(self, fresh: pa.Table) -> None:
        table = self._table = self._table or self._storage.opened(SUBSCRIPTIONS)
        table.update_incremental()
        merger = table.merge(
            fresh,
            "t.subscription = s.subscription",
            source_alias="s",
            target_alias="t",
            post_commithook_properties=_QUIET,
        )
        merger.when_matched_update_all(_is_later()).when_not_matched_insert_all().execute()
        self._commits += 1
        if self._commits % TIDY_COMMITS == 0:
            self._tidy(table)

    def _tidy(self, table: DeltaTable) -> None:
        table.update_incremental()
        with suppress(DeltaError):  # the next time will do
            table.optimize.compact(post_commithook_properties=_QUIET)
            table.vacuum(VACUUM_HOURS, dry_run=False, enforce_retention_duration=False)
            table.create_checkpoint()
            table.cleanup_metadata()


def rows(changes: Iterable[Changed]) -> pa.Table:
    """Of each subscription the last."""
    last: dict[str, tuple[tuple[Any, ...], Changed]] = {}
    for each in changes:
        name, rank = each.subscription.id, rank_of(each)
        if name not in last or rank > last[name][0]:
            last[name] = rank, each
    return pa.Table.from_pylist([_row(each) for _, each in last.values()], as_stored(SUBSCRIPTIONS))


def rank_of(change: Changed) -> tuple[int, bool, str, int]:
    """Of two changes of one subscription that with the higher one is the last."""
    return change.when // 1_000, change.subscription.state == "ended", change.at.node, change.at.offset


def _row(change: Changed) -> dict[str, Any]:
    found, consumer = change.subscription, change.subscription.consumer
    return {
        "subscription": found.id,
        "node": change.at.node,
        "log_offset": change.at.offset,
        "time": change.when // 1_000,
        "state": found.state,
        "reason": found.reason,
        "owner": found.owner,
        "consumer": None if consumer is None else consumer.address,
        "dialect": found.form.dialect,
        "filters": [filter_text(each) for each in found.filters],
        "expires": None if found.expires is None else found.expires // 1_000,
        DAY: datetime.fromtimestamp(change.when // SECOND, UTC).date(),
    }


def _is_later() -> str:
    """`rank_of` in SQL: the first of its parts that differs decides."""
    said = "false"
    for part in reversed(_RANK):
        said = f"(s.{part}) > (t.{part}) OR ((s.{part}) = (t.{part}) AND ({said}))"
    return said
