"""What one principal sees of many subscriptions."""

from itertools import count
from time import process_time
from typing import cast
from uuid import UUID

from tocsin.broker.node import Node
from tocsin.documents.ports.port import Broker
from tocsin.doors.guarded import Guarded
from tocsin.model.access import Principal, Right
from tocsin.model.identity import Node as NodeName
from tocsin.model.identity import SubscriptionId
from tocsin.model.subscription import Form, Position, Subscription

BEN = Principal("ben", (Right("subscribe"),))
MANY = 50_000


class Behind:
    base_url, body_limit = "http://broker.example", 1
    subscriptions = Node.subscriptions

    def __init__(self, *owners: str) -> None:
        names = (UUID(int=number * 7919 % (1 << 64)).hex for number in count(1))
        made = (_made(SubscriptionId(name), owner) for name, owner in zip(names, owners, strict=False))
        self._subscriptions = {each.id: each for each in made}


def _made(name: SubscriptionId, owner: str) -> Subscription:
    return Subscription(name, owner, None, None, Form("cloudevents"), (), Position(NodeName("n"), 0), None)


def test_pages_are_full_of_what_one_may_see() -> None:
    ben = Guarded(cast(Broker, Behind(*["ann", "ben"] * 10)), BEN)
    first = ben.subscriptions("", 6)
    rest = ben.subscriptions(first[-1].id, 6)
    assert [each.owner for each in (*first, *rest)] == ["ben"] * 10
    assert sorted(names := [each.id for each in (*first, *rest)]) == names
    assert ben.subscriptions("", 9, lambda each: each.id == names[3]) == [first[3]]


def test_those_of_others_are_looked_at_once() -> None:
    """By pages of a thousand this took some hundred times as long as one look at each."""
    behind = Behind(*["ann"] * MANY)
    ben, began = Guarded(cast(Broker, behind), BEN), process_time()
    assert ben.subscriptions("", 100) == []
    assert process_time() - began < 2.0
