"""A page of what is read ends by its bytes too: a thousand messages may be a megabyte, or a thousand."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

PAGE_BYTES = 4 << 20
T = TypeVar("T")


def until_bytes(each_of: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[T]:
    """The first of them, until they have so many bytes: one at least, and less than one more than that."""
    for each in each_of:
        yield each
        most -= size(each)
        if most <= 0:
            return
