"""What is read by its shape is what is parsed; what is not well-formed, or not plain, has no shape."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.test_xml_walk import path
from tests.matching.xml_samples import NAMESPACES, TEXTS, documents, expressions, paths

from tocsin.markup import xml
from tocsin.markup.conditions import XmlPath
from tocsin.markup.xml import MarkupError
from tocsin.matching.engine import Engine, matches
from tocsin.matching.index import combination as combining
from tocsin.matching.index import xml_index as xml_shapes
from tocsin.matching.index.xml_index import Shape, Shapes, positions, together
from tocsin.matching.index.xml_walk import Paths, Walk
from tocsin.model.filters import Content
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Form, Position, Subscription

ORIGIN = Position(Node("n"), 0)


def read(shapes: Shapes, document: bytes) -> tuple[Shape, list[str]] | None:
    """It is learned when it comes the second time."""
    shapes.read(document)
    return shapes.read(document)


def found(walk: Walk, shape: Shape, strings: list[str]) -> dict[Paths, list[str]]:
    marked, _ = walk.followed(shape.skeleton)
    return {each: [together(strings, positions(marks)) for marks in values] for each, values in marked.items()}


def agrees(walk: Walk, shapes: Shapes, document: bytes) -> bool:
    """Whether it has a shape; if so, the same is found without and with parsing."""
    known = shapes.read(document)
    if known is not None:
        assert found(walk, *known) == walk.followed(xml.parse(document))[0]
    return known is not None


def walk_of(wanted: list[XmlPath]) -> Walk:
    walk = Walk()
    for each in wanted:
        if each.having is None:
            walk.add(each)
    return walk


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(paths().map(path), max_size=6), documents(), st.data())
def test_documents_of_one_shape_are_read_as_they_are_parsed(
    wanted: list[XmlPath], document: bytes, data: st.DataObject
) -> None:
    walk, shapes = walk_of(wanted), Shapes()
    for _ in range(3):
        agrees(walk, shapes, document)
    change, into = data.draw(st.sampled_from(TEXTS)), data.draw(st.sampled_from((*TEXTS, "&lt;", "'", '"', "\n")))
    changed = document.decode().replace(f">{change}<", f">{into}<").replace(f'"{change}"', f'"{into}"').encode()
    try:
        xml.parse(changed)
    except MarkupError:
        assert shapes.read(changed) is None
    else:
        agrees(walk, shapes, changed)


_BITS = st.sampled_from((*b"<>&\"'/=! \n\r\t]x5:", 0, 1, 0x7F, 0xC3, 0xBC, 0xEF, 0xBF, 0xBE))
_PLAIN = b'<p:a xmlns:p="urn:p" x="5"><b p:x="6" y="">7</b> <b>\xc3\xbc</b><c/>8<d></d></p:a>'


@settings(max_examples=examples(1000), deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(_PLAIN)), st.integers(0, 2), st.lists(_BITS, max_size=2)), max_size=4))
def test_what_is_not_well_formed_has_no_shape(changes: list[tuple[int, int, list[int]]]) -> None:
    walk, shapes, document = (
        walk_of([path("//*"), path("//@x"), path("//b/text()"), path("p:a/@p:x")]),
        Shapes(),
        _PLAIN,
    )
    assert read(shapes, _PLAIN) is not None
    for at, length, put in changes:
        document = document[:at] + bytes(put) + document[at + length :]
    for _ in range(3):
        agrees(walk, shapes, document)


@pytest.mark.parametrize(
    "document",
    [
        b"<a>&amp;</a>",
        b"<a><!--5--></a>",
        b"<a><?b?></a>",
        b"<a x='5'/>",
        b'<a>"</a>',
        b'<a>"5"</a>',
        b'<a x=">"/>',
        b'<a x="><"/>',
        b'<a x="\n"/>',
        b"<a>\r</a>",
        b"<a>></a>",
        b"<a<5>/a>",
        b"<a>\xef\xbf\xbf</a>",
        b"<a>\xff</a>",
        b"<a>\x01</a>",
        b"<a>5</b>",
        b"<a>5</a><a/>",
        b"<p:a>5</p:a>",
        b'<a x="5" x="5"/>',
        b'<a xml:id="5"/>',
        b"<!DOCTYPE a><a/>",
        b"5",
        b"",
    ],
)
def test_what_is_not_plain_has_no_shape(document: bytes) -> None:
    assert read(Shapes(), document) is None


def test_namespaces_are_a_part_of_the_shape() -> None:
    shapes = Shapes()
    assert read(shapes, b'<p:a xmlns:p="urn:p">5</p:a>') is not None
    assert shapes.read(b'<p:a xmlns:p="urn:q">5</p:a>') is None


def test_a_quotation_mark_in_a_text_is_not_taken_for_a_value() -> None:
    shapes = Shapes()
    assert read(shapes, b"<a>5</a>") is not None
    assert shapes.read(b'<a>"5"</a>') is None


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_shapes, "MOST_KEPT", 100)
    monkeypatch.setattr(xml_shapes, "MOST_SEEN", 100)
    shapes = Shapes()
    for number in range(500):
        assert read(shapes, b"<a%d>5</a%d>" % (number, number)) is not None
        assert sum(len("".join(tags)) for tags in shapes._known) <= 100 and len(shapes._seen) <= 100


def subscription(name: str, text: str) -> Subscription:
    asked = Content("xpath", text, "payload", tuple(NAMESPACES.items()))
    return Subscription(
        SubscriptionId(name), None, None, None, Form("wsn-1.3", "1.2", "2005/08"), (asked,), ORIGIN, None
    )


def notification(document: bytes) -> Notification:
    topic = Topic((QName("", "a"),))
    return Notification(
        MessageId("m"), ORIGIN, 0, Instant(1), "raw", "", "p", topic, None, (), Payload("application/xml", document)
    )


@pytest.mark.parametrize("many", [0, combining.MANY])
@settings(max_examples=examples(150), deadline=None)
@given(asked=st.lists(expressions, min_size=1, max_size=8), told=st.lists(documents(), min_size=1, max_size=3))
def test_the_engine_gives_what_one_by_one_gives_whenever_a_shape_comes(
    many: int, asked: list[str], told: list[bytes]
) -> None:
    asking = [subscription(f"s{number}", text) for number, text in enumerate(asked)]
    engine = Engine()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(combining, "MANY", many)
        for each in asking:
            engine.apply(each)
            for event in map(notification, told * 2):
                standing = asking[: asking.index(each) + 1]
                assert engine.match(event).wanted == [one for one in standing if matches(one, event)]
        engine.remove(asking[0].id)
        for event in map(notification, told):
            assert engine.match(event).wanted == [one for one in asking[1:] if matches(one, event)]
