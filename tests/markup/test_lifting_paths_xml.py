"""Paths of liftings in XML: as XPath 1.0 has them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.effort import examples

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.lifting_paths import xml_path
from tocsin.markup.xml import text_in

NAMESPACES = {"n": "urn:n"}
PIECES = ["n:", "a", "b", "*", "/", "//", ".", "..", "@", "[", "]", "1", "=", "'x'", "text()", "last()", "(", "é"]
DOCUMENT = """<n:a xmlns:n="urn:n" xml:lang="en" k="v"><b>1</b><b i="x">2<c>3</c>4</b><n:b>5</n:b><!-- no -->
<d><b>6</b><b i="">7</b></d></n:a>"""


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("b", ["1", "234"]),
        ("n:b", ["5"]),
        ("n:*", ["5"]),
        ("*/b", ["6", "7"]),
        ("//b", ["1", "234", "6", "7"]),
        ("d//b", ["6", "7"]),
        (".//b", ["1", "234", "6", "7"]),
        ("/n:a/b", ["1", "234"]),
        ("/b", []),
        ("/*/@k", ["v"]),
        ("//n:a/@k", ["v"]),
        ("@k", ["v"]),
        ("@xml:lang", ["en"]),
        ("@none", []),
        ("b/text()", ["1", "2", "4"]),
        ("b[2]", ["234"]),
        ("b[last()]/@i", ["x"]),
        ("b[9]", []),
        ("//b[1]", ["1", "6"]),
        ("//n:a[1]/n:b", ["5"]),
        ("//b[@i]", ["234", "7"]),
        ("//b[@i='x']/c", ["3"]),
        ("//b[@i != 'x']", ["7"]),
        ("//b[. = '6']", ["6"]),
        ('//b[text()="4"]', ["234"]),
        ("b[c]", ["234"]),
        ("b[c='3'][@i]", ["234"]),
        ("b[@i][1]", ["234"]),
        (" b [ 2 ] / c ", ["3"]),
        ("./b/.", ["1", "234"]),
    ],
)
def test_paths_in_xml(path: str, found: list[str]) -> None:
    root = etree.fromstring(DOCUMENT)
    values = xml_path(path, NAMESPACES).find(root, root)
    assert [each if isinstance(each, str) else text_in(each) for each in values] == found
    by_lxml: Any = root.xpath(path.strip(), namespaces=NAMESPACES)
    assert [each if isinstance(each, str) else each.xpath("string()") for each in by_lxml] == found


def test_a_path_begins_where_it_is_asked() -> None:
    root = etree.fromstring(DOCUMENT)
    inner = root.find("d")
    assert inner is not None
    assert len(xml_path("b", {}).find(inner, root)) == 2
    assert xml_path(".", {}).find(inner, root) == [inner]
    assert xml_path("/n:a/@k", NAMESPACES).find(inner, root) == ["v"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("b/", "position 2"),
        ("/", "is expected"),
        ("../b", "position 0"),
        ("@k/b", "goes on"),
        ("m:b", "the prefix m is not declared"),
        ("//a//b", "// once"),
        ("count(b)", "position 0"),
        ("b[contains(., 'x')]", "position 1"),
        ("b | c", "goes on"),
        ("//@k", "after //"),
        ("/@k", "no @k of its own"),
        ("a" * 2000, "at most 1024"),
    ],
)
def test_paths_that_are_none(path: str, says: str) -> None:
    with pytest.raises(ExpressionError) as wrong:
        xml_path(path, NAMESPACES)
    assert says in str(wrong.value)


@settings(max_examples=examples(300), deadline=None)
@given(path=st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_any_text_is_a_path_or_is_refused(path: str) -> None:
    root = etree.fromstring(DOCUMENT)
    try:
        found = xml_path(path, NAMESPACES).find(root, root)
    except ExpressionError as problem:
        assert 0 <= problem.position <= len(path)
        return
    by_lxml: Any = root.xpath(path, namespaces=NAMESPACES)
    assert found == by_lxml
