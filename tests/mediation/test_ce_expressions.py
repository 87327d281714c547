"""Filters of content, types and producers in JSON: the dialect `sql`, and those of ours."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.pace import within

from tocsin.mediation import expressions
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.expressions import BoxAsSaid
from tocsin.model.filters import ActionIs, Content, Filter, Graph, InBox, Not, ProducerIs, TypeIs
from tocsin.model.refusal import Refusal
from tocsin.model.space import Interval
from tocsin.model.topics import parse_topic_expression

OURS = "urn:tocsin:dialect:"
X = {"x": "urn:x"}
READ: list[tuple[str, object, Filter]] = [
    ("sql", "source LIKE 'a%'", Content("cesql", "source LIKE 'a%'", "attributes")),
    (f"{OURS}content-topic", "w:*/>25", BoxAsSaid("w", (), "w:*/>25")),
    (f"{OURS}type", "{urn:x}A com.e.c", TypeIs(("{urn:x}A", "com.e.c"))),
    (f"{OURS}action", "urn:a urn:b", ActionIs(("urn:a", "urn:b"))),
    (f"{OURS}producer", "http://p/ category:a", ProducerIs(("http://p/",), ("a",))),
    (f"{OURS}producer", "category:fire%20department%2550", ProducerIs((), ("fire department%50",))),
    (f"{OURS}xpath", "a = 1", Content("xpath", "a = 1")),
    (
        f"{OURS}xpath",
        {"expression": "x:a", "namespaces": X, "over": "producer"},
        Content("xpath", "x:a", "producer", (("x", "urn:x"),)),
    ),
    (f"{OURS}items", 'boolean(//SimpleItem[@Name="a"])', Content("items", 'boolean(//SimpleItem[@Name="a"])')),
    (f"{OURS}jsonpath", "$.a > 1", Content("jsonpath", "$.a > 1")),
    (f"{OURS}sparql", "ASK { ?s ?p 1 }", Content("sparql", "ASK { ?s ?p 1 }", "producer")),
    (f"{OURS}graph-pattern", "(_:H, ?1, (A, p, B))", Graph("pattern", "(_:H, ?1, (A, p, B))")),
    (
        f"{OURS}graph-pattern",
        {"expression": "(_:H, ?1, (x:A, p, B))", "namespaces": {"": "urn:y", "x": "urn:x"}},
        Graph("pattern", "(_:H, ?1, (x:A, p, B))", (("", "urn:y"), ("x", "urn:x"))),
    ),
    (
        f"{OURS}sparql",
        {"expression": "ASK { _:H a <urn:A> }", "over": "event", "plain": True},
        Graph("sparql", "ASK { _:H a <urn:A> }", plain=True),
    ),
    (
        f"{OURS}sparql",
        {"expression": "ASK { _:H a x:A }", "namespaces": X, "over": "event"},
        Graph("sparql", "ASK { _:H a x:A }", (("x", "urn:x"),)),
    ),
]


@pytest.mark.parametrize(("dialect", "said", "asked"), READ)
def test_what_is_read_is_written_so_again(dialect: str, said: object, asked: Filter) -> None:
    assert ce_filters.read([{dialect: said}]) == (asked,)
    assert ce_filters.write(asked, str) == {dialect: said}


def test_they_go_wherever_filters_go() -> None:
    assert ce_filters.read([{"not": {"sql": "a = 1"}}]) == (Not(Content("cesql", "a = 1", "attributes")),)


def test_prefixes_of_topics_and_types() -> None:
    types = {f"{OURS}type": {"expression": "x:A", "namespaces": X}}
    topic = {f"{OURS}topic": {"expression": "x:a//.", "namespaces": X}}
    assert ce_filters.read([types, topic]) == (TypeIs(("{urn:x}A",)), parse_topic_expression("x:a//.", "full", X))


def test_only_prefixes_that_are_used_are_kept() -> None:
    many = {f"p{at}": f"urn:{at}" for at in range(1000)}
    (asked,) = ce_filters.read([{f"{OURS}xpath": {"expression": "p7:a = 'p8:b'", "namespaces": many}}])
    assert asked == Content("xpath", "p7:a = 'p8:b'", "payload", (("p7", "urn:7"),))


def test_a_box_of_the_log_is_told_in_words() -> None:
    assert ce_filters.write(InBox("w", (Interval(1.0, 2.0),)), str) == {f"{OURS}content-topic": "w:1..2"}


@pytest.mark.parametrize(
    ("dialect", "said", "reason", "words"),
    [
        ("sql", "a = ", "bad-filter", "CloudEvents SQL expression: 'a =', position 3"),
        ("sql", {"expression": "a", "namespaces": {}}, "bad-filter", "an object of expression;"),
        (f"{OURS}xpath", "", "bad-filter", "position 0"),
        (f"{OURS}xpath", {"expression": "y:a", "namespaces": X}, "bad-filter", "position 0: the prefix 'y'"),
        (f"{OURS}xpath", {"expression": "x:a", "namespaces": {"x": "<"}}, "bad-filter", "not a URI"),
        (f"{OURS}xpath", {"expression": "a", "over": "attributes"}, "bad-filter", "payload, producer, envelope"),
        (f"{OURS}sparql", {"expression": "ASK {}", "over": "payload"}, "bad-filter", "producer, event"),
        (f"{OURS}sparql", {"expression": "ASK {}", "plain": True}, "bad-filter", "'plain' is not known"),
        (f"{OURS}sparql", {"expression": "ASK {}", "over": "event", "plain": 1}, "bad-filter", "true or false"),
        (f"{OURS}graph-pattern", "x" * 20_000, "bad-filter", "16,384"),
        (f"{OURS}jsonpath", "$.", "bad-filter", "JSONPath expression: '$.', position 2"),
        (f"{OURS}jsonpath", {"expression": "$", "over": "producer"}, "bad-filter", "an object of expression;"),
        (f"{OURS}items", "true()", "bad-filter", "position 0"),
        (f"{OURS}sparql", "SELECT * {}", "bad-filter", "position 0: an ASK query"),
        (f"{OURS}type", "x:A", "bad-filter", "the prefix 'x'"),
        (f"{OURS}type", "{urn:<}A", "bad-filter", "not a name"),
        (f"{OURS}type", " ".join(map(str, range(300))), "bad-filter", "1 to 256"),
        (f"{OURS}producer", "", "bad-producer-filter", "no producer"),
        (f"{OURS}producer", "category:%ff", "bad-producer-filter", "UTF-8"),
        (f"{OURS}content-topic", "weather", "bad-topic-expression", "a content topic is NAME:side/side"),
    ],
)
def test_what_is_refused_says_what_and_where(dialect: str, said: object, reason: str, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        ce_filters.read([{dialect: said}])
    assert caught.value.reason == reason and words in caught.value.text


@pytest.mark.parametrize("dialect", ["sql", f"{OURS}xpath", f"{OURS}type", f"{OURS}topic"])
def test_the_expressions_of_a_subscription_are_bounded_together(dialect: str) -> None:
    """They are read before anything else can be done."""
    each, most = {dialect: "a" * 500}, expressions.MOST_TOGETHER // 500
    assert len(ce_filters.read([each] * most)) == most
    with pytest.raises(Refusal, match="16,384 characters together") as caught:
        ce_filters.read([{"any": [each] * most}, {"not": each}])
    assert caught.value.reason == "bad-filter"


def test_much_is_refused_before_it_takes_time() -> None:
    """The names were such that each of 200 had to be read whole."""
    xpath = " and ".join(f"(a={at} or b={at})" for at in range(180))[:4000].rpartition(" and ")[0]
    with within(1_000), pytest.raises(Refusal, match="together"):
        ce_filters.read([{f"{OURS}xpath": xpath}] * 200)


@settings(max_examples=examples(200))
@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=3, unique=True))
def test_whatever_a_category_is_called_it_can_be_asked_for(names: list[str]) -> None:
    asked = ProducerIs(("http://p/%20",), tuple(names))
    assert expressions.producers(expressions.producers_text(asked)) == asked


def test_the_filter_at_fault_is_named() -> None:
    good, bad = {"exact": {"type": "a"}}, {f"{OURS}xpath": {"expression": "a", "namespace": {}}}
    with pytest.raises(Refusal, match=r"^filters\[1\]\.any\[0\]: 'namespace' is not known"):
        ce_filters.read([good, {"any": [bad, good]}])
    with pytest.raises(Refusal, match=r"^filters\[0\]\.not: a filter is an object of one dialect"):
        ce_filters.read([{"not": {}}])
