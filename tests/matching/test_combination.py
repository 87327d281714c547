"""Every kind of filter and any combination: the engine gives what one by one gives, while subscriptions change."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.anything import NOTIFICATIONS, SUBSCRIPTIONS, Contains, known

from tocsin.matching.engine import Engine, matches
from tocsin.matching.index import combination as combining
from tocsin.matching.judge import Undecided
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription

BASE = "http://broker/"


def one_by_one(standing: list[Subscription], told: Notification) -> tuple[list[str], list[str]]:
    wanted, undecided = [], []
    for each in sorted(standing, key=lambda each: each.id):
        try:
            if matches(each, told, known(), Contains(), BASE):
                wanted.append(each.id)
        except Undecided:
            undecided.append(each.id)
    return list(map(str, wanted)), list(map(str, undecided))


@pytest.fixture(scope="module", params=[0, combining.MANY], ids=["by the kernel", "by numpy"])
def combined(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(combining, "MANY", request.param)
        yield


@pytest.mark.usefixtures("combined")
@given(st.lists(st.tuples(SUBSCRIPTIONS, st.lists(NOTIFICATIONS, min_size=1, max_size=2)), max_size=10))
@settings(max_examples=examples(150), deadline=None)
def test_the_engine_gives_what_one_by_one_gives(steps: list[tuple[Subscription, list[Notification]]]) -> None:
    engine, latest = Engine(known(), Contains(), BASE), dict[SubscriptionId, Subscription]()
    for change, notifications in steps:
        engine.apply(change)
        latest[change.id] = change
        standing = [each for each in latest.values() if each.state != "ended"]
        for told in notifications:
            found = engine.match(told)
            names = ([each.id for each in found.wanted], [each.id for each, _ in found.undecided])
            assert names == one_by_one(standing, told)
        assert len(engine) == len(standing)
