"""Which graph patterns the event graph of a notification has, by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tocsin.markup.graphs.reading import query_of
from tocsin.matching.evidence import Evidence
from tocsin.matching.index.atoms import Atom
from tocsin.matching.index.holding import Holding
from tocsin.model.filters import Graph

if TYPE_CHECKING:
    from tocsin.matching.graphs.index import GraphIndex

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Graphs:
    """Without any pattern there is no index: a process in which nobody asks for one does not load numba."""

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

    def match(self, evidence: Evidence, holding: Holding) -> None:
        if self._index is None or (event := evidence.graph) is None:
            return
        found = self._index.match(event, evidence.known.concepts)
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
    def from_arrays(cls, head: bytes, arrays: Mapping[str, NDArray[Any]]) -> Graphs:
        if not head:
            return cls()
        from tocsin.matching.graphs.index import GraphHeader, GraphIndex

        return cls(GraphIndex.from_arrays(msgspec.msgpack.decode(head, type=GraphHeader), arrays))
