"""Copies of other nodes' logs: generations begin whole, go on without a gap, and outlast this node's own crash."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.broker.records import subscribed

from tocsin.broker.ring.copies import Settled
from tocsin.broker.ring.messages import Keep
from tocsin.broker.ring.replicas import Replicas
from tocsin.model.identity import Instant, Node, SubscriptionId
from tocsin.model.records import Changed, Position
from tocsin.store.codec import encode

ORIGIN = "1/node-a"


def change(name: str, version: int, state: str = "active", at: int = 0) -> bytes:
    made = msgspec.structs.replace(subscribed(at, SubscriptionId(name), "t").subscription, version=version, state=state)
    return encode(Changed(Position(Node("node-a"), at), Instant(1), made))


def beginning(generation: int, first: int, *payloads: bytes, begun: bool = True) -> Keep:
    return Keep(1, ORIGIN, generation, -1 - first, payloads, begun, msgspec.msgpack.encode(Settled(first)))


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    made = Replicas(tmp_path)
    yield made
    await made.close()


async def test_a_generation_begins_with_what_stands_and_goes_on(replicas: Replicas) -> None:
    assert (await replicas.keep(beginning(1, 7, change("s", 1)))).next == 7
    kept = await replicas.keep(Keep(1, ORIGIN, 1, 7, (change("s", 2), change("t", 1))))
    assert (kept.generation, kept.next) == (1, 9)
    found = replicas.subscriptions(ORIGIN)
    assert {name: each.version for name, each in found.items()} == {"s": 2, "t": 1}


async def test_what_comes_again_is_kept_once(replicas: Replicas) -> None:
    await replicas.keep(beginning(1, 0))
    for _ in range(2):
        kept = await replicas.keep(Keep(1, ORIGIN, 1, 0, (change("s", 1), change("s", 2))))
        assert kept.next == 2
    kept = await replicas.keep(Keep(1, ORIGIN, 1, 1, (change("s", 2), change("s", 3))))
    assert kept.next == 3
    assert len(replicas.copy(ORIGIN, 0).payloads) == 3


async def test_a_gap_is_never_filled_by_what_follows_it(replicas: Replicas) -> None:
    await replicas.keep(beginning(1, 0))
    kept = await replicas.keep(Keep(1, ORIGIN, 1, 5, (change("s", 1),)))
    assert kept.next == -1
    assert replicas.next(ORIGIN) == 0


async def test_another_generation_has_to_be_begun(replicas: Replicas) -> None:
    await replicas.keep(beginning(3, 0))
    assert (await replicas.keep(Keep(1, ORIGIN, 2, 0, (change("s", 1),)))).generation == 3
    assert (await replicas.keep(beginning(2, 0))).generation == 3
    assert (await replicas.keep(beginning(4, 0))).generation == 4


async def test_half_a_generation_does_not_take_the_place_of_a_whole_one(replicas: Replicas, tmp_path: Path) -> None:
    await replicas.keep(beginning(1, 0, change("s", 1)))
    await replicas.keep(beginning(2, 5, change("t", 1), begun=False))
    assert set(replicas.subscriptions(ORIGIN)) == {"s"}
    await replicas.close()
    again = Replicas(tmp_path)
    assert set(again.subscriptions(ORIGIN)) == {"s"}
    await again.keep(beginning(3, 5, change("u", 1)))
    assert set(again.subscriptions(ORIGIN)) == {"u"}
    await again.close()


async def test_copies_are_there_after_a_restart(replicas: Replicas, tmp_path: Path) -> None:
    await replicas.keep(beginning(1, 4, change("s", 1)))
    settled = msgspec.msgpack.encode(Settled(5, {"s": (4, 0)}))
    await replicas.keep(Keep(1, ORIGIN, 1, 4, (change("s", 2, "ended"),), settled=settled))
    await replicas.close()
    again = Replicas(tmp_path)
    assert again.origins() == [ORIGIN] and again.next(ORIGIN) == 5
    copy = again.copy(ORIGIN, 0)
    assert len(copy.payloads) == 2
    assert msgspec.msgpack.decode(copy.settled, type=Settled) == Settled(5, {"s": (4, 0)})
    assert again.subscriptions(ORIGIN)[next(iter(again.subscriptions(ORIGIN)))].state == "ended"
    await again.forget(ORIGIN)
    assert again.origins() == [] and again.copy(ORIGIN, 0).last == -1
    await again.close()


async def test_what_was_settled_is_told_as_it_was_last_and_is_written_at_the_end(
    replicas: Replicas, tmp_path: Path
) -> None:
    """Also where it changes faster than it is written."""
    await replicas.keep(beginning(1, 0))
    for number in range(5):
        settled = msgspec.msgpack.encode(Settled(number))
        await replicas.keep(Keep(1, ORIGIN, 1, number, (change("s", number + 1),), settled=settled))
        told = replicas.copy(ORIGIN, -1).settled
        assert msgspec.msgpack.decode(told, type=Settled) == Settled(number)
    await replicas.close()
    again = Replicas(tmp_path)
    assert msgspec.msgpack.decode(again.copy(ORIGIN, -1).settled, type=Settled) == Settled(4)
    await again.close()
