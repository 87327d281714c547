"""What nobody wants: promised by one node to another, and told of before a subscription is acknowledged."""

import asyncio
import time
from collections.abc import Awaitable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.broker.ring.test_circle import MEMBERS, roster
from tests.whole.shell import wait_until

from tocsin.broker.ring import demanding as module
from tocsin.broker.ring.circle import Circle, Unreachable
from tocsin.broker.ring.demanding import Demanding
from tocsin.broker.ring.messages import Begun, Demanded
from tocsin.model.filters import TOPICS, InBox, TopicIs
from tocsin.model.identity import Instant, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.records import Changed, Position
from tocsin.model.subscription import Endpoint, Form, Subscription
from tocsin.routing.ring.demand import DemandSettings
from tocsin.routing.ring.roster import Member

FLOOD = Topic((QName("", "flood"),))
KEY = 15  # of "b", in rosters of a, b and c
ASKED = TopicIs(((QName("", "flood"),),))


def subscription(name: str = "s", version: int = 1, *filters: Any) -> Subscription:
    at = Position(Node("b"), 0)
    consumer = Endpoint("http://127.0.0.1:9/")
    return Subscription(
        SubscriptionId(name), None, consumer, None, Form("cloudevents"), filters or (ASKED,), at, None, version=version
    )


def changed(what: Subscription) -> Changed:
    return Changed(Position(Node("b"), 0), Instant(0), what)


class Network:
    """Nodes by their names; `cut` are those whom nothing reaches, and `gate` holds up what is on its way."""

    def __init__(self) -> None:
        self.nodes: dict[str, tuple[Circle, Demanding]] = {}
        self.cut: set[str] = set()
        self.gate = asyncio.Event()
        self.gate.set()
        self.ahead = 0  # nanoseconds that have passed at once
        self.acts = True

    async def add(self, name: str, number: int = 1, *, leaves: bool = True, ready: bool = True) -> Demanding:
        circle = Circle(name, lambda: self.acts)
        await circle.take(roster(number, "a", "b", "c"))
        if ready:
            await circle.ready(number)
        made = Demanding(circle, self, (), self._now, leaves=leaves)  # type: ignore[arg-type]
        self.nodes[name] = circle, made
        return made

    def _now(self) -> Instant:
        return Instant(time.monotonic_ns() + self.ahead)

    async def tell(self, to: Member, request: Begun | Demanded, seconds: float) -> None:
        del seconds
        if to.name in self.cut:
            raise Unreachable(f"{to.name} does not answer")
        await self.gate.wait()
        there = self.nodes[to.name][1]
        if isinstance(request, Begun):
            there.forget()
        else:
            there.told(request.what)

    def leaves(self, name: str, plane: str = TOPICS) -> bool:
        """As for a notification that is published there now; its question is answered by "b"."""
        verdict = self.nodes[name][1].verdict(plane, KEY, FLOOD)
        if verdict.question is not None:
            self.nodes[name][1].answered(self.nodes["b"][1].asked((verdict.question,)))
        return not verdict.relay


@pytest.fixture
async def network() -> Network:
    made = Network()
    nodes = [await made.add(each.name) for each in MEMBERS]
    await asyncio.gather(*(each.begin() for each in nodes))
    return made


async def pending(what: Awaitable[None]) -> "asyncio.Task[None]":
    """It waits, and goes on waiting."""
    task = asyncio.ensure_future(what)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    return task


async def test_what_was_asked_for_once_is_left_until_somebody_wants_it(network: Network) -> None:
    owner = network.nodes["b"][1]
    assert [network.leaves("a") for _ in range(3)] == [False, True, True]
    network.gate.clear()
    owner.changed(changed(subscription()))
    waiting = await pending(owner.settled(["s"]))
    assert network.leaves("a")
    network.gate.set()
    await waiting
    assert not network.leaves("a") and not network.leaves("c")
    owner.changed(changed(subscription(version=2)))
    await owner.settled(["s"])


async def test_what_ended_is_left_again(network: Network) -> None:
    owner = network.nodes["b"][1]
    owner.changed(changed(subscription()))
    assert [network.leaves("a") for _ in range(3)] == [False, False, False]
    owner.changed(changed(replace(subscription(version=2), state="ended")))
    await wait_until(lambda: network.leaves("a"), "it is left")


