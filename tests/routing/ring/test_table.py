"""What a node knows: whose a key is, who is next on the way to it, and what is passed over."""

from hypothesis import given
from hypothesis import strategies as st

from tocsin.routing.ring.identifiers import BITS, LAST, SIZE, distance, within
from tocsin.routing.ring.table import Peer, Run, Table
from tocsin.sim.ring import Settled

PLACES = st.one_of(st.integers(0, LAST), st.integers(0, 40), st.integers(LAST - 40, LAST))
RINGS = st.sets(PLACES, min_size=1, max_size=40).map(lambda ids: Settled([peer(each) for each in ids]))


def peer(place: int) -> Peer:
    return Peer(place, f"http://{place}")


def owner(ids: list[int], key: int) -> int:
    """As defined: the first at or behind the key."""
    return min(ids, key=lambda each: distance(key, each))


@given(RINGS, PLACES)
def test_a_key_has_one_owner_and_every_way_ends_there(ring: Settled, key: int) -> None:
    ids = [each.id for each in ring.peers]
    assert [each for each in ids if ring.table(each).owns(key)] == [owner(ids, key)] == [ring.owner(key).id]
    for start in ids:
        at, hops = start, 0
        while (ahead := ring.table(at).next_hop(key)) is not None:
            assert distance(ahead.id, key) < distance(at, key) or ahead.id == owner(ids, key)
            at, hops = ahead.id, hops + 1
        assert at == owner(ids, key) and hops <= BITS


@given(RINGS)
def test_what_is_known_of_others_is_true(ring: Settled) -> None:
    ids = sorted(each.id for each in ring.peers)
    for place in ids:
        table = ring.table(place)
        assert [each.place for each in table.reaches] == sorted({each.place for each in table.reaches})
        for each in table.reaches:
            behind = distance(ring.table(each.peer.id).after, place) and distance(place, ring.table(each.peer.id).after)
            assert each.begin in (behind, each.place)


def test_alone_it_owns_everything() -> None:
    table = Table(peer(5))
    assert all(table.owns(key) and table.next_hop(key) is None for key in (0, 5, 6, LAST))
    assert table.run(7, 8) == Run(5, (peer(5),)) and not table.reaches and not table.wanted()


def test_the_dead_are_passed_over_until_they_are_heard_of() -> None:
    table = Table(peer(0), peer(90), (peer(10), peer(20), peer(30)))
    gone = Table(table.own, table.predecessor, table.successors, dead=frozenset({10, 20}))
    assert (table.next_hop(15), table.next_hop(25)) == (peer(10), peer(20))
    assert gone.next_hop(5) == gone.next_hop(15) == gone.next_hop(25) == peer(30) == gone.successor
    assert table.without(peer(10)).successor == peer(20)
    assert gone.following((peer(10), peer(20), peer(40)), 8).successors == (peer(40),)


def test_without_a_predecessor_it_answers_from_the_next_before_that_it_knows() -> None:
    table = Table(peer(0), peer(90), (peer(10), peer(80))).without(peer(90))
    assert table.predecessor is None and table.after == 80
    assert table.owns(85) and table.owns(95) and not table.owns(80)


def test_successors_that_cannot_be_are_left_out() -> None:
    table = Table(peer(100))
    said = (peer(110), peer(110), peer(105), Peer(SIZE, "http://x"), Peer(-1, "http://x"), Peer(120, ""), peer(130))
    assert table.following(said, 8).successors == (peer(110), peer(130))
    assert table.following((peer(110), peer(100), peer(120)), 8).successors == (peer(110),)
    assert table.following((peer(3), peer(2), peer(101)), 8).successors == (peer(3),)
    assert table.following(map(peer, range(101, 120)), 8).successors == tuple(map(peer, range(101, 109)))


def test_who_asks_hears_of_others_than_itself() -> None:
    table = Table(peer(0), peer(90), (peer(10), peer(20)))
    assert table.run(11, 8) is None and table.run(11, 8, asker=10) == Run(0, (peer(20), peer(0)))
    assert table.run(5, 8) == Run(0, (peer(10), peer(20), peer(0)))
    assert table.run(95, 8, asker=20) == Run(90, (peer(0), peer(10)))
    assert table.preceding(15, 2) == [peer(10)] and table.preceding(15, 2, asker=10) == []


def test_a_node_that_moved_is_known_by_its_new_address() -> None:
    runs = (Run(10, (peer(20), peer(30))), *[None] * (BITS - 1))
    table = Table(peer(0), peer(20), (peer(10), peer(20)), runs)
    new = Peer(20, "http://elsewhere", "other", doors=False)
    moved = table.moved(new)
    assert moved.predecessor == moved.successors[1] == new and moved.fingers[0] == Run(10, (new, peer(30)))
    assert moved.peers[20] == new and moved.peers[10] == peer(10)


@given(PLACES, PLACES, PLACES, PLACES)
def test_a_run_that_does_not_know_this_node_does_no_harm(own: int, first: int, second: int, key: int) -> None:
    table = Table(peer(own), None, (), (Run(first, (peer(second),)), *[None] * (BITS - 1)))
    for each in table.reaches:
        assert 0 <= each.begin <= each.place < SIZE
        assert within(each.peer.id, table.own.id, each.peer.id)
    found = table.next_hop(key)
    assert (found is None) == table.owns(key)
