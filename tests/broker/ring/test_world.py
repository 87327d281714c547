"""One world at several nodes: the same changes in the same order at all, whoever makes them and whoever is lost."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tocsin.broker.implicit.registry import LocalRegistry
from tocsin.broker.ring import circle as module
from tocsin.broker.ring.asking import decode_request, encode
from tocsin.broker.ring.circle import Circle, Unreachable
from tocsin.broker.ring.messages import ChangeWorld, PutWorld, WorldAfter
from tocsin.broker.ring.world import KEY, RingWorld
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.identifiers import SIZE
from tocsin.routing.ring.roster import Member, Roster
from tocsin.semantics.interest.changes import Change, PutCategory, PutTopic, RemoveTopic
from tocsin.semantics.interest.world import World
from tocsin.store.database import Store

NAMES = ("a", "b", "c", "d")
MEMBERS = {name: Member(name, (KEY + at * 1000) % SIZE, name) for at, name in enumerate(NAMES)}  # a has the key


def roster(number: int, names: str) -> Roster:
    return Roster(number, tuple(sorted((MEMBERS[name] for name in names), key=lambda each: each.id)), "a 0")


class Nodes:
    """In one process; what they say to each other goes through bytes. `lost` answer nobody."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.lost = folder, set[str]()
        self.worlds: dict[str, RingWorld] = {}
        self.registries: dict[str, LocalRegistry] = {}
        self.circles: dict[str, Circle] = {}
        self._stores: list[Store] = []
        self.dropped: set[tuple[str, type]] = set()  # who does not hear what kind of request

    def add(self, name: str) -> None:
        store = Store.open(self._folder / f"{name}.db")
        self._stores.append(store)
        self.circles[name] = Circle(name, lambda: True)
        spread: Any = lambda *what: self.worlds[name].spread(*what)  # noqa: E731
        self.registries[name] = LocalRegistry(store.implicit, lambda: Instant(7), spread=spread)
        self.worlds[name] = RingWorld(self.circles[name], self, self.registries[name])  # type: ignore[arg-type]

    async def ask(self, of: Member, request: Any, kind: type, seconds: float = 0) -> Any:
        del seconds
        await asyncio.sleep(0)
        said = decode_request(encode(request))
        if of.name in self.lost or (of.name, type(said)) in self.dropped:
            raise Unreachable(f"{of.name} does not answer")
        world, answer = self.worlds[of.name], object()
        match said:
            case ChangeWorld():
                answer = await world.order(said)
            case PutWorld():
                answer = await world.put(said)
            case WorldAfter():
                answer = await world.after(said)
        return msgspec.msgpack.decode(encode(answer), type=kind)

    async def take(self, number: int, names: str) -> None:
        for name in names:
            await self.circles[name].take(roster(number, names))
            await self.circles[name].ready(number)

    async def change(self, name: str, *changes: Change) -> int:
        return await self.registries[name].change(changes, name)

    async def history(self, name: str) -> Sequence[Any]:
        return await self.registries[name].history(0, -1)

    def close(self) -> None:
        for store in self._stores:
            store.close()


@asynccontextmanager
async def nodes(folder: Path, names: str = "abc") -> AsyncIterator[Nodes]:
    made = Nodes(folder)
    for name in names:
        made.add(name)
    await made.take(1, names)
    try:
        yield made
    finally:
        made.close()


async def test_changes_of_all_nodes_are_in_one_order(tmp_path: Path) -> None:
    async with nodes(tmp_path) as ring:
        made = (ring.change("abc"[number % 3], PutTopic(f"t{number}")) for number in range(12))
        versions = await asyncio.gather(*made)
        assert sorted(versions) == list(range(1, 13))
        first, *others = [await ring.history(name) for name in "abc"]
        assert len(first) == 12 and others == [first, first]
        assert {each.by for each in first} == {"a", "b", "c"}


async def test_what_depends_on_the_world_is_worked_out_for_the_one_that_it_changes(tmp_path: Path) -> None:
    async with nodes(tmp_path) as ring:

        def next_topic(world: World) -> list[Change]:
            return [PutTopic(f"t{len(world.topics)}")]

        changing = (ring.registries["abc"[number % 3]].change(next_topic, "x") for number in range(9))
        await asyncio.gather(*changing)
        assert set(ring.registries["b"].topics) == {f"t{number}" for number in range(9)}


async def test_what_the_world_refuses_is_refused_and_nowhere(tmp_path: Path) -> None:
    async with nodes(tmp_path) as ring:
        await ring.change("a", PutTopic("t"))
        for name in "abc":
            with pytest.raises(Refusal, match="there is no topic"):
                await ring.change(name, PutCategory("c"), RemoveTopic("u"))
        assert [ring.registries[name].world().version for name in "abc"] == [1, 1, 1]


async def test_who_orders_is_lost_and_what_some_have_all_have_then(tmp_path: Path) -> None:
    """a had told b, and nobody else, when it was lost."""
    async with nodes(tmp_path) as ring:
        await ring.change("c", PutTopic("t"))
        ring.dropped.add(("c", PutWorld))
        asked = asyncio.create_task(ring.change("b", PutTopic("half")))
        while ring.registries["b"].world().version < 2:
            await asyncio.sleep(0)
        ring.lost.add("a")
        ring.dropped.clear()
        await ring.take(2, "bc")
        assert await asked == 2  # not again
        assert await ring.change("c", PutTopic("after")) == 3
        for name in "bc":
            assert list(ring.registries[name].topics) == ["t", "half", "after"]
        assert await ring.history("b") == await ring.history("c")


async def test_who_joins_has_the_world_of_the_ring_and_not_its_own(tmp_path: Path) -> None:
    async with nodes(tmp_path) as ring:
        await ring.change("b", PutTopic("t"), PutTopic("u", "t"))
        ring.add("d")
        await ring.circles["d"].take(roster(9, "d"))
        await ring.change("d", PutTopic("mine"))
        ring.worlds["d"].forget()
        await ring.take(10, "abcd")
        late = asyncio.create_task(ring.change("a", PutTopic("v")))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not late.done()  # d has not fetched the world
        await ring.worlds["d"].gather(10)
        await late
        await ring.change("d", PutTopic("w"))
        assert list(ring.registries["d"].topics) == ["t", "u", "v", "w"]
        assert await ring.history("d") == await ring.history("c")


async def test_who_is_silent_holds_a_change_up_until_it_is_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.01)
    async with nodes(tmp_path) as ring:
        ring.lost.add("c")
        asked = asyncio.create_task(ring.change("b", PutTopic("t")))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not asked.done()
        await ring.take(2, "ab")
        assert await asked == 1
        assert list(ring.registries["a"].topics) == list(ring.registries["b"].topics) == ["t"]
