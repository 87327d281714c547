"""The matching algorithm of the OPS paper (s5), and what its figures count."""

from collections import deque
from typing import Generic, TypeVar

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import GraphPattern
from tocsin.matching.graphs.definition import fits
from tocsin.matching.judging import Undecided
from tocsin.matching.ops.bebv import verify
from tocsin.matching.ops.ems import Ems
from tocsin.matching.ops.matching_tree import Forest, MatchingTree, Rectangle
from tocsin.matching.ops.sbpv import backtrack
from tocsin.matching.ops.statement_patterns import Subscription, decomposed
from tocsin.matching.ops.traversal import traversed
from tocsin.matching.ops.waiting import News, Standing, Tally, WaitingLists
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

BUDGET = 100_000  # nodes of a matching tree, and steps of its verification

Id = TypeVar("Id")


class Counts(Struct, frozen=True):
    """`statements` were offered to waiting patterns `offered` times; `entries` stood in the waiting lists, in place of
    `statement_patterns` that the trees have; `checked` passed SBPV. `standing` nodes are there before any event: the
    roots, and the statement patterns about home (s5.2)."""

    subscriptions: int
    statements: int
    offered: int
    entries: int
    statement_patterns: int
    tree_nodes: int
    standing: int
    largest_tree: int
    checked: int

    @property
    def nodes_per_tree(self) -> float:
        """Fig. 8 (e) and (f), if all nodes are counted there."""
        return self.tree_nodes / self.subscriptions if self.subscriptions else 0.0

    @property
    def grown_per_tree(self) -> float:
        """Fig. 8 (e) and (f), if those are counted that the event made."""
        return (self.tree_nodes - self.standing) / self.subscriptions if self.subscriptions else 0.0


class Outcome(Struct, Generic[Id], frozen=True):
    """`undecided` met the budget, and do not match otherwise."""

    matched: frozenset[Id]
    undecided: frozenset[Id]
    counts: Counts

    @property
    def matching_rate(self) -> float:
        """Fig. 8 (d)."""
        return len(self.matched) / self.counts.subscriptions if self.counts.subscriptions else 0.0


class Ops(Generic[Id]):
    def __init__(self, model: ConceptModel, budget: int = BUDGET) -> None:
        self._model, self._budget = model, budget
        self._ems, self._standing = Ems(model), Standing()
        self._names: list[Id] = []
        self._subscriptions: list[Subscription] = []

    def add(self, name: Id, pattern: GraphPattern, injective: bool = True) -> None:
        """Patterns under the same name are alternatives. Not injective is the meaning of SPARQL, not the paper's."""
        subscription = decomposed(pattern, injective, self._ems)
        self._standing.add(len(self._names), subscription)
        self._names.append(name)
        self._subscriptions.append(subscription)

    def match(self, event: EventGraph, repaired: bool = True) -> Outcome[Id]:
        """Not repaired is s5.3 to the letter: a statement that has passed is never offered again, and matches whose
        patterns are derived too late are lost."""
        forest, tally = self.grow(event, repaired)
        checked = [(self._names[at], tree) for at, tree in forest.planted.items() if self._may_match(tree, event)]
        matched, undecided = self._verified(checked, event)
        return Outcome(matched, undecided, _counts(forest, tally, len(checked)))

    def grow(self, event: EventGraph, repaired: bool = True) -> tuple[Forest, Tally]:
        waiting = WaitingLists(self._standing, self._ems, event, self._model, repaired)
        forest = Forest(self._subscriptions)
        for statement in traversed(event):
            self._tell(deque(waiting.pass_by(statement)), forest, waiting)
        return forest, waiting.tally

    def _tell(self, news: deque[News], forest: Forest, waiting: WaitingLists) -> None:
        """Each match grows the tree that waited for it, and may derive patterns that match at once."""
        while news:
            where, found = news.popleft()
            node = where if isinstance(where, Rectangle) else forest.node(*where)
            if node.tree.nodes > self._budget:
                continue
            circle, derived = node.tree.solve(node, found)
            if not derived:
                backtrack(circle)
            for each in derived:
                news.extend(waiting.put(each))

    def _may_match(self, tree: MatchingTree, event: EventGraph) -> bool:
        """SBPV; and home itself, which may have more classes or tests than the meta-statements of its arcs tell."""
        home = tree.subscription.pattern.vertexes[0]
        grown = tree.root.checked or tree.nodes > self._budget
        return grown and fits(home, event.vertexes[0], self._model)

    def _verified(
        self, checked: list[tuple[Id, MatchingTree]], event: EventGraph
    ) -> tuple[frozenset[Id], frozenset[Id]]:
        matched, undecided = set(), set()
        for name, tree in checked:
            try:
                if verify(tree, event, self._budget) is not None:
                    matched.add(name)
                elif tree.nodes > self._budget:
                    undecided.add(name)
            except Undecided:
                undecided.add(name)
        return frozenset(matched), frozenset(undecided - matched)


def _counts(forest: Forest, tally: Tally, checked: int) -> Counts:
    bare = [each.standing for each in forest.subscriptions]
    grown = [tree.nodes - tree.subscription.standing for tree in forest.planted.values()]
    return Counts(
        subscriptions=len(forest.subscriptions),
        statements=tally.statements,
        offered=tally.offered,
        entries=tally.entries,
        statement_patterns=tally.registered,
        tree_nodes=sum(bare) + sum(grown),
        standing=sum(bare),
        largest_tree=max((*bare, *(tree.nodes for tree in forest.planted.values())), default=0),
        checked=checked,
    )
