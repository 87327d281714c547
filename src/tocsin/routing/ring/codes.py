"""Codes of 64 bits for floats and strings that keep their order: what is not less has a code that is not less.

Whatever is coded is shared out, not just ordered: nodes divide the circle evenly, so what occurs often gets more of it.
"""

from itertools import accumulate, pairwise
from struct import Struct

CODE = 64  # bits
_MIDDLE = 1 << CODE - 1  # the code of zero
_as_float, _as_bits = Struct(">d").pack, Struct(">Q").unpack
_MAGNITUDE = _MIDDLE - 1


def _bits(number: float) -> int:
    (found,) = _as_bits(_as_float(number))
    return int(found)


# The bits of a float, the sign aside, are in its order, but by themselves give each power of two as much as any other,
# from 10^-323 to 10^308: all that people measure were in a fortieth of the range. Here what is between SMALL and LARGE
# has seven eighths.
SMALL, LARGE = 2.0**-16, 2.0**48
_KNOTS = ((0, 0), (_bits(SMALL), _MIDDLE >> 4), (_bits(LARGE), _MIDDLE - (_MIDDLE >> 4)), (_MIDDLE, _MIDDLE))
_SMALL, _LARGE = _bits(SMALL), _bits(LARGE)


def code_of_number(number: float) -> int:
    """Of any float; -0 and 0 are one number."""
    bits = _bits(number + 0.0)
    size = _squeezed(bits & _MAGNITUDE)
    return _MIDDLE + size if bits < _MIDDLE else _MIDDLE - 1 - size


def _squeezed(magnitude: int) -> int:
    """Linear between each two knots, in integers: no rounding breaks the order."""
    at = 1 if _SMALL <= magnitude < _LARGE else 0 if magnitude < _SMALL else 2
    (start, low), (end, high) = _KNOTS[at], _KNOTS[at + 1]
    return low + (magnitude - start) * (high - low) // (end - start)


# A string is coded as in arithmetic coding, with fixed shares: the first byte picks a part of the whole, the second a
# part of that. From each byte on, up to the next, so many of 4,096 for each: letters and digits have three quarters.
# Bytes that UTF-8 never has get nothing. Those that continue a character stand among each other only, and share all.
_SHARES = {
    0x00: 1,
    0x20: 87,  # the space
    0x21: 12,
    0x30: 100,  # digits
    0x3A: 12,
    0x41: 28,  # capitals
    0x5B: 12,
    0x61: 56,  # small letters
    0x7B: 12,
    0x7F: 1,
    0x80: 0,
    0xC2: 8,  # what begins a character beyond ASCII
    0xF5: 0,
    0x100: 0,
}
_WHOLE = 12  # bits of the sum
_CONTINUING = range(0x80, 0xC0)
_widths = [share for (first, share), (end, _) in pairwise(_SHARES.items()) for _ in range(first, end)]
_starts = [0, *accumulate(_widths)]
_PARTS = tuple(
    ((byte - 0x80 << _WHOLE - 6, 1 << _WHOLE - 6) if byte in _CONTINUING else (_starts[byte], _widths[byte]))
    for byte in range(256)
)


def codes_of_prefix(text: str, finest: int = 1) -> tuple[int, int]:
    """The least and the greatest code of a string that begins so. What is told apart by less than `finest` need not
    be: then the rest of the string is not looked at."""
    low, width = 0, 1 << CODE
    for byte in text.encode("utf-8", "surrogatepass"):
        start, share = _PARTS[byte]
        low += width * start >> _WHOLE
        width = width * share >> _WHOLE
        if width <= finest:
            break
    return low, low + max(width - 1, 0)


def code_of_string(text: str, finest: int = 1) -> int:
    """The least of those that begin with it."""
    return codes_of_prefix(text, finest)[0]
