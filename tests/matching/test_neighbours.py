"""Subscriptions that stand for neighbours in a tree."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples
from tests.matching.anything import FILTERS, NOTIFICATIONS, known
from tests.matching.test_engine import notification

from tocsin.matching.engine import Engine, matches
from tocsin.matching.explain.filters import explain
from tocsin.matching.index.atoms import terms_of
from tocsin.matching.index.compiled import Compiled, compiled
from tocsin.matching.judge import Undecided
from tocsin.model.filters import AnyOf, AttributeIs, Filter
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Way
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

URLS = ("http://a", "http://b")


def neighbour(url: str, filters: tuple[Filter, ...]) -> Subscription:
    at, name = Position(Node("n"), 0), SubscriptionId(url[-1])
    return Subscription(name, None, Endpoint(f"{url}/peer", node=url), None, Form("node"), filters, at, None)


ASKED = st.lists(FILTERS, max_size=2).map(tuple)
WAYS = st.none() | st.sampled_from((*URLS, "http://c")).map(lambda url: Way(url, Node("o"), 1))


@given(ASKED, ASKED, NOTIFICATIONS, WAYS)
@settings(max_examples=examples(100))
def test_what_came_from_a_neighbour_never_goes_back(
    one: tuple[Filter, ...], other: tuple[Filter, ...], told: Notification, way: Way | None
) -> None:
    """By the index of a node, and by the snapshot of it that Spark has."""
    catalogue, engine = known(), Engine(known())
    both = [neighbour(url, filters) for url, filters in zip(URLS, (one, other), strict=True)]
    for each in both:
        engine.apply(each)
    told = replace(told, way=way)
    found = engine.match(told)
    assert Engine(known(), base=Compiled(compiled(both, known()), known())).match(told) == found
    asked = {each.id for each in found.wanted} | {each.id for each, _ in found.undecided}
    expected = set[str]()
    for each in both:
        try:
            wanted = matches(each, told, catalogue)
        except Undecided:
            wanted = True
        expected |= {each.id} if wanted else set()
    assert asked == expected
    assert way is None or way.by[-1] not in asked


def test_a_trace_says_that_it_came_from_there() -> None:
    told = replace(notification(Topic((QName("", "a"),)), 1, 100), way=Way("http://a", Node("o"), 1))
    found = explain(neighbour("http://a", ()), told, known())
    assert found.wanted is False and "http://a passed it on" in found.because
    assert explain(neighbour("http://b", ()), told, known()).wanted


def test_what_a_neighbour_asks_for_is_indexed_though_it_is_much() -> None:
    asked = AnyOf(tuple(AttributeIs("type", "exact", f"t{number}") for number in range(1000)))
    assert len(terms_of(neighbour("http://a", (asked,)))) == 1000
    assert len(terms_of(replace(neighbour("http://a", (asked,)), consumer=Endpoint("http://a")))) == 1
