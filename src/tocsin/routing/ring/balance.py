"""Where a node helps most: keys lie closer in some parts of the circle than in others, for content is not spread evenly
over an information space, and a curve keeps neighbours together (Squid s5).

One that comes takes half of the heaviest; one that has little to do leaves its part to the next and comes in anew where
there is more than twice the mean (Karger and Ruhl, item balancing).
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct

from tocsin.routing.ring.identifiers import SIZE, distance, within

TOO_MUCH = 2.0  # times the mean
WORTH = 0.9  # of what the heaviest has: nothing moves for less than a tenth of that, which may be chance
FLOOR = 10.0  # notifications taken and told a second: nobody moves for less

Mark = tuple[int, float]  # a key, and how much there is to do for it


class Load(Struct, frozen=True, dict=True):
    """What a node says of its arc (after, upto]: how much it has to do for which keys, in the order of the arc."""

    name: str
    after: int
    upto: int
    marks: tuple[Mark, ...] = ()

    @cached_property
    def weight(self) -> float:
        return sum(weight for _, weight in self.marks)

    @cached_property
    def parting(self) -> "Parting | None":
        """Where the greater of two parts is smallest; None for one key alone, which nobody can share."""
        found = (Parting(place, max(first, self.weight - first)) for place, first in self._first_parts())
        return min(found, key=lambda each: each.greater, default=None)

    def _first_parts(self) -> Iterator[Mark]:
        """What lies up to each key; all of it is no part."""
        first = 0.0
        for key, some in groupby(self.marks, key=itemgetter(0)):
            if key == self.upto:
                return
            first += sum(weight for _, weight in some)
            yield key, first

    def parted(self, place: int, by: str) -> "tuple[Load, Load]":
        """With another at that place, which has what lies before it."""
        first = tuple(each for each in self.marks if within(each[0], self.after, place))
        return Load(by, self.after, place, first), Load(self.name, place, self.upto, self.marks[len(first) :])

    def behind(self, before: "Load") -> "Load":
        """With what the one before had, that left."""
        return Load(self.name, before.after, self.upto, before.marks + self.marks)


class Parting(NamedTuple):
    place: int
    greater: float


class Move(NamedTuple):
    """The member of that name leaves, and enters where it takes what `relieved` has up to that place."""

    name: str
    place: int
    relieved: str


def place_by_load(loads: Sequence[Load], taken: Sequence[int] = (), floor: float = FLOOR) -> int:
    """For one more: it takes half of the heaviest that can be parted; where nobody has anything worth that, half of the
    widest arc. `taken` were given to others who are not in yet."""
    for place in taken:
        loads = [one for each in loads for one in (each.parted(place, "") if _has(each, place) else (each,))]
    for each in sorted(loads, key=lambda each: -each.weight):
        if each.weight < floor:
            break
        if each.parting is not None and each.parting.greater <= WORTH * each.weight:
            return each.parting.place
    widest = max(loads, key=_width)
    return (widest.after + _width(widest) // 2) % SIZE


def next_move(loads: Sequence[Load], floor: float = FLOOR) -> Move | None:
    """Of the members in the order of the circle. None when nobody has too much, or nothing makes the most that one has
    smaller: what a single key has nobody can part."""
    heaviest = max(range(len(loads)), key=lambda at: loads[at].weight)
    weight, mean = loads[heaviest].weight, sum(each.weight for each in loads) / len(loads)
    if weight < floor or weight <= TOO_MUCH * mean:
        return None
    found = (_moving(loads, heaviest, at) for at in range(len(loads)) if at != heaviest)
    best = min((each for each in found if each is not None), default=None)
    return None if best is None else best[2]


def _moving(loads: Sequence[Load], heaviest: int, at: int) -> tuple[float, float, Move] | None:
    """The most that one of those concerned has then, and how much goes to another for that."""
    mover, heavy, heir = loads[at], loads[heaviest], loads[(at + 1) % len(loads)]
    parting = (heavy.behind(mover) if heir is heavy else heavy).parting
    if parting is None or parting.greater > WORTH * heavy.weight:
        return None
    inherited = 0.0 if heir is heavy else heir.weight + mover.weight
    move = Move(mover.name, parting.place, heavy.name)
    return (max(parting.greater, inherited), mover.weight, move) if inherited < heavy.weight else None


def moved(loads: Sequence[Load], move: Move) -> list[Load]:
    """As they are when that is done."""
    at = next(number for number, each in enumerate(loads) if each.name == move.name)
    rest = [*loads[:at], *loads[at + 1 :]]
    rest[at % len(rest)] = rest[at % len(rest)].behind(loads[at])
    parted = (each.parted(move.place, move.name) if each.name == move.relieved else (each,) for each in rest)
    return [one for some in parted for one in some]


def _width(load: Load) -> int:
    return distance(load.after, load.upto) or SIZE


def _has(load: Load, place: int) -> bool:
    return place != load.upto and within(place, load.after, load.upto)
