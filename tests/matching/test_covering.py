from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.pace import within

from tocsin.matching.covering import covers
from tocsin.matching.index.topics import topic_matches
from tocsin.model.filters import TopicIs
from tocsin.model.names import QName, Topic
from tocsin.model.topics import parse_topic_expression

NAMESPACES = {"t": "urn:t"}
ROOTS = st.sampled_from(["a", "b", "*", "t:a", "t:*", "//a", "//*", "t://a"])
CHILDREN = st.sampled_from(["/a", "/b", "/*", "//a", "//b", "//*", "//.", "/t:a"])
PATHS = st.tuples(ROOTS, st.lists(CHILDREN, max_size=2).map("".join)).map("".join)
LETTERS = [
    QName("", "a"),
    QName("", "b"),
    QName("", "z"),
    QName("urn:t", "a"),
    QName("urn:t", "z"),
    QName("urn:z", "z"),
]
TOPICS = [Topic(steps) for length in range(1, 6) for steps in product(LETTERS, repeat=length)]
SHORT = [topic for topic in TOPICS if len(topic.steps) < 5]


def expression(text: str) -> TopicIs:
    return parse_topic_expression(text, "full", NAMESPACES)


EXPRESSIONS = st.lists(PATHS, min_size=1, max_size=3).map("|".join).map(expression)


@given(EXPRESSIONS, EXPRESSIONS)
@settings(max_examples=examples(100))
def test_what_is_covered_matches_nothing_more(wide: TopicIs, narrow: TopicIs) -> None:
    more = any(topic_matches(narrow, topic) and not topic_matches(wide, topic) for topic in SHORT)
    assert not (covers(wide, narrow) and more)


@given(EXPRESSIONS, EXPRESSIONS)
@settings(max_examples=examples(100))
def test_what_is_not_covered_matches_something_more(wide: TopicIs, narrow: TopicIs) -> None:
    if not covers(wide, narrow):
        assert any(topic_matches(narrow, topic) and not topic_matches(wide, topic) for topic in TOPICS)


@given(EXPRESSIONS)
def test_an_expression_covers_itself(one: TopicIs) -> None:
    assert covers(one, one)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("a//.", "a"),
        ("a//.", "a/b/*"),
        ("*", "a|t:a"),
        ("t:*//.", "t://a"),
        ("//*", "*//."),
        ("a|a/*//.", "a//."),
        ("t:a|t:*//a", "t://a"),
    ],
)
def test_covered(wide: str, narrow: str) -> None:
    assert covers(expression(wide), expression(narrow))


@pytest.mark.parametrize(
    ("wide", "narrow"), [("a", "a//."), ("a/*", "*"), ("t:*", "*"), ("t:a", "a"), ("a//b", "a//."), ("a|b", "a|b|t:a")]
)
def test_not_covered(wide: str, narrow: str) -> None:
    assert not covers(expression(wide), expression(narrow))


def test_an_expression_made_to_be_hard_costs_little_and_is_refused() -> None:
    """Determinised, `//a` and n wildcards have a state for each of 2^n sets of positions."""
    hard = expression("*//a" + "/*" * 60)
    with within(2_000):
        assert not covers(hard, expression("*//a" + "/*" * 60 + "|*//b" + "/*" * 60))
        assert not covers(hard, expression("a//b" + "/*" * 61))
