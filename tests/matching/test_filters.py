"""CloudEvents Subscriptions API s3.2.4, against an oracle over the event as it was sent."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.mediation.requests import accepted

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.matching.filters import satisfies
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.dialects import normalise
from tocsin.model.filters import Filter
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form, Position, Subscription

TEXTS = st.text("ab", min_size=1, max_size=3)
NAMES = st.sampled_from(["id", "source", "type", "subject", "ext", "specversion", "datacontenttype", "absent"])
VALUES = TEXTS | st.sampled_from(["1.0", "1", "true", "text/plain", "text"])
EVENTS = st.fixed_dictionaries(
    {"specversion": st.just("1.0"), "id": TEXTS, "source": TEXTS, "type": TEXTS},
    optional={
        "subject": TEXTS,
        "ext": TEXTS | st.booleans() | st.integers(0, 1),
        "datacontenttype": st.just("text/plain"),
    },
)
LEAVES = st.builds(
    lambda how, inside: {how: inside},
    st.sampled_from(["exact", "prefix", "suffix"]),
    st.dictionaries(NAMES, VALUES, min_size=1, max_size=2),
)
FILTERS: "st.SearchStrategy[Any]" = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(lambda x: {"not": x}, inner)
        | st.builds(lambda how, x: {how: x}, st.sampled_from(["all", "any"]), st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=8,
)


def heard(event: dict[str, Any]) -> Notification:
    headers = (("content-type", "application/cloudevents+json"),)
    (read,) = normalise(accepted(json.dumps(event).encode(), "cloudevents", "/events", headers))
    return read


def oracle(event: dict[str, Any], asked: Any) -> bool:
    ((dialect, inside),) = asked.items()
    if dialect == "not":
        return not oracle(event, inside)
    if dialect in ("all", "any"):
        results = [oracle(event, each) for each in inside]
        return all(results) if dialect == "all" else any(results)
    results = []
    for name, wanted in inside.items():
        value = event.get(name)
        text = value if isinstance(value, str) else json.dumps(value)
        tests = {"exact": text == wanted, "prefix": text.startswith(wanted), "suffix": text.endswith(wanted)}
        results.append(value is not None and tests[dialect])
    return all(results)


def satisfied(told: Notification, asked: Filter) -> bool:
    at, form = Position(Node("n"), 0), Form("cloudevents")
    anybody = Subscription(SubscriptionId("s"), None, None, None, form, (asked,), at, None)
    return satisfies(Evidence(told, Catalogue()), asked, anybody)


@given(st.lists(EVENTS, min_size=1, max_size=3), st.lists(FILTERS, min_size=1, max_size=4))
@settings(max_examples=examples(200), deadline=None)
def test_filters_mean_what_the_specification_says(events: list[dict[str, Any]], filters: list[Any]) -> None:
    compiled = ce_filters.read(filters)
    for event in events:
        told = heard(event)
        assert [satisfied(told, each) for each in compiled] == [oracle(event, each) for each in filters]


@given(st.lists(FILTERS, max_size=3), st.none() | TEXTS, st.lists(TEXTS, max_size=2).map(tuple))
@settings(max_examples=examples(150), deadline=None)
def test_what_was_asked_is_told_again(filters: list[Any], source: str | None, types: tuple[str, ...]) -> None:
    kept = ce_filters.of_source_and_types(source, types) + ce_filters.read(filters)
    told_source, told_types, rest = ce_filters.taken_apart(kept)
    assert (told_source, told_types) == (source, types)
    assert [ce_filters.write(each, repr) for each in rest] == filters


@pytest.mark.parametrize(
    ("expression", "good", "bad"), [("t:a//.", "{urn:x}a/b", "{urn:y}a"), ("a/*", "a/b", "a"), ("//b|c", "a/b", "a")]
)
def test_topics_have_a_dialect_of_ours(expression: str, good: str, bad: str) -> None:
    (asked,) = ce_filters.read([{ce_filters.TOPIC: {"expression": expression, "namespaces": {"t": "urn:x"}}}])
    least = {"specversion": "1.0", "id": "1", "source": "s", "type": "t"}
    assert satisfied(heard(least | {"topic": good}), asked) and not satisfied(heard(least | {"topic": bad}), asked)
    assert ce_filters.read([ce_filters.write(asked, repr)]) == (asked,)


def nested(depth: int) -> Any:
    return {"not": nested(depth - 1)} if depth else {"exact": {"type": "t"}}


@pytest.mark.parametrize(
    ("filters", "why"),
    [
        ({}, "not an array"),
        (["x"], "an object of one dialect"),
        ([{}], "an object of one dialect"),
        ([{"exact": {"type": "t"}, "prefix": {"type": "t"}}], "an object of one dialect"),
        ([{"exact": {}}], "exact needs an object"),
        ([{"prefix": "x"}], "prefix needs an object"),
        ([{"exact": {"type": ""}}], "must be a string of 1 to"),
        ([{"exact": {"type": 5}}], "must be a string of 1 to"),
        ([{"exact": {"Type": "x"}}], "no attribute name"),
        ([{"exact": {"": "x"}}], "no attribute name"),
        ([{"all": []}], "all needs at least one filter"),
        ([{"any": {}}], "any is not an array"),
        ([{"not": []}], "an object of one dialect"),
        ([nested(20)], "nested more than 16 deep"),
        ([{"any": [{"exact": {"type": "t"}}] * 300}], "more than 256"),
        ([{ce_filters.TOPIC: 1}], "needs an expression, or an object of expression, namespaces"),
        ([{ce_filters.TOPIC: {"expression": "a", "namespaces": {"t": 1}}}], "prefixes with their URIs"),
    ],
)
def test_filters_that_cannot_be_read(filters: Any, why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        ce_filters.read(filters)
    assert caught.value.reason == "bad-filter"


@pytest.mark.parametrize("dialect", ["sparql", "urn:x"])
def test_a_dialect_that_is_not_supported_is_refused_by_name(dialect: str) -> None:
    with pytest.raises(Refusal, match=f"the filter dialect '{dialect}' is not supported; exact, prefix,") as caught:
        ce_filters.read([{dialect: "source LIKE 'a%'"}])
    assert caught.value.reason == "unsupported-filter"
