"""Boolean expression based verification, BEBV (OPS s5.5): whether the expression of a tree's root is other than false.

Only that is asked, so the disjuncts of its normal form are made one at a time, from the root down: a disjunct picks one
solution below each statement pattern, and is dropped as soon as two of its pairs contradict each other.
"""

from tocsin.matching.graphs.definition import equal
from tocsin.matching.judging import Undecided
from tocsin.matching.ops.matching_tree import MatchingTree, Rectangle
from tocsin.matching.ops.statement_patterns import Subscription
from tocsin.semantics.events.event_graph import EventGraph

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
