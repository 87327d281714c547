"""A snapshot gives what the engine gives, whatever changes after it; and is the same bytes for the same input."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.anything import NOTIFICATIONS, SUBSCRIPTIONS, Contains, known

from tocsin.matching.engine import Engine
from tocsin.matching.index.compiled import Compiled, Snapshot, compiled
from tocsin.model.filters import ForNotifier
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.store import snapshots
from tocsin.store.errors import StoreError

BASE = "http://broker/"
SOME = st.lists(SUBSCRIPTIONS, max_size=8)


def frozen(snapshot: Snapshot) -> Snapshot:
    for array in snapshot.arrays.values():
        array.flags.writeable = False
    return snapshot


@given(SOME, SOME, st.lists(NOTIFICATIONS, min_size=1, max_size=3))
@settings(max_examples=examples(100), deadline=None)
def test_an_engine_over_a_snapshot_gives_what_one_without_gives(
    before: list[Subscription], after: list[Subscription], notifications: list[Notification]
) -> None:
    plain = Engine(known(), Contains(), BASE)
    for each in before:
        plain.apply(each)
    latest = {each.id: each for each in before}.values()
    base = Compiled(frozen(compiled(latest, known())), known())
    layered = Engine(known(), Contains(), BASE, base=base)
    for change in [None, *after]:
        if change is not None:
            plain.apply(change)
            layered.apply(change)
        assert len(plain) == len(layered)
        for told in notifications:
            assert layered.match(told) == plain.match(told)


@given(SOME)
@settings(max_examples=examples(30), deadline=None)
def test_the_order_in_which_they_came_does_not_matter(some: list[Subscription]) -> None:
    unique = list({each.id: each for each in some}.values())
    one, other = compiled(unique, known()), compiled(list(reversed(unique)), known())
    assert snapshots._digest(one) == snapshots._digest(other)


def test_services_are_told_through_it() -> None:
    told = _subscription("s", (ForNotifier("CARE"),))
    base = Compiled(compiled([told], known()), known())
    engine = Engine(known(), base=base)
    assert told.id in engine and len(engine) == 1


def test_what_was_saved_is_mapped_and_the_newest_is_found(tmp_path: Path) -> None:
    snapshot = compiled([_subscription(name, ()) for name in "abc"], known())
    for offset in (5, 9, 12):
        snapshots.save(tmp_path, snapshot, offset)
    assert snapshots.newest(tmp_path, 4) is None
    assert [found and found[0] for found in (snapshots.newest(tmp_path, at) for at in (10, 99))] == [9, 12]
    assert len(list(tmp_path.iterdir())) == snapshots.KEPT
    found = snapshots.newest(tmp_path, 99)
    assert found is not None
    loaded = snapshots.load(found[1])
    assert isinstance(loaded.arrays["bodies"], np.memmap) and loaded.arrays["bodies"].mode == "c"
    assert len(Compiled(loaded, known())) == 3


def test_a_snapshot_of_another_layout_is_refused(tmp_path: Path) -> None:
    snapshot = compiled([], known())
    head = msgspec.msgpack.decode(snapshot.head) | {"version": 0}
    with pytest.raises(ValueError, match="version 0"):
        Compiled(Snapshot(msgspec.msgpack.encode(head), snapshot.arrays), known())
    with pytest.raises(StoreError):
        snapshots.load(tmp_path / "nothing")


def _subscription(name: str, filters: tuple[ForNotifier, ...]) -> Subscription:
    return Subscription(SubscriptionId(name), None, None, None, Form("raw"), filters, Position(Node("n"), 0), None)
