"""A trace tells nobody more than it may hear or manage."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from tests.broker.test_pull_points import FORM, running
from tests.whole.people import about

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.node import Node
from tocsin.flow.traces import Account, Logged, Sought
from tocsin.matching.explain.filters import Explanation
from tocsin.mediation.operations import Subscribe
from tocsin.model.access import Principal, Right
from tocsin.model.identity import Instant, MessageId
from tocsin.model.identity import Node as NodeName
from tocsin.model.names import topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position
from tocsin.model.topics import parse_topic_expression

ANN = Caller(Principal("ann", (about("subscribe", "flood//."),)))
MIA = Caller(Principal("mia", (about("manage", "flood//."),)))
BOTH = Caller(Principal("mia", (about("manage", "flood//."), about("subscribe", "flood/own"))))
MAX = Caller(Principal("max", (Right("manage"),)))
NOBODY = Caller(Principal("", ()))
AT = Position(NodeName("n"), 10_000)  # after all that was asked for
Owned = Mapping[str, str]


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    async with running(tmp_path) as node:
        yield node


@pytest.fixture
async def owned(node: Node) -> Owned:
    """Subscriptions by their owners, who might have asked for everything then; fay did for flood/own alone."""
    made = {}
    for owner in ("ann", "ben", "", "fay"):
        filters = (parse_topic_expression("flood/own", "full", {}),) if owner == "fay" else ()
        caller = Caller(Principal(owner, (Right("subscribe"),))) if owner else NODE
        made[owner] = (await node.subscriptions.subscribe(caller, Subscribe(None, None, FORM, filters, None))).id
    return made


async def say(node: Node, *on: str) -> None:
    """Each under its topic as its id."""
    for each in on:
        headers = (("content-type", "text/plain"), ("ce-specversion", "1.0"), ("ce-id", each))
        more = (("ce-source", "/s"), ("ce-type", "t"), ("ce-topic", each))
        await node.publishing.publish(NODE, "/events", "cloudevents", headers + more, b"x")


def logged(on: str, pull_point: str | None = None, addressee: str = "") -> Logged:
    said, payload = topic(on), Payload("text/plain", b"x")
    assert said is not None
    told = Notification(MessageId(on), AT, 0, Instant(1), "raw", "c", "", said, None, (), payload, addressee=addressee)
    return Logged(told, "/events", 1, pull_point)


@pytest.mark.parametrize(("who", "on"), [(ANN, "flood/severe"), (MAX, "fire")])
async def test_who_may_hear_of_it_may_look_for_it(node: Node, who: Caller, on: str) -> None:
    await say(node, "flood/severe", "fire")
    assert (await node.traces.find(who, Sought(on))).notification.id == on


@pytest.mark.parametrize("who", [ANN, NOBODY])
async def test_for_who_may_not_hear_of_it_it_is_not_there(node: Node, who: Caller) -> None:
    await say(node, "fire")
    with pytest.raises(Refusal) as hidden:
        await node.traces.find(who, Sought("fire"))
    with pytest.raises(Refusal) as missing:
        await node.traces.find(who, Sought("fire/none"))
    assert hidden.value.reason == missing.value.reason == "unknown-name"
    assert hidden.value.text.replace("fire", "fire/none") == missing.value.text


async def test_the_subscription_of_another_is_explained_to_nobody(node: Node, owned: Owned) -> None:
    await say(node, "flood")
    it = await node.traces.find(ANN, Sought("flood"))
    assert (await node.traces.account(ANN, it, owned["ann"])).subscription.owner == "ann"
    for name in ("ben", ""):
        with pytest.raises(Refusal, match="which is another's"):
            await node.traces.account(ANN, it, owned[name])
        with pytest.raises(Refusal, match="which is another's"):
            await node.traces.newest(ANN, owned[name], 10)
        with pytest.raises(Refusal, match="which is another's"):
            await node.traces.known_subscription(ANN, owned[name])
    assert (await node.traces.account(MAX, it, owned["ben"])).subscription.owner == "ben"


async def test_of_all_those_are_told_that_one_may_manage(node: Node, owned: Owned) -> None:
    await say(node, "flood")
    it = await node.traces.find(MAX, Sought("flood"))

    async def names(who: Caller) -> set[str]:
        page = await node.traces.accounts(who, it, "", 10, every=True)
        return {each.subscription.owner or "" for each in page.items}

    assert (await names(ANN), await names(MAX), await names(NOBODY)) == ({"ann"}, set(owned), set())


async def newest(
    node: Node, monkeypatch: pytest.MonkeyPatch, who: Caller, subscription: str, *pairs: tuple[Logged, bool | None]
) -> list[str]:
    """What it is told where these are the newest, and were wanted or not."""
    met = await node.traces.known_subscription(NODE, subscription)
    found = [(each, Account(met, Explanation(wanted, "", ()))) for each, wanted in pairs]
    monkeypatch.setattr(node.traces, "_newest", lambda *_: (found, True))
    told = await node.traces.newest(who, subscription, 10)
    assert told.cut
    return [each.notification.id for each, _ in told.items]


async def test_of_the_newest_one_is_told_what_it_may_hear_or_was_sent(
    node: Node, owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = (
        (logged("flood"), False),
        (logged("fire"), False),
        (logged("fire/own"), True),
        (logged("fire/unclear"), None),
        (logged("flood/his", addressee="His"), False),
        (logged("flood/mine", addressee="Mine"), True),
        (logged("flood/box", pull_point="p"), False),
    )
    assert await newest(node, monkeypatch, ANN, owned["ann"], *pairs) == ["flood", "fire/own", "flood/mine"]
    assert len(await newest(node, monkeypatch, MAX, owned["ann"], *pairs)) == len(pairs)


async def test_what_was_sent_to_another_is_not_told_to_who_manages_it_now(
    node: Node, owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have asked for other topics then."""
    pairs = ((logged("fire"), True), (logged("flood/own"), True))
    assert await newest(node, monkeypatch, MIA, owned["fay"], *pairs) == []
    assert await newest(node, monkeypatch, BOTH, owned["fay"], *pairs) == ["flood/own"]