async def test_what_is_being_told_is_waited_for_by_who_asks_again(network: Network) -> None:
    owner = network.nodes["b"][1]
    network.leaves("a")
    network.cut.add("a")
    owner.changed(changed(subscription()))
    first, again = await pending(owner.settled(["s"])), await pending(owner.settled(["s"]))
    network.cut.clear()
    await asyncio.gather(first, again)
    assert not network.leaves("a")


async def test_who_does_not_answer_is_waited_for_until_its_lease_has_passed(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = network.nodes["b"][1]
    network.leaves("a")
    network.cut.add("a")
    owner.changed(changed(subscription()))
    waiting = await pending(owner.settled(["s"]))
    network.ahead += round(10.9e9)
    waiting = await pending(waiting)
    assert not network.leaves("a")  # its own lease has passed before
    network.ahead += round(0.2e9)
    await waiting


async def test_who_was_put_out_is_not_waited_for(network: Network) -> None:
    circle, owner = network.nodes["b"]
    network.leaves("a")
    network.cut.add("a")
    await circle.take(roster(2, "b", "c"))
    await circle.ready(2)
    owner.changed(changed(subscription()))
    await owner.settled(["s"])


async def test_another_roster_ends_what_was_promised_by_the_one_before(network: Network) -> None:
    assert [network.leaves("a") for _ in range(2)] == [False, True]
    await network.nodes["a"][0].take(roster(2, "a", "b", "c"))
    assert [network.leaves("a") for _ in range(3)] == [False, False, False]  # who has not heard of it promises nothing
    await network.nodes["b"][0].take(roster(2, "a", "b", "c"))
    network.ahead += round(2e9)
    assert [network.leaves("a") for _ in range(3)] == [False, False, False]  # nor who does not have all of its arc
    await network.nodes["b"][0].ready(2)
    network.ahead += round(2e9)
    assert [network.leaves("a") for _ in range(2)] == [False, True]


async def test_nothing_is_settled_before_a_node_has_all_of_its_arc(network: Network) -> None:
    """Before that others may go by the former roster, and by what its owner promised."""
    circle, owner = network.nodes["b"]
    await circle.take(roster(2, "a", "b", "c"))
    owner.changed(changed(subscription()))
    waiting = await pending(owner.settled(["s"]))
    await circle.ready(2)
    await waiting


async def test_who_is_cut_off_neither_leaves_nor_promises_anything(network: Network) -> None:
    assert [network.leaves("a") for _ in range(2)] == [False, True]
    network.acts = False
    assert not network.leaves("a")
    assert [network.leaves("c") for _ in range(2)] == [False, False]


async def test_who_was_started_again_settles_nothing_before_its_promises_are_forgotten(network: Network) -> None:
    assert [network.leaves("a") for _ in range(2)] == [False, True]
    owner = await network.add("b")
    network.gate.clear()
    owner.changed(changed(subscription()))
    waiting = await pending(owner.settled(["s"]))
    begun = asyncio.create_task(owner.begin())
    waiting = await pending(waiting)
    assert network.leaves("a")
    network.gate.set()
    await asyncio.gather(waiting, begun)
    assert not network.leaves("a")


async def test_who_was_started_again_waits_no_longer_than_its_promises_hold(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DemandSettings", lambda: DemandSettings(lease=0.05))
    network.cut.add("a")
    owner = await network.add("b")
    await owner.begin()
    await owner.settled(["s"])


async def test_an_answer_from_before_it_was_forgotten_is_none(network: Network) -> None:
    asking = network.nodes["a"][1]
    verdict = asking.verdict(TOPICS, KEY, FLOOD)
    assert verdict.question is not None
    answers = network.nodes["b"][1].asked((verdict.question,))
    asking.forget()
    asking.answered(answers)
    assert not network.leaves("a")


async def test_a_node_that_relays_always_asks_nothing(network: Network) -> None:
    asking = await network.add("a", leaves=False)
    assert [asking.verdict(TOPICS, KEY, FLOOD).question for _ in range(2)] == [None, None]
    assert not network.leaves("a")


async def test_all_that_a_node_has_of_a_space_is_wanted_by_whoever_asks_for_some_of_it(network: Network) -> None:
    owner = network.nodes["b"][1]
    assert [network.leaves("a", "weather") for _ in range(2)] == [False, True]
    owner.changed(changed(subscription("t")))
    owner.changed(changed(subscription("other", 1, InBox("roads", ()))))
    await owner.settled(["t", "other"])
    assert network.leaves("a", "weather")
    owner.changed(changed(subscription("box", 1, InBox("weather", ()))))
    await owner.settled(["box"])
    assert not network.leaves("a", "weather")
