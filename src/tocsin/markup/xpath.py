"""Compiles XPath 1.0 with lxml (nowhere else), and converts strings to numbers as XPath does."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import nan

from lxml import etree

from tocsin.markup import xml
from tocsin.markup.xml import MarkupError

LONGEST = 4096
_REMEMBERED = 1024
_Namespaces = Mapping[str, str] | Mapping[str | None, str]


class XPathError(ValueError):
    """What was sent is not an XPath expression we accept, or it cannot be evaluated of a document."""


def check(expression: str, namespaces: _Namespaces) -> None:
    """Refuses what is no XPath 1.0; a prefix that is not declared is found out only where it is used."""
    if len(expression) > LONGEST:
        raise XPathError(f"the expression has more than {LONGEST} characters")
    _compiled(expression, _pairs(namespaces))


def evaluate(text: str, namespaces: Mapping[str, str], document: bytes) -> bool:
    """Its `boolean()` at the document's root element. This may take minutes: only for who can be killed."""
    declared = _pairs(namespaces)
    _compiled(text, declared)  # alone, too, so that no bracket of it closes ours
    try:
        return bool(_compiled(f"boolean({text})", declared)(xml.parse(document)))
    except MarkupError as problem:
        raise XPathError(f"the expression {text[:80]!r} cannot be asked of the document: {problem}") from None
    except etree.XPathError as problem:
        raise XPathError(f"the expression {text[:80]!r} cannot be evaluated: {problem}") from None


def _pairs(namespaces: _Namespaces) -> tuple[tuple[str, str], ...]:
    """Names without prefix have no namespace in XPath 1.0, whatever the default is (s2.3)."""
    return tuple((prefix, uri) for prefix, uri in namespaces.items() if prefix)


@lru_cache(maxsize=_REMEMBERED)
def _compiled(text: str, namespaces: tuple[tuple[str, str], ...]) -> etree.XPath:
    """EXSLT's regular expressions, which lxml has by default, can run for ever."""
    try:
        return etree.XPath(text, namespaces=dict(namespaces), regexp=False, smart_strings=False)
    except (etree.XPathError, ValueError) as problem:
        raise XPathError(f"the expression {text[:80]!r} is not XPath 1.0: {problem}") from None


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
