"""To be pushed to is a subscription, and producers tell without being asked."""

import pytest
from msgspec.structs import replace
from tests.broker.staging import BASE, YES, Stage, refused

from tocsin.broker.caller import NODE
from tocsin.model.filters import AttributeIs, TopicIs
from tocsin.model.interactions import Tell
from tocsin.model.names import QName
from tocsin.semantics.interest import changes as c


async def test_to_be_pushed_to_is_a_subscription(stage: Stage) -> None:
    asked = await stage.ask("push-1:n-explicit")
    made = stage.broker.subscriptions[asked.subscription]
    assert made.consumer is not None
    assert (made.consumer.address, made.owner) == (f"{BASE}/broker/pullpoints/sub-P1", "ann")
    assert made.filters == (
        TopicIs(((QName("", "Vote"), "//"),)),
        AttributeIs("source", "exact", f"{BASE}/notifiers/C"),
    )
    other = await stage.ask("push-1:n-explicit", "P2", topic="Final")
    told = await stage.interactions.tell(NODE, Tell("push-1:n-explicit", "Final", "C", YES))
    assert (told.told, len(stage.broker.published), stage.told()) == (("P1", "P2"), 1, [])
    await refused(stage.interactions.answer(NODE, asked.id, "C", YES), "malformed", "is a subscription")
    await stage.interactions.end(NODE, asked.id, "P1")
    assert list(stage.broker.subscriptions) == [other.subscription]
    assert (await stage.interactions.tell(NODE, Tell("push-1:n-explicit", "Vote", "C", YES))).told == ()
    rows = await stage.interactions.interactions(NODE, 0, 10, asked.id, lambda _: True)
    assert [(each.act, each.by, each.of, each.told) for _, each in rows] == [
        ("asked", "P1", "C", ()),
        ("ended", "P1", "C", ()),
    ]


async def test_a_producer_with_one_subscriber_has_no_other(stage: Stage) -> None:
    first = await stage.ask("push-1:1-explicit", topic="Final")
    for name, topic in (("push-1:1-explicit", "Final"), ("push-1:n-explicit", "Vote")):
        await refused(stage.ask(name, "P2", topic=topic), "in-use", "P1 subscribed at C for 'Final'; end ")
    await refused(stage.ask("push-1:1-explicit", topic="Final"), "in-use", "P1 subscribed at C")
    assert len(stage.broker.subscriptions) == 1
    await stage.interactions.end(NODE, first.id, "")
    await stage.ask("push-1:1-explicit", "P2", topic="Final")
    words = "nobody has subscribed at C for 'Vote'"
    await refused(stage.interactions.tell(NODE, Tell("push-1:1-explicit", "Vote", "C", YES)), "unknown-name", words)


async def test_a_subscription_that_ended_by_itself_frees_its_place(stage: Stage) -> None:
    asked = await stage.ask("push-1:1-explicit")
    del stage.broker.subscriptions[asked.subscription]
    await stage.ask("push-1:1-explicit", "P2")
    assert (await stage.interactions.tell(NODE, Tell("push-1:1-explicit", "Vote", "C", YES))).told == ("P2",)
    assert (await stage.interactions.request(NODE, asked.id)).state == "ended"


async def test_a_producer_tells_by_its_own_rule_or_by_the_graph(stage: Stage) -> None:
    assert (await stage.interactions.tell(NODE, Tell("push-1:1-implicit", "Final", "C", YES))).told == ("P2",)
    assert (await stage.interactions.tell(NODE, Tell("push-1:n-implicit", "Vote", "C", YES, "cin"))).told == ("W",)
    (_, one), (_, many) = stage.notifiers.said
    assert (one.only, one.protocol, many.only, many.protocol) == (("P2",), "direct", None, "cin")
    rows = await stage.interactions.interactions(NODE, 0, 10, None, lambda _: True)
    assert [(each.pattern, each.act, each.by) for _, each in rows] == [
        ("push-1:1-implicit", "told", "C"),
        ("push-1:n-implicit", "told", "C"),
    ]


@pytest.mark.parametrize(
    ("tell", "reason", "words"),
    [
        (Tell("pull-1:1-explicit", "Vote", "C", YES), "malformed", "begins with a consumer"),
        (Tell("push-1:1-implicit", "Vote", "C", YES), "unknown-name", "has no rule for 'Vote'"),
        (Tell("push-1:n-implicit", "Vote", "C", YES, "smoke"), "malformed", "'smoke' is no protocol"),
        (Tell("push-1:1-implicit", "Final", "C", YES, "din"), "malformed", "a protocol is for push-1:n-implicit"),
        (Tell("push-1:n-implicit", "Vote", "Nobody", YES), "unknown-name", "there is no service 'Nobody'"),
        (Tell("push-1:n-implicit", "Weather", "C", YES), "unknown-name", "there is no topic 'Weather'"),
    ],
)
async def test_what_cannot_be_told_is_told_to_nobody(stage: Stage, tell: Tell, reason: str, words: str) -> None:
    await refused(stage.interactions.tell(NODE, tell), reason, words)
    assert stage.told() == []
    assert await stage.interactions.interactions(NODE, 0, 10, None, lambda _: True) == []


async def test_what_nobody_can_use_any_more_is_ended(stage: Stage) -> None:
    stands = await stage.ask("push-1:n-explicit", "W")
    voted = await stage.ask("pull-1:n-explicit", "W")
    kept = await stage.ask("pull-1:1-explicit")
    stage.notifiers.world().apply(c.RemoveService("W"))
    await stage.interactions.forget()
    assert stage.broker.subscriptions == {}
    assert [(await stage.interactions.request(NODE, each.id)).state for each in (stands, voted, kept)] == [
        "ended",
        "open",
        "open",
    ]
    stage.notifiers.world().apply(c.RemoveService("C"))
    await stage.interactions.forget()
    assert stage.store.requests.live() == []


async def test_a_service_that_left_and_came_back_is_free_to_ask_again(stage: Stage) -> None:
    before = await stage.ask("push-1:1-explicit")
    moved = replace(stage.notifiers.world().services["P1"], address="http://elsewhere.example/")
    stage.notifiers.world().apply(c.PutService(moved))
    await refused(
        stage.interactions.tell(NODE, Tell("push-1:1-explicit", "Vote", "C", YES)),
        "unknown-name",
        "nobody has subscribed",
    )
    after = await stage.ask("push-1:1-explicit")
    assert list(stage.broker.subscriptions) == [after.subscription]
    assert (await stage.interactions.request(NODE, before.id)).state == "ended"
