"""What a subscription that begins in the past is told of the records before its own."""

from collections.abc import Iterator

from tocsin.flow.flow import normalise
from tocsin.flow.pull_points import addressed_to
from tocsin.matching.engine import matches
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed
from tocsin.store.codec import decode, is_change
from tocsin.store.log_reader import LogReader


def earlier(change: Changed, log: LogReader) -> Iterator[Notification]:
    """Of what is still kept, in order, one record at a time; meets the subscription as it is at first."""
    for _, payload in log.kept_frames(change.subscription.since.offset, change.at.offset):
        if is_change(payload):
            continue
        for notification in _readable(payload):
            if matches(change.subscription, notification):
                yield notification


def _readable(payload: bytes) -> tuple[Notification, ...]:
    """What cannot be read was counted when its turn was."""
    try:
        record = decode(payload)
        return normalise(record) if isinstance(record, Accepted) and addressed_to(record) is None else ()
    except Exception:
        return ()
