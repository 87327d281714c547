"""Where in the log a subscription begins that does not begin now."""

from bisect import bisect_left
from contextlib import closing
from pathlib import Path

from tocsin.mediation.operations import Start
from tocsin.mediation.times import timestamp
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.store.codec import decode
from tocsin.store.log.reader import LogReader


def start_position(start: Start, log: Path, end: int, now: Instant) -> int:
    """An offset from the first record kept up to `end`; what retention took away cannot be had again."""
    with closing(LogReader(log)) as reader:
        if start.offset is not None and start.when is None:
            return max(_not_beyond(start.offset, end), reader.start())
        if start.when is not None and start.offset is None:
            return _accepted_from(reader, _not_ahead(start.when, now))
    raise Refusal("bad-start", "a subscription begins at an offset of the log or at a time: name one of the two")


def _not_beyond(offset: int, end: int) -> int:
    if offset > end:
        raise Refusal("bad-start", f"the log ends before record {end}, it has no record {offset} to begin with")
    return offset


def _not_ahead(when: Instant, now: Instant) -> Instant:
    if when > now:
        hint = "leave the time out to begin with what comes next"
        raise Refusal("bad-start", f"{timestamp(when)} is in the future, it is {timestamp(now)} here; {hint}")
    return when


def _accepted_from(reader: LogReader, when: Instant) -> int:
    """The first record accepted then or later: a search by halves, for times grow with offsets."""
    records = range(reader.start(), reader.end())
    return records.start + bisect_left(records, when, key=lambda offset: _when(reader, offset))


def _when(reader: LogReader, offset: int) -> Instant:
    """One that retention took meanwhile was the oldest."""
    for _, payload in reader.kept_frames(offset, offset + 1):
        return decode(payload).when
    return Instant(0)
