"""The table `harvests`: the replies to each publication that asks for some, summed.

The rows of a publication are made anew from all that the other tables have of it, whenever something was added there,
and stand in place of those before. So they are the same in whatever order things come, and however often.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, PostCommitHookProperties, write_deltalake
from deltalake.exceptions import DeltaError

from tocsin.pipeline.tables import parts
from tocsin.pipeline.tables.harvest_sums import DELIVERY, PLACE, harvested
from tocsin.pipeline.tables.parts import Part
from tocsin.pipeline.tables.schemas import ASKED, DAY, HARVESTS, HISTORY, MATCHES, REPLIES, SCHEMAS
from tocsin.pipeline.tables.storage import Storage

TOLD = (ASKED, MATCHES, HISTORY, REPLIES)  # what is told of a publication
TOGETHER = 1_000  # publications that are summed at once
TIDY_COMMITS = 50
VACUUM_HOURS = 1  # whoever reads an old version has so long
_QUIET = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


class Harvests:
    """Keeps nothing of it between two commits: what there is, the tables say."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._open: dict[str, DeltaTable] = {}
        self._commits = 0

    def gather(self, committed: Sequence[Part]) -> None:
        """What is told in these parts, which are in their tables. May be said again of the same."""
        views = self._views_in([part for part in committed if part.table in TOLD])
        pairs = list(views.items())
        for first in range(0, len(pairs), TOGETHER):
            self._make_anew(dict(pairs[first : first + TOGETHER]))

    def _views_in(self, told: Sequence[Part]) -> dict[str, datetime]:
        """Those of which something is told, and until when they are open; in the order of the log, so that what is
        summed at once lies together."""
        if not told or self._table(ASKED) is None:
            return {}
        within = _between(min(part.low for part in told), max(part.high for part in told))
        asked = self._rows(ASKED, [*PLACE, "view", "reply_until"], within)
        if not asked.num_rows:
            return {}
        records = pa.concat_tables(self._records(part, asked) for part in told).group_by(PLACE).aggregate([])
        found = asked.join(records, PLACE, join_type="inner").sort_by("log_offset")
        return dict(zip(found["view"].to_pylist(), found["reply_until"].to_pylist(), strict=True))

    def _records(self, part: Part, asked: pa.Table) -> pa.Table:
        """Those that its rows are of, as far as they may ask for replies."""
        near = asked.filter(_between(part.low, part.high)).select(PLACE)
        if not near.num_rows:
            return near
        if not part.path:
            return pa.Table.from_batches(parts.rows_of(self._storage, part)).select(PLACE)
        try:
            with self._storage.files(part.table).open_input_file(part.path) as file:
                return pq.read_table(file, columns=PLACE)
        except FileNotFoundError:  # made one with others since, after something went wrong here for an hour
            return near

    def _make_anew(self, views: Mapping[str, datetime]) -> None:
        """All records of a view say the same of its end."""
        ends = pa.array(views.values(), SCHEMAS[ASKED].field("reply_until").type)
        which = pc.field("reply_until").isin(ends) & pc.field("view").isin(list(views))
        asked = self._rows(ASKED, SCHEMAS[ASKED].names, which)
        offsets = asked["log_offset"].combine_chunks()
        of_them = _between(pc.min(offsets).as_py(), pc.max(offsets).as_py()) & pc.field("log_offset").isin(offsets)
        rows = harvested(
            asked,
            self._rows(MATCHES, DELIVERY, of_them),
            self._given_up(of_them),
            self._rows(REPLIES, [*PLACE, "receiver", "time", "value"], of_them),
        )
        days = {each.date().isoformat() for each in asked["time"].to_pylist()}
        self._replace(rows, f"{_is_one_of(DAY, days)} AND {_is_one_of('view', views)}")

    def _given_up(self, of_them: pc.Expression) -> pa.Table:
        """Dead letters, and what was delivered of the same subscriptions: few, where most was delivered at once."""
        columns, result = [*DELIVERY, "time", "result"], pc.field("result")
        dead = self._rows(HISTORY, columns, of_them & (result == "dead"))
        if not dead.num_rows:
            return dead
        again = pc.field("subscription").isin(pc.unique(dead["subscription"]))
        return pa.concat_tables([dead, self._rows(HISTORY, columns, of_them & (result == "delivered") & again)])

    def _replace(self, rows: pa.Table, which: str) -> None:
        table = self._open.get(HARVESTS) or self._storage.opened(HARVESTS)
        self._open[HARVESTS] = table
        table.update_incremental()
        write_deltalake(table, rows, mode="overwrite", predicate=which, post_commithook_properties=_QUIET)
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

    def _table(self, name: str) -> DeltaTable | None:
        """As it is now; None before its first row."""
        found = self._open.get(name) or self._storage.open(name)
        if found is not None:
            self._open[name] = found
            found.update_incremental()
        return found

    def _rows(self, table: str, columns: Sequence[str], which: pc.Expression) -> pa.Table:
        schema, found = pa.schema([SCHEMAS[table].field(name) for name in columns]), self._table(table)
        if found is None:
            return schema.empty_table()
        return found.to_pyarrow_dataset().to_table(columns=list(columns), filter=which).cast(schema)


def _between(low: int, high: int) -> pc.Expression:
    """By which most files need not be opened."""
    return (pc.field("log_offset") >= low) & (pc.field("log_offset") <= high)


def _is_one_of(column: str, names: Iterable[str]) -> str:
    """Names of views come from other nodes too."""
    quoted = (each.replace("'", "''") for each in sorted(names))
    listed = ", ".join(f"'{each}'" for each in quoted)
    return f"{column} IN ({listed})"
