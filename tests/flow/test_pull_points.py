"""One rule for which pull point gets what; node and Spark ask the same functions."""

from msgspec.structs import replace
from tests.broker.records import accepted, subscribed

from tocsin.flow.addressing import addressed_to, pull_point_of, pulled_by
from tocsin.flow.flow import Flow
from tocsin.model.identity import SubscriptionId
from tocsin.model.subscription import Endpoint, Subscription
from tocsin.pipeline.hop import RecordResult, hop
from tocsin.store.codec import encode
from tocsin.store.past import Along

HOME = "/broker/pullpoints/box"


class Now:
    """Subscriptions as they stand, for all records."""

    def __init__(self, *subscriptions: Subscription) -> None:
        self.flow = Flow("http://broker")
        for each in subscriptions:
            self.flow.apply(each)

    def bring_to(self, offset: int) -> None: ...

    def step(self, offset: int, change: object) -> None: ...

    def is_first(self, change: object) -> bool:
        return False

    def known_along(self, start: int, stop: int) -> Along:
        raise NotImplementedError


def told(seen: RecordResult) -> list[tuple[list[str], list[str]]]:
    return [
        ([each.id for each in one.matched], [each.match.subscription for each in one.deliveries]) for one in seen.told
    ]


def test_the_address_of_a_pull_point() -> None:
    assert pull_point_of(HOME) == "box"
    for path in ("/broker/pullpoints/", "/broker/pullpoints/a/b", "/broker/pullpointsx", "/broker", ""):
        assert pull_point_of(path) is None


def test_who_feeds_which() -> None:
    pushed = subscribed(0, SubscriptionId("s"), "a").subscription
    assert pulled_by(pushed) is None
    assert pulled_by(replace(pushed, consumer=None)) == "s"
    assert pulled_by(replace(pushed, consumer=Endpoint(HOME))) == "box"
    assert pulled_by(replace(pushed, consumer=Endpoint(f"http://other{HOME}"))) is None


def test_spark_sends_nothing_for_pull_points() -> None:
    pushed = subscribed(0, SubscriptionId("s1"), "a").subscription
    itself = replace(pushed, id=SubscriptionId("s2"), consumer=None)
    feeding = replace(pushed, id=SubscriptionId("s3"), consumer=Endpoint(HOME))
    posted = replace(accepted(4, "a"), door=HOME)
    assert addressed_to(posted) == "box"
    assert addressed_to(accepted(4, "a")) is None
    frames = iter([(3, encode(accepted(3, "a"))), (4, encode(posted))])
    usual, own = hop(frames, Now(pushed, itself, feeding), customise=True)
    assert told(usual) == [(["s1", "s2", "s3"], ["s1"])]
    assert told(own) == [([], [])]
