"""The ways to match that Fig. 8 of the OPS paper is about, and ours."""

from typing import Protocol

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import GraphQuery
from tocsin.matching.ops.algorithm import Counts, Ops, Outcome
from tocsin.matching.ops.decomposition import Decided, Decomposition
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

REPAIRED, LITERAL, DECOMPOSITION, KERNEL = "repaired", "literal", "decomposition", "kernel"


class Disagreement(Exception):
    """An exact way found what another one did not, or the literal one found what is not there."""


class Answer(Struct, frozen=True):
    """`counts` are those of OPS; `nodes` those of the kernel's trie."""

    matched: frozenset[int]
    undecided: frozenset[int]
    counts: Counts | None = None
    nodes: int = 0


class Way(Protocol):
    def add(self, number: int, query: GraphQuery) -> None: ...

    def match(self, event: EventGraph) -> object:
        """What is timed. `answer` then tells what it found."""

    def answer(self) -> Answer: ...


class ByOps:
    def __init__(self, model: ConceptModel, repaired: bool) -> None:
        self._ops, self._repaired = Ops[int](model), repaired
        self._found: Outcome[int]

    def add(self, number: int, query: GraphQuery) -> None:
        for pattern in query.alternatives:
            self._ops.add(number, pattern, query.injective)

    def match(self, event: EventGraph) -> None:
        self._found = self._ops.match(event, self._repaired)

    def answer(self) -> Answer:
        return Answer(self._found.matched, self._found.undecided, self._found.counts)


class ByDecomposition:
    def __init__(self, model: ConceptModel) -> None:
        self._decomposition = Decomposition[int](model)
        self._found: Decided[int]

    def add(self, number: int, query: GraphQuery) -> None:
        for pattern in query.alternatives:
            self._decomposition.add(number, pattern)

    def match(self, event: EventGraph) -> None:
        self._found = self._decomposition.match(event)

    def answer(self) -> Answer:
        return Answer(self._found.matched, self._found.undecided)


class ByKernel:
    def __init__(self, model: ConceptModel) -> None:
        # It loads numba, which those who only list the experiments do not need.
        from tocsin.matching.graphs.index import GraphIndex, GraphMatches

        self._index, self._model = GraphIndex(), model
        self._found: GraphMatches

    def add(self, number: int, query: GraphQuery) -> None:
        self._index.add(number, query)

    def match(self, event: EventGraph) -> None:
        self._found = self._index.match(event, self._model)

    def answer(self) -> Answer:
        matched, undecided = self._found.atoms.tolist(), self._found.undecided.tolist()
        return Answer(frozenset(matched), frozenset(undecided), nodes=self._index.nodes)


def way(name: str, model: ConceptModel) -> Way:
    match name:
        case "repaired" | "literal":
            return ByOps(model, repaired=name == REPAIRED)
        case "decomposition":
            return ByDecomposition(model)
        case _:
            return ByKernel(model)


def check(answers: dict[str, Answer]) -> None:
    """All that are exact agree wherever they are decided; what the literal algorithm finds is there."""
    exact = {name: each for name, each in answers.items() if name != LITERAL}
    for name, one in answers.items():
        for other, answer in exact.items():
            if wrong := one.matched - answer.matched - answer.undecided:
                raise Disagreement(f"{name} says that subscription {min(wrong)} matches, {other} that it does not")
