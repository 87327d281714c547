"""Decode, normalise, match as of the record, customise: what Spark's Python workers do with the records of the log."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

import msgspec

from tocsin.flow.addressing import addressed_to, pulled_by
from tocsin.flow.flow import Flow, normalise, unmade
from tocsin.matching.engine import Matched
from tocsin.matching.judge import Undecided
from tocsin.model.declarations import Declaration
from tocsin.model.delivery import Delivery, Outcome
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.model.subscription import Subscription
from tocsin.store.codec import Undecodable, decode, is_change
from tocsin.store.log.reader import LogReader
from tocsin.store.past import Along

_decode_outcomes = msgspec.msgpack.Decoder(tuple[Outcome, ...]).decode


class Standing(Protocol):
    """The subscriptions that a record meets, and what was declared by then."""

    flow: Flow

    def bring_to(self, offset: int) -> None: ...
    def is_first(self, change: Changed) -> bool: ...
    def known_along(self, start: int, stop: int) -> Along: ...
    def step(self, offset: int, change: Subscription | Declaration | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Failure:
    """A record that could not be read, or a notification that could not be decided or written for one subscriber."""

    reason: str
    subscription: str | None = None
    record: bytes | None = None  # where nothing came of all of it
    item: int | None = None  # the notification's place in its record


@dataclass(frozen=True, slots=True)
class MatchedNotification:
    """A notification with the subscriptions that want it, and what is to be sent.

    `deliveries` holds those that could not be written as well; the node makes dead letters of them. `pull_point` is the
    one it is for alone.
    """

    notification: Notification
    matched: tuple[Subscription, ...]
    deliveries: tuple[Delivery, ...] = ()
    failed: tuple[Failure, ...] = ()
    pull_point: str | None = None


@dataclass(frozen=True, slots=True)
class RecordResult:
    """The notifications and failures of one record. `late` ones are of earlier records, for a subscription that begins
    before its own record."""

    offset: int
    told: tuple[MatchedNotification, ...] = ()
    failed: tuple[Failure, ...] = field(default=())
    late: bool = False


def hop(
    frames: Iterator[tuple[int, bytes]], standing: Standing, *, customise: bool, log: LogReader | None = None
) -> Iterator[RecordResult]:
    """What came of each record, in the order of the log. `log` is where subscriptions find what was before them."""
    first = next(frames, None)
    if first is None:
        return
    standing.bring_to(first[0])
    for offset, payload in chain((first,), frames):
        if log is not None and is_change(payload):
            yield from _catch_up(payload, standing, customise, log)
        yield _see(offset, payload, standing, customise)


def shared_hop(
    frames: Iterable[tuple[int, int, bytes]], standing: Standing, *, customise: bool
) -> Iterator[RecordResult]:
    """Of records (offset, meets, payload) of several nodes: each meets the changes that its node had applied.

    By these and not by offset, so that the index need not go back and forth: records of one node stay in order.
    """
    for offset, meets, payload in sorted(frames, key=lambda frame: frame[1]):
        standing.bring_to(meets)
        yield _seen(offset, payload, standing.flow, customise)[0]


def _catch_up(payload: bytes, standing: Standing, customise: bool, log: LogReader) -> Iterator[RecordResult]:
    """All of it before anything newer, and never at once in memory."""
    try:
        change = decode(payload)
    except Undecodable:  # told of in its turn
        return
    if isinstance(change, Changed) and standing.is_first(change):
        for notification, matched in earlier(change, log, standing.flow, standing.known_along):
            told = _tell_all(notification, matched, standing.flow, customise)
            yield RecordResult(change.at.offset, (told,), late=True)


def _see(offset: int, payload: bytes, standing: Standing, customise: bool) -> RecordResult:
    seen, change = _seen(offset, payload, standing.flow, customise)
    standing.step(offset, change)
    return seen


def _seen(
    offset: int, payload: bytes, flow: Flow, customise: bool
) -> tuple[RecordResult, Subscription | Declaration | None]:
    """With what the record changes, if it is a change."""
    try:
        match decode(payload):
            case Changed(subscription=change) | Declared(what=change):
                return RecordResult(offset), change
            case Accepted() as record:
                told = normalise(record)
                if (point := addressed_to(record)) is not None:
                    alone = tuple(MatchedNotification(each, (), pull_point=point) for each in told)
                    return RecordResult(offset, alone), None
                return RecordResult(offset, tuple(_tell(each, flow, customise) for each in told)), None
    except Exception as problem:  # one record must not stop all that follow; it is counted and kept with its reason
        return RecordResult(offset, failed=(Failure(reason_of(problem), record=payload),)), None


def _tell(notification: Notification, flow: Flow, customise: bool) -> MatchedNotification:
    return _tell_all(notification, flow.match(notification), flow, customise)


def _tell_all(notification: Notification, matched: Matched, flow: Flow, customise: bool) -> MatchedNotification:
    wanted, unjudged = tuple(matched.wanted), _unjudged(matched)
    item = notification.index
    failed = [Failure(reason_of(problem), subscription.id, item=item) for subscription, problem in unjudged]
    if not customise:
        return MatchedNotification(notification, wanted, (), tuple(failed))
    deliveries = [unmade(notification, *each) for each in unjudged]
    for subscription in wanted:
        if pulled_by(subscription) is not None:  # a pull point is filled by its node
            continue
        try:
            deliveries.append(flow.deliver(notification, subscription))
        except Exception as problem:
            failed.append(Failure(reason_of(problem), subscription.id, item=item))
            deliveries.append(unmade(notification, subscription, problem))
    return MatchedNotification(notification, wanted, tuple(deliveries), tuple(failed))


def _unjudged(matched: Matched) -> list[tuple[Subscription, Undecided]]:
    """Without those that feed pull points: their node judges them too, and tells of it."""
    return [(each, Undecided(reason)) for each, reason in matched.undecided if pulled_by(each) is None]


def reason_of(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def decode_outcomes(payload: bytes) -> tuple[Outcome, ...] | Failure:
    """Senders write the outcomes of a moment as one record."""
    try:
        return _decode_outcomes(payload)
    except msgspec.MsgspecError as problem:
        return Failure(reason_of(Undecodable(f"not outcomes: {problem}")), record=payload)


def earlier(
    change: Changed, log: LogReader, flow: Flow, known_along: Callable[[int, int], Along]
) -> Iterator[tuple[Notification, Matched]]:
    """Of what is still kept, in order, one record at a time; meets the subscription as it is at first.

    What was declared it meets as of each record.
    """
    start, stop = change.subscription.since.offset, change.at.offset
    known = known_along(start, stop)
    for offset, payload in log.kept_frames(start, stop):
        if is_change(payload):
            continue
        for notification in _readable(payload):
            found = flow.matched(change.subscription, notification, known.at(offset))
            if any(found):
                yield notification, found


def _readable(payload: bytes) -> tuple[Notification, ...]:
    """What cannot be read was counted when its turn was."""
    try:
        record = decode(payload)
        return normalise(record) if isinstance(record, Accepted) and addressed_to(record) is None else ()
    except Exception:
        return ()
