"""Sums up what is told of publications that ask for replies, by receiver and then by value: rows of `harvests`."""

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.model.histogram import MOST_VALUES, Histogram
from tocsin.pipeline.tables.schemas import DAY, HARVESTS, as_stored

PLACE = ["node", "log_offset", "item"]
DELIVERY = [*PLACE, "subscription"]
_TIME = pa.timestamp("us", "UTC")
_TOLD = pa.schema(
    [("view", pa.int32()), ("receiver", pa.string()), ("replied", _TIME), ("value", pa.string()), ("missed", _TIME)]
)
Row = dict[str, Any]


def harvested(
    asked: pa.Table, matches: pa.Table, history: pa.Table, replies: pa.Table, most: int = MOST_VALUES
) -> pa.Table:
    """Of the views in `asked`, of which it has all records. A receiver counts once, whatever is told of it how often;
    of many values the largest are kept, and one row has none, for what is left."""
    names = pc.unique(asked["view"])
    records = _records(asked)
    passed_on, asked = _passed_on(asked), asked.drop_columns("passed_on")
    asked = asked.set_column(asked.schema.get_field_index("view"), "view", pc.index_in(asked["view"], names))
    if passed_on.num_rows:
        matches, history = (each.join(passed_on, DELIVERY, join_type="left anti") for each in (matches, history))
    known = asked.select([*PLACE, "view", "receiver", "reply_until"]).rename_columns({"receiver": "alone"})
    told = [_alone(asked, matches), _matched(known, matches), _missed(known, history), _replied(known, replies)]
    receivers = _by_receiver(pa.concat_tables(told))
    sums, values = _by_view(receivers), _by_value(receivers)
    rows: list[Row] = []
    for number, name in enumerate(names.to_pylist()):
        counted = values[number].cut(most)
        about = _publication(records[name]) | sums[number]
        about["changed"] = max(each for each in (about["time"], about["last_reply"], about.pop("last_missed")) if each)
        about["outstanding"] = about["receivers"] - about["replied"] - about["not_reached"]
        rows += (about | {"value": value, "count": count} for value, count in (*counted.ranked(), (None, counted.rest)))
    return pa.Table.from_pylist(rows, as_stored(HARVESTS))


def _records(asked: pa.Table) -> dict[str, list[Row]]:
    found = defaultdict(list)
    for row in asked.to_pylist():
        found[row["view"]].append(row)
    return found


def _publication(records: list[Row]) -> Row:
    """What is said of it: of several records, for that is how notifiers tell their services, the first."""
    first = min(records, key=lambda row: (row["time"], row["node"], row["log_offset"], row["item"]))
    time: datetime = first["time"]
    said = {name: first[name] for name in as_stored(HARVESTS).names if name in first}
    others = {name for row in records for name in row["passed_on"] or ()}
    return said | {"passed_on": len(others), DAY: time.astimezone(UTC).date()}


def _passed_on(asked: pa.Table) -> pa.Table:
    """What went to other nodes, as deliveries: who receives it there, they know."""
    lists = asked["passed_on"].combine_chunks()
    return asked.take(pc.list_parent_indices(lists)).select(PLACE).append_column("subscription", pc.list_flatten(lists))


# What is told of receivers


def _alone(asked: pa.Table, matches: pa.Table) -> pa.Table:
    """Who it was for alone. A service that has no subscription for it was not reached."""
    alone = asked.filter(pc.is_valid(asked["receiver"]))
    missed = alone.filter(pc.invert(alone["reached"])).join(matches, PLACE, join_type="left anti")
    found = _told(alone["view"], alone["receiver"])
    return pa.concat_tables([found, _told(missed["view"], missed["receiver"], missed=missed["time"])])


def _matched(known: pa.Table, matches: pa.Table) -> pa.Table:
    found = matches.join(known, PLACE, join_type="inner")
    return _told(found["view"], _receiver(found))


def _missed(known: pa.Table, history: pa.Table) -> pa.Table:
    """Whose delivery was given up while replies counted, and was not delivered when it was tried again."""
    lasts = history.group_by([*DELIVERY, "result"]).aggregate([("time", "min"), ("time", "max")])
    dead, delivered = (lasts.filter(pc.equal(lasts["result"], name)) for name in ("dead", "delivered"))
    delivered = delivered.select([*DELIVERY, "time_max"]).rename_columns({"time_max": "arrived"})
    found = dead.join(delivered, DELIVERY).join(known, PLACE, join_type="inner")
    found = found.filter(pc.fill_null(pc.less(found["arrived"], found["time_max"]), True))
    found = found.filter(pc.less_equal(found["time_min"], found["reply_until"]))
    return _told(found["view"], _receiver(found), missed=found["time_min"])


def _replied(known: pa.Table, replies: pa.Table) -> pa.Table:
    found = replies.join(known, PLACE, join_type="inner")
    return _told(found["view"], found["receiver"], replied=found["time"], value=found["value"])


def _receiver(found: pa.Table) -> pa.ChunkedArray:
    return pc.coalesce(found["alone"], found["subscription"])


def _told(view: pa.ChunkedArray, receiver: pa.ChunkedArray, **more: pa.ChunkedArray) -> pa.Table:
    columns = {"view": view, "receiver": receiver} | more
    rows = len(view)
    return pa.table([columns.get(each.name, pa.nulls(rows, each.type)) for each in _TOLD], schema=_TOLD)


# Sums


def _by_receiver(told: pa.Table) -> pa.Table:
    """Who replied was reached. A reply that is told again has the same value, and a later time."""
    names = ["replied", "value", "missed"]
    found = told.group_by(["view", "receiver"]).aggregate([(name, "min") for name in names])
    found = found.rename_columns({f"{name}_min": name for name in names})
    missed = pc.if_else(pc.is_valid(found["replied"]), pa.scalar(None, _TIME), found["missed"])
    return found.drop_columns("missed").append_column("missed", missed)


def _by_view(receivers: pa.Table) -> dict[int, Row]:
    wanted = {
        "receivers": ([], "count_all"),
        "replied": ("replied", "count"),
        "not_reached": ("missed", "count"),
        "first_reply": ("replied", "min"),
        "last_reply": ("replied", "max"),
        "last_missed": ("missed", "max"),
    }
    found = receivers.group_by("view", use_threads=False).aggregate(list(wanted.values()))
    sums = found.rename_columns(["view", *wanted]).to_pylist()
    nothing = dict.fromkeys(wanted, 0) | dict.fromkeys(("first_reply", "last_reply", "last_missed"))
    return defaultdict(lambda: dict(nothing), {row.pop("view"): row for row in sums})


def _by_value(receivers: pa.Table) -> dict[int, Histogram]:
    replied = receivers.filter(pc.is_valid(receivers["replied"]))
    found: dict[int, Histogram] = defaultdict(Histogram)
    counted = replied.group_by(["view", "value"]).aggregate([([], "count_all")])
    for view, value, count in zip(*(each.to_pylist() for each in counted.columns), strict=True):
        found[view].counts[value] = count
    return found
