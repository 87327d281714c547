from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.effort import examples

from tocsin.markup.xml import qname
from tocsin.model.names import NAMESPACE, NCNAME, NO_TOPIC, QName, Topic, qname_in, topic

NAMES = st.text("aZ_éß日ݐ𐀀\u0301\u093f·-.09‿", min_size=1, max_size=6).filter(
    lambda text: NCNAME.fullmatch(text) is not None
)
NAMESPACES = st.from_regex(NAMESPACE, fullmatch=True)
STEPS = st.builds(QName, st.just("") | NAMESPACES, NAMES)


def is_xml_name(text: str) -> bool:
    try:
        etree.fromstring(f"<{text}/>".encode())
    except (etree.XMLSyntaxError, UnicodeEncodeError):
        return False
    return True


@given(NAMES)
@settings(max_examples=examples(25))
def test_every_ncname_is_an_xml_name(name: str) -> None:
    assert is_xml_name(name)


@given(st.characters(exclude_characters=":/>! \t\r\n?", exclude_categories=["Cs"]), st.booleans())
def test_a_character_is_a_name_character_where_libxml2_says_so(character: str, first: bool) -> None:
    name = character if first else f"a{character}"
    assert (NCNAME.fullmatch(name) is not None) == is_xml_name(name)


@pytest.mark.parametrize("name", ["naïve", "दिन", "a\u0301", "日本", "_", "a.b-c", "a·b"])
def test_names_of_any_script(name: str) -> None:
    assert NCNAME.fullmatch(name)
    assert topic(name) == Topic((QName("", name),))


@given(st.lists(STEPS, min_size=1, max_size=5))
@settings(max_examples=examples(25))
def test_a_topic_is_read_from_its_own_text(steps: list[QName]) -> None:
    written = Topic(tuple(steps))
    assert topic(str(written)) == written


@given(st.text(alphabet="ab/{}: .1", max_size=12))
def test_a_text_that_is_read_is_the_text_of_what_was_read(text: str) -> None:
    found = topic(text)
    assert found is None or str(found) == text


@given(NAMESPACES)
@settings(max_examples=examples(50))
def test_every_namespace_of_a_topic_can_be_declared_in_xml(namespace: str) -> None:
    etree.fromstring(f"<a xmlns:p={quoteattr(namespace)}/>".encode())


@pytest.mark.parametrize(
    "namespace", ["urn:x", "http://x.example:80/a/b?c#d", "http://[::1]/", "tag:x,2026:a", "x", "a/b", "urn:a%20b"]
)
def test_namespaces_people_use(namespace: str) -> None:
    assert topic(f"{{{namespace}}}a/b") == Topic((QName(namespace, "a"), QName("", "b")))


@pytest.mark.parametrize(
    "text", ["{urn:ü}a", "{http://h:x/}a", "{a%}b", "{1:a}b", "{a b}c", "{urn:{x}}a", "{http://[}a"]
)
def test_what_is_no_namespace(text: str) -> None:
    assert topic(text) is None


@pytest.mark.parametrize(
    "text", ["", "/", "a/", "/a", "a//b", "{}a", "{a b}c", "{a", "a b", "1a", "a:b", "{\x01}a", "*"]
)
def test_what_is_no_topic(text: str) -> None:
    assert topic(text) is None


def test_a_topic_has_a_length_that_can_be_kept() -> None:
    assert topic("a" * 8192) is not None
    assert topic("a" * 8193) is None


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20), NAMES)
@settings(max_examples=examples(25))
def test_a_qualified_name_is_read_from_its_own_text(namespace: str, local: str) -> None:
    name = QName(namespace, local)
    assert qname(str(name)) == name
    assert qname_in(str(name)) == (name if namespace else None)


@pytest.mark.parametrize("text", ["", "a", "{}a", "{a}", "{a}b c", "a{b}c", "{a}1"])
def test_other_types_stay_text(text: str) -> None:
    assert qname_in(text) is None


def test_the_reserved_topic_has_a_text_form() -> None:
    assert topic(str(NO_TOPIC)) == NO_TOPIC
