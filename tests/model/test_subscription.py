import pytest

from tocsin.model.identity import Instant, Node, SubscriptionId
from tocsin.model.subscription import Endpoint, Form, Position, State, Subscription


def subscription(state: State = "active", expires: int | None = None) -> Subscription:
    end = None if expires is None else Instant(expires)
    since = Position(Node("n"), 5)
    return Subscription(SubscriptionId("s"), None, Endpoint("http://c/"), None, Form("wsn-1.3"), (), since, end, state)


def wants(each: Subscription, offset: int, when: int = 100) -> bool:
    return each.wants_at(Position(Node("n"), offset), Instant(when))


def test_a_subscription_stands_from_its_own_place_on() -> None:
    assert [wants(subscription(), offset) for offset in (4, 5, 6)] == [False, True, True]


def test_a_lease_ends_at_its_instant() -> None:
    assert [wants(subscription(expires=100), 6, when) for when in (99, 100, 101)] == [True, False, False]


@pytest.mark.parametrize("state", ["paused", "suspended", "ended"])
def test_only_an_active_one_wants_anything(state: State) -> None:
    assert not wants(subscription(state), 6)
