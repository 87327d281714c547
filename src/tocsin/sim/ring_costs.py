"""What a ring costs: how evenly its nodes are loaded, and how many questions it takes to take in a node that joins, or
to close the gap of one that crashed."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from msgspec import Struct

from tocsin.routing.ring.balance import Load, moved, next_move, place_by_load
from tocsin.routing.ring.curves import curve_through
from tocsin.routing.ring.identifiers import identifier_of
from tocsin.sim.contents import Contents, space
from tocsin.sim.ring import RingNetwork

MOST_BALANCED, KEYS_EACH, PROBES = 1_000, 40, 8
MOST_MARKS = 64  # that one says of its arc
MOST_RUNNING, EVENTS, WATCHED = 50, 2, 60.0  # seconds


class Balance(Struct, frozen=True):
    """The keys of the node that has most, over the mean: with places by chance, with places by load, and with places by
    chance after so many moves."""

    nodes: int
    hashed: float
    by_load: float
    moved: float
    moves: int


def balance(nodes: int, dimensions: int, seed: int) -> Balance:
    """Keys of what is published; those by which places are chosen are others than those that are counted."""
    count = min(nodes, MOST_BALANCED)
    known, coming = (_keys(dimensions, seed, count * KEYS_EACH, part) for part in ("known", "coming"))
    hashed = sorted(identifier_of(f"node-{seed}-{number}") for number in range(count))
    by_load, (by_moves, moves) = joined_by_load(hashed, known), rearranged(hashed, known)
    by_chance, chosen, after_moves = (_imbalance(each, coming) for each in (hashed, by_load, by_moves))
    return Balance(count, by_chance, chosen, after_moves, moves)


def rearranged(places: Sequence[int], keys: Sequence[int]) -> tuple[list[int], int]:
    """Whoever has too much is relieved, until nobody has; and how many have moved for that."""
    loads, moves = [_load(places, keys, each, len(keys) + 1) for each in places], 0
    while (move := next_move(loads, floor=2)) is not None:
        loads, moves = moved(loads, move), moves + 1
    return sorted(each.upto for each in loads), moves


def joined_by_load(places: Sequence[int], keys: Sequence[int]) -> list[int]:
    """One after the other; each asks some nodes first, found by chance."""
    ring = [places[0]]
    for place in places[1:]:
        probes = (identifier_of(f"{place} {probe}") for probe in range(PROBES))
        chosen = place_by_load([_load(ring, keys, each) for each in probes], floor=2)
        at = bisect_left(ring, chosen)
        if at == len(ring) or ring[at] != chosen:
            ring.insert(at, chosen)
    return ring


def _load(ring: Sequence[int], keys: Sequence[int], probe: int, most: int = MOST_MARKS) -> Load:
    at = bisect_left(ring, probe) % len(ring)
    first, last = bisect_right(keys, ring[at - 1]), bisect_right(keys, ring[at])
    mine = keys[first:last] if first < last or ring[at - 1] < ring[at] else [*keys[first:], *keys[:last]]
    each = len(mine) // most + 1
    return Load(str(at), ring[at - 1], ring[at], tuple((key, float(each)) for key in mine[::each]))


def _imbalance(ring: Sequence[int], keys: Sequence[int]) -> float:
    counts = [0] * len(ring)
    for key in keys:
        counts[bisect_left(ring, key) % len(ring)] += 1
    return max(counts) * len(counts) / max(1, sum(counts))


def _keys(dimensions: int, seed: int, count: int, part: str) -> list[int]:
    declared = space(dimensions)
    curve = curve_through(declared)
    return sorted(map(curve.key, Contents(declared, seed).points(count, part)))


class Costs(Struct, frozen=True):
    """Questions beyond those of a ring at rest, in the mean over some that joined and some that crashed."""

    nodes: int
    join: float
    crash: float


def costs(nodes: int, seed: int) -> Costs:
    """By the machines, in a ring of not too many."""
    count, network = min(nodes, MOST_RUNNING), RingNetwork()
    names = [f"node-{seed}-{number}" for number in range(count + EVENTS)]
    network.start_settled(names[:count])
    network.run_for(WATCHED)
    joins = _more(network, lambda each: network.start(names[count + each], names[0]))
    crashes = _more(network, lambda each: network.stop(names[count + each]))
    return Costs(count, joins, crashes)


def _more(network: RingNetwork, event: Callable[[int], object]) -> float:
    """Than the same nodes ask when they are at rest again."""
    more = 0
    for number in range(EVENTS):
        event(number)
        more += _asked(network) - _asked(network)
    return max(0.0, more / EVENTS)


def _asked(network: RingNetwork) -> int:
    before = network.asked.total()
    network.run_for(WATCHED)
    return network.asked.total() - before
