"""What tasks do for the functions on DataFrames: rows of Arrow into values, the flow's own functions, and back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import pyarrow as pa

from tocsin.flow.addressing import addressed_to, pulled_by
from tocsin.flow.flow import UNJUDGED, Flow, normalise, unmade
from tocsin.model import names
from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic, qname_in
from tocsin.model.notification import Notification, Payload, Way, came_by
from tocsin.model.records import Accepted
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import Position, Subscription
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.hop import reason_of
from tocsin.pipeline.source import log_named
from tocsin.pipeline.state.published import Published
from tocsin.pipeline.state.standing import standing
from tocsin.pipeline.tables.parts import Row, batch_of
from tocsin.pipeline.tables.schemas import NOTIFICATIONS, SCHEMAS
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.task import notification_row
from tocsin.store.codec import decode
from tocsin.store.places import OUTCOMES

_TEXT, _PAIRS = pa.string(), pa.map_(pa.string(), pa.string())
MATCHING = pa.struct(
    [
        ("accepted", pa.int64()),  # as `time`, in nanoseconds
        ("qualified", pa.bool_()),  # whether `type` is a qualified name
        ("reply", pa.binary()),  # what it says of replies, where it asks for some
        ("addressee", _TEXT),  # the notifier whose service it is for alone
        ("pull_point", _TEXT),  # the pull point it is for alone
        ("by", _TEXT),  # the neighbour that passed it on, to which it does not go back
    ]
)
_ERROR = pa.field("error", _TEXT)
NORMALISED = SCHEMAS[NOTIFICATIONS].append(pa.field("matching", MATCHING)).append(_ERROR)
_FOUND = pa.struct([("subscription", _TEXT), _ERROR])
FOUND = pa.schema([*SCHEMAS[NOTIFICATIONS], ("matching", MATCHING), ("found", pa.list_(_FOUND))])
_PLACE = ("id", "node", "log_offset", "item", "time")
PAIRED = (*NORMALISED.names[:-1], "subscription", "error")
_TEXTS = [("consumer", _TEXT), ("dialect", _TEXT), ("content_type", _TEXT)]
_MADE = pa.schema([*_TEXTS, ("headers", _PAIRS), ("body", pa.binary()), _ERROR])
SENT = pa.schema([*map(NORMALISED.field, _PLACE), ("subscription", _TEXT), *_MADE])
_SAID = ("dialect", "cause", "producer", "topic", "type", "attributes", "media_type", "payload")
_AT, _WAY = ("node", "log_offset", "item"), ("origin", "hops", "path")

Batches = Iterator[pa.RecordBatch]


def normalised(batches: Batches) -> Batches:
    """A row for each notification of the records, and one with `error` for each record that cannot be read."""
    for batch in batches:
        records = zip(*(batch.column(name).to_pylist() for name in ("log", "offset", "payload")), strict=True)
        rows = [row for log, *record in records if log_named(log)[0] != OUTCOMES for row in _rows(*record)]
        if rows:
            yield batch_of(NORMALISED, rows)


def _rows(offset: int, payload: bytes) -> Sequence[Row]:
    try:
        record = decode(payload)
        if not isinstance(record, Accepted):
            return ()
        pull_point = addressed_to(record)
        return [(*notification_row(each), _matching(each, pull_point), None) for each in normalise(record)]
    except Exception as problem:  # one record must not stop all others
        unread = dict.fromkeys(NORMALISED.names) | {"log_offset": offset, "payload": payload}
        return [(*(unread | {"error": reason_of(problem)}).values(),)]


def _matching(said: Notification, pull_point: str | None) -> dict[str, Any]:
    qualified = isinstance(said.type, QName)
    reply = None if said.reply is None else msgspec.msgpack.encode(said.reply)
    words = (said.when, qualified, reply, said.addressee, pull_point, came_by(said))
    return dict(zip((field.name for field in MATCHING), words, strict=True))


def notifications_of(batch: pa.RecordBatch) -> Iterator[tuple[Notification | None, dict[str, Any] | None]]:
    """The notification of each row of `normalised` with what else matching goes by; None for a record that could not be
    read."""
    columns = [batch.column(name).to_pylist() for name in ("id", *_AT, *_SAID, *_WAY, "matching")]
    for id_, node, offset, item, *said, matching in zip(*columns, strict=True):
        at = Position(Node(node), offset)
        yield (None if matching is None else _notification(MessageId(id_), at, item, matching, *said)), matching


def _notification(
    id_: MessageId,
    at: Position,
    item: int,
    matching: dict[str, Any],
    dialect: str,
    cause: str,
    producer: str,
    topic: str,
    kind: str | None,
    attributes: Sequence[tuple[str, str]],
    media_type: str,
    payload: bytes,
    origin: str,
    hops: int,
    path: Sequence[str],
) -> Notification:
    named = kind if kind is None or not matching["qualified"] else qname_in(kind) or QName("", kind)
    return Notification(
        id_,
        at,
        item,
        Instant(matching["accepted"]),
        dialect,
        cause,
        producer,
        _topic(topic),
        named,
        tuple(attributes),
        Payload(media_type, payload),
        None if matching["reply"] is None else msgspec.msgpack.decode(matching["reply"], type=ReplyRequest),
        matching["addressee"] or "",
        None if matching["by"] is None else Way(matching["by"], Node(origin), hops, tuple(path)),
    )


@lru_cache(maxsize=10_000)
def _topic(text: str) -> Topic:
    found = names.topic(text)
    if found is None:
        raise PipelineError(f"no topic is written {text[:200]!r}; write one such as flood/severe or {{urn:a}}flood")
    return found


@dataclass(frozen=True)
class FrameTask:
    """Functions for `mapInArrow` with all they need: the subscriptions that were published, and nothing else."""

    storage: Storage
    state: Published

    def match(self, batches: Batches) -> Batches:
        """Who wants each notification, in a list; in it, too, why that could not be found out."""
        flow = self._flow()
        for batch in batches:
            told = zip(notifications_of(batch), batch.column("error").to_pylist(), strict=True)
            found = [_found(flow, said, matching, error) for (said, matching), error in told]
            yield _with(batch, FOUND, {"found": pa.array(found, FOUND.field("found").type)})

    def customise(self, batches: Batches) -> Batches:
        """What would be sent for each pair, and why it could not be written."""
        flow = self._flow()
        for batch in batches:
            words = (batch.column("subscription").to_pylist(), batch.column("error").to_pylist())
            pairs = zip(notifications_of(batch), *words, strict=True)
            sent = [_sent(flow, said, name, error) for (said, _), name, error in pairs]
            rows = {at: each for at, each in enumerate(sent) if each is not None}
            if rows:
                made = batch_of(_MADE, [*rows.values()])
                yield _with(batch.take(pa.array([*rows])), SENT, dict(zip(_MADE.names, made.columns, strict=True)))

    def _flow(self) -> Flow:
        met = standing(self.storage, self.state)
        met.bring_to(0)
        return met.flow


def _with(batch: pa.RecordBatch, schema: pa.Schema, made: dict[str, pa.Array]) -> pa.RecordBatch:
    """Times come in the time zone of the session."""
    columns = [made.get(field.name) for field in schema]
    found = zip(columns, schema, strict=True)
    arrays = [batch.column(field.name).cast(field.type) if column is None else column for column, field in found]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _found(
    flow: Flow, said: Notification | None, matching: dict[str, Any] | None, error: str | None
) -> list[tuple[str | None, str | None]]:
    if said is None or matching is None or error is not None:
        return [(None, error)]
    if matching["pull_point"] is not None:
        return []
    try:
        wanted, undecided = flow.match(said)
    except Exception as problem:
        return [(None, reason_of(problem))]
    return [*((each.id, None) for each in wanted), *((each.id, f"{UNJUDGED}{reason}") for each, reason in undecided)]


def _sent(flow: Flow, said: Notification | None, name: str | None, error: str | None) -> Row | None:
    """None for a pull point: nothing is sent to it, its node has it there."""
    found = None if name is None else flow.get(SubscriptionId(name))
    if error is not None or said is None:
        return _unsent(found, error)
    if found is None:
        return _unsent(None, f"there is no subscription {name!r} among those given; match and customise with the same")
    if pulled_by(found) is not None:
        return None
    try:
        return _row(found, flow.deliver(said, found))
    except Exception as problem:
        return _unsent(found, unmade(said, found, problem).body.decode())


def _row(subscription: Subscription, made: Delivery) -> Row:
    kind = next((value for name, value in made.headers if name.lower() == "content-type"), None)
    return made.to.address, subscription.form.dialect, kind, made.headers, made.body, None


def _unsent(subscription: Subscription | None, error: str | None) -> Row:
    consumer = None if subscription is None or subscription.consumer is None else subscription.consumer.address
    return consumer, None if subscription is None else subscription.form.dialect, None, None, None, error
