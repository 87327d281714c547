"""Waiting-pattern lists (OPS s5.2, s5.4): statement patterns with the same contents are matched only once."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from tocsin.matching.ops.ems import Ems
from tocsin.matching.ops.matching_tree import Rectangle
from tocsin.matching.ops.statement_patterns import StatementPattern, Subscription
from tocsin.matching.ops.traversal import TypedStatement
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

Seat = tuple[int, int]  # a subscription by number, and one of its statement patterns about home
News = tuple[Seat | Rectangle, int]  # that statement pattern has matched, with that object


class Standing:
    """The initial state of the lists (s5.2): the statement patterns about home. Trees are planted when one matches."""

    def __init__(self) -> None:
        self.lists: defaultdict[int, defaultdict[StatementPattern, list[Seat]]] = defaultdict(lambda: defaultdict(list))
        self.size = 0

    def add(self, number: int, subscription: Subscription) -> None:
        for nth, statement in enumerate(subscription.leaving.get(0, ())):
            self.lists[statement.item][statement.derived({0: 0})].append((number, nth))
            self.size += 1


class Entry:
    """Of a list: who is registered with a pattern, and the objects that it was found to match with."""

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
    """Those of one event. The repair: statements that have passed are offered to the patterns that come after them."""

    def __init__(self, standing: Standing, ems: Ems, event: EventGraph, model: ConceptModel, repaired: bool) -> None:
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
