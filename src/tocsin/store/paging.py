"""A page of what is read ends by its bytes and its time too: a thousand messages may be a megabyte, or a thousand."""

from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import TypeVar

PAGE_BYTES = 4 << 20
PAGE_SECONDS = 5.0
T = TypeVar("T")


def until_bytes(each_of: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[T]:
    """The first of them, until they have so many bytes: one at least, and less than one more than that."""
    for each in each_of:
        yield each
        most -= size(each)
        if most <= 0:
            return


class Stretch:
    """Records of the log, as many as can be looked at in `PAGE_SECONDS`; `stop` is where that ended."""

    def __init__(self, stop: int) -> None:
        self.stop = stop

    def of(self, frames: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """The first of them, however late it is."""
        until = monotonic() + PAGE_SECONDS
        for count, frame in enumerate(frames):
            if count and monotonic() > until:
                self.stop = frame[0]
                return
            yield frame
