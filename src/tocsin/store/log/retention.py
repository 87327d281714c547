"""Which segments of a log may go."""

from collections.abc import Sequence

from tocsin.store.log.segment import Segment


def expendable(
    segments: Sequence[Segment], *, max_bytes: int | None, max_age: float | None, now: float
) -> list[Segment]:
    """The oldest whole segments beyond the size, or last written to longer ago than the age; never the active one."""
    going: list[Segment] = []
    size = sum(segment.size for segment in segments)
    for segment in segments[:-1]:
        too_big = max_bytes is not None and size > max_bytes
        too_old = max_age is not None and now - segment.written > max_age
        if not (too_big or too_old):
            break
        going.append(segment)
        size -= segment.size
    return going
