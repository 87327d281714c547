"""What is in each table. No column's name needs quoting in SQL."""

import pyarrow as pa

_TEXT, _NUMBER, _TIME = pa.string(), pa.int64(), pa.timestamp("us", "UTC")
_PLACE = [("node", _TEXT), ("log_offset", _NUMBER), ("item", pa.int32())]

NOTIFICATIONS, MATCHES, HISTORY, QUARANTINE = "notifications", "matches", "history", "quarantine"
ASKED, REPLIES, HARVESTS = "asked", "replies", "harvests"
MENDED, SIMULATIONS, SUBSCRIPTIONS = "mended", "simulations", "subscriptions"
DELIVERIES = "deliveries"  # blocks of them on their way to the outbox, gone when they are in it
DAY = "day"  # by which all tables are partitioned: of the time of each row, in UTC
SCHEMAS = {
    NOTIFICATIONS: pa.schema(
        [
            ("id", _TEXT),
            *_PLACE,
            ("time", _TIME),
            *((name, _TEXT) for name in ("dialect", "producer", "topic", "type")),
            ("attributes", pa.map_(_TEXT, _TEXT)),
            ("media_type", _TEXT),
            ("payload", pa.binary()),
            ("cause", _TEXT),
            ("origin", _TEXT),  # the node that accepted it first
            ("matched_at", _TEXT),  # the node whose subscriptions it met
            ("hops", pa.int32()),
            ("path", pa.list_(_TEXT)),  # the nodes that it passed, in order
        ]
    ),
    MATCHES: pa.schema(
        [("notification", _TEXT), *_PLACE, ("subscription", _TEXT), ("snapshot", _TEXT), ("time", _TIME)]
    ),
    HISTORY: pa.schema(
        [
            ("notification", _TEXT),
            ("subscription", _TEXT),
            *_PLACE,
            ("time", _TIME),
            ("result", _TEXT),
            ("attempt", pa.int32()),
            ("detail", _TEXT),
            ("snapshot", _TEXT),
        ]
    ),
    QUARANTINE: pa.schema(
        [
            ("log", _TEXT),
            ("log_offset", _NUMBER),
            ("subscription", _TEXT),
            ("time", _TIME),
            ("reason", _TEXT),
            ("record", pa.binary()),
            ("item", pa.int32()),
            ("node", _TEXT),  # whose log it is; none for what was found before logs were told apart
        ]
    ),
    ASKED: pa.schema(
        [
            ("notification", _TEXT),
            *_PLACE,
            ("time", _TIME),
            *((name, _TEXT) for name in ("topic", "view", "reply_type")),
            ("reply_until", _TIME),
            ("receiver", _TEXT),  # where it is for one alone: a notifier's service, or a pull point
            ("reached", pa.bool_()),  # not where its service has no subscription that takes it
            ("passed_on", pa.list_(_TEXT)),  # by which subscriptions it went to other nodes
        ]
    ),
    REPLIES: pa.schema([("notification", _TEXT), ("receiver", _TEXT), *_PLACE, ("time", _TIME), ("value", _TEXT)]),
    HARVESTS: pa.schema(
        [
            ("view", _TEXT),
            ("notification", _TEXT),
            *_PLACE,
            ("time", _TIME),
            *((name, _TEXT) for name in ("topic", "reply_type")),
            ("reply_until", _TIME),
            *((name, _NUMBER) for name in ("receivers", "replied", "not_reached", "outstanding", "passed_on")),
            *((name, _TIME) for name in ("first_reply", "last_reply", "changed")),
            ("value", _TEXT),
            ("count", _NUMBER),
        ]
    ),
    MENDED: pa.schema(
        [
            ("log", _TEXT),
            ("log_offset", _NUMBER),
            ("item", pa.int32()),
            ("subscription", _TEXT),
            ("time", _TIME),
            ("node", _TEXT),
        ]
    ),
    SUBSCRIPTIONS: pa.schema(
        [
            ("subscription", _TEXT),
            ("node", _TEXT),  # in whose log its last change is
            ("log_offset", _NUMBER),
            ("time", _TIME),
            *((name, _TEXT) for name in ("state", "reason", "owner", "consumer", "dialect")),
            ("filters", pa.list_(_TEXT)),
            ("expires", _TIME),
        ]
    ),
    SIMULATIONS: pa.schema(
        [
            ("simulation", _TEXT),
            ("time", _TIME),
            *((name, _TEXT) for name in ("root", "topic", "protocol")),
            *((name, _NUMBER) for name in ("notifications", "repetitions", "receivers", "dropped")),
            ("withheld", pa.decimal128(38, 0)),  # what a million services keep back is longer than 64 bits
            *((name, _NUMBER) for name in ("hops", "largest_header", "classes")),
            ("seconds", pa.float64()),
            ("note", _TEXT),
        ]
    ),
    DELIVERIES: pa.schema([("names", _TEXT), ("deliveries", _NUMBER), ("size", _NUMBER), ("data", pa.binary())]),
}
KEPT = (NOTIFICATIONS, MATCHES, HISTORY, QUARANTINE, ASKED, REPLIES)  # whose rows tasks make
STREAMED = (*KEPT, HARVESTS)  # what the streaming job keeps


def as_stored(table: str) -> pa.Schema:
    """With the column by which the table is partitioned; it is in the files' paths, not in the files."""
    return SCHEMAS[table].append(pa.field(DAY, pa.date32()))


def conformed(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """With nothing in the columns that were not there when the rows were written."""
    columns = [
        rows.column(each.name).cast(each.type) if each.name in rows.schema.names else pa.nulls(rows.num_rows, each.type)
        for each in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
