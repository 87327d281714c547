"""The world where it is kept: changed whole or not at all, and the same after a restart."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from tests.broker.implicit.stage import HERE, THERE, at_home, world

from tocsin.broker.implicit import registry as registry_module
from tocsin.broker.implicit.peer_side import Once
from tocsin.broker.implicit.registry import LocalRegistry
from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.changes import (
    CastVote,
    Change,
    Changing,
    PutCategory,
    PutEdge,
    PutService,
    PutTopic,
    RemoveTopic,
)
from tocsin.semantics.interest.ino import Edge, Service, Vote
from tocsin.semantics.interest.partition import part_of
from tocsin.semantics.interest.world import World
from tocsin.store.database import Store
from tocsin.store.errors import DatabaseFailed
from tocsin.wire.peer_messages import SKEW, Registering

CHAIN = world([("C1", "C2")], [*at_home("C1", "N1"), ("N2", "C2", THERE)])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "tocsin.db")
    yield opened
    opened.close()


def registry(store: Store) -> LocalRegistry:
    return LocalRegistry(store.implicit, lambda: Instant(7))


def state(found: LocalRegistry) -> list[Change]:
    return list(found.world().changes())


async def test_the_history_is_numbered_from_one_and_makes_the_world_again(store: Store) -> None:
    kept = registry(store)
    assert await kept.change(CHAIN, "operator") == len(CHAIN) == kept.world().version
    assert await kept.change([PutTopic("more")], "anna") == len(CHAIN) + 1
    found = await kept.history(len(CHAIN) - 1, 10)
    assert [(each.version, each.by) for each in found] == [(len(CHAIN), "operator"), (len(CHAIN) + 1, "anna")]
    assert found[-1] == Changing(len(CHAIN) + 1, Instant(7), "anna", PutTopic("more"))
    again = registry(store)
    assert state(again) == state(kept) and again.world().version == kept.world().version


@pytest.mark.parametrize("refused", [PutEdge(Edge("C1", "T", "nowhere")), RemoveTopic("T")])
async def test_of_several_changes_one_of_which_is_refused_none_happens(store: Store, refused: Change) -> None:
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    before, version = state(kept), kept.world().version
    for changes in ([refused], [PutTopic("first"), refused, PutTopic("last")]):
        with pytest.raises(Refusal):
            await kept.change(changes, "anna")
        assert (state(kept), kept.world().version) == (before, version)
    assert await kept.change([PutTopic("first")], "anna") == version + 1
    assert state(registry(store)) == state(kept)


async def test_what_cannot_be_written_does_not_happen_and_can_be_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    with monkeypatch.context() as patched:
        patched.setattr(store.implicit, "add_changes", _fails)
        with pytest.raises(Refusal) as refused:
            await kept.change([PutTopic("more")], "anna")
    assert refused.value.reason == "cannot-store" and "more" not in kept.world().topics
    assert await kept.change([PutTopic("more")], "anna") == len(CHAIN) + 1


def test_a_history_that_cannot_be_followed_is_an_error_of_the_store(store: Store) -> None:
    store.implicit.add_changes([Changing(1, Instant(1), "x", RemoveTopic("T"))])
    with pytest.raises(DatabaseFailed, match="change 1 of the world"):
        registry(store)


def _fails(changes: object) -> None:
    raise DatabaseFailed("disk full")


async def test_a_caller_that_goes_away_leaves_no_change_half_done(store: Store) -> None:
    kept = registry(store)
    changing = asyncio.create_task(kept.change(CHAIN, "operator"))
    await asyncio.sleep(0)
    changing.cancel()
    await asyncio.gather(changing, return_exceptions=True)
    await kept.change([PutTopic("more")], "anna")
    assert state(registry(store)) == state(kept) and "T" in kept.world().topics


async def test_a_name_belongs_to_the_node_of_its_notifier(store: Store) -> None:
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    mine = Service("N2", ("C2",), notifier="http://x/n", node="http://x")
    with pytest.raises(Refusal, match="is at http://there") as refused:
        await kept.register(Registering("N2", "http://x", "x", mine))
    assert refused.value.reason == "in-use"
    await kept.register(Registering("N2", "http://x", "x"))  # who leaves leaves another's alone
    assert kept.world().services["N2"].node == THERE
    moved = Registering("N2", "http://x", "x", replace(mine, categories=("C1",)), before=THERE)
    await kept.register(moved)  # the node has another address now, and knows less of the service than the world
    assert kept.world().services["N2"] == mine
    version = kept.world().version
    await kept.register(Registering("N2", "http://x", "x", mine))  # asked again, because the answer was lost
    assert kept.world().version == version
    await kept.register(Registering("N2", "http://x", "x"))
    await kept.register(Registering("N2", "http://x", "x"))
    assert "N2" not in kept.world().services and kept.entry("N2") is None


async def test_who_waits_for_another_version_hears_of_it(store: Store) -> None:
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    now = kept.world().version
    assert await kept.part_after(HERE, now, 0.01) is None
    assert (found := await kept.part_after(HERE, 0, 60)) is not None and found.told["C1"] == {"T": ("N2",)}
    waiting = asyncio.create_task(kept.part_after(HERE, now, 60))
    await kept.change([PutTopic("more")], "anna")
    assert (told := await waiting) is not None and told.version == now + 1
    waiting = asyncio.create_task(kept.part_after(HERE, now + 1, 60))
    await asyncio.sleep(0)
    kept.stop_waiting()
    assert await waiting is None


async def test_a_service_that_left_the_world_has_no_neighbours(store: Store) -> None:
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    assert kept.neighbours("N1", "T") == ("N2",)
    assert kept.neighbours("X", "T") == ()


@pytest.mark.parametrize("problem", [DatabaseFailed("disk full"), OverflowError("too big")])
async def test_whatever_keeps_a_change_from_the_disk_later_ones_do_not_build_on_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    with monkeypatch.context() as patched:
        patched.setattr(store.implicit, "add_changes", Mock(side_effect=problem))
        with pytest.raises((Refusal, OverflowError)):
            await kept.change([PutEdge(Edge("C2", "T", "C1"))], "anna")
    with pytest.raises(Refusal, match="no edge"):
        await kept.change([CastVote("C2", "T", "C1", Vote("bob", True))], "bob")
    assert await kept.change([PutTopic("more")], "anna") == len(CHAIN) + 1
    assert state(registry(store)) == state(kept)


async def test_what_depends_on_the_world_is_made_when_nobody_else_changes_it(store: Store) -> None:
    """An editor writes to a service while its notifier comes: the place of the notifier stays."""
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    mine = Service("X", ("C1",), notifier="http://x/n", node="http://x")
    coming = asyncio.create_task(kept.register(Registering("X", "http://x", "x", mine)))
    await asyncio.sleep(0)

    def priced(world: World) -> list[Change]:
        return [PutService(replace(world.services.get("X", Service("X", ("C1",))), qualities={"price": 1.0}))]

    await kept.change(priced, "editor")
    await coming
    assert kept.world().services["X"] == replace(mine, qualities={"price": 1.0})
    version = kept.world().version
    assert await kept.change(lambda _: [], "editor") == version


async def test_a_node_hears_of_nothing_that_is_not_for_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Votes that decide nothing are not even looked at; a service of others wakes nobody who does not tell it."""
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    now = kept.part(HERE).version
    made = Mock(side_effect=part_of)
    monkeypatch.setattr(registry_module, "part_of", made)
    await kept.change([CastVote("C1", "T", "C2", Vote("bob", False))], "bob")
    await kept.change([PutEdge(replace(kept.world().edges["C1", "T", "C2"], note="why"))], "bob")
    assert await kept.part_after(HERE, now, 0.01) is None and made.call_count == 0
    await kept.change([PutCategory("C3"), PutService(Service("N3", ("C3",)))], "operator")
    assert await kept.part_after(HERE, now, 0.01) is None and made.call_count == 1
    waiting = asyncio.create_task(kept.part_after(HERE, now, 60))
    await kept.change([CastVote("C1", "T", "C2", Vote(by, False)) for by in ("eve", "joe")], "operator")
    assert (found := await waiting) is not None and found.told["C1"] == {}
    assert found.version == kept.world().version == kept.part(HERE).version


