"""Users of a ring: the same ones at all nodes, whoever changed them when."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tocsin.broker.ring.circle import Circle
from tocsin.broker.ring.commons import USERS, Commons
from tocsin.broker.ring.messages import Common
from tocsin.routing.ring.roster import Member, Roster
from tocsin.store.database import Store

MEMBERS = Member("a", 10, "127.0.0.1:10"), Member("b", 20, "127.0.0.1:20")


class Wire:
    """What is told reaches the others when it is let through."""

    def __init__(self) -> None:
        self.told: list[Common] = []

    async def tell(self, to: Member, said: Any) -> None:
        del to
        self.told.append(said)


class Peer:
    def __init__(self, name: str, folder: Path) -> None:
        self.store, self.wire = Store.open(folder / f"{name}.db"), Wire()
        self.circle = Circle(name, lambda: True)
        self.commons = Commons(self.circle, self.wire, self.store, {})  # type: ignore[arg-type]

    async def join(self) -> None:
        await self.circle.take(Roster(1, MEMBERS))
        await self.circle.ready(1)

    @property
    def users(self) -> list[str]:
        return [each.principal.name for each in self.store.users.all()]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Peer, Peer]]:
    made = Peer("a", tmp_path), Peer("b", tmp_path)
    yield made
    for each in made:
        each.store.close()


async def pass_on(one: Peer, other: Peer) -> None:
    for said in one.wire.told:
        await other.commons.take(said)
    one.wire.told.clear()


async def test_who_never_knew_any_takes_them_and_says_nothing(pair: tuple[Peer, Peer]) -> None:
    one, other = pair
    one.store.users.add("desk", "secret")
    await one.join()
    await other.join()
    await other.commons.share_users()
    assert other.wire.told == []
    for said in one.commons.all():
        await other.commons.take(said)
    assert other.users == ["desk"]


async def test_changes_at_two_nodes_at_once_end_alike(pair: tuple[Peer, Peer]) -> None:
    one, other = pair
    for each in pair:
        await each.join()
    one.store.users.add("left", "secret")
    other.store.users.add("right", "secret")
    await one.commons.share_users()
    await other.commons.share_users()
    told = [*one.wire.told, *other.wire.told]
    assert [each.kind for each in told] == [USERS, USERS]
    await pass_on(one, other)
    await pass_on(other, one)
    assert one.users == other.users and one.users in (["left"], ["right"])
    one.store.users.add("next", "secret")
    await one.commons.share_users()
    await pass_on(one, other)
    assert "next" in other.users and one.users == other.users
