"""What services ask of each other, and are answered."""

import asyncio

import pytest
from msgspec.structs import replace
from tests.broker.staging import BASE, DATA, YES, Stage, refused

from tocsin.broker.caller import NODE
from tocsin.broker.interactions import interactions
from tocsin.model.identity import Instant
from tocsin.model.interactions import NO_DATA, Ask, Preference, Profile
from tocsin.semantics.interest import changes as c


async def test_a_request_reaches_its_producer_with_where_to_answer(stage: Stage) -> None:
    asked = await stage.ask("pull-1:1-explicit")
    root, said = stage.notifiers.said[0]
    assert (root, said.only, said.protocol, said.topic) == ("P1", ("C",), "direct", "Vote")
    assert dict(said.attributes) == {"request": asked.id, "replyto": f"{BASE}/api/requests/{asked.id}"}
    told = await stage.interactions.answer(NODE, asked.id, "C", YES)
    assert (told.told, told.closed) == (("P1",), (asked.id,))
    root, said = stage.notifiers.said[1]
    assert (root, said.only, said.data, dict(said.attributes)) == ("C", ("P1",), YES, {"request": asked.id})
    rows = await stage.interactions.interactions(NODE, 0, 10, asked.id, lambda _: True)
    assert [(each.act, each.by, each.told) for _, each in rows] == [("asked", "P1", ("C",)), ("answered", "C", ("P1",))]


@pytest.mark.parametrize(
    ("asked", "reason", "words"),
    [
        (Ask("smoke", "Vote", "P1", DATA, "C"), "malformed", "is no pattern"),
        (Ask("push-1:n-implicit", "Vote", "P1", DATA, "C"), "malformed", "begins with the producer"),
        (Ask("pull-1:1-explicit", "Vote", "Nobody", DATA, "C"), "unknown-name", "there is no service 'Nobody'"),
        (Ask("pull-1:1-explicit", "Vote", "P1", DATA, "Nobody"), "unknown-name", "there is no service 'Nobody'"),
        (Ask("pull-1:1-explicit", "Weather", "P1", DATA, "C"), "unknown-name", "there is no topic 'Weather'"),
        (Ask("pull-1:1-explicit", "Vote", "P1", DATA), "malformed", "asked by name: say whom you ask"),
        (Ask("pull-1:1-explicit", "Vote", "P1", DATA, "P1"), "malformed", "cannot ask itself"),
        (Ask("pull-1:1-implicit", "Vote", "P1", DATA, "C"), "malformed", "the broker picks the producer"),
        (Ask("pull-1:1-implicit", "Vote", "P1", DATA, category="Ships"), "unknown-name", "no category 'Ships'"),
        (
            Ask("pull-1:1-implicit", "Vote", "P1", DATA, profile=Profile({"price": Preference(at_most=1)})),
            "unknown-name",
            "3 price not known to be at most 1",
        ),
        (
            Ask("pull-1:1-implicit", "Vote", "P1", DATA, profile=Profile({"distanc": Preference()})),
            "unknown-name",
            "has the quality 'distanc'; the qualities there are: price",
        ),
        (Ask("pull-1:1-explicit", "Vote", "P1", DATA, "C", also="channel"), "malformed", "only the answer of"),
        (Ask("pull-1:n-implicit", "Vote", "P1", DATA, "C", channel="a//b"), "malformed", "a topic such as a/b"),
    ],
)
async def test_what_cannot_be_asked_changes_nothing(stage: Stage, asked: Ask, reason: str, words: str) -> None:
    await refused(stage.interactions.ask(NODE, asked), reason, words)
    assert stage.told() == []
    assert await stage.interactions.requests(NODE, 0, 10, lambda _: True) == []
    assert await stage.interactions.interactions(NODE, 0, 10, None, lambda _: True) == []


async def test_a_request_whose_producer_could_not_be_told_is_none(stage: Stage) -> None:
    stage.notifiers.refuses = True
    await refused(stage.ask("pull-1:1-explicit"), "overloaded", "not now")
    assert await stage.interactions.requests(NODE, 0, 10, lambda _: True) == []
    assert stage.store.requests.live() == []


