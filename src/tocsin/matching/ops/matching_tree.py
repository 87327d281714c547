"""The matching tree of a subscription and an event (OPS s5.4): an AND-OR tree of solutions and statement patterns."""

from __future__ import annotations

from tocsin.matching.ops.statement_patterns import StatementPattern, SubscribedStatement, Subscription


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
