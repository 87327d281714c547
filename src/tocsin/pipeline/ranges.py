"""Which records of a node's log are meant, and as of which record subscriptions are asked for."""

from contextlib import closing
from pathlib import Path

from tocsin.pipeline.errors import PipelineError
from tocsin.store.log.reader import LogReader
from tocsin.store.places import LOG, Places


def end_of(data: Path) -> int:
    """As of now."""
    with closing(LogReader(Places(data).log(LOG))) as reader:
        return reader.end()


def log_range(data: Path, start: int | None, stop: int | None) -> tuple[int, int]:
    """Records from `start` up to `stop`, by default all that are kept by now."""
    with closing(LogReader(Places(data).log(LOG))) as reader:
        first, end = reader.start(), reader.end()
    begin, stop = first if start is None else start, end if stop is None else stop
    if not first <= begin <= stop <= end:
        raise PipelineError(f"the log has records {first} up to {end}, not {begin} up to {stop}")
    return begin, stop


def check_as_of(data: Path, offset: int) -> None:
    end = end_of(data)
    if not 0 <= offset <= end:
        raise PipelineError(f"subscriptions are known as of records 0 up to {end}, not {offset}")
