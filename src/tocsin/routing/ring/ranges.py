"""Sets of integers as sorted ranges, both ends included, no two of which overlap or touch."""

from bisect import bisect_left
from collections.abc import Iterable
from operator import itemgetter

Range = tuple[int, int]
Ranges = tuple[Range, ...]

_last = itemgetter(1)


def merged(ranges: Iterable[Range]) -> Ranges:
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple(found)


def next_in(ranges: Ranges, at: int) -> int | None:
    """The smallest that is not below `at`."""
    ahead = bisect_left(ranges, at, key=_last)
    return max(at, ranges[ahead][0]) if ahead < len(ranges) else None


def next_beside(ranges: Ranges, at: int) -> int:
    """The smallest, not below `at`, that is in none of them."""
    ahead = bisect_left(ranges, at, key=_last)
    return ranges[ahead][1] + 1 if ahead < len(ranges) and ranges[ahead][0] <= at else at


def meet(ranges: Ranges, first: int, last: int) -> bool:
    ahead = bisect_left(ranges, first, key=_last)
    return ahead < len(ranges) and ranges[ahead][0] <= last


def cover(ranges: Ranges, first: int, last: int) -> bool:
    ahead = bisect_left(ranges, first, key=_last)
    return ahead < len(ranges) and ranges[ahead][0] <= first and last <= ranges[ahead][1]
