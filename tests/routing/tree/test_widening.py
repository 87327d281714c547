"""Whatever a subscription matches at its node, what is asked for it matches at every other."""

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.anything import FILTERS, NOTIFICATIONS, Contains, known, xpath

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import matches_filters
from tocsin.matching.judge import Undecided
from tocsin.model.declarations import Hierarchy
from tocsin.model.filters import NOTHING, AllOf, AnyOf, AttributeIs, Content, Filter, ForNotifier, Not, TypeIs
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression
from tocsin.routing.tree.interest import EVERYTHING, Interest, Union
from tocsin.routing.tree.widening import Conjunction, widened

HERE, NOWHERE = known(), Catalogue()
ELSEWHERE = Catalogue([Hierarchy("types", (("other", ("{urn:a}alert",)), ("org.quake", ("x",))))])
ASKED = st.lists(FILTERS, max_size=3).map(tuple)


def subscription(filters: tuple[Filter, ...], dialect: str = "wsn-1.3") -> Subscription:
    form, at = Form(dialect, "1.2", "2005/08"), Position(Node("n"), 0)
    return Subscription(SubscriptionId("s"), None, Endpoint("http://c"), None, form, filters, at, None)


def wanted(filters: tuple[Filter, ...], told: Notification, catalogue: Catalogue, dialect: str = "wsn-1.3") -> bool:
    return matches_filters(subscription(filters, dialect), told, catalogue, Contains())


@given(st.lists(ASKED, max_size=6), NOTIFICATIONS)
@settings(max_examples=examples(400))
def test_whatever_is_wanted_here_is_asked_for_elsewhere(asked: list[tuple[Filter, ...]], told: Notification) -> None:
    union = Union()
    for number, each in enumerate(asked):
        union.put(str(number), widened(each, HERE))
    filters = union.interest().filters()
    found = [wanted(filters, told, each, "node") for each in (NOWHERE, ELSEWHERE)]  # none of them is undecided
    for each in asked:
        with contextlib.suppress(Undecided):
            assert found == [True, True] or not wanted(each, told, HERE)


@given(st.lists(st.tuples(st.integers(0, 4), ASKED | st.none()), max_size=12), NOTIFICATIONS)
@settings(max_examples=examples(300))
def test_a_union_is_what_is_asked_whatever_came_and_went(
    steps: list[tuple[int, tuple[Filter, ...] | None]], told: Notification
) -> None:
    union, asked = Union(), dict[int, tuple[Conjunction, ...]]()
    for who, filters in steps:
        asked[who] = () if filters is None else widened(filters, HERE)
        union.put(str(who), asked[who])
    expected = any(wanted(each, told, NOWHERE, "node") for each_of in asked.values() for each in each_of)
    assert wanted(union.interest().filters(), told, NOWHERE, "node") is expected


@given(st.lists(st.tuples(st.integers(0, 4), ASKED | st.none()), max_size=12), NOTIFICATIONS, st.integers(1, 4))
@settings(max_examples=examples(200))
def test_one_that_is_too_large_is_never_less(
    steps: list[tuple[int, tuple[Filter, ...] | None]], told: Notification, most: int
) -> None:
    union, asked = Union(most), dict[int, tuple[Conjunction, ...]]()
    for who, filters in steps:
        asked[who] = () if filters is None else widened(filters, HERE)
        union.put(str(who), asked[who])
        union.look_again()
    expected = any(wanted(each, told, NOWHERE, "node") for each_of in asked.values() for each in each_of)
    assert wanted(union.interest().filters(), told, NOWHERE, "node") or not expected
    assert len(union.interest().alternatives) <= most


def topic(text: str) -> Filter:
    return parse_topic_expression(text, "full", {})


def of(*asked: tuple[Filter, ...]) -> Interest:
    union = Union()
    for number, each in enumerate(asked):
        union.put(str(number), widened(each, HERE))
    return union.interest()


def test_what_is_covered_is_not_asked_for() -> None:
    level = xpath("/a:alert/level > 3")
    assert of((topic("a"),), (topic("a//."),), (topic("a/b"), level)).filters() == (topic("a//."),)
    assert of((topic("a//."),), ()) == EVERYTHING
    assert of((topic("a"),), (topic("b"),)).filters() == (topic("a|b"),)
    assert of((level,), (xpath("/a:alert/level > 5"),)).filters() == (level,)


def test_what_is_covered_comes_up_again() -> None:
    union = Union()
    for name in ("a//.", "a", "a/b", "c"):
        union.put(name, widened((topic(name),), HERE))
    assert union.interest().filters() == (topic("a//.|c"),)
    union.put("a//.", ())
    assert set(union.interest().alternatives) == {(topic("a"),), (topic("a/b"),), (topic("c"),)}


def test_what_is_declared_here_means_nothing_elsewhere() -> None:
    assert of((AllOf((topic("a"), xpath("/p/beds > 3", "producer"))),)).filters() == (topic("a"),)
    assert of((Not(TypeIs(("x",))), topic("a"))).filters() == (topic("a"),)
    assert of((AnyOf((topic("a"), xpath("//level = 3", "envelope"))),)) == EVERYTHING
    assert of((AttributeIs("time", "prefix", "2026"),)) == EVERYTHING
    assert of((Content("cesql", "time = 'x'", "attributes"),)) == EVERYTHING
    assert of((Not(topic("a")),)).filters() == (Not(topic("a")),)
    assert of((TypeIs(("{urn:a}alert",)),)).filters() == (TypeIs(("{urn:a}alert", "org.quake", "{urn:a}flood")),)


def test_what_stays_at_its_node_is_not_asked_for() -> None:
    assert of((ForNotifier("CARE"),), (NOTHING,)) == Interest()
    assert Interest().filters() == (NOTHING,)


def test_who_asks_for_much_asks_for_everything_until_it_is_less() -> None:
    union = Union(10)
    for number in range(30):
        union.put(str(number), widened((topic(f"t{number}"),), HERE))
    assert union.is_too_much and union.interest() == EVERYTHING
    for number in range(5, 30):
        union.put(str(number), ())
    assert not union.is_too_much and len(union.interest().alternatives) == 5
    for number in range(30):
        union.put(str(number), widened((topic(f"t{number}"),), HERE))
    union.put("wide", widened((topic("*//."),), HERE))
    union.look_again()
    assert not union.is_too_much and union.interest().filters() == (topic("*//."),)
