"""Counts what the notifiers of a world do with a message, without sending it: services that behave alike are one class
with a size, so that a million services cost as much as the classes they fall into.

The counts are those of the machines (`tocsin.sim.implicit.Tally`, every message as long on its way, headers without
limit). Why they can be had by class, for a message that goes along edges to targets (categories with all below):

- Whom a service tells depends on the targets that its categories lead to, who tells it on the targets that it is in.
  So services with the same of both are told together and tell the same; only, none tells itself.
- A header of HIN names, with the root, the members of whole targets: it is a set of targets.
- A local history is a bound of one pass: HIN+DIN is HIN whose every notifier passes a message on once, and drops what
  comes later.
- HIN's copies differ in their headers, so it matters which of them come within the bound. Messages arrive in the order
  in which they are sent, and one tells others in the order of their names; the n-th service of a class passes the same
  copy on as the first, but later. So to know the first m copies that come to a class it is enough to follow the first m
  services of each.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import MOST_PASSES
from tocsin.routing.implicit.protocols import Protocol, protocol, room
from tocsin.semantics.interest.taxonomy import Taxonomy
from tocsin.semantics.interest.world import Interests, World
from tocsin.sim.implicit import Tally

Numbers = NDArray[np.int64]
Targets = int  # a set of targets, a bit for each
MOST_FOLLOWED = 5_000  # classes, which take minutes; what HIN does grows with their square
_WORD = 64
_FEW = 8  # classes, for which it does not pay to mark all that are known
_MOST_KEPT = 30_000_000  # numbers of classes that are kept rather than found again
_MOST_WEIGHTS = 500_000
_NONE: Numbers = np.empty(0, np.int64)


class Count(Struct, frozen=True):
    """What becomes of one message. `repetitions` reach who has it; `dropped` are those that a local history knew;
    `withheld` are not sent, because of the bound; `hops` lead to the last who is told first; a header is in names."""

    notifications: int = 0
    repetitions: int = 0
    receivers: int = 0
    dropped: int = 0
    withheld: int = 0
    hops: int = 0
    largest_header: int = 0

    @classmethod
    def of(cls, tally: Tally) -> "Count":
        """What the machines did, of which headers were weighed in names."""
        sent, told, kept = (tally.notifications, tally.repetitions), len(tally.reached), (tally.dropped, tally.withheld)
        return cls(*sent, told, *kept, tally.hops, tally.largest_header)


@dataclass(frozen=True)
class Population:
    """Services in the order of their names, each by its number in `profiles`: the sets of categories there are."""

    profiles: Sequence[tuple[str, ...]]
    profile_of: NDArray[np.int32]

    @classmethod
    def of(cls, world: World) -> "Population":
        numbers: dict[tuple[str, ...], int] = {}
        names = sorted(world.services)
        found = [numbers.setdefault(tuple(sorted(world.services[name].categories)), len(numbers)) for name in names]
        return cls(tuple(numbers), np.array(found, np.int32))

    @classmethod
    def alike(cls, groups: Iterable[tuple[tuple[str, ...], int]]) -> "Population":
        """So many of each profile, one group after the other."""
        profiles, sizes = zip(*groups, strict=True)
        return cls(profiles, np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))

    def __len__(self) -> int:
        return len(self.profile_of)


class TopicGraph:
    """Who tells whom of one topic, by class. It is made once for all publications of the topic."""

    def __init__(self, interests: Interests, categories: Taxonomy, population: Population, topic: str) -> None:
        used = {name for profile in population.profiles for name in profile}
        ways = {name: {target for _, _, target in interests.ways((name,), topic)} for name in used}
        targets = {name: 1 << at for at, name in enumerate(sorted(set().union(*ways.values())))}
        tells = {name: _union(targets[each] for each in ways[name]) for name in used}
        inside = {name: _union(targets.get(each, 0) for each in categories.above(name)) for name in used}
        classes: dict[tuple[Targets, Targets], int] = {}
        of_profile = []
        for profile in population.profiles:
            alike = _union(inside[each] for each in profile), _union(tells[each] for each in profile)
            of_profile.append(classes.setdefault(alike, len(classes)))
        self.class_of = np.array(of_profile, np.int64)[population.profile_of]
        self.sizes: Numbers = np.bincount(self.class_of, minlength=len(classes))
        self._by_class = np.argsort(self.class_of, kind="stable")
        self._starts = np.concatenate(([0], np.cumsum(self.sizes)))
        self.tells = [each for _, each in classes]
        self.loops = np.array([bool(inside & tells) for inside, tells in classes], np.int64)
        self._words = max(1, -(-len(targets) // _WORD))
        self._inside = _bits([each for each, _ in classes], self._words)
        self._members = [self._in(at) for at in range(len(targets))]
        self._last = np.zeros(len(classes), np.int64)
        self._reach: dict[Targets, Numbers] = {}
        self._kept = 0

    def count(self, root: int, name: str, limit: int = MOST_PASSES) -> Count:
        """Of a message that the service publishes which is the root-th by name."""
        rules = protocol(name)
        if rules.header and rules.bounded and len(self.tells) > MOST_FOLLOWED:
            raise Refusal(
                "too-large",
                f"{name} follows the copies of each class of services, of which there are {len(self.tells):,} on this"
                f" topic: it is counted up to {MOST_FOLLOWED:,}; the other protocols are counted for any number",
            )
        return _Publication(self, root, rules).count(limit)

    def reach(self, targets: Targets) -> Numbers:
        """The classes that are in one of the targets."""
        found = self._reach.get(targets)
        if found is None:
            members = [self._members[each] for each in _each(targets)]
            found = _NONE if not members else members[0] if len(members) == 1 else self._once(members)
            if (self._kept + len(found)) <= _MOST_KEPT:
                self._kept += len(found) + 1
                self._reach[targets] = found
        return found

    @cached_property
    def neighbours(self) -> Numbers:
        """How many each service of a class tells."""
        return np.array([int(self.sizes[self.reach(each)].sum()) for each in self.tells]) - self.loops

    def _once(self, members: list[Numbers]) -> Numbers:
        """Each class the last time it stands there; to sort them would take ten times as long."""
        every = np.concatenate(members)
        places = np.arange(len(every))
        self._last[every] = places
        found: Numbers = every[self._last[every] == places]
        return found

    def _in(self, target: int) -> Numbers:
        word, bit = divmod(target, _WORD)
        return np.flatnonzero(self._inside[:, word] & np.uint64(1 << bit))

    def outside(self, classes: Numbers, targets: Targets) -> Numbers:
        """Those of the classes that are in none of the targets."""
        if not targets or not len(classes):
            return classes
        met = self._inside[classes] & _bits([targets], self._words)
        found: Numbers = classes[met.max(axis=1) == 0]
        return found

    def first(self, number: int, most: int, without: int) -> Numbers:
        """The first services of a class by name, without that one."""
        start = self._starts[number]
        found = self._by_class[start : min(start + most + 1, self._starts[number + 1])]
        others: Numbers = found[found != without][:most]
        return others


@dataclass(slots=True)
class _Pass:
    """One copy as each service of a class gets it, and passes it on to the classes in `told`, of which those that take
    no more are left out as they are met. `known` and `header` are what it is sent on with."""

    told: Numbers
    known: Targets
    header: int


@dataclass
class _Publication:
    graph: TopicGraph
    root: int
    rules: Protocol
    sizes: Numbers = field(init=False)  # without the root, which is a class of its own

    def __post_init__(self) -> None:
        self.at = int(self.graph.class_of[self.root])
        self.sizes = self.graph.sizes.copy()
        self.sizes[self.at] -= 1
        self._weights: dict[tuple[Targets, Targets], int] = {}

    def count(self, limit: int) -> Count:
        reached, hops = self._reached()
        receivers, withheld, header, bound = int(self.sizes[reached].sum()), 0, 0, self.rules.bound(limit)
        if self.rules.central:  # each is claimed once, and the root by nobody
            sent = receivers
        elif self.rules.header:
            sent, withheld, header = self._by_header(1 if bound is None else bound)
        elif bound is None:  # each passes on what comes first
            neighbours = self.graph.neighbours
            sent = _product(self.sizes[reached], neighbours[reached]) + int(neighbours[self.at])
        else:
            sent, withheld = self._by_rounds(bound)
        repetitions = sent - receivers
        return Count(
            sent, repetitions, receivers, repetitions if self.rules.drops(had=True) else 0, withheld, hops, header
        )

    def _reached(self) -> tuple[NDArray[np.bool_], int]:
        """The classes that are told by any protocol, and at which hop the last of them: who is told tells all its
        neighbours that are not told by then."""
        graph, hops = self.graph, 0
        fresh, reached = np.array([self.at]), np.zeros(len(self.sizes), bool)
        done: Targets = 0
        while True:
            ahead = _union(graph.tells[each] for each in fresh) & ~done
            done |= ahead
            found = graph.reach(ahead)
            fresh = found[~reached[found] & (self.sizes[found] > 0)]
            if not len(fresh):
                return reached, hops
            reached[fresh] = True
            hops += 1

    def _by_rounds(self, most: int) -> tuple[int, int]:
        """What is sent and withheld without a header: all copies are alike, it is enough to count them hop by hop."""
        graph, sizes = self.graph, self.sizes
        arrived, passed = np.zeros_like(sizes), np.zeros_like(sizes)  # of each service of a class
        root_arrived, root_passed = 0, 1
        now, root_now = np.zeros_like(sizes), 1
        while root_now or now.any():
            got, root_got = self._told(now, root_now)
            now = np.clip(room(passed, most), 0, got)
            root_now = max(0, min(room(root_passed, most), root_got))
            arrived, passed = arrived + got, passed + now
            root_arrived, root_passed = root_arrived + root_got, root_passed + root_now
        neighbours, of_root = graph.neighbours, int(graph.neighbours[self.at])
        later, root_later = arrived - passed, root_arrived - (root_passed - 1)
        sent = _product(sizes, passed, neighbours) + root_passed * of_root
        return sent, _product(sizes, later, neighbours) + root_later * of_root

    def _told(self, passes: Numbers, of_root: int) -> tuple[Numbers, int]:
        """How many copies come to each service of a class, and to the root, when services pass on so many: one from
        each that tells it, but none from itself."""
        graph, got = self.graph, np.zeros_like(passes)
        copies: dict[Targets, int] = {graph.tells[self.at]: of_root}
        for each in np.flatnonzero(passes * self.sizes):
            copies[graph.tells[each]] = copies.get(graph.tells[each], 0) + int(passes[each] * self.sizes[each])
        for targets, number in copies.items():
            got[graph.reach(targets)] += number
        root_got = int(got[self.at]) - of_root * int(graph.loops[self.at])
        got -= passes * graph.loops
        got[self.sizes == 0] = 0
        return got, root_got

    def _by_header(self, most: int) -> tuple[int, int, int]:
        """What is sent and withheld, and the largest header: the first copies that come to a class are followed in
        their order."""
        graph, sizes = self.graph, self.sizes
        first = self._pass(self.at, 0, 0)
        sent = largest = of_root = first.header
        ahead = self._ahead(first)
        arrived = np.zeros_like(sizes)
        queue = deque([first])
        while queue:
            now = queue.popleft()
            if not len(now.told):
                continue
            now.told = now.told[room(arrived[now.told], most) > 0]
            arrived[now.told] += 1
            inside = self._marked(now.known) if len(now.told) > _FEW else None
            block: list[tuple[int, _Pass]] = []
            for each in map(int, now.told):
                found, size = self._pass(each, now.known, now.header, inside), int(sizes[each])
                if not len(found.told):
                    continue
                sent, largest = sent + size * (found.header - now.header), max(largest, found.header)
                ahead += size * self._ahead(found)
                block += [(int(service), found) for service in graph.first(each, most, self.root)]
            block.sort(key=lambda entry: entry[0])
            queue.extend(found for _, found in block)
        return sent, ahead - (sent - of_root) if self.rules.bounded else 0, largest

    def _marked(self, known: Targets) -> NDArray[np.bool_]:
        """Which classes are in known targets: for one copy that many classes get."""
        found = np.zeros(len(self.sizes), bool)
        found[self.graph.reach(known)] = True
        return found

    def _pass(self, number: int, known: Targets, header: int, inside: NDArray[np.bool_] | None = None) -> _Pass:
        tells = self.graph.tells[number]
        if inside is None:
            told = self._fresh(tells, known)
        else:
            met = self.graph.reach(tells & ~known)
            told = met[~inside[met] & (self.sizes[met] > 0)]
        return _Pass(told, known | tells, header + int(self.sizes[told].sum()))

    def _fresh(self, tells: Targets, known: Targets) -> Numbers:
        """The classes that a service tells whose copy names the members of known targets."""
        found = self.graph.outside(self.graph.reach(tells & ~known), known)
        return found[self.sizes[found] > 0]

    def _ahead(self, copy: _Pass) -> int:
        """How many would be told by all who are told by one, if each passed it on; only a bound keeps any back."""
        if not self.rules.bounded:
            return 0
        return sum(int(self.sizes[each]) * self._weight(self.graph.tells[each], copy.known) for each in copy.told)

    def _weight(self, tells: Targets, known: Targets) -> int:
        if not tells & ~known:
            return 0
        found = self._weights.get((tells, known))
        if found is None:
            if len(self._weights) >= _MOST_WEIGHTS:
                self._weights.clear()
            found = self._weights[tells, known] = int(self.sizes[self._fresh(tells, known)].sum())
        return found


def _union(sets: Iterable[Targets]) -> Targets:
    found = 0
    for each in sets:
        found |= each
    return found


def _each(targets: Targets) -> Iterator[int]:
    while targets:
        lowest = targets & -targets
        yield lowest.bit_length() - 1
        targets ^= lowest


def _bits(sets: Sequence[Targets], words: int) -> NDArray[np.uint64]:
    """A row of words for each."""
    data = b"".join(each.to_bytes(words * 8, "little") for each in sets)
    return np.frombuffer(data, "<u8").reshape(len(sets), words)


def _product(*columns: Numbers) -> int:
    """Of large numbers, whose products may be longer than a machine's."""
    product: Any = 1
    for each in columns:
        product = product * each.astype(object)
    return int(product.sum())