async def test_only_who_was_asked_answers_and_only_once(stage: Stage) -> None:
    asked = await stage.ask("pull-1:1-explicit")
    await refused(
        stage.interactions.answer(NODE, asked.id, "P2", YES), "not-allowed", "is for C to answer, not for 'P2'"
    )
    await refused(stage.interactions.answer(NODE, "none", "C", YES), "unknown-name", "there is no request 'none' here")
    await stage.interactions.answer(NODE, asked.id, "C", YES)
    await refused(stage.interactions.answer(NODE, asked.id, "C", YES), "over", "was answered before")
    await refused(stage.interactions.end(NODE, asked.id, "P1"), "over", "was answered before")
    assert len(stage.told()) == 2


async def test_several_ask_and_one_answer_closes_all(stage: Stage) -> None:
    asked = [await stage.ask("pull-1:n-explicit", each) for each in ("P1", "P2")]
    other = await stage.ask("pull-1:n-explicit", "W", topic="Final")
    answers = [stage.interactions.answer(NODE, each.id, "C", YES) for each in asked]
    done = await asyncio.gather(*answers, return_exceptions=True)
    assert [type(each).__name__ for each in done] == ["Receivers", "Refusal"]
    assert stage.told()[3:] == [("C", ("P1", "P2"))]
    assert dict(stage.notifiers.said[3][1].attributes) == {"request": f"{asked[0].id} {asked[1].id}"}
    states = [each.state for _, each in await stage.interactions.requests(NODE, 0, 10, lambda _: True)]
    assert states == ["answered", "answered", "open"]
    assert [each.id for each in stage.store.requests.live()] == [other.id]


async def test_a_refused_answer_reaches_nobody_and_can_be_given_again(stage: Stage) -> None:
    asked = [await stage.ask("pull-1:n-explicit", each) for each in ("P1", "P2")]
    stage.notifiers.refuses = True
    await refused(stage.interactions.answer(NODE, asked[0].id, "C", YES), "overloaded", "not now")
    assert {each.state for each in stage.store.requests.live()} == {"open"}
    stage.notifiers.refuses = False
    assert (await stage.interactions.answer(NODE, asked[1].id, "C", YES)).told == ("P2", "P1")


async def test_nobody_is_answered_while_one_of_them_is_gone(stage: Stage) -> None:
    asked = [await stage.ask("pull-1:n-explicit", each) for each in ("P1", "W")]
    stage.notifiers.world().apply(c.RemoveService("W"))
    words = f"'W' is no longer registered, so nobody was told; end its request {asked[1].id} and answer again"
    await refused(stage.interactions.answer(NODE, asked[0].id, "C", YES), "unknown-name", words)
    assert len(stage.told()) == 2
    await stage.interactions.end(NODE, asked[1].id, "")
    assert (await stage.interactions.answer(NODE, asked[0].id, "C", YES)).told == ("P1",)


async def test_the_chosen_producer_goes_on_until_the_consumer_ends_it(stage: Stage) -> None:
    wish = Profile({"price": Preference(1.0, "lower")})
    asked = await stage.ask("pull-1:1-implicit", of="", profile=wish)
    assert asked.producer == "C"
    assert asked.chosen_because is not None
    assert [each.service for each in asked.chosen_because.scored] == ["C", "P2", "W"]
    await stage.interactions.answer(NODE, asked.id, "C", YES)
    stage.interactions = stage.again()
    again = await stage.interactions.answer(NODE, asked.id, "C", YES)
    assert (again.told, again.closed) == (("P1",), ())
    assert len({said.id for _, said in stage.notifiers.said}) == 3
    await refused(stage.interactions.end(NODE, asked.id, "P2"), "not-allowed", "is P1's to end, not P2's")
    assert (await stage.interactions.end(NODE, asked.id, "P1")).state == "ended"
    await refused(
        stage.interactions.answer(NODE, asked.id, "C", YES), "over", "was ended before, and cannot be answered"
    )
    assert len(stage.told()) == 3


async def test_an_answer_sent_again_after_a_crash_has_the_same_name(stage: Stage) -> None:
    """It was told, and then we were killed before that was written down."""
    asked = await stage.ask("pull-1:1-explicit")
    await stage.interactions.answer(NODE, asked.id, "C", YES)
    stage.store.requests.keep([(asked, True)], Instant(1))
    await stage.again().answer(NODE, asked.id, "C", YES)
    assert stage.notifiers.said[1][1].id == stage.notifiers.said[2][1].id
    stage.store.requests.keep([(asked, True)], Instant(1))
    await stage.again().answer(NODE, asked.id, "C", DATA)
    assert stage.notifiers.said[2][1].id != stage.notifiers.said[3][1].id


