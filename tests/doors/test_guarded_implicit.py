"""The world and its notifiers as principals with few rights see them."""

from collections.abc import Awaitable

import pytest
from msgspec.structs import replace
from tests.doors.fake_implicit import NOW, FakeImplicit, small_world

from tocsin.documents.ports.implicit_port import Published
from tocsin.doors.guarded_implicit import GuardedImplicit
from tocsin.model.access import Principal, Right
from tocsin.model.filters import TopicIs
from tocsin.model.identity import MessageId
from tocsin.model.names import QName
from tocsin.model.notification import Copy, Message, Payload
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.changes import CastVote, PutCategory, PutEdge, PutRules, PutTopic, RemoveEdge
from tocsin.semantics.interest.ino import Edge, Service, Vote

QUAKE = TopicIs(((QName("", "Disaster-Info"), QName("", "Earthquake")),))
ADA, BOB = Principal("ada"), Principal("bob", (Right("publish", QUAKE),))
ROOT = Principal("root", (Right("manage"), Right("publish")))
EDGE = Edge("Research", "Earthquake", "Global")
DATA = Payload("text/plain", b"7")


@pytest.fixture
def port() -> FakeImplicit:
    return FakeImplicit(small_world())


def seen(port: FakeImplicit, who: Principal) -> GuardedImplicit:
    return GuardedImplicit(port, who)


async def refused(asked: Awaitable[object]) -> None:
    with pytest.raises(Refusal) as refusal:
        await asked
    assert refusal.value.reason == "not-allowed"


def vote(by: str, *, agrees: bool = True) -> CastVote:
    return CastVote(*EDGE.key, Vote(by, agrees))


async def test_everybody_may_propose_and_vote_in_the_own_name(port: FakeImplicit) -> None:
    await seen(port, BOB).change_world([PutEdge(replace(EDGE, proposed_by="ada", votes=(Vote("ada", True),)))], "ada")
    proposed = port.the_world.edge(EDGE.key)
    assert (proposed.proposed_by, proposed.votes) == ("bob", ()) and not port.the_world.counts(proposed)
    await seen(port, BOB).change_world([vote("ada")], "ada")
    assert [each.by for each in port.the_world.edge(EDGE.key).votes] == ["bob"]
    assert port.asked_by == ["bob", "bob"] and not port.the_world.counts(port.the_world.edge(EDGE.key))


async def test_the_owner_of_a_category_decides_on_its_edges(port: FakeImplicit) -> None:
    await refused(seen(port, ADA).change_world([PutCategory("Research")], ""))
    await seen(port, ADA).change_world([PutEdge(replace(EDGE, proposed_by="ada"))], "")
    assert port.the_world.counts(port.the_world.edge(EDGE.key))
    await refused(seen(port, BOB).change_world([PutEdge(EDGE)], ""))
    await refused(seen(port, BOB).change_world([RemoveEdge(*EDGE.key)], ""))
    await seen(port, ADA).change_world([RemoveEdge(*EDGE.key)], "")
    assert EDGE.key not in port.the_world.edges


async def test_the_rest_is_for_who_manages_everything(port: FakeImplicit) -> None:
    service = Service("New", ("Global",))
    for who in (ADA, BOB):
        for change in (PutTopic("Flood"), PutCategory("Local"), PutRules(quorum=1)):
            await refused(seen(port, who).change_world([change], ""))
        await refused(seen(port, who).create_notifier(service, "root"))
        await refused(seen(port, who).remove_notifier("CARE", "root"))
    await seen(port, ROOT).change_world([PutTopic("Flood"), PutEdge(EDGE)], "ada")
    assert (await seen(port, ROOT).create_notifier(service, "ada")).service == service
    assert port.asked_by == ["root", "root"]


async def test_one_change_that_is_not_allowed_keeps_all_from_being_made(port: FakeImplicit) -> None:
    before = port.the_world.version
    await refused(seen(port, ADA).change_world([PutEdge(EDGE), PutTopic("Flood")], ""))
    assert port.the_world.version == before


async def test_who_publishes_may_know_what_came_of_it(port: FakeImplicit) -> None:
    await refused(seen(port, ADA).publish_through("IDER", Published("Earthquake", DATA)))
    await refused(seen(port, BOB).publish_through("IDER", Published("Disaster Info", DATA)))
    with pytest.raises(Refusal, match="Weather"):
        await seen(port, BOB).publish_through("IDER", Published("Weather", DATA))
    made = await seen(port, BOB).publish_through("IDER", Published("Earthquake", DATA))
    assert (await seen(port, BOB).dissemination(made)).complete
    await refused(seen(port, ADA).dissemination(made))
    assert [len(await seen(port, who).disseminations(9)) for who in (ADA, BOB, ROOT)] == [0, 1, 1]


async def test_nobody_signs_for_a_node(port: FakeImplicit) -> None:
    message = Message(MessageId("m"), "din", "IDER", "Earthquake", DATA, NOW)
    with pytest.raises(Refusal, match="may not"):
        seen(port, BOB).proof(Copy("c", message, "IDER", "CARE", 1))
    await seen(port, BOB).notify(Copy("c", message, "", "CARE", 1))
    await refused(seen(port, ADA).notify(Copy("c", message, "", "CARE", 1)))


async def test_a_notifier_is_owned_by_somebody_who_is_known(port: FakeImplicit) -> None:
    guarded = GuardedImplicit(port, ROOT, {"ada": ADA}.get)
    with pytest.raises(Refusal, match="users add"):
        await guarded.create_notifier(Service("TV", ("Global",)), "", "eve")
    assert "TV" not in port.the_world.services
    await guarded.create_notifier(Service("TV", ("Global",)), "", "ada")
    await guarded.create_notifier(Service("Radio", ("Global",)), "")
    assert (port.asked_by, port.owners) == (["root", "root"], ["ada", ""])
