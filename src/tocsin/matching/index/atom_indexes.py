"""An index for each kind of atom: topics, names, boxes, values at paths, graph patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tocsin.markup.conditions import Attribute, Compare, Exists, JsonPath, Path, XmlPath
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import MISSING, Evidence
from tocsin.matching.index.atoms import Atom
from tocsin.matching.index.boxes import BoxIndex
from tocsin.matching.index.postings import HoldingAtoms
from tocsin.matching.index.topics import TopicIndex
from tocsin.matching.index.value_index import JsonWalk, ValueIndex
from tocsin.matching.index.xml_index import XmlIndex
from tocsin.model.filters import Graph, InBox, ProducerIs, TopicIs, TypeIs

if TYPE_CHECKING:
    from tocsin.matching.graphs.index import GraphIndex

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class GraphAtoms:
    """Graph patterns. Without any there is no index, so that a process without them does not load numba."""

    def __init__(self, index: GraphIndex | None = None) -> None:
        self._index = index

    def add(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, Graph)
        if self._index is None:
            from tocsin.matching.graphs.index import GraphIndex

            self._index = GraphIndex()
        self._index.add(atom, query_of(asked))

    def remove(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, Graph) and self._index is not None
        self._index.remove(atom, query_of(asked))
        if not len(self._index):
            self._index = None

    def match(self, evidence: Evidence, holding: HoldingAtoms) -> None:
        if self._index is None or (event := evidence.graph) is None:
            return
        found = self._index.match(event, evidence.catalogue.concepts)
        holding.arrays.append(found.atoms)
        if len(found.undecided):  # of one alternative, while another was found
            holding.doubtful.append(np.setdiff1d(found.undecided, found.atoms))

    def __bool__(self) -> bool:
        return self._index is not None

    def arrays(self) -> tuple[bytes, dict[str, NDArray[Any]]]:
        """All that a match reads, and a head that says what is in it: empty without any pattern."""
        if self._index is None:
            return b"", {}
        header, arrays = self._index.arrays()
        return _encode(header), arrays

    @classmethod
    def from_arrays(cls, head: bytes, arrays: Mapping[str, NDArray[Any]]) -> GraphAtoms:
        if not head:
            return cls()
        from tocsin.matching.graphs.index import GraphHeader, GraphIndex

        return cls(GraphIndex.from_arrays(msgspec.msgpack.decode(head, type=GraphHeader), arrays))


class AtomIndex(Protocol):
    def add(self, atom: int, asked: Atom) -> None: ...
    def remove(self, atom: int, asked: Atom) -> None: ...
    def match(self, evidence: Evidence, holding: HoldingAtoms) -> None: ...


class TopicAtoms:
    def __init__(self) -> None:
        self._index: TopicIndex[int] = TopicIndex()

    def add(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, TopicIs)
        self._index.add(atom, asked)

    def remove(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, TopicIs)
        self._index.remove(atom, asked)

    def match(self, evidence: Evidence, holding: HoldingAtoms) -> None:
        if self._index:
            holding.hold(self._index.match(evidence.notification.topic))


class NameAtoms:
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

    def match(self, evidence: Evidence, holding: HoldingAtoms) -> None:
        for name in self._offered(evidence) if self._atoms else ():
            if (atoms := self._atoms.get(name)) is not None:
                holding.hold(atoms)


def types() -> NameAtoms:
    return NameAtoms(lambda asked: asked.names if isinstance(asked, TypeIs) else (), lambda evidence: evidence.types)


def producers() -> NameAtoms:
    return NameAtoms(_producer_names, _producer_offered)


def _producer_names(asked: Atom) -> Iterator[str]:
    if isinstance(asked, ProducerIs):
        yield from dict.fromkeys(f"a{each}" for each in asked.addresses)
        yield from dict.fromkeys(f"c{each}" for each in asked.categories)


def _producer_offered(evidence: Evidence) -> Iterator[str]:
    yield f"a{evidence.notification.producer}"
    for each in evidence.categories:
        yield f"c{each}"


class BoxAtoms:
    """Boxes: an index for each information space, as it was declared when its first box came. Boxes that do not fit the
    space as it is declared now are verified."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._spaces: dict[str, BoxIndex] = {}

    def takes(self, asked: InBox) -> bool:
        """Whether the box is of the space as it is known."""
        space, kept = self._catalogue.spaces.get(asked.space), self._spaces.get(asked.space)
        if space is None or len(space.dimensions) != len(asked.sides):
            return False
        return kept is None or kept.space == space

    def add(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, InBox)
        if asked.space not in self._spaces:
            self.put(BoxIndex(self._catalogue.spaces[asked.space]))
        self._spaces[asked.space].add(atom, asked)

    def put(self, index: BoxIndex) -> None:
        self._spaces[index.space.name] = index

    def remove(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, InBox)
        index = self._spaces[asked.space]
        index.remove(atom, asked)
        if not len(index):
            del self._spaces[asked.space]

    def match(self, evidence: Evidence, holding: HoldingAtoms) -> None:
        for name, index in self._spaces.items():
            if self._catalogue.spaces.get(name) == index.space and (areas := evidence.areas(name)):
                holding.arrays.append(index.about(areas))

    def indexes(self) -> list[BoxIndex]:
        return list(self._spaces.values())


