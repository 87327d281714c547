from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from tests.pace import within

from tocsin.markup import xml
from tocsin.markup.xml import MarkupError

BOMB = b"""<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">%b]><b>&e9;</b>""" % b"".join(
    b'<!ENTITY e%d "%b">' % (at, b"&%b;" % (b"a" if at == 0 else b"e%d" % (at - 1)) * 10) for at in range(10)
)
XML_TEXT = st.text(st.characters(exclude_categories=["Cs"]).filter(lambda c: c in "\t\n\r" or c >= " ")).map(
    lambda text: text.replace("\ufffe", "").replace("\uffff", "")
)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"no markup", "Start tag expected"),
        (b"<a>", "(?i)premature end"),
        (b"<a></b>", "mismatch"),
        (b"<a/><b/>", "Extra content"),
        (b"<a b='1' b='2'/>", "redefined"),
        (b"<p:a/>", "prefix p"),
        (b"<a p:b='1'/>", "prefix p"),
        (b"<a>\x01</a>", "invalid Char"),
        (b"<a>\xff</a>", "Invalid bytes"),
        (b"<a>&nbsp;</a>", "not defined"),
        (b"<a>" * 300 + b"</a>" * 300, "depth"),
        (b"<a>" + b"x" * 11_000_000 + b"</a>", "(?i)huge"),
        (b"<?xml version='1.0' encoding='nonsense'?><a/>", "encoding"),
    ],
)
def test_what_is_not_well_formed_is_refused_in_words(data: bytes, why: str) -> None:
    with pytest.raises(MarkupError, match=why):
        xml.parse(data)


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE a><a/>",
        "  <!DOCTYPE a><a/>",
        "<!-- x --><!DOCTYPE a><a/>",
        '<?xml version="1.0"?><!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        '<!DOCTYPE a [<!ATTLIST a b CDATA "default">]><a/>',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_soap_1_1_s3_no_doctype_in_any_encoding(text: str, encoding: str) -> None:
    with pytest.raises(MarkupError):
        xml.parse(text.encode(encoding))


def test_an_entity_bomb_is_refused_at_once() -> None:
    with within(500), pytest.raises(MarkupError):
        xml.parse(BOMB)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_other_encodings_are_read(encoding: str) -> None:
    assert xml.parse("<a>Grüße!</a>".encode(encoding)).text == "Grüße!"
    assert xml.parse('<?xml version="1.0" encoding="iso-8859-1"?><a>ü</a>'.encode("latin-1")).text == "ü"


@given(XML_TEXT)
def test_text_comes_back_as_it_was(text: str) -> None:
    assert (xml.parse(b"<a>%b</a>" % xml.text(text)).text or "") == text


@given(XML_TEXT)
def test_an_attribute_comes_back_as_it_was(text: str) -> None:
    assert xml.parse(b"<a b=%b/>" % xml.attribute(text)).get("b") == text


@pytest.mark.parametrize(
    ("data", "plain"),
    [
        (b"<a/>", True),
        (b"<?xml version='1.0'?><a/>", True),
        (b'<?xml version="1.0" encoding="UTF-8"?>\n<a/>', True),
        (b'<?xml version="1.0" encoding="utf-8" standalone="yes"?><a/>', True),
        (b'<?xml version="1.0" encoding="iso-8859-1"?><a/>', False),
        (b'<?xml version="1.0" encoding="iso-8859-1" standalone="utf-8"?><a/>', False),
        (b"<a>why? yes!</a>", True),
        (b"<a><?pi?></a>", False),
        (b"<?xml version='1.0'?><a><?pi?></a>", False),
        (b"<a><!-- c --></a>", False),
        (b"<a><![CDATA[<b>]]></a>", False),
        (b"\xef\xbb\xbf<a/>", False),
        ("<a/>".encode("utf-16-le"), False),
        (b" <a/>", False),
    ],
)
def test_where_an_angle_bracket_always_starts_a_tag(data: bytes, plain: bool) -> None:
    assert xml.is_plain(data) is plain


_WHOLE = (
    b"<a/>",
    b"<a x='1'>t<b:c xmlns:b='urn:u'>&amp;&#65;</b:c> z</a>",
    "<p:a xmlns:p='urn:p'>\u20ac</p:a>".encode(),
)
_BITS = (b"<", b">", b"</", b"/>", b"&", b"&#0;", b"'", b":", b"]]>", b"<a", b"\xff", b"\0", b" ", b"xmlns:b='u'", b"x")
_CHANGES = st.lists(st.tuples(st.integers(0, 60), st.sampled_from(_BITS), st.booleans()), max_size=4)


@given(st.sampled_from(_WHOLE), _CHANGES)
def test_what_is_fed_is_read_as_what_is_parsed(whole: bytes, changes: list[tuple[int, bytes, bool]]) -> None:
    for at, bit, replaces in changes:
        whole = whole[:at] + bit + whole[at + replaces :]
    try:
        parsed = xml.serialise(etree.fromstring(whole, xml.SAFE_PARSER))
    except (etree.XMLSyntaxError, ValueError):
        parsed = None
    fed = xml.element_of(whole)
    assert (None if fed is None else xml.serialise(fed)) == parsed


def test_what_is_fed_may_be_large_or_deep() -> None:
    for size in (1 << 20, 11 << 20):
        large = xml.element_of(b"<a>%b</a>" % (b"<b>%b</b>" % (b"x" * 1000) * (size // 1000)))
        assert large is not None and len(large) == size // 1000
    assert xml.element_of(b"<a>" * 300 + b"</a>" * 300) is None
    assert xml.element_of(b"<a/>") is not None


def test_threads_feed_parsers_of_their_own() -> None:
    documents = [b"<a%d>%b</a%d>" % (number, b"<b/>" * 200, number) for number in range(400)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(xml.element_of, documents))
    assert [each.tag for each in found if each is not None] == [f"a{number}" for number in range(400)]
