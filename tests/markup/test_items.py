import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.effort import examples
from tests.markup.telling import values_in

from tocsin.markup.conditions import (
    DEEPEST,
    LONGEST,
    Compare,
    Condition,
    Every,
    Exists,
    ExpressionError,
    Negated,
    Some,
    Step,
    XmlPath,
)
from tocsin.markup.content import holds
from tocsin.markup.items import SCHEMA, read

TT = {"tt": SCHEMA}


def attribute(name: str, value: str) -> Condition:
    return Compare(XmlPath((), f"@{name}", absolute=False), "=", value)


def item(having: Condition, local: str = "SimpleItem") -> Condition:
    return Exists(XmlPath((Step(f"{{{SCHEMA}}}{local}", deep=True),), having=having))


X, ONE = attribute("Name", "x"), attribute("Value", "1")
CONDITIONS: list[tuple[str, Condition]] = [
    ('boolean(//tt:SimpleItem[@Name="x"])', item(X)),
    ("boolean( //SimpleItem [ @Name = 'x' ] )", item(X)),
    ('boolean(//tt:ElementItem[@Name="x"])', item(X, "ElementItem")),
    ('boolean(//tt:SimpleItem[@Name="x" and @Value="1"])', item(Every((X, ONE)))),
    ('boolean(//tt:SimpleItem[@Name="x" or not(@Value="1")])', item(Some((X, Negated(ONE))))),
    ('not(boolean(//tt:SimpleItem[@Name="x"]))', Negated(item(X))),
    (
        "boolean(//SimpleItem[@Name='x']) or boolean(//SimpleItem[@Value='1'])"
        " and (boolean(//SimpleItem[(@Name='x')]))",
        Some((item(X), Every((item(ONE), item(X))))),
    ),
    ('boolean(//tt:SimpleItem[@Name=""])', item(attribute("Name", ""))),
]


@pytest.mark.parametrize(("text", "condition"), CONDITIONS, ids=[text for text, _ in CONDITIONS])
def test_the_grammar(text: str, condition: Condition) -> None:
    assert read(text, TT) == condition


def test_another_prefix_may_be_declared() -> None:
    assert read('boolean(//o:SimpleItem[@Name="x"])', {"o": SCHEMA}) == item(X)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ('//tt:SimpleItem[@Name="x"]', 0),
        ("boolean(//tt:SimpleItem)", 23),
        ('boolean(/tt:SimpleItem[@Name="x"])', 8),
        ('boolean(//x:SimpleItem[@Name="x"])', 10),
        ('boolean(//other:SimpleItem[@Name="x"])', 10),
        ('boolean(//tt:Item[@Name="x"])', 13),
        ('boolean(//tt:SimpleItems[@Name="x"])', 13),
        ('boolean(//tt:SimpleItem[@name="x"])', 24),
        ('boolean(//tt:SimpleItem[@Name!="x"])', 29),
        ("boolean(//tt:SimpleItem[@Name=x])", 30),
        ("boolean(//tt:SimpleItem[@Name=1])", 30),
        ('boolean(//tt:SimpleItem[@Name="x])', 30),
        ('boolean(//tt:SimpleItem[@Name="x"]', 34),
        ('boolean(//tt:SimpleItem[@Name="x"]) and', 39),
        ('boolean(//tt:SimpleItem[@Name="x"]) xor true()', 36),
        ('not boolean(//tt:SimpleItem[@Name="x"])', 4),
        ("(" * 1000, DEEPEST + 1),
        (" " * (LONGEST + 1), LONGEST),
    ],
)
def test_all_else_is_told_with_its_position(text: str, position: int) -> None:
    with pytest.raises(ExpressionError) as told:
        read(text, TT | {"other": "urn:other"})
    assert told.value.position == position


NAMES, VALUES = st.sampled_from(["Rule", "Token", ""]), st.sampled_from(["1", "a b", "é", "<"])
TESTS = st.recursive(
    st.builds(lambda name: f'@Name="{name}"', NAMES) | st.builds(lambda value: f"@Value='{value}'", VALUES),
    lambda inner: st.one_of(
        st.builds(lambda one, how, other: f"{one} {how} {other}", inner, st.sampled_from(["and", "or"]), inner),
        inner.map(lambda text: f"not({text})"),
        inner.map(lambda text: f"({text})"),
    ),
    max_leaves=3,
)
FILTERS = st.recursive(
    st.builds(lambda kind, test: f"boolean(//tt:{kind}Item[{test}])", st.sampled_from(["Simple", "Element"]), TESTS),
    lambda inner: st.one_of(
        st.builds(lambda one, how, other: f"{one} {how} {other}", inner, st.sampled_from(["and", "or"]), inner),
        inner.map(lambda text: f"not({text})"),
        inner.map(lambda text: f"({text})"),
    ),
    max_leaves=3,
)


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """A tt:Message, with items in its groups, in others' namespaces, and without their attributes."""
    message = etree.Element(f"{{{SCHEMA}}}Message", nsmap=TT)
    groups = [etree.SubElement(message, f"{{{SCHEMA}}}{name}") for name in ("Source", "Data")]
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from([f"{{{SCHEMA}}}SimpleItem", f"{{{SCHEMA}}}ElementItem", "SimpleItem"]))
        found = etree.SubElement(draw(st.sampled_from(groups)), name)
        for key, values in (("Name", NAMES), ("Value", VALUES)):
            if draw(st.booleans()):
                found.set(key, draw(values))
    return etree.tostring(message)


@settings(max_examples=examples(200), deadline=None)
@given(FILTERS, messages())
def test_it_means_what_xpath_means(text: str, message: bytes) -> None:
    expected = etree.fromstring(message).xpath(f"boolean({text})", namespaces=TT)
    assert holds(read(text, TT), values_in("application/xml", message)) is expected
