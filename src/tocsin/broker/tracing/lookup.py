"""Notifications of the log by their names, from its end backwards and within bounds; or by their place."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from tocsin.broker.journal import readable
from tocsin.flow.addressing import addressed_to
from tocsin.flow.lifetime import overdue
from tocsin.flow.traces import Logged, Sought
from tocsin.model.identity import Instant
from tocsin.model.interactions import Fetched
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.model.refusal import Refusal
from tocsin.store.codec import decode, is_change
from tocsin.store.errors import StoreError
from tocsin.store.log.reader import LogReader

MOST_RECORDS = 100_000  # whose bytes are looked at
MOST_READ = 5_000  # that are read as notifications, which takes a thousand times as long
LONGEST = 8192
_BLOCK, _WHOLE_BLOCK = 200, 50  # records read at a time, some of them kept or all: each may be as large as a body may
_PLAIN = re.compile(r"[A-Za-z0-9-]+")  # what no encoding of a message writes otherwise

Heard = Callable[[Logged], bool]


def find(log: Path, sought: Sought, heard: Heard | None = None) -> Logged:
    """What is not heard is as if it were not there."""
    with _reading(log) as reader:
        if sought.offset is not None:
            return _at(reader, sought, heard)
        return _named(reader, sought, heard or _anything)


def _anything(_: Logged) -> bool:
    return True


def newest(log: Path, most: int) -> list[Logged]:
    """Those that subscriptions are asked about, newest first; of as many records as may be read."""
    found: list[Logged] = []
    with _reading(log) as reader:
        for payload in _backwards(reader, MOST_READ):
            record = decode(payload)
            if isinstance(record, Accepted) and addressed_to(record) is None:
                found += reversed(_all_in(record))
            if len(found) >= most:
                break
    return found[:most]


@contextmanager
def _reading(log: Path) -> Iterator[LogReader]:
    try:
        with closing(LogReader(log)) as reader:
            yield reader
    except StoreError as problem:
        raise Refusal("cannot-store", f"it cannot be read: {problem}") from None


def _at(reader: LogReader, sought: Sought, heard: Heard | None) -> Logged:
    """What else a record is tells only who may hear all: others would learn where there is what they may not."""
    offset, what = sought.offset or 0, ""
    for _, payload in reader.kept_frames(offset, offset + 1):
        record = decode(payload)
        if isinstance(record, Accepted) and (found := list(filter(heard or _anything, _all_in(record)))):
            return found[0] if sought.index is None else _chosen(found, sought.index, f"record {offset}")
        what = _KINDS.get(type(record), "")
    if offset < (kept := reader.start()):
        raise Refusal("unknown-name", f"record {offset} is no longer kept; the log starts at record {kept}")
    if offset >= (end := reader.end()):
        ends = f"the log ends at record {end - 1}" if end else "the log is empty"
        raise Refusal("unknown-name", f"there is no record {offset}; {ends}")
    if what and heard is None:
        raise Refusal("unknown-name", f"record {offset} is {what}, and no notification")
    raise Refusal("unknown-name", f"there is no notification in record {offset} of the log")


_KINDS: Mapping[type, str] = {Declared: "a declaration", Changed: "a change of a subscription"}


def _named(reader: LogReader, sought: Sought, heard: Heard) -> Logged:
    """First by what its bytes must have in them; then a few read in full, for what was written in another encoding."""
    message = sought.message
    if not message or len(message) > LONGEST:
        raise Refusal("malformed", "name a message by its id or cause, or its record by offset=N")
    plain = max(_PLAIN.findall(message), key=len, default="").encode()
    looked = _matching(reader, message, heard, plain, MOST_RECORDS) if plain else None
    found = looked or _matching(reader, message, heard, b"", MOST_READ)
    if found is None:
        raise _missing(reader, message)
    if sought.index is not None:
        record = _accepted(reader, found.notification.at.offset)
        siblings = [] if record is None else list(filter(heard, _all_in(record)))
        return _chosen(siblings, sought.index, f"the message {message[:80]!r}")
    return found


def _matching(reader: LogReader, message: str, heard: Heard, plain: bytes, most: int) -> Logged | None:
    read = 0
    for payload in _backwards(reader, most, plain):
        record = decode(payload)
        read += isinstance(record, Accepted)
        if isinstance(record, Accepted) and (found := next(filter(heard, _called(record, message)), None)):
            return found
        if read >= MOST_READ:
            break
    return None


def _called(record: Accepted, message: str) -> list[Logged]:
    """By the id of one, by that of the message they came in, or by the cause of all; each that another node passed on
    has its own."""
    every, cause = _all_in(record), message.removeprefix("urn:uuid:")
    if cause == record.cause:
        return every
    if caused := [each for each in every if each.notification.cause == cause]:
        return caused
    return [each for each in every if message in ((name := each.notification.id), name.rpartition("/")[0]) and name]


def _chosen(found: list[Logged], index: int, where: str) -> Logged:
    for each in found:
        if each.notification.index == index:
            return each
    count = found[0].of
    why = f": it has {count}, from 0 on" if index >= count else " to be told of"
    raise Refusal("unknown-name", f"there is no notification {index} in {where}{why}")


def _missing(reader: LogReader, message: str) -> Refusal:
    start, end = reader.start(), reader.end()
    first = max(start, end - MOST_RECORDS)
    kept = f"the records {first} to {end - 1}" if end > first else "the log, which is empty"
    if first > start:
        kept += "; older ones can be named by offset=N"
    return Refusal("unknown-name", f"no notification with the id or cause {message[:200]!r} was found in {kept}")


def _backwards(reader: LogReader, most: int, plain: bytes = b"") -> Iterator[bytes]:
    """Those that have these bytes in them, block by block, each read forwards."""
    start, stop = reader.start(), reader.end()
    start, block = max(start, stop - most), _BLOCK if plain else _WHOLE_BLOCK
    while stop > start:
        begin = max(start, stop - block)
        yield from reversed([payload for _, payload in reader.kept_frames(begin, stop) if plain in payload])
        stop = begin


def _all_in(record: Accepted) -> list[Logged]:
    every: tuple[Notification, ...] = readable(record)
    return [Logged(each, record.door, len(every), addressed_to(record)) for each in every]


def fetch(log: Path, offset: int, index: int, now: Instant) -> Fetched:
    with _reading(log) as reader:
        record, kept = _accepted(reader, offset), reader.start()
    found = () if record is None else readable(record)
    if record is None or index >= len(found):
        if offset < kept:
            raise Refusal("unknown-name", f"record {offset} is no longer kept; the log starts at record {kept}")
        raise Refusal("unknown-name", f"there is no notification {index} in record {offset} of the log")
    if (late := overdue(found[index], now, None)) is not None:
        raise Refusal("unknown-name", late)
    return Fetched(found[index], addressed_to(record) is not None or bool(found[index].addressee))


def _accepted(reader: LogReader, offset: int) -> Accepted | None:
    for _, payload in reader.kept_frames(offset, offset + 1):
        if not is_change(payload) and isinstance(record := decode(payload), Accepted):
            return record
    return None
