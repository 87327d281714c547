"""What a subscription that begins in the past is told of the records before its own."""

from collections.abc import Callable, Iterator

from tocsin.flow.flow import Flow, normalise
from tocsin.flow.pull_points import addressed_to
from tocsin.matching.engine import Matched
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed
from tocsin.store.codec import decode, is_change
from tocsin.store.declarations import Along
from tocsin.store.log.reader import LogReader


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