class ValueAtoms:
    """Comparisons, by the path they look at. The sides of a path are numbered among the atoms."""

    def __init__(self, take: Callable[[], int], give_back: Callable[[int], None]) -> None:
        self._take, self._give_back = take, give_back
        self._sides: dict[int, ValueIndex] = {}
        self._xml, self._json, self._attributes = XmlIndex(), JsonWalk(), dict[str, ValueIndex]()

    def at(self, path: Path) -> ValueIndex:
        """Made if it is not there."""
        known = self._find(path)
        if known is not None:
            return known
        made = ValueIndex(path, (self._take(), self._take()))
        match path:
            case XmlPath():
                self._xml.add(path, made)
            case JsonPath(steps):
                self._json.add(steps, made)
            case Attribute(name):
                self._attributes[name] = made
        return made

    def _find(self, path: Path) -> ValueIndex | None:
        match path:
            case XmlPath():
                return self._xml.at(path)
            case JsonPath(steps):
                return self._json.at(steps)
            case Attribute(name):
                return self._attributes.get(name)

    def add(self, atom: int, asked: Atom) -> None:
        assert isinstance(asked, Compare | Exists)
        self.at(asked.path).add(atom, asked)
        self._xml.forget()

    def remove(self, atom: int, asked: Atom) -> None:
        del atom
        assert isinstance(asked, Compare | Exists)
        index = self.at(asked.path)
        index.remove(asked)
        self._xml.forget()
        if not len(index):
            self._drop(index)

    def _drop(self, index: ValueIndex) -> None:
        match index.path:
            case XmlPath() as path:
                self._xml.remove(path)
            case JsonPath(steps):
                self._json.remove(steps)
            case Attribute(name):
                del self._attributes[name]
        for side in index.sides:
            self._sides.pop(side, None)
            self._give_back(side)

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
        self._xml.forget()
        side = index.side_of(asked)
        self._sides[side] = index
        return side

    def let_go(self, side: int) -> None:
        index = self._sides[side]
        index.release()
        self._xml.forget()
        if not len(index):
            self._drop(index)

    def match(self, evidence: Evidence, holding: HoldingAtoms) -> None:
        if self._xml and evidence.is_xml:
            self._xml.match(evidence, holding)
        if self._json and evidence.json is not MISSING:
            for index, value in self._json.values(evidence.json):
                index.match((value,), holding)
        for name, value in evidence.context.items() if self._attributes else ():
            if (about := self._attributes.get(name)) is not None:
                about.match((value,), holding)

    def paths(self) -> dict[Path, ValueIndex]:
        """In the order of their sides."""
        together = sorted(
            (*self._xml.indexes(), *self._json.indexes(), *self._attributes.values()), key=lambda index: index.sides
        )
        return {index.path: index for index in together}
