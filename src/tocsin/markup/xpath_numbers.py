"""Strings as numbers of XPath 1.0."""

import re
from collections.abc import Sequence
from math import nan

MOST_DIGITS = 1_200  # a double takes fewer, written out: 309 before the point, or 1,075 after it up to where it rounds
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def number(text: str) -> float:
    """XPath 1.0 s4.4: no sign but a minus, no exponent (libxml2 does read one)."""
    if len(text) < 16 and text.isascii() and text.replace(".", "", 1).isdigit():  # as most are written
        return float(text)
    text = text.strip() if text.isascii() else ""  # in XML, ASCII has no white space but XPath's
    if not _NUMBER.fullmatch(text):
        return nan
    return float(text if len(text) <= MOST_DIGITS else shortened(text)) + 0.0  # no two zeros


def numbers(texts: Sequence[str]) -> list[float]:
    """Each of them; all at once if they have digits and points alone, as most have."""
    together = "".join(texts)
    if together.isascii() and together.replace(".", "").isdigit():
        try:
            return list(map(float, texts))
        except ValueError:
            pass
    return list(map(number, texts))


def shortened(digits: str) -> str:
    """The same number in not many more digits than can matter: a last one says that others stood behind it."""
    sign, digits = "-" * digits.startswith("-"), digits.lstrip("-").lstrip("0")
    kept, dropped = digits[:MOST_DIGITS], digits[MOST_DIGITS:]
    return f"{sign}0{kept}{'1' if '.' in kept and dropped.strip('0') else ''}"
