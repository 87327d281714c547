"""A trace tells nobody more than it may hear or manage."""

from typing import Any, cast

import pytest
from msgspec.structs import replace
from tests.whole.people import about

from tocsin.documents.ports.trace_port import Account, Accounts, Found, Heard, Newest, Sought, TracesPort
from tocsin.doors.guarded_traces import GuardedTraces
from tocsin.matching.explain.filters import Explanation
from tocsin.model.access import Principal, Right
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

AT = Position(Node("n"), 0)
ANN = Principal("ann", (about("subscribe", "flood//."),))
MIA = Principal("mia", (about("manage", "flood//."),))
MAX = Principal("max", (Right("manage"),))
NOBODY = Principal("", ())


def found(on: str, pull_point: str | None = None, addressee: str = "") -> Found:
    about = topic(on)
    assert about is not None
    payload = Payload("text/plain", b"x")
    said = Notification(MessageId(on), AT, 0, Instant(1), "raw", "c", "", about, None, (), payload, addressee=addressee)
    return Found(said, "/events", 1, pull_point)


def owned(name: str, owner: str | None) -> Subscription:
    return Subscription(SubscriptionId(name), owner, None, None, Form("cloudevents"), (), AT, None)


FLOOD = replace(owned("f", "fay"), filters=(parse_topic_expression("flood/own", "full", {}),))


class Behind:
    """Four subscriptions, of which the newest notification is wanted by none but those named."""

    def __init__(self, *newest: tuple[Found, bool | None]) -> None:
        self.pairs = newest
        self.subscriptions = [owned("a", "ann"), owned("b", "ben"), owned("n", None), FLOOD]

    async def find(self, sought: Sought, heard: Heard | None = None) -> Found:
        if heard is None or heard(found(sought.message)):
            return found(sought.message)
        raise Refusal("unknown-name", "there is none")

    async def known_subscription(self, subscription: str) -> Subscription:
        return next(each for each in self.subscriptions if each.id == subscription)

    async def account(self, found: Found, subscription: str) -> Account:
        return Account(await self.known_subscription(subscription), Explanation(True, "", ()))

    async def accounts(self, found: Found, after: str, limit: int, *, every: bool, seen: Any = None) -> Accounts:
        return Accounts(
            tuple([Account(each, Explanation(every, "", ())) for each in self.subscriptions if seen(each)]), None
        )

    async def newest(self, subscription: str, most: int) -> Newest:
        met = await self.known_subscription(subscription)
        return Newest(tuple((each, Account(met, Explanation(wanted, "", ()))) for each, wanted in self.pairs), True)


def seen_by(principal: Principal, *newest: tuple[Found, bool | None]) -> GuardedTraces:
    return GuardedTraces(cast(TracesPort, Behind(*newest)), principal)


@pytest.mark.parametrize(("who", "on"), [(ANN, "flood/severe"), (MAX, "fire")])
async def test_who_may_hear_of_it_may_look_for_it(who: Principal, on: str) -> None:
    assert (await seen_by(who).find(Sought(on))).notification.id == on


@pytest.mark.parametrize("who", [ANN, NOBODY])
async def test_for_who_may_not_hear_of_it_it_is_not_there(who: Principal) -> None:
    with pytest.raises(Refusal, match="there is none") as refused:
        await seen_by(who).find(Sought("fire"))
    assert refused.value.reason == "unknown-name"
    with pytest.raises(Refusal):
        await seen_by(ANN).find(Sought("flood"), lambda _: False)


async def test_the_subscription_of_another_is_explained_to_nobody() -> None:
    ann, about_it = seen_by(ANN), found("flood")
    assert (await ann.account(about_it, "a")).subscription.owner == "ann"
    for name in ("b", "n"):
        with pytest.raises(Refusal, match="which is another's"):
            await ann.account(about_it, name)
        with pytest.raises(Refusal, match="which is another's"):
            await ann.newest(name, 10)
    assert (await seen_by(MAX).account(about_it, "b")).subscription.owner == "ben"


async def test_of_all_those_are_told_that_one_may_manage() -> None:
    async def names(who: Principal, seen: Any = None) -> list[str]:
        page = await seen_by(who).accounts(found("flood"), "", 10, every=True, seen=seen)
        return [each.subscription.id for each in page.items]

    assert (await names(ANN), await names(MAX), await names(NOBODY)) == (["a"], ["a", "b", "n", "f"], [])
    assert await names(MAX, lambda each: each.owner == "ben") == ["b"]


async def test_of_the_newest_one_is_told_what_it_may_hear_or_was_sent() -> None:
    newest = (
        (found("flood"), False),
        (found("fire"), False),
        (found("fire/own"), True),
        (found("fire/unclear"), None),
        (found("flood/his", addressee="His"), False),
        (found("flood/mine", addressee="Mine"), True),
        (found("flood/box", pull_point="p"), False),
    )
    seen = await seen_by(ANN, *newest).newest("a", 10)
    assert [each.notification.id for each, _ in seen.items] == ["flood", "fire/own", "flood/mine"]
    assert seen.cut
    assert len((await seen_by(MAX, *newest).newest("a", 10)).items) == len(newest)


async def test_what_was_sent_to_another_is_not_told_to_who_manages_it_now() -> None:
    """It may have asked for other topics then."""
    both = Principal("mia", (*MIA.rights, about("subscribe", "flood/own")))
    newest = ((found("fire"), True), (found("flood/own"), True))
    assert (await seen_by(MIA, *newest).newest("f", 10)).items == ()
    assert [each.notification.id for each, _ in (await seen_by(both, *newest).newest("f", 10)).items] == ["flood/own"]
