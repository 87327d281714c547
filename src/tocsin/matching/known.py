"""What was declared to a node, as of some record: what filters refer to by name."""

from collections.abc import Iterable, Mapping

from tocsin.model.declared import Declaration, Hierarchy, Parents, Producer, Withdrawn
from tocsin.model.space import InformationSpace

_NO_PRODUCER = Producer("")


class Known:
    """Changes with the log; `version` tells whether it did."""

    def __init__(self, declared: Iterable[Declaration] = ()) -> None:
        self.spaces: dict[str, InformationSpace] = {}
        self.producers: dict[str, Producer] = {}
        self.types: dict[str, tuple[str, ...]] = {}  # each with its parents
        self.categories: dict[str, tuple[str, ...]] = {}
        self.version = 0
        self._above: dict[tuple[str, str], frozenset[str]] = {}
        for each in declared:
            self.declare(each)

    def declare(self, what: Declaration) -> None:
        self.version += 1
        self._above.clear()
        match what:
            case InformationSpace(name=name):
                self.spaces[name] = what
            case Producer(address=address):
                self.producers[address] = what
            case Hierarchy(of="types", parents=parents):
                self.types = dict(parents)
            case Hierarchy(parents=parents):
                self.categories = dict(parents)
            case Withdrawn(what="space", name=name):
                self.spaces.pop(name, None)
            case Withdrawn(name=name):
                self.producers.pop(name, None)

    def copy(self) -> "Known":
        made = Known()
        made.spaces, made.producers = dict(self.spaces), dict(self.producers)
        made.types, made.categories = self.types, self.categories  # which are replaced whole
        return made

    def types_of(self, name: str) -> frozenset[str]:
        """The type itself and all it is a subtype of."""
        return self._with_above("types", name, self.types)

    def categories_of(self, address: str) -> frozenset[str]:
        """The categories of the producer at that address, and all above them."""
        named = self.producers.get(address, _NO_PRODUCER).categories
        return frozenset().union(*map(self.category_with_above, named))

    def category_with_above(self, name: str) -> frozenset[str]:
        return self._with_above("categories", name, self.categories)

    def _with_above(self, of: str, name: str, parents: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
        found = self._above.get((of, name))
        if found is None:
            found = _closed(name, parents)
            if len(self._above) < MOST_REMEMBERED and len(name) <= LONGEST_REMEMBERED:
                self._above[of, name] = found
        return found


MOST_REMEMBERED, LONGEST_REMEMBERED = 65_536, 256  # names come from publishers, who may send ever new ones


def _closed(name: str, parents: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    found, waiting = {name}, [name]
    while waiting:
        for each in parents.get(waiting.pop(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return frozenset(found)


def cycle_in(parents: Parents) -> tuple[str, ...] | None:
    """Names that are above themselves, if there are such: one way round."""
    known, finished = dict(parents), set[str]()
    for start in known:
        trail = [(start, iter(known[start]))]
        on_trail = {start: None}
        while trail and start not in finished:
            name, rest = trail[-1]
            above = next(rest, None)
            if above is None:
                trail.pop()
                on_trail.pop(name)
                finished.add(name)
            elif above in on_trail:
                way = list(on_trail)
                return (*way[way.index(above) :], above)
            elif above not in finished:
                trail.append((above, iter(known.get(above, ()))))
                on_trail[above] = None
    return None
