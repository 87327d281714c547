"""The matching algorithm of the OPS paper (s5): waiting lists, partial (SBPV) and full (BEBV) verification, counts."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import GraphPattern
from tocsin.matching.graphs.definition import equal, fits
from tocsin.matching.judge import Undecided
from tocsin.matching.ops.matching_tree import (
    Circle,
    Ems,
    Forest,
    MatchingTree,
    Rectangle,
    StatementPattern,
    Subscription,
    TypedStatement,
    decomposed,
    traversed,
)
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

Seat = tuple[int, int]  # a subscription by number, and one of its statement patterns about home
News = tuple[Seat | Rectangle, int]  # that statement pattern has matched, with that object


class InitialLists:
    """The waiting lists before any event (s5.2): the statement patterns about home. Trees are planted when one
    matches."""

    def __init__(self) -> None:
        self.lists: defaultdict[int, defaultdict[StatementPattern, list[Seat]]] = defaultdict(lambda: defaultdict(list))
        self.size = 0

    def add(self, number: int, subscription: Subscription) -> None:
        for nth, statement in enumerate(subscription.leaving.get(0, ())):
            self.lists[statement.item][statement.derived({0: 0})].append((number, nth))
            self.size += 1


class Entry:
    """An entry of a waiting list: who is registered with a pattern, and the objects it has matched with."""

    __slots__ = ("found", "registered", "standing")

    def __init__(self, standing: Sequence[Seat] = ()) -> None:
        self.standing = standing
        self.registered: list[Rectangle] = []
        self.found: dict[int, None] = {}

    def told(self, found: int) -> Iterator[News]:
        for seat in self.standing:
            yield seat, found
        for node in self.registered:
            yield node, found


class Tally(Struct):
    statements: int = 0
    offered: int = 0
    entries: int = 0
    registered: int = 0


class WaitingLists:
    """The waiting lists during one event. Repaired, statements that have passed are offered to patterns that come
    later."""

    def __init__(
        self, standing: InitialLists, ems: Ems, event: EventGraph, model: ConceptModel, repaired: bool
    ) -> None:
        self._ems, self._event, self._model, self._repaired = ems, event, model, repaired
        self._lists: defaultdict[int, dict[StatementPattern, Entry]] = defaultdict(dict)
        for item, patterns in standing.lists.items():
            self._lists[item] = {pattern: Entry(seats) for pattern, seats in patterns.items()}
        self._passed: defaultdict[int, list[TypedStatement]] = defaultdict(list)
        self.tally = Tally(entries=sum(map(len, self._lists.values())), registered=standing.size)

    def put(self, node: Rectangle) -> list[News]:
        """What it has matched with so far."""
        pattern = node.pattern
        entry = self._lists[pattern.item].get(pattern)
        if entry is None:
            entry = self._entry(pattern)
        self.tally.registered += 1
        entry.registered.append(node)
        return [(node, found) for found in entry.found] if self._repaired else []

    def _entry(self, pattern: StatementPattern) -> Entry:
        entry = self._lists[pattern.item][pattern] = Entry()
        self.tally.entries += 1
        if self._repaired:
            for statement in self._passed[pattern.subject]:
                if pattern.item in self._ems.ancestors(statement.meta):
                    self._offer(statement, pattern, entry)
        return entry

    def pass_by(self, statement: TypedStatement) -> list[News]:
        """Offers a statement to all that wait for it: at its own meta-statement, and at all above."""
        self.tally.statements += 1
        self._passed[statement.subject].append(statement)
        return [
            news
            for item in self._ems.ancestors(statement.meta)
            for pattern, entry in self._lists[item].items()
            if self._offer(statement, pattern, entry)
            for news in entry.told(statement.object)
        ]

    def _offer(self, statement: TypedStatement, pattern: StatementPattern, entry: Entry) -> bool:
        """Whether that is news: by parallel arcs, or several classes, the same pair of vertexes comes again."""
        self.tally.offered += 1
        if statement.object in entry.found or not pattern.matches(statement, self._event, self._model):
            return False
        entry.found[statement.object] = None
        return True


def backtrack(circle: Circle) -> None:
    """Up from a solution from which no statement pattern could be derived, or whose children are all checked."""
    while True:
        circle.checked = True
        rectangle = circle.parent
        if rectangle is None or rectangle.checked:
            return
        rectangle.checked = True
        circle = rectangle.parent
        circle.unchecked_children -= 1
        if circle.unchecked_children:
            return


Pairs = dict[int, int]
_Pending = tuple[Rectangle, "_Pending"] | tuple[()]  # a list that disjuncts share the end of


def verify(tree: MatchingTree, event: EventGraph, budget: int) -> Pairs | None:
    """The first disjunct that is not false: the mapping of all vertexes (Lemma 4). Raises `Undecided`."""
    stack = [(tree.root.pairs, _pending(tree.root.children, ()))]
    for _ in range(budget):
        if not stack:
            return None
        known, pending = stack.pop()
        if not pending:
            return known
        rectangle, rest = pending
        for circle in reversed(rectangle.children):
            joined = _conjunction(known, circle.pairs, tree.subscription, event) if circle.checked else None
            if joined is not None:
                stack.append((joined, _pending(circle.children, rest)))
    raise Undecided("the matching tree took too many steps to verify")


def _pending(rectangles: list[Rectangle], rest: "_Pending") -> "_Pending":
    for each in reversed(rectangles):
        rest = (each, rest)
    return rest


def _conjunction(known: Pairs, more: Pairs, subscription: Subscription, event: EventGraph) -> Pairs | None:
    """None for false, by rules 4 and 5; rule 5 is about injective patterns, and `equal` adds a rule of its kind."""
    if any(known.get(asked, at) != at for asked, at in more.items()):
        return None
    joined = {**known, **more}
    if len(joined) == len(known):
        return joined
    if subscription.injective and len(set(joined.values())) < len(joined):
        return None
    for left, right in subscription.pattern.equal:
        if left in joined and right in joined:
            one, other = event.vertexes[joined[left]], event.vertexes[joined[right]]
            if not equal(one, other, by_value=subscription.injective):
                return None
    return joined


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
    """What one event matched; `undecided` met the budget without a match."""

    matched: frozenset[Id]
    undecided: frozenset[Id]
    counts: Counts


class Ops(Generic[Id]):
    def __init__(self, model: ConceptModel, budget: int = BUDGET) -> None:
        self._model, self._budget = model, budget
        self._ems, self._standing = Ems(model), InitialLists()
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
            # each match grows the tree that waited for it, and may derive patterns that match at once
            news = deque(waiting.pass_by(statement))
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
        return forest, waiting.tally

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
