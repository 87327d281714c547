"""The one place where XPath 1.0 is compiled."""

from collections.abc import Mapping

from lxml import etree

LONGEST = 4096


class XPathError(ValueError):
    """What was sent is not an XPath expression we accept."""


def check(expression: str, namespaces: Mapping[str | None, str]) -> None:
    """Refuses what is no XPath 1.0; a prefix that is not declared is found out only where it is used."""
    if len(expression) > LONGEST:
        raise XPathError(f"the expression has more than {LONGEST} characters")
    try:
        etree.XPath(expression, namespaces={prefix: uri for prefix, uri in namespaces.items() if prefix})
    except (etree.XPathError, ValueError) as problem:
        raise XPathError(f"the expression {expression[:80]!r} is not XPath 1.0: {problem}") from None
