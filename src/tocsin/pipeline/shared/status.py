"""How far a job is in a log that nodes share, by Spark's own plan of its batches."""

import json
import time
from pathlib import Path

from tocsin.pipeline.shared.source import extent, placed, topics
from tocsin.pipeline.source import Offsets
from tocsin.store.codec import Undecodable, decode
from tocsin.store.places import LOG, OUTCOMES
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.reading import read_range


def planned(checkpoint: Path, batch: int) -> Offsets:
    """Up to where a batch goes, as its plan has it: marks of transactions count there, and are no records."""
    try:
        last = (checkpoint / "offsets" / str(batch)).read_text("utf-8").splitlines()[-1]
        return {name: int(stop) for name, stop in json.loads(last).items()}
    except (OSError, ValueError, IndexError):
        return {}


def lag(shared: SharedLog, end: Offsets) -> Offsets:
    """By log; about, for marks of transactions that came since count as well."""
    found = {LOG: 0, OUTCOMES: 0}
    for name, (low, high) in extent(shared).items():
        found[placed(name)[0]] += max(0, high - end.get(name, low))
    return found


def waits(shared: SharedLog, end: Offsets) -> float:
    """Since when the first record waits that is in no batch yet, in seconds."""
    first = time.time_ns()
    for name, (low, high) in extent(shared).items():
        log, partition = placed(name)
        if log == LOG:
            start = max(low, end.get(name, low))
            for message in read_range(shared, topics(shared)[log], partition, start, high):
                try:
                    first = min(first, decode(message.value() or b"").when)
                except Undecodable:
                    continue
                break
    return max(0.0, round((time.time_ns() - first) / 1e9, 3))
