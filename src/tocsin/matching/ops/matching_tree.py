"""Structures of the OPS algorithm: meta-statements (s5.2), traversal (s5.3), statement patterns, trees (s5.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import GraphPattern, PatternArc, PatternVertex
from tocsin.matching.graphs.definition import fits
from tocsin.model.declarations import MetaStatement
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph

ANY = ""  # the class of a pattern's vertex that asks for none: above all classes of things and of literals


class Ems:
    """Items are numbered when a subscription first names them, and a dictionary finds them.

    The paper works out all valid meta-statements beforehand, and sorts them for a binary search. Statement patterns
    wait at none but those that subscriptions name, so only these are in the ancestor lists here.
    """

    def __init__(self, model: ConceptModel) -> None:
        self._model = model
        self._numbers: dict[MetaStatement, int] = {}
        self._ancestors: dict[MetaStatement, tuple[int, ...]] = {}

    def number(self, asked: MetaStatement) -> int:
        """Of the item at which patterns with that meta-statement wait."""
        if asked not in self._numbers:
            self._numbers[asked] = len(self._numbers)
            self._ancestors.clear()
        return self._numbers[asked]

    def ancestors(self, stated: MetaStatement) -> tuple[int, ...]:
        """The items of that meta-statement and of all above it."""
        found = self._ancestors.get(stated)
        if found is None:
            above = (self._numbers.get(each) for each in self._above(stated))
            found = self._ancestors[stated] = tuple(sorted(number for number in above if number is not None))
        return found

    def _above(self, stated: MetaStatement) -> list[MetaStatement]:
        subjects, objects = self._classes(stated.subject), self._classes(stated.object)
        properties = self._model.properties_above(stated.property)
        return [MetaStatement(*each) for each in product(subjects, properties, objects)]

    def _classes(self, stated: str) -> frozenset[str]:
        return frozenset((ANY,)) if stated == ANY else self._model.classes_above(stated) | {ANY}


class TypedStatement(Struct, frozen=True, gc=False):
    """Subject and object are vertexes of the event, by position: a literal has no identifier of its own."""

    subject: int
    object: int
    meta: MetaStatement


def traversed(event: EventGraph) -> Iterator[TypedStatement]:
    """Every arc once; a vertex of several classes makes several statements of it."""
    leaving: defaultdict[int, list[Arc]] = defaultdict(list)
    for arc in event.arcs:
        leaving[arc.source].append(arc)
    queue = [0]
    met = {0}
    for source in queue:
        for arc in leaving[source]:
            subjects = event.vertexes[arc.source].classes or (ANY,)
            objects = event.vertexes[arc.target].classes or (ANY,)
            for subject, object_ in product(subjects, objects):
                yield TypedStatement(arc.source, arc.target, MetaStatement(subject, arc.property, object_))
            if arc.target not in met:
                met.add(arc.target)
                queue.append(arc.target)


class StatementPattern(Struct, frozen=True, cache_hash=True, gc=False):
    """With the values that are known in place of variables.

    `object` is a vertex of the event, or None while it is a variable. `further` is what its vertex asks for beyond the
    meta-statement: a constant, more classes, tests (the paper's `filter_func`). It has no name, for variables that
    differ in name alone match the same: such patterns have "the same contents".
    """

    subject: int
    object: int | None
    item: int
    further: PatternVertex

    def matches(self, statement: TypedStatement, event: EventGraph, model: ConceptModel) -> bool:
        """Whoever offers has seen to the meta-statement, by the ancestor list."""
        return (
            self.subject == statement.subject
            and self.object in (None, statement.object)
            and fits(self.further, event.vertexes[statement.object], model)
        )


class SubscribedStatement(Struct, frozen=True):
    """An arc of a subscription graph with its ends, from which statement patterns are derived."""

    arc: PatternArc
    item: int
    further: PatternVertex

    def derived(self, pairs: Mapping[int, int]) -> StatementPattern:
        return StatementPattern(pairs[self.arc.source], pairs.get(self.arc.target), self.item, self.further)


class Subscription(Struct, frozen=True):
    """`leaving` has the statements of the subscription by the position of their subject."""

    pattern: GraphPattern
    injective: bool
    leaving: dict[int, list[SubscribedStatement]]

    @property
    def standing(self) -> int:
        """Nodes of its matching tree before any event: the root, and the statement patterns about home."""
        return 1 + len(self.leaving.get(0, ()))


def decomposed(pattern: GraphPattern, injective: bool, ems: Ems) -> Subscription:
    """Of several classes that a vertex asks for, the first goes into meta-statements."""
    leaving: defaultdict[int, list[SubscribedStatement]] = defaultdict(list)
    for arc in pattern.arcs:
        subject, object_ = pattern.vertexes[arc.source], pattern.vertexes[arc.target]
        item = ems.number(MetaStatement(_first(subject), arc.property, _first(object_)))
        further = PatternVertex("", object_.classes[1:], object_.constant, object_.tests)
        leaving[arc.source].append(SubscribedStatement(arc, item, further))
    return Subscription(pattern, injective, dict(leaving))


def _first(vertex: PatternVertex) -> str:
    return vertex.classes[0] if vertex.classes else ANY


class Circle:
    """A partial mapping solution: vertexes of the pattern with those of the event, along one path from home.

    It holds when all its children do.
    """

    __slots__ = ("checked", "children", "pairs", "parent", "unchecked_children")

    def __init__(self, pairs: dict[int, int], parent: Rectangle | None = None) -> None:
        self.pairs, self.parent = pairs, parent
        self.children: list[Rectangle] = []
        self.checked, self.unchecked_children = False, 0


class Rectangle:
    """A statement pattern; its children are the ways in which it matched, and one of them must hold."""

    __slots__ = ("checked", "children", "parent", "statement", "tree")

    def __init__(self, tree: MatchingTree, statement: SubscribedStatement, parent: Circle) -> None:
        self.tree, self.statement, self.parent = tree, statement, parent
        self.children: list[Circle] = []
        self.checked = False

    @property
    def pattern(self) -> StatementPattern:
        return self.statement.derived(self.parent.pairs)


class MatchingTree:
    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.root = Circle({0: 0})
        self.nodes = 1
        self.derive(self.root, 0)

    def derive(self, circle: Circle, subject: int) -> list[Rectangle]:
        """The statement patterns that must match, too, once that vertex of the pattern has been mapped."""
        statements = self.subscription.leaving.get(subject, ())
        circle.children = [Rectangle(self, statement, circle) for statement in statements]
        circle.unchecked_children = len(circle.children)
        self.nodes += len(circle.children)
        return circle.children

    def solve(self, rectangle: Rectangle, found: int) -> tuple[Circle, list[Rectangle]]:
        """The pattern has matched with that object; nothing is derived when its vertex is on the path already."""
        target, path = rectangle.statement.arc.target, rectangle.parent.pairs
        circle = Circle({**path, target: found}, rectangle)
        rectangle.children.append(circle)
        self.nodes += 1
        return circle, [] if target in path else self.derive(circle, target)


class Forest:
    """The trees of one event; a tree that no statement has touched yet is not planted, for it looks like all others."""

    def __init__(self, subscriptions: list[Subscription]) -> None:
        self.subscriptions = subscriptions
        self.planted: dict[int, MatchingTree] = {}
        for number, subscription in enumerate(subscriptions):
            if subscription.standing == 1:  # nothing but home is asked for
                self._plant(number).root.checked = True

    def node(self, number: int, nth: int) -> Rectangle:
        """A statement pattern about home."""
        tree = self.planted.get(number) or self._plant(number)
        return tree.root.children[nth]

    def _plant(self, number: int) -> MatchingTree:
        tree = self.planted[number] = MatchingTree(self.subscriptions[number])
        return tree
