"""Workloads of event graphs and graph patterns: as OPS s6 describes them, and over hierarchies.

Graphs that are independent at random never match each other. Here each kind of a home vertex has a few types of graphs:
a graph is one of them with some vertexes grown elsewhere, and a part is one of another such graph. With them about as
many subscriptions match an event as the paper reports.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from random import Random
from typing import NamedTuple

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import (
    HOME,
    Compared,
    GraphPattern,
    GraphQuery,
    Like,
    PatternArc,
    PatternVertex,
    Test,
)
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.model.declarations import Ontology, Parents
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

Step = tuple[int, int, int]  # from a vertex along a property to a vertex
Schema = Sequence[Sequence[tuple[int, int]]]  # for a kind of vertexes: properties, and the kinds they lead to


class Shape(Struct, frozen=True):
    """The numbers of OPS s6; `types` are those of graphs for each kind of home, `regrown` vertexes are elsewhere. Of
    what is asked for, `around` vertexes at least are not needed by the arcs that close circles."""

    vertexes: int = 50
    arcs: int = 55
    asked_vertexes: int = 10
    asked_arcs: int = 11
    types: int = 2
    regrown: int = 8
    around: int = 5


class Draft(NamedTuple):
    """The kind of each vertex, of which 0 is home, and the arcs."""

    kinds: Sequence[int]
    arcs: Sequence[Step]


class Core(Struct, frozen=True):
    """What a part with certain closing arcs must have: home, the ends of those arcs, and the tree that leads there."""

    vertexes: tuple[int, ...]
    arcs: tuple[Step, ...]
    leaving: tuple[Step, ...]  # along the tree to where the part may grow


class Type(Struct, frozen=True):
    """A tree, in the order in which it grew: arc i leads to vertex i + 1. The arcs that close circles come after it."""

    kinds: list[int]
    arcs: list[Step]
    leading: list[list[Step]]  # from each vertex, along the tree
    leaves: list[int]
    cores: list[Core]


class Moved(NamedTuple):
    """Leaves that were grown elsewhere: the kinds of all vertexes, the ways there by the leaf, and by the source."""

    kinds: list[int]
    to: dict[int, Step]
    leading: dict[int, list[Step]]


class Drafts:
    def __init__(self, schema: Schema, homes: Sequence[int], shape: Shape, random: Random) -> None:
        self._schema, self._shape, self._random = schema, shape, random
        self._types = [self._type(home) for home in homes for _ in range(shape.types)]

    def graph(self) -> Draft:
        found = self._random.choice(self._types)
        moved, arcs = self._moved(found), found.arcs.copy()
        for leaf, way in moved.to.items():
            arcs[leaf - 1] = way
        return Draft(moved.kinds, arcs)

    def large_graph(self, vertexes: int) -> Draft:
        """One that went on growing."""
        draft = self.graph()
        kinds, arcs = list(draft.kinds), list(draft.arcs)
        while len(kinds) < vertexes:
            source, along, leads_to = self._step(kinds)
            arcs.append((source, along, len(kinds)))
            kinds.append(leads_to)
        return Draft(kinds, arcs)

    def part(self) -> Draft:
        """Closing arcs are chosen first, and the rest grows around them."""
        found = self._random.choice(self._types)
        moved, core = self._moved(found), self._random.choice(found.cores)
        vertexes, arcs = list(core.vertexes), list(core.arcs)
        leaving = [*core.leaving, *(way for way in moved.to.values() if way[0] in core.vertexes)]
        while len(vertexes) < self._shape.asked_vertexes:
            at = int(self._random.random() * len(leaving))
            leaving[at], leaving[-1] = leaving[-1], leaving[at]
            way = leaving.pop()
            target = way[2]
            if moved.to.get(target, way) is way:
                vertexes.append(target)
                arcs.append(way)
                leaving += found.leading[target]
                leaving += moved.leading.get(target, ())
        place = {vertex: at for at, vertex in enumerate(vertexes)}
        return Draft([moved.kinds[each] for each in vertexes], [(place[s], p, place[t]) for s, p, t in arcs])

    def _moved(self, found: Type) -> Moved:
        """No leaf moves below another that moves."""
        leaves = self._random.sample(found.leaves, self._shape.regrown)
        moved = Moved(found.kinds.copy(), {}, {})
        for leaf in leaves:
            source, along, leads_to = self._step(found.kinds, leaves)
            moved.kinds[leaf] = leads_to
            moved.to[leaf] = way = (source, along, leaf)
            moved.leading.setdefault(source, []).append(way)
        return moved

    def _step(self, kinds: Sequence[int], but: Sequence[int] = ()) -> Step:
        """From some vertex along a property to a kind."""
        random = self._random.random
        while True:
            source = int(random() * len(kinds))
            ways = self._schema[kinds[source]]
            if ways and source not in but:
                return source, *ways[int(random() * len(ways))]

    def _type(self, home: int) -> Type:
        while True:
            kinds, arcs = [home], list[Step]()
            while len(kinds) < self._shape.vertexes:
                source, along, leads_to = self._step(kinds)
                arcs.append((source, along, len(kinds)))
                kinds.append(leads_to)
            joined = {(source, target) for source, _, target in arcs}
            while len(arcs) < self._shape.arcs:
                arcs += self._closing(kinds, joined)
            made = _type_of(kinds, arcs, self._shape)
            if made.cores and len(made.leaves) >= self._shape.regrown:
                return made

    def _closing(self, kinds: Sequence[int], joined: set[tuple[int, int]]) -> Iterator[Step]:
        """One arc more between vertexes that are there, as the schema has it; or none.

        Two vertexes have one arc at most, and none to itself, for some libraries know no other graphs.
        """
        source, along, leads_to = self._step(kinds)
        targets = [at for at, each in enumerate(kinds) if each == leads_to and self._schema[each] and at != source]
        if targets and (pair := (source, self._random.choice(targets))) not in joined:
            joined.add(pair)
            yield source, along, pair[1]


def _type_of(kinds: list[int], arcs: list[Step], shape: Shape) -> Type:
    tree, closing = arcs[: len(kinds) - 1], arcs[len(kinds) - 1 :]
    leading: list[list[Step]] = [[] for _ in kinds]
    for way in tree:
        leading[way[0]].append(way)
    ends = {target for _, _, target in closing} | {source for source, _, _ in closing}
    leaves = [at for at in range(1, len(kinds)) if not leading[at] and at not in ends]
    asked = shape.asked_arcs - shape.asked_vertexes + 1
    cores = [(_needed(tree, chosen), chosen) for chosen in combinations(closing, asked)]
    most = shape.asked_vertexes - shape.around
    return Type(kinds, arcs, leading, leaves, [_core(tree, *each) for each in cores if len(each[0]) <= most])


def _needed(tree: Sequence[Step], closing: Sequence[Step]) -> set[int]:
    """Home, the ends of some arcs, and all between."""
    vertexes, waiting = {0}, [end for source, _, target in closing for end in (source, target)]
    while waiting:
        vertex = waiting.pop()
        if vertex not in vertexes:
            vertexes.add(vertex)
            waiting.append(tree[vertex - 1][0])
    return vertexes


def _core(tree: Sequence[Step], vertexes: set[int], closing: Sequence[Step]) -> Core:
    inner = tuple(way for way in tree if way[2] in vertexes)
    leaving = tuple(way for way in tree if way[0] in vertexes and way[2] not in vertexes)
    return Core(tuple(sorted(vertexes)), (*inner, *closing), leaving)


class Vocabulary(Struct, frozen=True):
    classes: int = 10
    properties: int = 10
    of_a_class: int = 2  # properties


class GraphWorkload:
    """Events and queries are drawn apart: more of the ones do not change the others."""

    def __init__(self, vocabulary: Vocabulary, seed: int, shape: Shape | None = None) -> None:
        random, classes = Random(seed), range(vocabulary.classes)
        schema = [
            [
                (each, random.choice(classes))
                for each in random.sample(range(vocabulary.properties), vocabulary.of_a_class)
            ]
            for _ in classes
        ]
        self.model = ConceptModel()
        self._drafts = Drafts(schema, classes, shape or Shape(), random)

    def events(self, count: int) -> Iterator[EventGraph]:
        return (_event(self._drafts.graph()) for _ in range(count))

    def large_event(self, vertexes: int) -> EventGraph:
        return _event(self._drafts.large_graph(vertexes))

    def queries(self, count: int) -> Iterator[GraphQuery]:
        return (GraphQuery((_pattern(self._drafts.part()),)) for _ in range(count))


@cache
def class_name(number: int) -> str:
    return f"urn:example:class{number}"


@cache
def property_name(number: int) -> str:
    return f"urn:example:property{number}"


def variable(at: int) -> str:
    return f"?{at}" if at else HOME


def label(at: int) -> str:
    return f"_:b{at}" if at else HOME


def _event(draft: Draft) -> EventGraph:
    vertexes = tuple(Vertex(label(at), (class_name(kind),)) for at, kind in enumerate(draft.kinds))
    return EventGraph(vertexes, tuple(Arc(s, property_name(p), t) for s, p, t in draft.arcs))


def _pattern(draft: Draft) -> GraphPattern:
    vertexes = tuple(asked_vertex(at, kind) for at, kind in enumerate(draft.kinds))
    return GraphPattern(vertexes, tuple(asked_arc(*way) for way in draft.arcs))


# Made once: a million patterns have them in common.
@cache
def asked_vertex(at: int, kind: int) -> PatternVertex:
    return PatternVertex(variable(at), (class_name(kind),))


@cache
def asked_arc(source: int, along: int, target: int) -> PatternArc:
    return PatternArc(source, property_name(along), target)


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
        classes = _named_parents(self._classes, class_name)
        return Ontology("hierarchies", classes=classes, properties=_named_parents(self._properties, property_name))

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


def _named_parents(parents: Sequence[int], name: Callable[[int], str]) -> Parents:
    return tuple((name(each), (name(parent),) if parent != each else ()) for each, parent in enumerate(parents))