async def test_what_was_asked_is_not_kept_in_memory_and_not_lost(stage: Stage) -> None:
    asked = await stage.ask("pull-1:1-implicit", of="")
    await stage.interactions.answer(NODE, asked.id, asked.producer, YES)
    assert (await stage.interactions.request(NODE, asked.id)).data == DATA
    ((_, listed),) = await stage.interactions.requests(NODE, 0, 10, lambda _: True)
    assert listed.data == stage.store.requests.live()[0].data == NO_DATA
    await stage.interactions.end(NODE, asked.id, "")
    assert (await stage.again().request(NODE, asked.id)).data == DATA


async def test_an_answer_also_goes_to_those_who_can_use_it(stage: Stage) -> None:
    asked = await stage.ask("pull-1:n-implicit")
    assert asked.also == "interests"
    assert (await stage.interactions.answer(NODE, asked.id, "C", YES)).told == ("P1", "W")
    assert stage.broker.published == []


async def test_an_answer_is_also_heard_on_the_channel(stage: Stage) -> None:
    asked = await stage.ask("pull-1:n-implicit", channel="ward/seven")
    assert asked.also == "channel"
    told = await stage.interactions.answer(NODE, asked.id, "C", YES)
    assert told.told == ("P1",)
    (body,) = stage.broker.published
    assert b'"subject":"ward/seven"' in body
    assert f'"id":"{told.message}"'.encode() in body
    assert f'"source":"{BASE}/notifiers/C"'.encode() in body


async def test_services_elsewhere_are_reached_where_they_are(stage: Stage) -> None:
    stage = Stage(stage.store, stage.log, {"P1"})
    asked = [await stage.ask("pull-1:n-explicit", each) for each in ("P1", "P2")]
    assert stage.told() == [("P1", ("C",))]
    (copy,) = stage.notifiers.copies
    assert (copy.message.root, copy.sender, copy.to, copy.message.protocol) == ("P2", "P2", "C", "direct")
    assert dict(copy.message.attributes)["request"] == asked[1].id
    await stage.interactions.answer(NODE, asked[0].id, "C", YES)
    assert [(each.message.root, each.to, each.message.data) for each in stage.notifiers.copies[1:]] == [
        ("C", "P1", YES),
        ("C", "P2", YES),
    ]
    words = f"the notifier of 'P2' is run by {BASE}, not by this node"
    await refused(stage.ask("push-1:n-explicit", "P2"), "not-here", words)


async def test_what_is_over_is_forgotten_in_time(stage: Stage) -> None:
    asked, open_ = await stage.ask("pull-1:1-explicit"), await stage.ask("pull-1:1-explicit")
    await stage.interactions.answer(NODE, asked.id, "C", YES)
    stage.broker.time += 200 * 10**9
    await stage.interactions.forget()
    await refused(stage.interactions.request(NODE, asked.id), "unknown-name", "forgotten after 100s")
    assert (await stage.interactions.request(NODE, open_.id)).state == "open"


async def test_pages_are_full_of_what_is_seen(stage: Stage) -> None:
    await asyncio.gather(*(stage.ask("pull-1:1-explicit", "P1" if each % 3 else "P2") for each in range(30)))
    found = await stage.interactions.requests(NODE, 0, 5, lambda each: each.asker == "P2")
    rest = await stage.interactions.requests(NODE, found[-1][0], 100, lambda each: each.asker == "P2")
    assert (len(found), len(rest)) == (5, 5)
    assert replace(found[0][1], id="") == replace(rest[0][1], id="", when=found[0][1].when)


async def test_there_is_room_for_so_many_requests(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactions, "MOST_LIVE", 1)
    asked = await stage.ask("pull-1:1-explicit")
    await refused(stage.ask("pull-1:1-explicit"), "overloaded", "1 requests are open")
    await stage.interactions.answer(NODE, asked.id, "C", YES)
    await stage.ask("pull-1:1-explicit")
