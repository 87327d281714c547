"""The indexes, one for each kind of atom: each says by number which of its atoms hold of a notification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Protocol

from msgspec.structs import replace

from tocsin.markup.conditions import Attribute, Compare, Exists, JsonPath, Path, XmlPath
from tocsin.markup.xml import Element
from tocsin.matching.atoms import Atom
from tocsin.matching.boxes import BoxIndex
from tocsin.matching.evidence import MISSING, Evidence
from tocsin.matching.holding import Holding
from tocsin.matching.json_walk import JsonWalk
from tocsin.matching.known import Known
from tocsin.matching.ordered import Ordered, OrderedTerms
from tocsin.matching.topics import TopicIndex
from tocsin.matching.value_index import Group, Held, ValueIndex
from tocsin.matching.xml_walk import Walk
from tocsin.model.filters import InBox, ProducerIs, TopicIs, TypeIs

MOST_KEPT, LONGEST_KEPT = 65_536, 64  # values, and characters of one


class AtomIndex(Protocol):
    def add(self, atom: int, asked: Atom) -> None: ...
    def remove(self, atom: int, asked: Atom) -> None: ...
    def match(self, evidence: Evidence, holding: Holding) -> None: ...


class Topics:
    def __init__(self) -> None:
        self._index: TopicIndex[int] = TopicIndex()

    def add(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, TopicIs)
        self._index.add(atom, asked)

    def remove(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, TopicIs)
        self._index.remove(atom, asked)

    def match(self, evidence: Evidence, holding: Holding) -> None:
        holding.atoms += self._index.match(evidence.notification.topic)


class Named:
    """Atoms that name something: a type, an address, a category."""

    def __init__(self, names: Callable[[Atom], Iterable[str]], offered: Callable[[Evidence], Iterable[str]]) -> None:
        self._names, self._offered = names, offered
        self._atoms: dict[str, dict[int, None]] = {}

    def add(self, atom: int, asked: Atom) -> None:
        for name in self._names(asked):
            self._atoms.setdefault(name, {})[atom] = None

    def remove(self, atom: int, asked: Atom) -> None:
        for name in self._names(asked):
            atoms = self._atoms[name]
            atoms.pop(atom, None)
            if not atoms:
                del self._atoms[name]

    def match(self, evidence: Evidence, holding: Holding) -> None:
        for name in self._offered(evidence) if self._atoms else ():
            if (atoms := self._atoms.get(name)) is not None:
                holding.atoms += atoms


def types() -> Named:
    return Named(lambda asked: asked.names if isinstance(asked, TypeIs) else (), lambda evidence: evidence.types)


def producers() -> Named:
    return Named(_producer_names, _producer_offered)


def _producer_names(asked: Atom) -> Iterator[str]:
    if isinstance(asked, ProducerIs):
        yield from dict.fromkeys(f"a{each}" for each in asked.addresses)
        yield from dict.fromkeys(f"c{each}" for each in asked.categories)


def _producer_offered(evidence: Evidence) -> Iterator[str]:
    yield f"a{evidence.notification.producer}"
    for each in evidence.categories:
        yield f"c{each}"


class Boxes:
    """An index for each information space, as it was declared when its first box came.

    What is not a box of the space as it is known then is left to verifying.
    """

    def __init__(self, known: Known) -> None:
        self._known = known
        self._spaces: dict[str, BoxIndex] = {}

    def takes(self, asked: InBox) -> bool:
        """Whether the box is of the space as it is known."""
        space, kept = self._known.spaces.get(asked.space), self._spaces.get(asked.space)
        if space is None or len(space.dimensions) != len(asked.sides):
            return False
        return kept is None or kept.space == space

    def add(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, InBox)
        if asked.space not in self._spaces:
            self.put(BoxIndex(self._known.spaces[asked.space]))
        self._spaces[asked.space].add(atom, asked)

    def put(self, index: BoxIndex) -> None:
        self._spaces[index.space.name] = index

    def remove(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, InBox)
        index = self._spaces[asked.space]
        index.remove(atom, asked)
        if not len(index):
            del self._spaces[asked.space]

    def match(self, evidence: Evidence, holding: Holding) -> None:
        for name, index in self._spaces.items():
            if self._known.spaces.get(name) == index.space and (point := evidence.point(name)) is not None:
                holding.arrays.append(index.match(point))

    def indexes(self) -> list[BoxIndex]:
        return list(self._spaces.values())


class Values:
    """Comparisons, by the path they look at. All paths into XML are followed in one walk."""

    def __init__(self) -> None:
        self._walk = Walk()
        self._xml: dict[XmlPath, ValueIndex] = {}
        self._json, self._attributes = JsonWalk(), dict[str, ValueIndex]()
        self._sides: dict[int, ValueIndex] = {}
        self._memory: dict[tuple[XmlPath, ...], Group] = {}  # until a change
        self._kept = 0
        self.ordered: dict[int, Ordered] = {}  # by side, the terms that are found by their bound
        self._free: list[int] = []
        self.sides = 1  # the first is of no path

    def at(self, path: Path) -> ValueIndex:
        """Made if it is not there."""
        known = self._find(path)
        if known is not None:
            return known
        made = self._new(path)
        match path:
            case XmlPath():
                self._xml[path] = made
                self._walk.add(path)
            case JsonPath(steps):
                self._json.add(steps, made)
            case Attribute(name):
                self._attributes[name] = made
        return made

    def _find(self, path: Path) -> ValueIndex | None:
        match path:
            case XmlPath():
                return self._xml.get(path)
            case JsonPath(steps):
                return self._json.at(steps)
            case Attribute(name):
                return self._attributes.get(name)

    def _new(self, path: Path) -> ValueIndex:
        if self._free:
            return ValueIndex(path, self._free.pop())
        self.sides += 2
        return ValueIndex(path, self.sides - 2)

    def add(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, Compare | Exists)
        self.at(asked.path).add(atom, asked)
        self._forget()

    def remove(self, atom: int, asked: Atom) -> None:
        del atom
        assert isinstance(asked, Compare | Exists)
        index = self.at(asked.path)
        index.remove(asked)
        self._forget()
        if not len(index):
            self._drop(index)

    def _drop(self, index: ValueIndex) -> None:
        match index.path:
            case XmlPath() as path:
                del self._xml[path]
                self._walk.remove(path)
            case JsonPath(steps):
                self._json.remove(steps)
            case Attribute(name):
                del self._attributes[name]
        self._sides.pop(index.side, None)
        self._sides.pop(index.side + 1, None)
        self._free.append(index.side)

    def number(self, asked: Compare | Exists) -> int | None:
        """Of an atom that is there."""
        index = self._find(asked.path)
        return None if index is None else index.number(asked)

    def constants(self, path: Path) -> int:
        """How many different ones are compared with what stands there."""
        index = self._find(path)
        return 0 if index is None else index.constants()

    def shared(self, asked: Compare | Exists) -> Compare | Exists:
        """The same with the path that all have: paths are long, and few."""
        return replace(asked, path=self.at(asked.path).path)

    def hold(self, asked: Compare) -> int:
        """One more bound on the side that it returns."""
        index = self.at(asked.path)
        index.hold()
        self._forget()
        self._sides[index.side] = self._sides[index.side + 1] = index
        return index.side_of(asked)

    def let_go(self, side: int) -> None:
        index = self._sides[side]
        index.release()
        self._forget()
        if not len(index):
            self._drop(index)

    def file(self, term: int, side: int, bound: float) -> None:
        """A term that is found by how it is ordered."""
        terms = self.ordered.setdefault(side, OrderedTerms())
        assert isinstance(terms, OrderedTerms)
        terms.add(bound, term)

    def unfile(self, term: int, side: int, bound: float) -> None:
        terms = self.ordered[side]
        assert isinstance(terms, OrderedTerms)
        terms.remove(bound, term)
        if not len(terms):
            del self.ordered[side]

    def match(self, evidence: Evidence, holding: Holding) -> None:
        if self._xml and evidence.document is not None:
            self._match_xml(evidence.document, holding)
        if self._json and evidence.json is not MISSING:
            for index, value in self._json.values(evidence.json):
                index.match((value,), holding)
        for name, value in evidence.context.items() if self._attributes else ():
            if (about := self._attributes.get(name)) is not None:
                about.match((value,), holding)
        if self.ordered:
            terms = (self.ordered[side].up_to(limit) for side, limit in holding.reached.items() if side in self.ordered)
            holding.terms += terms

    def _match_xml(self, document: Element, holding: Holding) -> None:
        memory, atoms, limits = self._memory, holding.atoms, holding.reached
        for paths, values in self._walk.grouped(document).items():
            group = memory.get(paths)
            if group is None:
                group = memory[paths] = Group([self._xml[path] for path in paths])
            for value in values:
                held = group.known.get(value)
                if held is None:
                    held = self._learn(group, value)
                atoms += held[0]
                for side, limit in held[1]:  # as `Holding.reach`, without a call
                    if limit > limits.get(side, -inf):
                        limits[side] = limit
            for index in group.differing:
                atoms += index.different(values)

    def _learn(self, group: Group, value: str) -> Held:
        """Values come again; what is kept of them has a limit, for publishers may send ever new ones."""
        held = group.of_value(value)
        if len(value) <= LONGEST_KEPT:
            self._kept += 1
            if self._kept > MOST_KEPT:
                self._forget()
            group.known[value] = held
        return held

    def _forget(self) -> None:
        self._memory, self._kept = {}, 0

    def paths(self) -> dict[Path, ValueIndex]:
        """In the order of their sides."""
        together = sorted(
            (*self._xml.values(), *self._json.indexes(), *self._attributes.values()), key=lambda index: index.side
        )
        return {index.path: index for index in together}
