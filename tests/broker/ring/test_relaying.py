"""What lies at many keys reaches all of them, each once, also when a node is gone in the middle of it."""

import asyncio
from typing import Any, cast

import msgspec
from tests.routing.ring.test_keys import notification

from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, Unreachable, number_of
from tocsin.broker.ring.demanding import Demanding
from tocsin.broker.ring.messages import Relay
from tocsin.broker.ring.placing import Placing
from tocsin.broker.ring.relaying import Answers, Part, Relaying
from tocsin.mediation.between_nodes import frames
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.filters import TOPICS
from tocsin.model.identity import SECOND, Instant
from tocsin.model.notification import EVERY_PLANE, Notification
from tocsin.model.space import Dimension, InformationSpace
from tocsin.routing.ring.identifiers import LAST, SIZE
from tocsin.routing.ring.keys import places_of
from tocsin.routing.ring.ranges import Ranges, merged
from tocsin.routing.ring.relay_messages import Answered, Wanting
from tocsin.routing.ring.roster import Member, Roster

SPACE = InformationSpace("s", (Dimension("x", "number", 0.0, 1.0), Dimension("y", "number", 0.0, 1.0)))
EVERYTHING = notification(attributes=((CONTENT_TOPIC, "s:*/*"),))
POINT = notification(attributes=((CONTENT_TOPIC, "s:0.5/0.5"),))
Taken = tuple[str, str, Ranges]


def roster(number: int, *members: int) -> Roster:
    return Roster(number, tuple(Member(f"n{each}", each * (SIZE // 8), f"at{each}") for each in members))


class Others:
    """The other nodes; `gone` do not answer, and then the next roster is agreed on."""

    def __init__(self, circle: Circle, gone: set[str], then: Roster) -> None:
        self._circle, self._gone, self._then = circle, gone, then
        self.taken: list[Taken] = []
        self.count = 0

    async def ask(self, to: Member, relay: Relay, kind: type) -> Any:
        assert kind == Answers
        if to.name in self._gone:
            await self._circle.take(self._then)
            raise Unreachable(f"{to.name} does not answer")
        self.taken.append((to.name, relay.plane, relay.arcs))
        self.count += len(list(frames(relay.frames)))
        return ()


class Places:
    def places(self, told: Notification) -> Any:
        return places_of(told, {"s": SPACE})


async def spread(told: Notification, before: Roster, gone: set[str], then: Roster) -> Others:
    circle = Circle("n9", lambda: True)
    mine = Member("n9", LAST, "here")  # who has next to nothing: a door
    before, then = (msgspec.structs.replace(each, members=(*each.members, mine)) for each in (before, then))
    await circle.take(before)
    await circle.ready(number_of(then))
    others = Others(circle, gone, then)
    demanding = Demanding(circle, cast(Asking, others), (), lambda: Instant(0), leaves=False)
    relaying = Relaying(circle, cast(Asking, others), cast(Placing, Places()), cast(Any, Mine(others)), demanding)
    parts = relaying.elsewhere((told,))
    assert parts is not None
    await asyncio.wait_for(relaying.spread(parts, None), 30)
    return others


class Mine:
    def __init__(self, others: Others) -> None:
        self._others = others

    async def take(self, door: str, body: bytes, principal: str | None) -> int:
        del principal
        first, _, last = door.partition("arcs=")[2].partition("-")
        arcs = ((int(first, 16), int(last, 16)),) if first else ()
        self._others.taken.append(("n9", "s" if "plane=s" in door else TOPICS, arcs))
        return 0


def covered(taken: list[Taken]) -> Ranges:
    """Of the space; nothing twice."""
    arcs = [each for _, plane, some in taken if plane == "s" for each in some]
    assert sum(last - first + 1 for first, last in arcs) == sum(b - a + 1 for a, b in merged(arcs))
    return merged(arcs)


async def test_each_node_takes_what_is_in_its_arc() -> None:
    nodes = roster(1, 1, 3, 6)
    others = await spread(EVERYTHING, nodes, set(), nodes)
    assert covered(others.taken) == ((0, LAST),)
    assert {name for name, plane, _ in others.taken if plane == "s"} == {"n1", "n3", "n6", "n9"}
    assert sum(plane == TOPICS for _, plane, _ in others.taken) == 1


async def test_what_a_node_did_not_take_goes_to_who_has_its_arc_then() -> None:
    others = await spread(EVERYTHING, roster(1, 1, 3, 6), {"n3"}, roster(2, 1, 6))
    assert covered(others.taken) == ((0, LAST),)
    by_successor = [arcs for name, plane, arcs in others.taken if (name, plane) == ("n6", "s")]
    assert ((SIZE // 8 + 1, 3 * SIZE // 8),) in by_successor and len(by_successor) == 2


async def test_its_arc_is_shared_out_if_others_came_between() -> None:
    others = await spread(EVERYTHING, roster(1, 1, 6), {"n6"}, roster(2, 1, 3, 4, 7))
    assert covered(others.taken) == ((0, LAST),)
    assert {name for name, plane, _ in others.taken if plane == "s"} == {"n1", "n3", "n4", "n7", "n9"}


async def test_what_is_all_at_one_node_is_taken_there_as_one() -> None:
    told = notification(attributes=((CONTENT_TOPIC, "s:0.5/0.5..0.500001 || s:0.5/0.5"),))
    nodes = roster(1, 7)
    others = await spread(told, nodes, set(), nodes)
    assert others.taken == [("n7", EVERY_PLANE, ())] and others.count == 1
    others = await spread(told, nodes, {"n7"}, roster(2, 6))
    assert sorted(others.taken) == [("n6", TOPICS, ()), ("n6", "s", ())], "some of it may be had by n6 already"


async def on_demand() -> tuple[Demanding, Relaying]:
    circle, nodes = Circle("n1", lambda: True), roster(1, 1, 3, 6)
    await circle.take(nodes)
    await circle.ready(number_of(nodes))
    demanding = Demanding(circle, cast(Asking, None), (), lambda: Instant(0), leaves=True)
    return demanding, Relaying(circle, cast(Asking, None), cast(Placing, Places()), cast(Any, None), demanding)


def answer(demanding: Demanding, part: Part, *wanting: Wanting) -> None:
    asked = part.question
    assert asked is not None
    demanding.answered([Answered(asked.flow, asked.number, asked.epoch, wanting, 0 if wanting else SECOND)])


async def test_what_nobody_wants_in_any_plane_is_left() -> None:
    demanding, relaying = await on_demand()
    parts = relaying.elsewhere((POINT,))
    assert parts is not None and [each.plane for each in parts] == [TOPICS, "s"]
    for each in parts:
        answer(demanding, each)
    assert relaying.elsewhere((POINT,)) is None and relaying.left == 1
    kept = relaying.elsewhere((POINT, EVERYTHING))
    assert kept is not None and (kept[0].plane, kept[0].key) == (EVERY_PLANE, SIZE // 8)
    assert [each.plane for each in kept[1:]] == [TOPICS, "s"] and relaying.left == 2


async def test_what_is_wanted_in_one_plane_goes_to_all() -> None:
    """So that it is known again by who takes it, whoever it is published by next."""
    demanding, relaying = await on_demand()
    parts = relaying.elsewhere((POINT,))
    assert parts is not None
    answer(demanding, parts[0])
    answer(demanding, parts[1], Wanting("w", 1, ()))
    again = relaying.elsewhere((POINT,))
    assert again == [each._replace(question=None) for each in parts] and relaying.left == 0
