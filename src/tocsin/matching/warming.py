"""Compiles all kernels ahead of time, or loads them from the cache; `python -m` does it for a machine."""

import sys
from collections.abc import Callable
from functools import partial

from tocsin.markup.graphs.graph_pattern import Compared, GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.index.boxes import BoxIndex
from tocsin.matching.index.combination import Combination
from tocsin.model.filters import InBox
from tocsin.model.space import Dimension, InformationSpace, Interval
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

COMPILING = "compiling the kernels for this machine; it is done once, and takes up to a minute"


def warm(say: Callable[[str], None] = lambda _: None) -> dict[str, float]:
    """Those that had to be compiled, and how many seconds each took; before the first of them it says so."""
    from tocsin.matching.jit import compiling  # here, for it loads numba

    took: dict[str, float] = {}
    said: list[str] = []

    def begins() -> None:
        if not said:
            said.append(COMPILING)
            say(COMPILING)

    for name, warmer in WARMERS:
        with compiling(begins, partial(took.__setitem__, name)):
            warmer()
    return took


def compiled_text(took: dict[str, float]) -> str:
    return f"compiled for this machine, in {sum(took.values()):.1f} s: the kernels for {', '.join(took)}"


def _combining() -> None:
    Combination(Catalogue()).warm()


def _boxes() -> None:
    index = BoxIndex(InformationSpace("warming", (Dimension("x", "number"),)))
    index.add(0, InBox("warming", (Interval(0.0, 1.0),)))
    index.match((0.5,))


def _graphs() -> None:
    """Events of up to 64 vertexes have a kernel of their own. One atom comes and goes, and one search is given up."""
    from tocsin.matching.graphs.index import (
        GraphIndex,
        Workspace,  # here, for it loads numba
    )

    class_, property_ = "urn:tocsin:warming", "urn:tocsin:leads-to"
    test = Compared("<", Value(Kind.NUMBER, 1.0))
    vertexes = (PatternVertex("_:H", (class_,)), PatternVertex("?1", (), None, (test,)), PatternVertex("?2"))
    query = GraphQuery((GraphPattern(vertexes, (PatternArc(0, property_, 1), PatternArc(0, property_, 2))),))
    for desk in (Workspace(), Workspace(most_steps=1)):
        index = GraphIndex(desk=desk)
        index.add(0, query)
        index.add(1, query)
        index.pack()
        for count in (3, 65):
            names = ("_:H", *(f"_:{number}" for number in range(1, count)))
            event = EventGraph(
                tuple(Vertex(name, (class_,)) for name in names),
                tuple(Arc(0, property_, number) for number in range(1, count)),
            )
            index.match(event, ConceptModel())
        index.remove(1, query)
        index.remove(0, query)


# By what they are for. A warmer matches something small in the way that is taken later, with arrays of the same types.
WARMERS: list[tuple[str, Callable[[], None]]] = [
    ("combining", _combining),
    ("boxes", _boxes),
    ("graph patterns", _graphs),
]

if __name__ == "__main__":
    found = warm(lambda text: print(text, file=sys.stderr, flush=True))
    sys.stderr.write(f"{compiled_text(found) if found else 'every kernel was compiled before'}\n")
