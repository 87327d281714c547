import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.matching import covering, rights
from tocsin.matching.rights import may_hear, may_manage, may_manage_everything, may_publish, may_subscribe
from tocsin.model.access import Action, Principal, Right
from tocsin.model.filters import NOTHING, ActionIs, AllOf, AnyOf, AttributeIs, Filter, Not, TopicIs
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.names import Topic, topic
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

ACTION = ActionIs(("urn:x",))
STEPS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3)
PATHS = st.builds(
    lambda first, between, steps, last: first + between.join(steps) + last,
    st.sampled_from(["", "//"]),
    st.sampled_from(["/", "//"]),
    STEPS,
    st.sampled_from(["", "//."]),
)
EXPRESSIONS = st.lists(PATHS, min_size=1, max_size=2).map("|".join)


def about(text: str) -> TopicIs:
    return parse_topic_expression(text, "full", {})


def concrete(text: str) -> Topic:
    found = topic(text)
    assert found is not None
    return found


def someone(action: Action, *expressions: str) -> Principal:
    return Principal("ann", tuple(Right(action, about(each)) for each in expressions))


def subscription(owner: str | None, *filters: Filter) -> Subscription:
    return Subscription(SubscriptionId("s"), owner, None, None, Form("wsn-1.3"), filters, Position(Node("n"), 0), None)


def test_publishing_needs_a_right_on_the_very_topic() -> None:
    ann = someone("publish", "flood//.", "fire")
    assert may_publish(ann, concrete("flood/severe")) and may_publish(ann, concrete("fire"))
    assert not may_publish(ann, concrete("fire/severe"))
    assert not may_hear(ann, concrete("flood")) and not may_subscribe(ann, (about("flood"),))
    assert may_publish(Principal("all", (Right("publish"),)), concrete("anything"))
    assert not may_publish(Principal("nobody"), concrete("flood"))


@pytest.mark.parametrize(
    "filters",
    [
        (about("flood"),),
        (about("flood/severe|fire"),),  # by two rights together
        (ACTION, about("flood")),
        (AllOf((ACTION, about("fire"))),),
        (AnyOf((about("flood//."), about("fire"))),),
        (NOTHING,),
        (Not(ACTION), about("fire")),
    ],
)
def test_a_subscription_within_its_rights(filters: tuple[Filter, ...]) -> None:
    assert may_subscribe(someone("subscribe", "flood//.", "fire"), filters)


@pytest.mark.parametrize(
    "filters",
    [
        (),
        (about("*"),),
        (about("flood|quake"),),
        (ACTION,),
        (AttributeIs("type", "exact", "flood"),),
        (AnyOf((about("flood"), ACTION)),),
        (Not(about("quake")),),
        (AllOf(()),),
    ],
)
def test_a_subscription_beyond_its_rights(filters: tuple[Filter, ...]) -> None:
    assert not may_subscribe(someone("subscribe", "flood//.", "fire"), filters)
    assert may_subscribe(Principal("all", (Right("subscribe"),)), filters)


def test_nothing_may_not_be_asked_for_without_any_right() -> None:
    assert not may_subscribe(Principal("nobody"), (NOTHING,))


def test_owners_manage_their_own_and_managers_those_they_cover() -> None:
    theirs, open_one = subscription("ann", about("flood/severe")), subscription(None, about("flood"))
    assert may_manage(Principal("ann"), theirs)
    assert not may_manage(Principal("ben"), theirs) and not may_manage(Principal("ben"), open_one)
    manager = Principal("ben", (Right("manage", about("flood//.")),))
    assert may_manage(manager, theirs) and may_manage(manager, open_one)
    assert not may_manage(manager, subscription("ann", about("fire"))) and not may_manage(manager, subscription("ann"))
    assert not may_manage_everything(manager) and may_manage_everything(Principal("ben", (Right("manage"),)))


def test_what_is_asked_of_many_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands are asked about in the event loop for one page of a list."""
    asked: list[Filter] = []

    def covers(wide: Filter, narrow: Filter) -> bool:
        asked.append(narrow)
        return covering.covers(wide, narrow)

    monkeypatch.setattr(rights, "covers", covers)
    manager = someone("manage", "hail//.", "frost/*")
    plain = [about("hail/severe"), about("frost/late"), about("hail/*//x"), about("quake"), about("frost/a/b|hail")]
    assert [may_manage(manager, subscription("ben", each)) for each in plain] == [True, True, True, False, False]
    assert asked == []  # who names topics, or all below one, needs no more than a look
    assert not any(may_manage(manager, subscription("ben", about(each))) for each in ("quake//.", "*", "frost//."))
    assert asked == []
    wide = [about("frost/*"), about("frost/a|frost/*"), about("hail|*//hail")]
    for _ in range(3):
        assert [may_manage(manager, subscription("ben", each, ACTION)) for each in wide] == [True, True, False]
    assert asked == wide[:2]
    assert not may_manage(someone("manage", "hail"), subscription("ben", wide[0], ACTION))


@given(st.lists(EXPRESSIONS, min_size=1, max_size=3), EXPRESSIONS)
@settings(max_examples=examples(300), deadline=None)
def test_the_short_ways_lead_where_the_long_one_does(granted: list[str], asked: str) -> None:
    together = TopicIs(tuple(path for each in granted for path in about(each).alternatives))
    assert may_subscribe(someone("subscribe", *granted), (about(asked),)) == covering.covers(together, about(asked))
