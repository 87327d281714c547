"""Graph patterns among all other filters: the engine gives what one by one gives, also as ontologies change."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples
from tests.matching.anything import DECLARED as OTHERS
from tests.matching.anything import SUBSCRIPTIONS, Contains
from tests.matching.graph_events import EVENTS, FILTERS, ONTOLOGIES, known

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import Engine, matches
from tocsin.matching.index.compiled import Compiled, compiled
from tocsin.matching.judge import Undecided
from tocsin.model.declarations import Declaration, Withdrawn
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription
from tocsin.store import snapshots

BASE = "http://broker/"
ASKING = st.builds(
    lambda standing, filters: replace(standing, filters=tuple(filters)),
    SUBSCRIPTIONS,
    st.lists(FILTERS, min_size=1, max_size=2),
)
CHANGES = st.sampled_from((*ONTOLOGIES, Withdrawn("lifting", "json"), Withdrawn("ontology", "auction")))
SOME = st.lists(EVENTS, min_size=1, max_size=2)


def declared() -> Catalogue:
    return known(*OTHERS)


def one_by_one(standing: list[Subscription], told: Notification, what: Catalogue) -> tuple[list[str], list[str]]:
    wanted, undecided = list[str](), list[str]()
    for each in sorted(standing, key=lambda each: each.id):
        try:
            if matches(each, told, what, Contains(), BASE):
                wanted.append(each.id)
        except Undecided:
            undecided.append(each.id)
    return wanted, undecided


@given(st.lists(st.tuples(ASKING | CHANGES, SOME), max_size=10))
@settings(max_examples=examples(100), deadline=None)
def test_the_engine_gives_what_one_by_one_gives(
    steps: list[tuple[Subscription | Declaration, list[Notification]]],
) -> None:
    what = declared()
    engine, latest = Engine(what, Contains(), BASE), dict[SubscriptionId, Subscription]()
    for change, notifications in steps:
        if isinstance(change, Subscription):
            engine.apply(change)
            latest[change.id] = change
        else:
            what.declare(change)
        standing = [each for each in latest.values() if each.state != "ended"]
        for told in notifications:
            found = engine.match(told)
            names = ([each.id for each in found.wanted], [each.id for each, _ in found.undecided])
            assert names == one_by_one(standing, told, what)


@given(st.lists(ASKING, max_size=6), st.lists(ASKING | CHANGES, max_size=4), SOME)
@settings(max_examples=examples(60), deadline=None)
def test_an_engine_over_a_snapshot_gives_what_one_without_gives(
    before: list[Subscription], after: list[Subscription | Declaration], notifications: list[Notification]
) -> None:
    what = declared()
    plain = Engine(what, Contains(), BASE)
    for each in before:
        plain.apply(each)
    snapshot = compiled({each.id: each for each in before}.values(), what)
    layered = Engine(what, Contains(), BASE, base=Compiled(snapshot, what))
    for change in [None, *after]:
        if isinstance(change, Subscription):
            plain.apply(change)
            layered.apply(change)
        elif change is not None:
            what.declare(change)
        for told in notifications:
            assert layered.match(told) == plain.match(told)


@given(st.lists(ASKING, max_size=6))
@settings(max_examples=examples(20), deadline=None)
def test_the_order_in_which_they_came_does_not_matter(some: list[Subscription]) -> None:
    unique = list({each.id: each for each in some}.values())
    one, other = compiled(unique, declared()), compiled(list(reversed(unique)), declared())
    assert snapshots._digest(one) == snapshots._digest(other)
