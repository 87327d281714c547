"""Where a node joins that wants to relieve another, and who moves when one has too much."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tocsin.routing.ring.balance import Load, Move, moved, next_move, place_by_load
from tocsin.routing.ring.identifiers import SIZE, distance, within

CIRCLE = st.integers(0, 200).map(lambda at: at * (SIZE // 201))
KEYS = st.dictionaries(CIRCLE, st.integers(1, 1000), max_size=40)
MEMBERS = st.lists(CIRCLE, min_size=1, max_size=12, unique=True)


def loads_of(places: Mapping[str, int], keys: Mapping[int, int]) -> list[Load]:
    """The oracle: each key counts for the first member at or behind it."""
    ring = sorted((place, name) for name, place in places.items())
    marks: dict[str, list[int]] = {name: [] for name in places}
    for key in keys:
        marks[ring[bisect_left(ring, (key, "")) % len(ring)][1]].append(key)
    found = []
    for at, (place, name) in enumerate(ring):
        after = ring[at - 1][0]
        mine = sorted(marks[name], key=lambda key: (distance(after, key) or SIZE, key))
        found.append(Load(name, after, place, tuple((key, float(keys[key])) for key in mine)))
    return found


def named(places: list[int]) -> dict[str, int]:
    return {f"n{at}": place for at, place in enumerate(places)}


def test_the_heaviest_is_relieved_of_half() -> None:
    light, heavy = Load("a", 0, 10, ((4, 3.0),)), Load("b", 20, 50, ((25, 4.0), (31, 5.0), (40, 1.0), (49, 8.0)))
    assert place_by_load([light, heavy], floor=1) == 31
    assert place_by_load([light, heavy], taken=[31], floor=1) == 25
    assert place_by_load([light, heavy], floor=100) == 35


@given(MEMBERS, KEYS, st.lists(CIRCLE.map(lambda at: (at + 7) % SIZE), max_size=4, unique=True))
def test_who_joins_makes_some_arc_smaller_and_takes_nobodys_place(
    places: list[int], keys: dict[int, int], taken: list[int]
) -> None:
    loads = loads_of(named(places), keys)
    place = place_by_load(loads, taken, floor=1)
    assert place not in places
    assert place not in taken
    assert any(within(place, each.after, each.upto) for each in loads)


@given(st.integers(1, 40))
def test_where_nothing_happens_arcs_are_halved(many: int) -> None:
    places = [5]
    for _ in range(many):
        places.append(place_by_load(loads_of(named(places), {})))
    widths = [distance(each.after, each.upto) or SIZE for each in loads_of(named(places), {})]
    assert max(widths) <= 2 * min(widths) + 64


def test_one_hot_key_moves_nobody() -> None:
    loads = [Load("a", 0, 10), Load("b", 10, 20), Load("c", 20, 35, ((30, 100.0),)), Load("d", 35, 0)]
    assert next_move(loads) is None
    almost = [*loads[:2], Load("c", 20, 35, ((25, 4.0), (30, 100.0))), loads[3]]
    assert next_move(almost) is None


def test_the_lightest_goes_to_the_heaviest() -> None:
    heavy = tuple((40 + at, 10.0) for at in range(10))
    loads = [Load("a", 90, 10, ((5, 8.0),)), Load("b", 10, 20, ((15, 2.0),)), Load("c", 20, 30, ((25, 9.0),))]
    loads += [Load("h", 30, 90, heavy)]
    move = next_move(loads)
    assert move == Move("b", 44, "h")
    assert {each.name: each.weight for each in moved(loads, move)} == {"a": 8, "c": 11, "b": 50, "h": 50}


def test_little_is_not_worth_a_move() -> None:
    loads = [Load("a", 0, 10), Load("b", 10, 20), Load("c", 20, 0, ((30, 3.0), (40, 3.0)))]
    assert next_move(loads) is None
    assert next_move(loads, floor=5) is not None


@given(MEMBERS, KEYS)
def test_moves_end_and_nobody_has_more_than_twice_the_mean_but_by_one_key(
    places: list[int], keys: dict[int, int]
) -> None:
    members = named(places)
    loads = loads_of(members, keys)
    for _ in range(10 * len(places)):
        if (move := next_move(loads, floor=1)) is None:
            break
        before = sorted((each.weight for each in loads), reverse=True)
        loads = moved(loads, move)
        members[move.name] = move.place
        assert sorted(loads, key=lambda each: each.name) == sorted(loads_of(members, keys), key=lambda each: each.name)
        assert sorted((each.weight for each in loads), reverse=True) < before
    else:
        raise AssertionError("they go on moving")
    greatest, mean = max(loads, key=lambda each: each.weight), sum(keys.values()) / len(loads)
    hottest = max((weight for _, weight in greatest.marks), default=0)
    assert greatest.weight <= max(2 * mean, hottest / 0.8)
    assert Counter(dict(keys)) == Counter({key: int(weight) for each in loads for key, weight in each.marks})
