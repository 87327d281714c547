"""What meets in a ring is what matches, and the costs are those of the tables."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import brief, examples
from tests.routing.ring.test_multicast import SPANS, owners
from tests.routing.ring.test_table import PLACES

from tocsin.model.space import WHOLE, Interval, Like, OneOf, check_space
from tocsin.routing.ring.identifiers import LAST, identifier_of
from tocsin.routing.ring.keys import place_of
from tocsin.routing.ring.spans import Span
from tocsin.sim import ring_costs
from tocsin.sim.contents import Contents, is_in, space
from tocsin.sim.overlay import Meeting, Multicast, Rendezvous, Setting, meeting, remembering
from tocsin.sim.ring_costs import balance, costs, joined_by_load


@pytest.mark.parametrize("dimensions", brief([1, 2, 3, 5], 1, 3))
@pytest.mark.parametrize("nodes", [1, 2, 40, 400])
def test_what_matches_is_delivered_once_within_the_bounds(nodes: int, dimensions: int) -> None:
    found = meeting(Setting(nodes, dimensions, 60, 60))
    assert found.expected > 0 and (found.recall, found.wrong, found.repeated) == (1.0, 0, 0)
    assert found.hops_mean <= found.hops_bound and len(found.hops) == 120
    assert 1 <= found.touched_over_owners <= 1.3
    assert len(found.multicasts) == 60 and min(each.owners for each in found.multicasts) >= 1


def test_a_subscription_is_kept_by_all_its_owners() -> None:
    setting, declared = Setting(150, 3, 40, 0), space(3)
    for number, box in enumerate(Contents(declared, 1).boxes(40)):
        rendezvous = Rendezvous(setting)
        place = place_of((box,), {declared.name: declared})
        start = rendezvous.ring.peers[number].id
        found = rendezvous.subscribe(start, number, place)
        expected = owners(rendezvous.ring, place.span.next_key)
        kept = {each.id for each in rendezvous.ring.peers if rendezvous.meet(each.id, place.plane, each.id)[0]}
        assert kept == expected and found.owners == len(expected)


def test_what_is_lost_or_comes_twice_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    meet = Rendezvous.meet

    def forgetful(self: Rendezvous, interface: int, plane: str, key: int) -> tuple[list[int], int]:
        kept, hops = meet(self, interface, plane, key)
        return [each for each in kept if each % 2] * 2, hops

    monkeypatch.setattr(Rendezvous, "meet", forgetful)
    found = meeting(Setting(20, 2, 40, 60))
    assert 0 < found.recall < 1 and found.repeated > 0


def test_the_way_to_a_point_is_a_lookup() -> None:
    assert Multicast(owners=1, others=6, way=6, depth=7).touched_over_owners == 1
    assert Multicast(owners=4, others=6, way=4, depth=7).touched_over_owners == 1.5
    found = Meeting(Setting(8, 1, 2, 3), (Multicast(1, 3, 3, 4), Multicast(3, 1, 0, 2)), (1, 2, 3), 4, 3, 0, 0)
    assert found.touched_over_owners == pytest.approx((1 + 4 / 3) / 2) and found.all_touched_over_owners == 2
    assert (found.hops_mean, found.hops_at(0.99), found.hops_bound) == (2, 3, 2.5)
    assert (found.messages_per_notification, found.recall, found.owners_mean) == (2, 0.75, 2)


@given(SPANS, st.lists(PLACES, max_size=10))
@settings(max_examples=examples(40))
def test_what_was_asked_before_is_the_same(span: Span, places: list[int]) -> None:
    remembered = remembering(span.next_key)
    for place in places:
        assert remembered(place) == span.next_key(place)
    assert remembered(LAST + 1) is None


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_contents_are_of_all_kinds_and_match(dimensions: int) -> None:
    declared = space(dimensions)
    check_space(declared)
    contents = Contents(declared, 3)
    boxes, points = list(contents.boxes(200)), list(contents.points(100))
    assert boxes == list(contents.boxes(200)) != list(Contents(declared, 4).boxes(200))
    kinds = Counter(type(side) for box in boxes for side in box.sides)
    assert kinds.keys() == ({Interval, Like} if dimensions == 1 else {Interval, Like, OneOf})
    assert any(side == WHOLE for box in boxes for side in box.sides)
    assert sum(is_in(box, point) for box in boxes for point in points) > 10


def test_places_by_load_are_even() -> None:
    found = balance(100, 3, 1)
    assert found.by_load < found.hashed / 2
    assert found.moved < 3 and found.moves < 100
    keys = sorted(identifier_of(f"{number}") >> 8 for number in range(1000))  # all in a small part of the circle
    hashed = [identifier_of(f"n{number}") for number in range(50)]
    assert sum(each <= keys[-1] for each in hashed) < 3
    assert sum(each <= keys[-1] for each in joined_by_load(hashed, keys)) > 15


def test_a_join_and_a_crash_cost_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_costs, "WATCHED", 40.0)
    found = costs(16, 1)
    assert found.nodes == 16 and 3 <= found.join <= 60 and 2 <= found.crash <= 60
