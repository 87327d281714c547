"""Cutting an element out of a message byte by byte must say the same as serialising it from the tree."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.effort import examples
from tests.markup.fragments import elements

from tocsin.markup import xml
from tocsin.markup.xml import MarkupError

OUTER = {"s": "urn:soap", "w": "urn:w", "ns": "urn:ns", "p": "urn:outer-p", "q": "urn:q"}
HOLDERS = st.sampled_from(["w:Message", "s:Message", "Message"])
AROUND = st.sampled_from(["", " ", "\r\n", "text", " 1 > ", "<!-- c -->", "<?pi?>", "<other/>"])


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    declared = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in OUTER.items())
    default = draw(st.sampled_from(["", ' xmlns="urn:default"']))
    holder, attributes = draw(HOLDERS), draw(st.sampled_from(["", "", "", " ", ' k="v"', ' xmlns:q="urn:q"']))
    before = draw(st.sampled_from(["", "", "<w:Message><a/></w:Message>", "<s:head w:k='1'/>"]))
    inside = draw(AROUND) + draw(elements()) + draw(AROUND)
    end = draw(st.sampled_from(["", " "]))
    text = f"<s:E{declared}{default}>{before}<{holder}{attributes}>{inside}</{holder}{end}></s:E>"
    return text.encode()


def mentions(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w.\-])(\w+):", text))


def meaning(element: etree._Element) -> object:
    """Names, attributes, text and what every prefix mentioned in them stands for, comments aside."""
    etree.strip_tags(element, etree.Comment, etree.ProcessingInstruction)
    texts = [str(element.text or ""), *(str(value) for value in element.attrib.values())]
    texts += [str(child.tail or "") for child in element]
    spoken = {prefix: element.nsmap.get(prefix) for text in texts for prefix in mentions(text)}
    children = [(meaning(child), child.tail or "") for child in element]
    return element.tag, dict(element.attrib.items()), element.text or "", spoken, children


def holder_of(root: etree._Element) -> etree._Element:
    return root[-1]


@given(messages())
@settings(max_examples=examples(400), deadline=None)
def test_the_bytes_of_a_child_say_what_its_serialisation_says(data: bytes) -> None:
    try:
        parent = holder_of(xml.parse(data))
    except MarkupError:
        return
    child = next(each for each in parent if isinstance(each.tag, str))
    cut, written = xml.child_bytes(data, parent, child), xml.serialise(child)
    assert etree.tostring(xml.parse(cut), method="c14n", exclusive=True) == etree.tostring(
        xml.parse(written), method="c14n", exclusive=True
    )
    assert meaning(xml.parse(cut)) == meaning(xml.parse(written))


def child_of(data: bytes) -> bytes:
    parent = holder_of(xml.parse(data))
    return xml.child_bytes(data, parent, parent[0])


ENVELOPE = b'<s:E xmlns:s="urn:soap" xmlns:p="urn:p" xmlns:t="urn:t"><s:B>%b</s:B></s:E>'


@pytest.mark.parametrize(
    ("own", "alone"),
    [
        (b"<a>1</a>", b"<a>1</a>"),
        (b"  <a>1</a>\r\n", b"<a>1</a>"),
        (b"<p:a>1</p:a>", b'<p:a xmlns:p="urn:p">1</p:a>'),
        (b"<p:a/>", b'<p:a xmlns:p="urn:p"/>'),
        (b"<a k='1'\n>p:b</a>", b"<a xmlns:p=\"urn:p\" k='1'\n>p:b</a>"),
        (b'<q:a xmlns:q="urn:q">urn:q</q:a>', b'<q:a xmlns:q="urn:q">urn:q</q:a>'),
        (b'<p:a xmlns:p="urn:own"/>', b'<p:a xmlns:p="urn:own"/>'),
        (b'<p:a xmlns:p="urn:own" t:k="x>y"/>', b'<p:a xmlns:t="urn:t" xmlns:p="urn:own" t:k="x>y"/>'),
        (b'<a k=" xmlns:p=\'">p:b</a>', b'<a xmlns:p="urn:p" k=" xmlns:p=\'">p:b</a>'),
        (b'<a k=" xmlns:p=" l="p:x"/>', b'<a xmlns:p="urn:p" k=" xmlns:p=" l="p:x"/>'),
    ],
)
def test_the_senders_own_bytes_are_kept(own: bytes, alone: bytes) -> None:
    assert child_of(ENVELOPE % own) == alone


def test_a_prefix_that_only_ends_like_an_outer_one_is_not_declared() -> None:
    assert child_of(ENVELOPE % b'<sens:a xmlns:sens="urn:x">plus:s</sens:a>') == (
        b'<sens:a xmlns:sens="urn:x">plus:s</sens:a>'
    )


@pytest.mark.parametrize(
    ("own", "named"),
    [
        (b"<a/> 1 >", b"a"),
        (b"<a k='\"' l=\"''>\" xmlns:p='urn:own'>p:x</a>", b"a"),
        (b'<s:B xmlns:s="urn:x"><a/></s:B>', b"s:B"),
    ],
)
def test_what_misled_an_earlier_cut(own: bytes, named: bytes) -> None:
    assert child_of(ENVELOPE % own).startswith(b"<" + named)
    xml.parse(child_of(ENVELOPE % own))


def test_a_prefix_spelled_with_a_character_reference_is_declared() -> None:
    assert xml.parse(child_of(ENVELOPE % b"<a>&#112;:x</a>")).nsmap["p"] == "urn:p"


def test_a_holder_inside_a_holder_with_attributes() -> None:
    data = b'<s:E xmlns:s="urn:soap"><s:B k="1"><s:B><a/></s:B></s:B ></s:E>'
    assert child_of(data) == b'<s:B xmlns:s="urn:soap"><a/></s:B>'
