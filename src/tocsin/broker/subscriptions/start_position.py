"""Where in the log a subscription begins that does not begin now."""

from contextlib import closing
from pathlib import Path

from tocsin.mediation.operations import Start
from tocsin.mediation.times import timestamp
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.store.log.reader import LogReader
from tocsin.store.past import first_since


def start_position(start: Start, log: Path, end: int, now: Instant) -> int:
    """An offset from the first record kept up to `end`; what retention took away cannot be had again."""
    with closing(LogReader(log)) as reader:
        if start.offset is not None and start.when is None:
            if start.offset > end:
                text = f"the log ends before record {end}, it has no record {start.offset} to begin with"
                raise Refusal("bad-start", text)
            return max(start.offset, reader.start())
        if start.when is not None and start.offset is None:
            if start.when > now:
                text = f"{timestamp(start.when)} is in the future, it is {timestamp(now)} here"
                raise Refusal("bad-start", f"{text}; leave the time out to begin with what comes next")
            return first_since(reader, start.when)
    raise Refusal("bad-start", "a subscription begins at an offset of the log or at a time: name one of the two")
