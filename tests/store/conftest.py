from collections.abc import Callable

import pytest

from tocsin.model.delivery import Delivery, Match
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.records import Changed
from tocsin.model.subscription import Endpoint, Form, Position, State, Subscription

NODE = Node("n")


@pytest.fixture
def delivery() -> Callable[[str, int], Delivery]:
    def make(subscription: str, offset: int) -> Delivery:
        match = Match(MessageId(f"urn:{offset}"), SubscriptionId(subscription))
        to = Endpoint(f"http://consumer/{subscription}", reference=b"<r/>")
        return Delivery(match, Position(NODE, offset), 0, to, (("content-type", "text/xml"),), b"<body/>")

    return make


@pytest.fixture
def changed() -> Callable[[int, str, State], Changed]:
    def make(offset: int, name: str, state: State) -> Changed:
        at, form = Position(NODE, offset), Form("wsn-1.3")
        consumer = Endpoint(f"http://consumer/{offset}")
        subscription = Subscription(SubscriptionId(name), None, consumer, None, form, (), at, None, state)
        return Changed(at, Instant(offset), subscription)

    return make
