import pytest

from tocsin.markup.xpath import LONGEST, XPathError, check, evaluate


@pytest.mark.parametrize("expression", ["a", "//a[@b = 1]/text()", "p:a and not(b)", "count(//*) > 3"])
def test_what_is_xpath(expression: str) -> None:
    check(expression, {"p": "urn:p", None: "urn:default"})


@pytest.mark.parametrize("expression", ["", "///[", "a b", "(" * LONGEST, "a" * (LONGEST + 1), "for $x in a return $x"])
def test_what_is_none(expression: str) -> None:
    with pytest.raises(XPathError):
        check(expression, {})


@pytest.mark.parametrize(
    ("expression", "true"),
    [
        *[("0 div 0", False), ("0", False), ("-1", True), ("1 div 0", True), ("''", False), ("'false'", True)],
        *[("b", True), ("c", False), ("/", True), ("@x", True), ("/a", True), ("true()", True), ("count(*) = 2", True)],
        *[("namespace::*", True), ("p:d", True), ("string(b)", False), ("//text()", True), ("number(b)", False)],
    ],
)
def test_the_boolean_of_what_is_evaluated(expression: str, true: bool) -> None:
    assert evaluate(expression, {"p": "urn:p", "": "urn:q"}, b"<a x=''><b/><d xmlns='urn:p'>5</d></a>") is true


@pytest.mark.parametrize("expression", ["p:a", "$x", "f()", "count(5)", "re:test('x', 'x')", "a b", "b) or (b"])
def test_what_cannot_be_evaluated(expression: str) -> None:
    with pytest.raises(XPathError):
        evaluate(expression, {"re": "http://exslt.org/regular-expressions"}, b"<a/>")


@pytest.mark.parametrize("document", [b"", b"<a>", b"<!DOCTYPE a><a/>"])
def test_documents_that_nothing_can_be_asked_of(document: bytes) -> None:
    with pytest.raises(XPathError):
        evaluate("a", {}, document)
