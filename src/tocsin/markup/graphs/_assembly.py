"""Turns what a query says into graph patterns, for both languages.

A variable that stands for literals at several arcs is a vertex at each, as is a literal itself. Where nothing tells
whether a variable is a thing or a literal, and it makes a difference, both are alternatives.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple, NoReturn

from msgspec import Struct

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs._filters import VariableTest
from tocsin.markup.graphs._names import Tokens, is_datatype
from tocsin.markup.graphs.graph_pattern import HOME, GraphPattern, PatternArc, PatternVertex, Test

MOST_ALTERNATIVES = 32
MOST_VERTEXES = 200
MOST_ARCS = 400


class Node(NamedTuple):
    """A variable (`?x`, `_:b`), home (`_:H`), or a constant; `use` tells the uses of a literal apart."""

    name: str
    use: int = 0

    @property
    def varies(self) -> bool:
        return self.name[0] in "?_"


class NamedArc(NamedTuple):
    source: Node
    property: str
    target: Node


class GroupPattern(Struct, frozen=True):
    """A group of triples, tests and optional groups; `places` has the position at which each node is first named."""

    arcs: tuple[NamedArc, ...] = ()
    classes: tuple[tuple[Node, str], ...] = ()
    tests: tuple[VariableTest, ...] = ()
    optional: tuple["GroupPattern", ...] = ()
    places: tuple[tuple[Node, int], ...] = ()

    def nodes(self) -> dict[Node, int]:
        found: dict[Node, int] = {}
        for node, at in self.places:
            found.setdefault(node, at)
        return found

    def size(self) -> int:
        """With an OPTIONAL, all that stands before it is said again."""
        own = len(self.arcs) + len(self.classes) + len(self.tests) + len(self.places)
        return own + sum(own + each.size() for each in self.optional)


def joined(parts: Iterable[GroupPattern]) -> GroupPattern:
    several = tuple(parts)
    if len(several) == 1:
        return several[0]
    return GroupPattern(
        tuple(arc for part in several for arc in part.arcs),
        tuple(each for part in several for each in part.classes),
        tuple(test for part in several for test in part.tests),
        tuple(each for part in several for each in part.optional),
        tuple(place for part in several for place in part.places),
    )


def patterns(words: Tokens, said: GroupPattern) -> Iterator[GraphPattern]:
    """One after the other, as the effort that the text may take lasts."""
    effort = said.size()
    words.spend(effort)
    for number, each in enumerate(_Assembly(words.text, said).patterns()):
        words.spend(effort if number else 0)
        yield each


class _Draft:
    """A graph pattern under construction."""

    def __init__(self) -> None:
        self.vertexes: list[PatternVertex] = []
        self.arcs: dict[PatternArc, None] = {}
        self.equal: list[tuple[int, int]] = []
        self.at: dict[Node, int] = {}
        self.literals: dict[tuple[Node, str, PatternVertex], int] = {}

    def copy(self) -> "_Draft":
        other = _Draft()
        other.vertexes, other.arcs = list(self.vertexes), dict(self.arcs)
        other.equal, other.at, other.literals = list(self.equal), dict(self.at), dict(self.literals)
        return other

    def add(self, node: Node, vertex: PatternVertex) -> int:
        self.at.setdefault(node, len(self.vertexes))
        self.vertexes.append(vertex)
        return len(self.vertexes) - 1

    def literal(self, arc: NamedArc, vertexes: dict[Node, PatternVertex]) -> int:
        """A vertex of its own, equal to the first one of that variable; the same said twice is said once."""
        first = self.at.get(arc.target)
        vertex = vertexes[arc.target] if first is None else self.vertexes[first]
        same = self.literals.get((arc.source, arc.property, vertex))
        if same is not None:
            self.at.setdefault(arc.target, same)
            return same
        new = self.literals[arc.source, arc.property, vertex] = self.add(arc.target, vertex)
        if first is not None:
            self.equal.append((first, new))
        return new

    def pattern(self, optional: tuple[GraphPattern, ...] = ()) -> GraphPattern:
        return GraphPattern(tuple(self.vertexes), tuple(self.arcs), tuple(self.equal), optional)


class _Assembly:
    def __init__(self, text: str, said: GroupPattern) -> None:
        self._text, self._said = text, said
        self._nodes = said.nodes()
        self._check_size(len(self._nodes), len(set(said.arcs)))
        self._everywhere = dict(self._nodes)
        for each in said.optional:
            self._everywhere = {**each.nodes(), **self._everywhere}
        self._subjects = {arc.source for arc in said.arcs}
        self._literals = _literals(said)
        for node in self._nodes:
            if node in self._literals and node in self._subjects and node.varies and node.name != HOME:
                self._fail(self._nodes[node], f"{node.name} has properties: no filter or datatype can be for it")
        for node, found in said.classes:
            if node in self._literals and not is_datatype(found):
                self._fail(self._nodes[node], f"{node.name} is a literal, and {found} is no datatype")
            if (node.name[0] == "<" or node.name == HOME) and is_datatype(found):
                self._fail(self._nodes[node], f"{node.name} is no literal, and {found} is a datatype")

    def patterns(self) -> Iterator[GraphPattern]:
        if Node(HOME) not in self._nodes:
            self._fail(0, "no statement is about the event's home vertex: write it as _:H")
        unsure = self._unsure()
        if 2 ** len(unsure) > MOST_ALTERNATIVES:
            names = ", ".join(node.name for node in unsure)
            self._fail(self._everywhere[unsure[0]], f"nothing says whether {names} are literals: give them classes")
        for chosen in product((False, True), repeat=len(unsure)):
            literals = {node for node, literal in zip(unsure, chosen, strict=True) if literal}
            yield self._pattern(self._literals | literals)

    def _unsure(self) -> list[Node]:
        """Variables at several arcs that may be things as well as literals."""
        things = self._subjects | {node for node, _ in self._said.classes} | {Node(HOME)}
        open_ = [node for node in self._nodes if node.varies and node not in things and node not in self._literals]
        if not open_:
            return []
        arcs = {arc for part in (self._said, *self._said.optional) for arc in part.arcs}
        counted = Counter(arc.target for arc in arcs)
        return [node for node in open_ if counted[node] > 1]

    def _pattern(self, literals: set[Node]) -> GraphPattern:
        draft = _Draft()
        draft.add(Node(HOME), _vertexes(self._said, (Node(HOME),))[Node(HOME)])
        self._extend(draft, self._said, literals)
        self._check_size(len(draft.vertexes), len(draft.arcs))
        self._check_reached(draft)
        return draft.pattern(tuple(self._optional(draft, literals)))

    def _optional(self, draft: _Draft, literals: set[Node]) -> Iterable[GraphPattern]:
        seen: set[Node] = set()
        for said in self._said.optional:
            new = {node for node in said.nodes() if node not in self._nodes and node.varies}
            self._check_optional(said, new, seen)
            seen |= new
            if any(arc.source in literals for arc in said.arcs):
                continue  # a literal has no properties, so this part is never there
            larger = draft.copy()
            self._extend(larger, said, literals | _literals(said))
            self._check_size(len(larger.vertexes), len(larger.arcs))
            self._check_reached(larger)
            yield larger.pattern()

    def _check_optional(self, said: GroupPattern, new: set[Node], seen: set[Node]) -> None:
        nodes = said.nodes()
        for node in (*(node for node, _ in said.classes), *(Node(test.variable) for test in said.tests)):
            if node in self._nodes:
                self._fail(nodes[node], f"OPTIONAL cannot ask more of {node.name}, which stands before it too")
        for arc in said.arcs:
            if arc.source in self._literals:
                self._fail(nodes[arc.source], f"{arc.source.name} is a literal, which has no properties")
        for node in (node for node in nodes if node in new and node in seen):
            self._fail(nodes[node], f"{node.name} is in two OPTIONAL parts: name it before them too")
        _Assembly(self._text, GroupPattern(said.arcs, said.classes, said.tests, (), said.places)).check_sure(new)

    def check_sure(self, new: set[Node]) -> None:
        for node in self._unsure():
            if node in new:
                self._fail(self._nodes[node], f"nothing says whether {node.name} is a literal: give it a class")

    def _extend(self, draft: _Draft, said: GroupPattern, literals: set[Node]) -> None:
        nodes = said.nodes()
        vertexes = _vertexes(said, nodes)
        for node in nodes:
            if node not in draft.at and node not in literals:
                draft.add(node, vertexes[node])
        for arc in said.arcs:
            target = draft.literal(arc, vertexes) if arc.target in literals else draft.at[arc.target]
            draft.arcs.setdefault(PatternArc(draft.at[arc.source], arc.property, target))
        for node in nodes:
            if node not in draft.at:
                self._unreached(node.name)

    def _check_size(self, vertexes: int, arcs: int) -> None:
        if vertexes > MOST_VERTEXES or arcs > MOST_ARCS:
            self._fail(0, f"a pattern has at most {MOST_VERTEXES} vertexes and {MOST_ARCS} arcs")

    def _check_reached(self, draft: _Draft) -> None:
        """OPS s4, restriction 2."""
        beyond: dict[int, list[int]] = {}
        for arc in draft.arcs:
            beyond.setdefault(arc.source, []).append(arc.target)
        reached, waiting = {0}, [0]
        while waiting:
            new = [target for target in beyond.get(waiting.pop(), ()) if target not in reached]
            reached.update(new)
            waiting.extend(new)
        for number, vertex in enumerate(draft.vertexes):
            if number not in reached:
                self._unreached(vertex.name)

    def _unreached(self, name: str) -> NoReturn:
        at = next((at for node, at in self._everywhere.items() if node.name == name), 0)
        self._fail(at, f"no arcs lead from _:H to {name}: a pattern is one graph, told from the event's home vertex on")

    def _fail(self, at: int, why: str) -> NoReturn:
        raise ExpressionError(self._text, at, why)


def _vertexes(said: GroupPattern, nodes: Iterable[Node]) -> dict[Node, PatternVertex]:
    classes: dict[Node, dict[str, None]] = {}
    for node, found in said.classes:
        classes.setdefault(node, {})[found] = None
    tests: dict[str, dict[Test, None]] = {}
    for asked in said.tests:
        tests.setdefault(asked.variable, {})[asked.test] = None
    return {
        node: PatternVertex(
            node.name, tuple(classes.get(node, ())), None if node.varies else node.name, tuple(tests.get(node.name, ()))
        )
        for node in nodes
    }


def _literals(said: GroupPattern) -> set[Node]:
    """Those that are known to be: constants, those of a datatype, those that are tested."""
    constants = {arc.target for arc in said.arcs if arc.target.name[0] == '"'}
    typed = {node for node, found in said.classes if is_datatype(found) and node.varies and node.name != HOME}
    return constants | typed | {Node(asked.variable) for asked in said.tests}
