"""The indexes, one for each kind of atom: each says by number which of its atoms hold of a notification."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from msgspec.structs import replace

from tocsin.markup.conditions import Compare, Exists, Path, XmlPath
from tocsin.matching.atoms import Atom
from tocsin.matching.boxes import BoxIndex
from tocsin.matching.evidence import Evidence
from tocsin.matching.holding import Holding
from tocsin.matching.known import Known
from tocsin.matching.ordered import OrderedTerms
from tocsin.matching.topics import TopicIndex
from tocsin.matching.value_index import ValueIndex
from tocsin.matching.xml_walk import Walk
from tocsin.model.filters import InBox, ProducerIs, TopicIs, TypeIs


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
        self._atoms: dict[str, array[int]] = {}

    def add(self, atom: int, asked: Atom) -> None:
        for name in self._names(asked):
            self._atoms.setdefault(name, array("i")).append(atom)

    def remove(self, atom: int, asked: Atom) -> None:
        for name in self._names(asked):
            atoms = self._atoms[name]
            atoms.remove(atom)
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
        self._others: dict[Path, ValueIndex] = {}
        self._sides: dict[int, ValueIndex] = {}
        self._free: list[int] = []
        self.sides = 1  # the first is of no path

    def at(self, path: Path) -> ValueIndex:
        """Made if it is not there."""
        if isinstance(path, XmlPath):
            if (known := self._xml.get(path)) is not None:
                return known
            made = self._xml[path] = self._new(path)
            self._walk.add(path)
            return made
        if path not in self._others:
            self._others[path] = self._new(path)
        return self._others[path]

    def _new(self, path: Path) -> ValueIndex:
        if self._free:
            return ValueIndex(path, self._free.pop())
        self.sides += 2
        return ValueIndex(path, self.sides - 2)

    def add(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, Compare | Exists)
        self.at(asked.path).add(atom, asked)

    def remove(self, atom: int, asked: Atom) -> None:
        del atom
        assert isinstance(asked, Compare | Exists)
        index = self.at(asked.path)
        index.remove(asked)
        if not len(index):
            self._drop(index)

    def _drop(self, index: ValueIndex) -> None:
        path = index.path
        if isinstance(path, XmlPath):
            del self._xml[path]
            self._walk.remove(path)
        else:
            del self._others[path]
        self._free.append(index.side)

    def number(self, asked: Compare | Exists) -> int | None:
        """Of an atom that is there."""
        path = asked.path
        index = self._xml.get(path) if isinstance(path, XmlPath) else self._others.get(path)
        return None if index is None else index.number(asked)

    def shared(self, asked: Compare | Exists) -> Compare | Exists:
        """The same with the path that all have: paths are long, and few."""
        return replace(asked, path=self.at(asked.path).path)

    def hold(self, asked: Compare) -> int:
        """One more bound on the side that it returns."""
        index = self.at(asked.path)
        index.add(-1, asked)
        self._sides[index.side] = self._sides[index.side + 1] = index
        return index.side_of(asked)

    def let_go(self, side: int) -> None:
        index = self._sides[side]
        index.release()
        if not len(index):
            self._drop(index)

    def file(self, term: int, side: int, bound: float) -> None:
        """A term that is found by how it is ordered."""
        terms = self._sides[side].terms.setdefault(side, OrderedTerms())
        assert isinstance(terms, OrderedTerms)
        terms.add(bound, term)

    def unfile(self, term: int, side: int, bound: float) -> None:
        terms = self._sides[side].terms[side]
        assert isinstance(terms, OrderedTerms)
        terms.remove(bound, term)

    def match(self, evidence: Evidence, holding: Holding) -> None:
        if self._xml and evidence.document is not None:
            for found, values in self._walk.values(evidence.document).items():
                self._xml[found].match(values, holding)
        for path, index in self._others.items():
            index.match(evidence.values(path), holding)

    def paths(self) -> dict[Path, ValueIndex]:
        """In the order of their sides."""
        together = sorted((*self._xml.values(), *self._others.values()), key=lambda index: index.side)
        return {index.path: index for index in together}
