"""The catalogue: all that was declared up to a record, by the names that filters use."""

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

from tocsin.model.declarations import Declaration, Hierarchy, Lifting, Ontology, Parents, Producer, Withdrawn
from tocsin.model.space import InformationSpace
from tocsin.semantics.concepts.concept_model import ConceptModel

_NO_PRODUCER = Producer("")


class Catalogue:
    """Changes with the log; `version` tells whether it did."""

    def __init__(self, declared: Iterable[Declaration] = ()) -> None:
        self.spaces: dict[str, InformationSpace] = {}
        self.producers: dict[str, Producer] = {}
        self.types: dict[str, tuple[str, ...]] = {}  # each with its parents
        self.categories: dict[str, tuple[str, ...]] = {}
        self.ontologies: dict[str, Ontology] = {}
        self.liftings: dict[str, Lifting] = {}
        self.version = 0
        self._concepts = _Concepts()
        self._lifting_of: dict[tuple[str | None, str], Lifting | None] = {}
        self._above: dict[tuple[str, str], frozenset[str]] = {}
        for each in declared:
            self.declare(each)

    def declare(self, what: Declaration) -> None:
        self.version += 1
        self._above.clear()
        self._lifting_of.clear()
        match what:
            case InformationSpace(name=name):
                self.spaces[name] = what
            case Producer(address=address):
                self.producers[address] = what
            case Hierarchy(of="types", parents=parents):
                self.types = dict(parents)
            case Hierarchy(parents=parents):
                self.categories = dict(parents)
            case Ontology(name=name):
                self.ontologies[name] = what
                self._concepts = _Concepts(self.ontologies.values())
            case Lifting(name=name):
                self.liftings[name] = what
            case Withdrawn():
                self._withdraw(what)

    @property
    def concepts(self) -> ConceptModel:
        """Of all ontologies; made when it is first asked for. Copies share it."""
        return self._concepts.model

    def copy(self) -> "Catalogue":
        made = Catalogue()
        made.spaces, made.producers = dict(self.spaces), dict(self.producers)
        made.types, made.categories = self.types, self.categories  # which are replaced whole
        made.ontologies, made.liftings = dict(self.ontologies), dict(self.liftings)
        made._concepts = self._concepts
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

    def lifting_for(self, type_: str | None, syntax: str) -> Lifting | None:
        """The one for that type, else for a type above it that is below the others', else for all; of several the
        first by name."""
        asked = (type_, syntax)
        if asked in self._lifting_of:
            return self._lifting_of[asked]
        found = self._found_lifting(type_, syntax)
        if len(self._lifting_of) < MOST_REMEMBERED and len(type_ or "") <= LONGEST_REMEMBERED:
            self._lifting_of[asked] = found
        return found

    def _found_lifting(self, type_: str | None, syntax: str) -> Lifting | None:
        above = frozenset[str]() if type_ is None else self.types_of(type_)
        of_syntax = [self.liftings[name] for name in sorted(self.liftings) if self.liftings[name].syntax == syntax]
        # A type that is below another has more above it.
        nearest = [(len(self.types_of(name)), each) for each in of_syntax for name in each.types if name in above]
        if nearest:
            return max(nearest, key=lambda pair: pair[0])[1]
        return next((each for each in of_syntax if not each.types), None)

    def _withdraw(self, what: Withdrawn) -> None:
        match what.what:
            case "space":
                self.spaces.pop(what.name, None)
            case "producer":
                self.producers.pop(what.name, None)
            case "ontology":
                self.ontologies.pop(what.name, None)
                self._concepts = _Concepts(self.ontologies.values())
            case "lifting":
                self.liftings.pop(what.name, None)

    def _with_above(self, of: str, name: str, parents: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
        found = self._above.get((of, name))
        if found is None:
            found = _closed(name, parents)
            if len(self._above) < MOST_REMEMBERED and len(name) <= LONGEST_REMEMBERED:
                self._above[of, name] = found
        return found


class _Concepts:
    def __init__(self, ontologies: Iterable[Ontology] = ()) -> None:
        self._ontologies = tuple(sorted(ontologies, key=lambda each: each.name))

    @cached_property
    def model(self) -> ConceptModel:
        return _model(self._ontologies)


@lru_cache(maxsize=8)
def _model(ontologies: tuple[Ontology, ...]) -> ConceptModel:
    """A node knows the same several times over, as of this record and of that; a large one takes a while to make."""
    return ConceptModel(ontologies)


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
