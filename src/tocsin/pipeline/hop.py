"""The one hop: decode, normalise, match as of the record, customise. Runs inside Spark's Python workers."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from tocsin.flow.flow import Flow, normalise
from tocsin.model.delivery import Delivery, Outcome
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed
from tocsin.model.subscription import Subscription
from tocsin.pipeline.as_of import Standing
from tocsin.store.codec import Undecodable, decode

_decode_outcomes = msgspec.msgpack.Decoder(tuple[Outcome, ...]).decode


@dataclass(frozen=True, slots=True)
class Failed:
    """Something the door should not have let in, or that one subscriber cannot be told."""

    reason: str
    subscription: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A notification and who wants it. `deliveries` is empty where nothing is to be sent."""

    notification: Notification
    matched: tuple[Subscription, ...]
    deliveries: tuple[Delivery, ...] = ()
    failed: tuple[Failed, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """All that came of one record."""

    offset: int
    told: tuple[Told, ...] = ()
    failed: tuple[Failed, ...] = field(default=())


def hop(frames: Iterator[tuple[int, bytes]], standing: Standing, *, customise: bool) -> Iterator[Seen]:
    """What came of each record, in the order of the log."""
    first = next(frames, None)
    if first is None:
        return
    standing.bring_to(first[0])
    yield _see(*first, standing, customise)
    for offset, payload in frames:
        yield _see(offset, payload, standing, customise)


def _see(offset: int, payload: bytes, standing: Standing, customise: bool) -> Seen:
    change: Subscription | None = None
    try:
        match decode(payload):
            case Changed(subscription=change):
                return Seen(offset)
            case Accepted() as record:
                return Seen(offset, tuple(_tell(each, standing.flow, customise) for each in normalise(record)))
    except Exception as problem:  # one record must not stop all that follow; it is counted and kept with its reason
        return Seen(offset, failed=(Failed(_reason(problem)),))
    finally:
        standing.step(offset, change)


def _tell(notification: Notification, flow: Flow, customise: bool) -> Told:
    matched = tuple(flow.match(notification))
    if not customise:
        return Told(notification, matched)
    deliveries: list[Delivery] = []
    failed: list[Failed] = []
    for subscription in matched:
        if subscription.consumer is None:  # a pull point is filled by its node
            continue
        try:
            deliveries.append(flow.deliver(notification, subscription))
        except Exception as problem:
            failed.append(Failed(_reason(problem), subscription.id))
    return Told(notification, matched, tuple(deliveries), tuple(failed))


def _reason(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def decode_outcomes(payload: bytes) -> tuple[Outcome, ...] | Failed:
    """Senders write the outcomes of a moment as one record."""
    try:
        return _decode_outcomes(payload)
    except msgspec.MsgspecError as problem:
        return Failed(_reason(Undecodable(f"not outcomes: {problem}")))