async def test_parts_of_many_nodes_are_not_all_remembered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "MOST_PARTS", 2)
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    found = [kept.part(node).own for node in (HERE, THERE, "http://x", HERE)]
    assert found == [{"N1": ("C1",)}, {"N2": ("C2",)}, {}, {"N1": ("C1",)}] and len(kept._parts) == 2


async def test_who_leaves_takes_along_what_a_document_said_of_it(store: Store) -> None:
    """A saved world that was loaded has the address of its notifier, and no node; one of others stays."""
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    for name, notifier in (("mine", "http://x/notifiers/mine"), ("theirs", "http://y/notify")):
        await kept.change([PutService(Service(name, ("C1",), notifier=notifier))], "operator")
        await kept.register(Registering(name, "http://x", "x", before="http://x"))
    assert {"theirs"} == kept.world().services.keys() - {"N1", "N2"}


async def test_who_is_looked_up_is_there_or_nowhere(store: Store) -> None:
    kept = registry(store)
    await kept.change(CHAIN, "operator")
    assert await kept.look_up(["N2", "nobody"]) == {"N2": kept.entry("N2")}
    with pytest.raises(Refusal, match="no service 'nobody'"):
        await kept.find(["N2", "nobody"])


def test_what_registers_is_taken_once() -> None:
    """Also after a restart, which forgets what was heard; a proof is not taken for longer than that is remembered."""
    clock = [1000 * SECOND]
    once = Once(lambda: Instant(clock[0]))
    asked = Registering("N", "http://x", "x", when=Instant(clock[0]), nonce="a")
    once.take(asked)
    once.take(replace(asked, nonce="b"))
    clock[0] += 2 * SKEW * SECOND
    with pytest.raises(Refusal, match="said before") as refused:
        once.take(asked)
    assert refused.value.reason == "not-proven"
    clock[0] += SECOND
    once.take(replace(asked, nonce="c"))
    assert list(once._heard) == ["c"]
    with pytest.raises(Refusal) as early:
        Once(lambda: Instant(clock[0])).take(asked)
    assert early.value.reason == "overloaded"
