"""A span goes to all who own a key of it, once to each, and to few others."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.routing.ring.test_table import PLACES, RINGS, peer

from tocsin.routing.ring.identifiers import LAST, SIZE
from tocsin.routing.ring.multicast import NextKey, Part, Split, first_key, parts
from tocsin.routing.ring.ranges import merged
from tocsin.routing.ring.spans import EVERYWHERE, Arcs, Box, Keys, Span
from tocsin.routing.ring.table import Table
from tocsin.sim.ring import Settled

ARCS = st.lists(st.tuples(PLACES, st.integers(0, SIZE // 8) | st.integers(0, 5)), min_size=1, max_size=12).map(
    lambda found: Arcs(merged((first, min(LAST, first + length)) for first, length in found))
)
SIDES = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)).map(lambda ends: ((min(ends), max(ends)),))
BOXES = st.tuples(PLACES, st.tuples(SIDES, SIDES)).map(lambda drawn: Box(*drawn))
SPANS: st.SearchStrategy[Span] = st.one_of(
    ARCS, BOXES, st.builds(lambda key: Keys((key,)), PLACES), st.just(EVERYWHERE)
)


def owners(ring: Settled, next_key: NextKey) -> set[int]:
    """By asking each of all nodes."""
    return {each.id for each in ring.peers if first_key(next_key, ring.table(each.id).after, each.id) is not None}


def told(tables: Mapping[int, Table], next_key: NextKey, start: int) -> tuple[Counter[int], Counter[int]]:
    """How often each node took care of an arc, and how often as an owner."""
    handled, owning = Counter[int](), Counter[int]()
    waiting = [Part(tables[start].own, start, start)]
    while waiting:
        part = waiting.pop()
        found = parts(tables[part.peer.id], next_key, part.after, part.upto)
        handled[part.peer.id] += 1
        owning[part.peer.id] += found.own
        waiting += found.parts
        assert handled.total() < 10_000, "it does not end"
    return handled, +owning


@given(RINGS, SPANS, st.data())
@settings(max_examples=examples(200))
def test_every_owner_is_reached_once_and_nobody_twice(ring: Settled, span: Span, data: st.DataObject) -> None:
    start = data.draw(st.sampled_from([each.id for each in ring.peers]))
    handled, owning = told({each.id: ring.table(each.id) for each in ring.peers}, span.next_key, start)
    assert set(owning) == owners(ring, span.next_key)
    assert set(owning.values()) <= {1} and set(handled.values()) == {1}


@given(RINGS, SPANS, st.data())
@settings(max_examples=examples(100))
def test_an_arc_is_only_sent_where_it_has_a_key(ring: Settled, span: Span, data: st.DataObject) -> None:
    at = data.draw(st.sampled_from([each.id for each in ring.peers]))
    found = parts(ring.table(at), span.next_key, at, at)
    for each in found.parts:
        assert each.peer.id != at and first_key(span.next_key, each.after, each.upto) is not None


def test_alone_a_node_has_it_all() -> None:
    table = Table(peer(5))
    assert parts(table, Keys((7,)).next_key, 5, 5) == Split(True, ())
    assert parts(table, Keys(()).next_key, 5, 5) == Split(False, ())


def test_successors_are_told_straight() -> None:
    table = Table(peer(0), peer(50), (peer(10), peer(20), peer(30)))
    found = parts(table, Arcs(((15, 16), (25, 26))).next_key, 0, 0)
    assert found == Split(False, (Part(peer(20), 10, 20), Part(peer(30), 20, 50)))
    assert parts(table, Keys((45,)).next_key, 0, 0).parts == (Part(peer(30), 20, 50),)
    assert parts(table, Keys((55,)).next_key, 0, 0) == Split(True, ())


def test_what_lies_behind_no_owner_goes_with_the_arc_before() -> None:
    table = Table(peer(0), peer(50), (peer(10), peer(20), peer(30)))
    found = parts(table, Keys((5, 45)).next_key, 0, 0)
    assert found.parts == (Part(peer(10), 0, 50),), "30 owns nothing of it, 10 does anyway"


def test_who_joined_meanwhile_is_told_by_who_owned_before() -> None:
    """The node at 20 joined; the one at 0 thinks that all from 10 on is owned by 30."""
    ids = (0, 10, 20, 30, 40)
    tables = {each: Settled(map(peer, ids)).table(each) for each in ids}
    tables[0] = Settled(map(peer, (0, 10, 30, 40))).table(0)
    tables[10] = Settled(map(peer, (0, 10, 30, 40))).table(10)
    for span in (Keys((15,)), Keys((15, 25)), Keys((5, 15, 25, 35)), EVERYWHERE):
        handled, owning = told(tables, span.next_key, 0)
        assert set(owning) == owners(Settled(map(peer, ids)), span.next_key)
        assert set(owning.values()) == {1} == set(handled.values())


def test_of_who_does_not_answer_the_next_takes_care() -> None:
    ring = Settled(map(peer, (0, 10, 20, 30, 40)))
    span = Arcs(((12, 18),))
    table = ring.table(0)
    assert parts(table, span.next_key, 0, 0).parts[0].peer == peer(20)
    gone = replace(table, dead=frozenset({20}))
    assert parts(gone, span.next_key, 0, 0).parts == (Part(peer(30), 10, 30),)
    behind = ring.table(30).without(peer(20))
    assert parts(behind, span.next_key, 10, 30) == Split(True, ())


@given(ARCS, PLACES, PLACES)
def test_the_first_key_of_an_arc(span: Arcs, after: int, upto: int) -> None:
    found = first_key(span.next_key, after, upto)
    arc = [(after + 1, LAST), (0, upto)] if after >= upto else [(after + 1, upto)]
    inside = [max(first, low) for low, high in arc for first, last in span.arcs if max(first, low) <= min(last, high)]
    assert found == next(iter(inside), None)
