"""Conditions of expressions hold where libxml2 finds that the expressions are true."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.xml_samples import NAMESPACES, documents, expressions

from tocsin.markup import xml, xpath
from tocsin.markup.conditions import Compare, Exists, ExpressionError, Path, XmlPath
from tocsin.markup.content import Values, holds, string_value, values_at
from tocsin.markup.xpath_conditions import read


def is_true(expression: str, document: bytes) -> bool:
    condition, root = read(expression, NAMESPACES), xml.parse(document)
    assert condition is not None

    def at(path: Path) -> Values:
        assert isinstance(path, XmlPath)
        return tuple(values_at(root, path))

    return holds(condition, at)


@settings(max_examples=examples(700), deadline=None)
@given(expressions, documents())
def test_a_condition_holds_where_its_expression_is_true(expression: str, document: bytes) -> None:
    assert is_true(expression, document) is xpath.evaluate(expression, NAMESPACES, document)


_WORDS = (
    *("a", "b", "p:a", "*", "p:*", "@", "x", "/", "//", ".", "..", "::", "child", "self", "text()", "node()", "(", ")"),
    *("[", "]", "5", "-", "'5'", "''", "=", "<", "and", "or", "div", "|", "+", ",", "not(", "count(", "true()", "1.5"),
    *("concat(", "string(", "sum(", "last()", "boolean(", "id(", "name(", "/", "[", "]", ")", "=", "a", "a"),
)
_DOCUMENT = b"<a xmlns:p='urn:p' x='5'>5<b x='1.5'><p:a/><!--x--><a>1.5</a></b><child/><p:a x=''>5<b/></p:a></a>"


@settings(max_examples=examples(2000), deadline=None)
@given(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=9).map(" ".join), st.sampled_from((_DOCUMENT, b"<x/>")))
def test_what_is_accepted_can_be_evaluated(expression: str, document: bytes) -> None:
    try:
        condition = read(expression, NAMESPACES)
    except ExpressionError as problem:
        assert 0 <= problem.position <= len(expression)
        return
    expected = xpath.evaluate(expression, NAMESPACES, document)
    assert condition is None or is_true(expression, document) is expected


@pytest.mark.parametrize("text", ["1e3", "5e", "1E0", "+5", "Infinity", "٥", "5 5", "--5", "\xa05"])
def test_what_is_no_number(text: str) -> None:
    """XPath 1.0 s4.4 knows no exponents; in this libxml2 differs."""
    document = f"<a>{text}</a>".encode()
    assert not is_true(". > -1 or . < 0 or . = 5", document)
    assert is_true(". != 5", document)


def _values(expression: str, document: str) -> list[str]:
    condition = read(expression, NAMESPACES)
    assert isinstance(condition, Exists | Compare) and isinstance(condition.path, XmlPath)
    return list(values_at(xml.parse(document.encode()), condition.path))


def test_text_nodes_are_separated_by_comments_and_joined_across_cdata() -> None:
    assert _values("text()", "<a>1<!--x-->2<![CDATA[3]]>&#52;<?x y?>5<b>6</b>7</a>") == ["1", "234", "5", "7"]


def test_a_text_node_has_at_least_one_character() -> None:
    """XPath 1.0 s5.7; libxml2 has empty ones."""
    assert _values("text()", "<a><![CDATA[]]></a>") == []


def test_a_string_value_passes_over_comments() -> None:
    assert _values(".", "<a>1<!--x-->2<?x y?><b>3<c/></b>4</a>") == ["1234"]


def test_no_element_is_found_twice() -> None:
    assert _values("//a//b/@x", "<a><a><b x='1'><a><b x='2'/></a></b></a></a>") == ["1", "2"]
    assert sorted(_values("//a/*//b/@x", "<a><a><a><b x='1'/></a><a><a><b x='2'/></a></a></a></a>")) == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("x" * 257, ". != 'x' and not(. < 1 or . >= 1)"),
        ("5" + "x" * 256, ". != '5' and not(. = 5)"),
        (" " * 300 + "5" + " " * 300, ". = 5 and . != '5' and . < 6"),
        ("0" * 2000 + "5." + "0" * 2000, ". = 5 and . <= 5 and . >= 5"),
        ("-" + "9" * 2000, ". < -1 and . != 5"),
        ("0." + "0" * 2000 + "1", ". = 0"),
    ],
)
def test_long_string_values_are_told_apart_as_if_they_were_kept(text: str, true: str) -> None:
    document = f"<a>{text}<b/></a>".encode()
    assert is_true(true, document)
    assert xpath.evaluate(true, NAMESPACES, document)
    assert len(string_value(xml.parse(document))) < 1300


@pytest.mark.parametrize("inner", ["x", " ", "1"])
def test_string_values_of_nested_elements_stay_small(inner: str) -> None:
    document = f"<a>{inner}" * 250 + inner * 500_000 + "</a>" * 250
    assert sum(map(len, _values("//*", document))) < 1_000_000
