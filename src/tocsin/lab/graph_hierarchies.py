"""Event graphs and graph patterns over hierarchies, by a seed: events state the lowest classes and properties, while
subscriptions ask for some above them, and test literals."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from msgspec import Struct

from tocsin.lab.graph_drafts import Draft, Drafts, Shape
from tocsin.lab.graph_workload import asked_arc, asked_vertex, class_name, label, property_name, variable
from tocsin.markup.graphs.graph_pattern import Compared, GraphPattern, GraphQuery, Like, PatternVertex, Test
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.model.declarations import Ontology, Parents
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
STRING = "http://www.w3.org/2001/XMLSchema#string"
CLIMBS = 0.3  # so often a subscription asks for what is one higher, and again
TESTED = 0.75  # of the literals
NUMBERS = 1_000
CONSONANTS = "bdfgklmnrst"
SYLLABLES = [consonant + vowel for consonant in CONSONANTS for vowel in "aeiou"]


class Hierarchies(Struct, frozen=True):
    classes: int = 200
    properties: int = 100
    literal_properties: int = 20  # of them, half for numbers and half for words
    of_a_class: int = 2  # properties that lead to things; one more leads to a literal


class HierarchicalWorkload:
    """The schema is of the lowest classes; two kinds more are those of literals."""

    def __init__(self, sizes: Hierarchies, seed: int, shape: Shape | None = None) -> None:
        self._random = random = Random(seed)
        self._number = sizes.classes
        self._classes = _tree(random, 0, sizes.classes)
        things, half = sizes.properties - sizes.literal_properties, sizes.literal_properties // 2
        trees = [_tree(random, start, count) for start, count in ((0, things), (things, half), (things + half, half))]
        self._properties = [each for tree in trees for each in tree]
        self.model = ConceptModel([self._ontology()])
        homes, to_things, *to_literals = _lowest(self._classes), *map(_lowest, trees)
        schema: list[list[tuple[int, int]]] = [[] for _ in range(sizes.classes + 2)]
        for home in homes:
            kind = random.randrange(2)
            schema[home] = [(each, random.choice(homes)) for each in random.sample(to_things, sizes.of_a_class)]
            schema[home].append((random.choice(to_literals[kind]), sizes.classes + kind))
        self._drafts = Drafts(schema, homes, shape or Shape(), random)

    def events(self, count: int) -> Iterator[EventGraph]:
        return (self._event(self._drafts.graph()) for _ in range(count))

    def queries(self, count: int) -> Iterator[GraphQuery]:
        return (GraphQuery((self._pattern(self._drafts.part()),)) for _ in range(count))

    def _ontology(self) -> Ontology:
        classes = _named(self._classes, class_name)
        return Ontology("hierarchies", classes=classes, properties=_named(self._properties, property_name))

    def _event(self, draft: Draft) -> EventGraph:
        vertexes = tuple(self._vertex(at, kind) for at, kind in enumerate(draft.kinds))
        return EventGraph(vertexes, tuple(Arc(s, property_name(p), t) for s, p, t in draft.arcs))

    def _vertex(self, at: int, kind: int) -> Vertex:
        if kind < self._number:
            return Vertex(label(at), (class_name(kind),))
        if kind == self._number:
            lexical = str(self._random.randrange(NUMBERS))
            return Vertex(f'"{lexical}"^^<{INTEGER}>', (INTEGER,), lexical)
        lexical = self._word()
        return Vertex(f'"{lexical}"', (STRING,), lexical)

    def _pattern(self, draft: Draft) -> GraphPattern:
        vertexes = tuple(self._asked(at, kind) for at, kind in enumerate(draft.kinds))
        arcs = tuple(asked_arc(s, self._above(p, self._properties), t) for s, p, t in draft.arcs)
        return GraphPattern(vertexes, arcs)

    def _asked(self, at: int, kind: int) -> PatternVertex:
        if kind < self._number:
            return asked_vertex(at, self._above(kind, self._classes))
        if self._random.random() >= TESTED:
            return PatternVertex(variable(at), (INTEGER if kind == self._number else STRING,))
        return PatternVertex(variable(at), tests=(self._number_test() if kind == self._number else self._word_test(),))

    def _above(self, number: int, parents: Sequence[int]) -> int:
        while self._random.random() < CLIMBS:
            number = parents[number]
        return number

    def _number_test(self) -> Test:
        if self._random.random() < 0.2:
            return Compared("=", Value(Kind.NUMBER, float(self._random.randrange(NUMBERS))))
        limit = round(self._random.random() * NUMBERS, 2)
        return Compared("<" if self._random.random() < 0.5 else ">", Value(Kind.NUMBER, limit))

    def _word_test(self) -> Test:
        if self._random.random() < 0.2:
            return Compared("=", Value(Kind.STRING, text=self._word()))
        if self._random.random() < 0.5:
            return Like(f"^[{''.join(self._random.choices(CONSONANTS, k=2))}]")
        return Like(f"^{self._random.choice(SYLLABLES)}{self._random.choice(CONSONANTS)}")

    def _word(self) -> str:
        return "".join(self._random.choices(SYLLABLES, k=2))


def _tree(random: Random, start: int, count: int) -> list[int]:
    """The parent of each, numbered from `start`; the first is its own."""
    return [start, *(start + random.randrange(each) for each in range(1, count))]


def _lowest(parents: Sequence[int]) -> list[int]:
    start, inner = parents[0], set(parents)
    return [each for each in range(start, start + len(parents)) if each not in inner]


def _named(parents: Sequence[int], name: Callable[[int], str]) -> Parents:
    return tuple((name(each), (name(parent),) if parent != each else ()) for each, parent in enumerate(parents))
