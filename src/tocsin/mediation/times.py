"""xs:dateTime and xs:duration. What comes in may be either; what goes out is in UTC with `Z`, or `PT…S`."""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache

from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Refusal

LAST = Instant(2**63 - 1)  # what the log can write down; the year 9999, which means never, is beyond it
_DURATION = re.compile(
    r"P(?:(\d{1,6})Y)?(?:(\d{1,6})M)?(?:(\d{1,6})D)?"
    r"(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12}(?:\.\d{1,30})?)S)?)?",
    re.ASCII,
)
_DAY = 86_400
_UNITS = (365 * _DAY, 30 * _DAY, _DAY, 3_600, 60, 1)  # a lease in years or months needs no calendar
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def is_duration(text: str) -> bool:
    return text.startswith(("P", "-P"))


def expiry(text: str, now: Instant) -> Instant:
    """When a lease ends that was asked for as a duration or a time; refused when that is not in the future."""
    when = Instant(now + duration(text)) if is_duration(text) else instant(text)
    if when <= now:
        raise Refusal("bad-expiry", f"the termination time {text!r} is not in the future; it is {timestamp(now)} here")
    return min(when, LAST)


def duration(text: str) -> int:
    """In nanoseconds."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise Refusal("bad-expiry", f"{text!r} is not a duration such as PT1H")
    parts = zip(found.groups(), _UNITS, strict=True)
    return int(sum(Fraction(part) * unit for part, unit in parts if part) * SECOND)


def instant(text: str) -> Instant:
    """A time without an offset is taken as UTC."""
    found = _DATE_TIME.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        offset = "+00:00" if found[3] in (None, "Z") else found[3]
        whole = datetime.fromisoformat(found[1] + offset)
    except ValueError:
        raise Refusal("bad-expiry", f"{text!r} is neither a time such as 2030-01-31T12:00:00Z nor a duration") from None
    seconds = (whole - _EPOCH) // timedelta(seconds=1)
    return Instant(seconds * SECOND + int((found[2] or "0").ljust(9, "0")))


def timestamp(when: Instant) -> str:
    seconds, rest = divmod(when, SECOND)
    return f"{_second(seconds)}.{rest:09d}".rstrip("0") + "Z" if rest else f"{_second(seconds)}Z"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()


def lasting(nanoseconds: int) -> str:
    """A duration of hours, minutes and seconds only: SDC consumers read no other (WS-DD, DPWS)."""
    seconds, rest = divmod(max(nanoseconds, 0), SECOND)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    shown = f"{seconds}.{rest // 1_000_000:03d}".rstrip("0").rstrip(".")
    return "PT" + (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "") + f"{shown}S"
