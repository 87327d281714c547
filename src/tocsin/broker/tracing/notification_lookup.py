"""One notification of the log, for those who were told where it is."""

from contextlib import closing
from pathlib import Path

from tocsin.broker.journal import readable
from tocsin.flow.addressing import addressed_to
from tocsin.flow.lifetime import overdue
from tocsin.model.identity import Instant
from tocsin.model.interactions import Fetched
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.store.codec import decode, is_change
from tocsin.store.errors import StoreError
from tocsin.store.log.reader import LogReader


def fetch(log: Path, offset: int, index: int, now: Instant) -> Fetched:
    try:
        with closing(LogReader(log)) as reader:
            record = _accepted(reader, offset)
            kept = reader.start()
    except StoreError as problem:
        raise Refusal("cannot-store", f"it cannot be read: {problem}") from None
    found = () if record is None else readable(record)
    if record is None or index >= len(found):
        raise _nothing(offset, index, kept)
    if (late := overdue(found[index], now, None)) is not None:
        raise Refusal("unknown-name", late)
    return Fetched(found[index], addressed_to(record) is not None or bool(found[index].addressee))


def _accepted(reader: LogReader, offset: int) -> Accepted | None:
    for _, payload in reader.kept_frames(offset, offset + 1):
        if not is_change(payload) and isinstance(record := decode(payload), Accepted):
            return record
    return None


def _nothing(offset: int, index: int, kept: int) -> Refusal:
    if offset < kept:
        return Refusal("unknown-name", f"record {offset} is no longer kept; the log starts at record {kept}")
    return Refusal("unknown-name", f"there is no notification {index} in record {offset} of the log")
