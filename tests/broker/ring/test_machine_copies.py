"""Copies of another node's machines: in order and without a gap, or made anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tocsin.broker.implicit.family import MESSAGES, ROWS
from tocsin.broker.ring import machine_copies
from tocsin.broker.ring.machine_copies import MachineReplicas, pages
from tocsin.broker.ring.messages import KeepMachines, MachinesOf
from tocsin.model.identity import Instant
from tocsin.routing.implicit.messages import Had
from tocsin.store.database import Store
from tocsin.store.machines import Piece

LIFE = "3/node"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "tocsin.db")
    yield opened
    opened.close()


def had(name: str, message: str) -> Piece:
    return Piece("row", name, f"had:{message}", body=ROWS.encode(Had(Instant(1))))


def keep(before: int, seq: int, *pieces: Piece, life: str = LIFE) -> KeepMachines:
    return KeepMachines(1, life, before, seq, pieces)


async def test_what_follows_is_kept_and_what_has_a_gap_is_not(store: Store) -> None:
    replicas = MachineReplicas(store)
    assert not await replicas.keep(keep(5, 6, had("N1", "a")))  # nothing was begun
    assert await replicas.keep(keep(-1, 6, had("N1", "a")))
    assert await replicas.keep(keep(6, 7, had("N2", "b")))
    assert not await replicas.keep(keep(8, 9, had("N3", "c")))
    assert not await replicas.keep(keep(6, 7, had("N2", "b")))  # told twice: who tells begins anew
    again = MachineReplicas(store)  # also after a start
    found = await again.kept(MachinesOf(1, LIFE, 0))
    assert (found.last, sorted(each.machine for each in found.pieces), found.more) == (7, ["N1", "N2"], False)


async def test_a_copy_that_is_not_whole_is_none(store: Store) -> None:
    replicas = MachineReplicas(store)
    await replicas.keep(keep(-1, 6, had("N1", "a")))
    await replicas.keep(keep(-1, 0, had("N2", "b")))  # its keeper or its origin died in the midst of the next
    assert replicas.last(LIFE) == 0 and (await replicas.kept(MachinesOf(1, LIFE, 0))).last == 0
    assert await replicas.keep(keep(0, 9, had("N3", "c")))
    found = await replicas.kept(MachinesOf(1, LIFE, 0))
    assert (found.last, sorted(each.machine for each in found.pieces)) == (9, ["N2", "N3"])


async def test_lives_are_kept_apart_and_forgotten(store: Store) -> None:
    replicas = MachineReplicas(store)
    for life in (LIFE, "4/node"):
        await replicas.keep(keep(-1, 6, had(life, "a"), life=life))
    await replicas.forget(LIFE)
    assert (replicas.last(LIFE), replicas.last("4/node")) == (0, 6)
    own = store.machines("implicit", MESSAGES, ROWS, store.implicit)
    assert own.rows() == {}, "copies are nobody's machines here"
    assert [each.machine for each in (await replicas.kept(MachinesOf(1, "4/node", 0))).pieces] == ["4/node"]


def test_pages_have_all_of_it_in_order_and_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_copies, "PAGE_BYTES", 50)
    pieces = [Piece("row", "N", str(number), body=b"x" * number) for number in range(30)]
    found = list(pages(pieces))
    assert len(found) > 3 and [each for page in found for each in page] == pieces
    assert list(pages([])) == [()]


async def test_who_joins_while_nobody_goes_on_for_another_is_given_that_ones_machines(store: Store) -> None:
    replicas = MachineReplicas(store)
    for life in (LIFE, "4/lives", "5/half"):
        await replicas.keep(keep(-1, 0 if life == "5/half" else 6, had(f"of {life}", "a"), had("N1", life), life=life))
    found = replicas.pieces({"4/lives"}, lambda name: name != "N1")
    assert [each.machine for each in found] == [f"of {LIFE}"]
