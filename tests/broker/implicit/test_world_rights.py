"""What callers with few rights may do to the world and its notifiers."""

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.broker.test_pull_points import running
from tests.doors.fake_implicit import WORLD

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.implicit.implicit import Implicit
from tocsin.broker.node import Node
from tocsin.model.access import Principal, Right
from tocsin.model.filters import TopicIs
from tocsin.model.identity import Instant, MessageId
from tocsin.model.names import QName
from tocsin.model.notification import Copy, Message, Payload
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.services import Published
from tocsin.semantics.interest.changes import CastVote, PutCategory, PutEdge, PutRules, PutService, PutTopic, RemoveEdge
from tocsin.semantics.interest.ino import Edge, Service, Vote

QUAKE = TopicIs(((QName("", "Disaster-Info"), QName("", "Earthquake")),))
ADA, BOB = Caller(Principal("ada")), Caller(Principal("bob", (Right("publish", QUAKE),)))
ROOT = Caller(Principal("root", (Right("manage"), Right("publish"))))
EDGE = Edge("Research", "Earthquake", "Global")
DATA = Payload("text/plain", b"7")
PATIENCE = 10.0


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    """The small world, with notifiers for two of its services."""
    async with running(tmp_path) as node:
        await node.implicit.change_world(NODE, [each for each in WORLD if not isinstance(each, PutService)], "")
        for name, category in (("IDER", "Research"), ("CARE", "Global")):
            await node.implicit.create_notifier(NODE, Service(name, (category,)), "desk")
        yield node


@pytest.fixture
def implicit(node: Node) -> Implicit:
    return node.implicit


async def refused(asked: Awaitable[object]) -> None:
    with pytest.raises(Refusal) as refusal:
        await asked
    assert refusal.value.reason == "not-allowed"


async def last_by(implicit: Implicit, after: int) -> list[str]:
    return [each.by for each in await implicit.world_history(NODE, after, 100)]


def vote(by: str, *, agrees: bool = True) -> CastVote:
    return CastVote(*EDGE.key, Vote(by, agrees))


async def test_everybody_may_propose_and_vote_in_the_own_name(implicit: Implicit) -> None:
    world, before = implicit.world(NODE), implicit.world(NODE).version
    asked = PutEdge(replace(EDGE, proposed_by="ada", votes=(Vote("ada", True),)))
    await implicit.change_world(BOB, [asked], "ada")
    proposed = world.edge(EDGE.key)
    assert (proposed.proposed_by, proposed.votes) == ("bob", ()) and not world.counts(proposed)
    await implicit.change_world(BOB, [vote("ada")], "ada")
    assert [each.by for each in world.edge(EDGE.key).votes] == ["bob"]
    assert await last_by(implicit, before) == ["bob", "bob"] and not world.counts(world.edge(EDGE.key))


async def test_the_owner_of_a_category_decides_on_its_edges(implicit: Implicit) -> None:
    world = implicit.world(ADA)
    await refused(implicit.change_world(ADA, [PutCategory("Research")], ""))
    await implicit.change_world(ADA, [PutEdge(replace(EDGE, proposed_by="ada"))], "")
    assert world.counts(world.edge(EDGE.key))
    await refused(implicit.change_world(BOB, [PutEdge(EDGE)], ""))
    await refused(implicit.change_world(BOB, [RemoveEdge(*EDGE.key)], ""))
    await implicit.change_world(ADA, [RemoveEdge(*EDGE.key)], "")
    assert EDGE.key not in world.edges


async def test_the_rest_is_for_who_manages_everything(implicit: Implicit) -> None:
    service, before = Service("New", ("Global",)), implicit.world(NODE).version
    for who in (ADA, BOB):
        for change in (PutTopic("Flood"), PutCategory("Local"), PutRules(quorum=1)):
            await refused(implicit.change_world(who, [change], ""))
        await refused(implicit.create_notifier(who, service, "root"))
        await refused(implicit.remove_notifier(who, "CARE", "root"))
    await implicit.change_world(ROOT, [PutTopic("Flood"), PutEdge(EDGE)], "ada")
    assert (await implicit.create_notifier(ROOT, service, "ada")).service.name == "New"
    assert set(await last_by(implicit, before)) == {"root"}


async def test_one_change_that_is_not_allowed_keeps_all_from_being_made(implicit: Implicit) -> None:
    before = implicit.world(NODE).version
    await refused(implicit.change_world(ADA, [PutEdge(EDGE), PutTopic("Flood")], ""))
    assert implicit.world(NODE).version == before


async def test_who_publishes_may_know_what_came_of_it(implicit: Implicit) -> None:
    await refused(implicit.publish_through(ADA, "IDER", Published("Earthquake", DATA)))
    await refused(implicit.publish_through(BOB, "IDER", Published("Disaster Info", DATA)))
    with pytest.raises(Refusal, match="Weather"):
        await implicit.publish_through(BOB, "IDER", Published("Weather", DATA))
    made = await implicit.publish_through(BOB, "IDER", Published("Earthquake", DATA))
    assert (await implicit.dissemination(BOB, made, PATIENCE)).complete
    await refused(implicit.dissemination(ADA, made))
    await refused(implicit.publication(ADA, made))
    assert [len(await implicit.disseminations(who, 9)) for who in (ADA, BOB, ROOT)] == [0, 1, 1]


async def test_nobody_signs_for_a_node(implicit: Implicit) -> None:
    message = Message(MessageId("m"), "din", "IDER", "Earthquake", DATA, Instant(1))
    with pytest.raises(Refusal, match="may not"):
        implicit.proof(BOB, Copy("c", message, "IDER", "CARE", 1))
    await refused(implicit.pass_on(BOB, [Copy("c", message, "IDER", "CARE", 1)]))
    await implicit.notify(BOB, Copy("c", message, "", "CARE", 1))
    await refused(implicit.notify(ADA, Copy("c", message, "", "CARE", 1)))


async def test_a_notifier_is_owned_by_somebody_who_is_known(node: Node) -> None:
    root, implicit = Caller(ROOT.principal, {"ada": ADA.principal}.get), node.implicit
    with pytest.raises(Refusal, match="users add"):
        await implicit.create_notifier(root, Service("TV", ("Global",)), "", "eve")
    assert "TV" not in implicit.world(NODE).services
    television = await implicit.create_notifier(root, Service("TV", ("Global",)), "", "ada")
    radio = await implicit.create_notifier(root, Service("Radio", ("Global",)), "")
    owners = [node.standing.get(each.subscription).owner for each in (television, radio)]
    assert owners == ["ada", "root"]
