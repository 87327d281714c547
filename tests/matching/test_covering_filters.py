import pytest

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.covering import covers, covers_all
from tocsin.model.declarations import Hierarchy, Producer
from tocsin.model.filters import (
    NOTHING,
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    ForNotifier,
    Not,
    ProducerIs,
    TopicIs,
    TypeIs,
)
from tocsin.model.topics import parse_topic_expression

KNOWN = Catalogue(
    [
        Hierarchy("types", (("hurricane", ("storm",)), ("storm", ("weather",)))),
        Hierarchy("categories", (("clinic", ("health",)),)),
        Producer("http://a", ("clinic",)),
    ]
)


def topic(text: str) -> TopicIs:
    return parse_topic_expression(text, "full", {})


def xpath(text: str) -> Content:
    return Content("xpath", text)


A, B, C = topic("a"), topic("b"), topic("c")
COVERED: list[tuple[Filter, Filter]] = [
    (TypeIs(("weather",)), TypeIs(("hurricane", "storm"))),
    (ProducerIs(categories=("health",)), ProducerIs(("http://a",), ("clinic",))),
    (ProducerIs(("http://b", "http://a")), ProducerIs(("http://b",))),
    (ActionIs(("urn:x/a",)), ActionIs(("urn:x/a/b", "urn:x/a"))),
    (AttributeIs("subject", "prefix", "a"), AttributeIs("subject", "prefix", "ab")),
    (AttributeIs("subject", "suffix", "b"), AttributeIs("subject", "exact", "ab")),
    (ForNotifier("n"), ForNotifier("n")),
    (Content("sparql", "ASK {}", "producer"), Content("sparql", "ASK {}", "producer")),
    (xpath("/a/b > 1"), xpath("/a/b > 2")),
    (xpath("/a/b > 1"), xpath("/a/b = 2")),
    (xpath("/a/b >= 2"), xpath("/a/b > 2")),
    (xpath("/a/b != 2"), xpath("/a/b > 2")),
    (xpath("/a/b"), xpath("/a/b = 'x'")),
    (xpath("/a/b > 1 or /a/c"), xpath("/a/b > 1 and /a/d")),
    (xpath("/a/b > 1"), xpath("/a/b > 1 and /a/d")),
    (xpath("/a/b > 1"), xpath("/a/b > 2 or /a/b = 7")),
    (AnyOf((A, B)), A),
    (AnyOf((A, B)), topic("a|b")),
    (AnyOf((A, B, C)), AnyOf((C, A))),
    (A, AllOf((A, B))),
    (AllOf((A, AllOf((B,)))), AllOf((C, B, A))),
    (AnyOf((AllOf((A, B)), C)), AllOf((A, AnyOf((B, C))))),
    (A, NOTHING),
    (NOTHING, NOTHING),
    (Not(A), Not(topic("a|b"))),
    (AllOf(()), A),
]
NOT_COVERED: list[tuple[Filter, Filter]] = [
    (TypeIs(("storm",)), TypeIs(("weather",))),
    (TypeIs(("storm",)), TypeIs(("hurricane", "rain"))),
    (ProducerIs(categories=("clinic",)), ProducerIs(categories=("health",))),
    (ProducerIs(("http://a",)), ProducerIs(categories=("clinic",))),
    (ActionIs(("urn:x/a",)), ActionIs(("urn:x/ab",))),
    (AttributeIs("subject", "exact", "a"), AttributeIs("subject", "prefix", "a")),
    (AttributeIs("subject", "prefix", "a"), AttributeIs("subject", "suffix", "a")),
    (AttributeIs("subject", "prefix", ""), AttributeIs("source", "prefix", "a")),
    (xpath("/a/b > 2"), xpath("/a/b >= 2")),
    (xpath("/a/b > 2"), xpath("/a/b > 1")),
    (xpath("/a/b != 2"), xpath("/a/b >= 2")),
    (xpath("/a/b > 1"), xpath("/a/c > 2")),
    (xpath("/a/b > 1"), xpath("/a/b = 'x'")),
    (xpath("/a/b = 1"), xpath("/a/b")),
    (xpath("/a/b > 1"), xpath("/a/b > 2 or /a/b = 0")),
    (xpath("/a/b > 1"), Content("xpath", "/a/b > 1", "envelope")),
    (xpath("count(//a) > 1"), xpath("count(//a) > 2")),
    (xpath("/a/b["), xpath("/a/b")),
    (A, AnyOf((A, B))),
    (AllOf((A, B)), A),
    (NOTHING, A),
    (Not(topic("a|b")), Not(A)),
    (A, AllOf(())),
    (A, TypeIs(("a",))),
]


@pytest.mark.parametrize(("wide", "narrow"), COVERED)
def test_covered(wide: Filter, narrow: Filter) -> None:
    assert covers(wide, narrow, KNOWN)


@pytest.mark.parametrize(("wide", "narrow"), NOT_COVERED)
def test_not_covered(wide: Filter, narrow: Filter) -> None:
    assert not covers(wide, narrow, KNOWN)


@pytest.mark.parametrize("one", [each for pair in COVERED for each in pair])
def test_what_is_nothing_or_all_covers_itself_too(one: Filter) -> None:
    assert covers(one, one, KNOWN)


def test_what_is_not_declared_is_not_below() -> None:
    assert not covers(TypeIs(("weather",)), TypeIs(("storm",)))
    assert covers(TypeIs(("storm",)), TypeIs(("storm",)))


def test_conjunctions() -> None:
    assert covers_all((), (A, B))
    assert covers_all((A,), (B, A))
    assert not covers_all((A, B), (A,))
    assert not covers_all((A,), ())


def test_choices_made_to_be_hard_cost_little_and_are_not_covered() -> None:
    choices = tuple(AnyOf((topic(f"a{n}"), topic(f"b{n}"))) for n in range(40))
    assert not covers_all((topic("c"),), choices)
