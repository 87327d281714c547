import pytest

from tocsin.markup.xpath import LONGEST, XPathError, check


@pytest.mark.parametrize("expression", ["a", "//a[@b = 1]/text()", "p:a and not(b)", "count(//*) > 3"])
def test_what_is_xpath(expression: str) -> None:
    check(expression, {"p": "urn:p", None: "urn:default"})


@pytest.mark.parametrize("expression", ["", "///[", "a b", "(" * LONGEST, "a" * (LONGEST + 1), "for $x in a return $x"])
def test_what_is_none(expression: str) -> None:
    with pytest.raises(XPathError):
        check(expression, {})
