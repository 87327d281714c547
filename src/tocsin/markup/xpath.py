"""The one place where XPath 1.0 is compiled."""

from collections.abc import Mapping
from functools import lru_cache

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
