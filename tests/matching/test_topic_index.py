import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.effort import examples
from tests.pace import within

from tocsin.matching.index import topics
from tocsin.matching.index.topics import TopicIndex, topic_matches
from tocsin.model.filters import DESCEND, TopicIs
from tocsin.model.names import QName, Topic
from tocsin.model.topics import Path, parse_topic_expression

LOCALS = ["a", "b", "c"]
NAMESPACES = {"t": "urn:t", "u": "urn:u"}
NAMES = st.builds(QName, st.sampled_from(["", "urn:t", "urn:u"]), st.sampled_from(LOCALS))
TOPICS = st.builds(Topic, st.lists(NAMES, min_size=1, max_size=5).map(tuple))

PREFIXED = st.sampled_from([*LOCALS, *(f"{prefix}:{local}" for prefix in NAMESPACES for local in LOCALS)])
ROOTS = st.tuples(st.sampled_from(["", "t:", "u:"]), st.sampled_from(["", "//"]), st.sampled_from([*LOCALS, "*"])).map(
    "".join
)
CHILDREN = st.tuples(st.sampled_from(["/", "//"]), PREFIXED | st.sampled_from(["*", "."])).map("".join)
PATHS = st.tuples(ROOTS, st.lists(CHILDREN, max_size=4).map("".join)).map("".join)
EXPRESSIONS = (
    st.lists(PATHS, min_size=1, max_size=3)
    .map("|".join)
    .map(lambda text: parse_topic_expression(text, "full", NAMESPACES))
)


def as_regex(path: Path) -> str:
    """A second opinion on what an expression means; each topic step is written `/{namespace}local`."""
    out = ""
    for step in path:
        if step == DESCEND:
            out += r"(?:/[^/]+)*"
        elif isinstance(step, str):
            out += r"/[^/]+"
        else:
            local = "[^/]+" if step.local == "*" else re.escape(step.local)
            out += rf"/\{{{re.escape(step.namespace)}\}}{local}"
    return out


@given(EXPRESSIONS, TOPICS)
@settings(max_examples=examples(200))
def test_the_oracle_agrees_with_regular_expressions(expression: TopicIs, topic: Topic) -> None:
    text = "".join(f"/{{{step.namespace}}}{step.local}" for step in topic.steps)
    expected = any(re.fullmatch(as_regex(path), text) for path in expression.alternatives)
    assert topic_matches(expression, topic) == expected


class Index(RuleBasedStateMachine):
    """Insert, remove and match in any order; the oracle sees the same expressions one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.index: TopicIndex[int] = TopicIndex()
        self.expressions: dict[int, TopicIs] = {}

    @rule(key=st.integers(0, 9), expression=EXPRESSIONS)
    def add(self, key: int, expression: TopicIs) -> None:
        if key in self.expressions:
            self.index.remove(key, self.expressions[key])
        self.expressions[key] = expression
        self.index.add(key, expression)

    @rule(key=st.integers(0, 9))
    def remove(self, key: int) -> None:
        if key in self.expressions:
            self.index.remove(key, self.expressions.pop(key))

    @rule(topic=TOPICS)
    def match(self, topic: Topic) -> None:
        expected = {key for key, each in self.expressions.items() if topic_matches(each, topic)}
        assert self.index.match(topic) == expected
        assert self.index.match(topic) == expected, "as remembered"

    @invariant()
    def nothing_is_left_when_all_are_gone(self) -> None:
        root = self.index._root
        assert self.expressions or not (root.next or root.descend or root.keys)


TestIndex = Index.TestCase
TestIndex.settings = settings(max_examples=examples(40), stateful_step_count=30, deadline=None)


def test_removing_what_is_not_there_changes_nothing() -> None:
    index: TopicIndex[str] = TopicIndex()
    expression = parse_topic_expression("a//b|c", "full", {})
    index.remove("k", expression)
    index.add("k", expression)
    index.remove("other", expression)
    assert index.match(Topic((QName("", "c"),))) == {"k"}


def test_the_memory_of_topics_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "ROOM", room := 3_000)
    index: TopicIndex[str] = TopicIndex()
    index.add("k", parse_topic_expression("*", "full", {}))
    kept = []
    for at in range(room // 2):
        assert index.match(Topic((QName("", f"n{at}"),))) == {"k"}
        kept.append(0 if index._start is None else len(index._start.next))
    assert max(kept) <= room // 3 + 1, "each has a step, a branch and a key"
    assert kept[-1] < max(kept)


def test_many_wildcards_on_a_deep_topic_cost_no_more_than_their_product() -> None:
    """One path after the other would try every way to split 60 steps among 30 wildcards."""
    expression = parse_topic_expression("a" + "//*" * 30 + "//z", "full", {})
    deep = Topic(tuple(QName("", "a") for _ in range(60)))
    index: TopicIndex[str] = TopicIndex()
    index.add("k", expression)
    with within(1_000):
        assert not topic_matches(expression, deep)
        assert not index.match(deep)
