"""The algorithm of the OPS paper: what its theorems say, where it loses matches, and the tree of its example."""

from hypothesis import assume, given, settings
from msgspec.structs import replace
from tests.effort import examples
from tests.matching.graphs import drawn
from tests.matching.graphs.oracle import matches_pattern
from tests.matching.graphs.strategies import Case, cases

from tocsin.markup.graphs.graph_pattern import GraphPattern, PatternVertex
from tocsin.matching.ops.algorithm import Counts, Ops
from tocsin.matching.ops.matching_tree import Circle, Rectangle
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph


def all_of(case: Case, times: int = 1) -> tuple[Ops[tuple[int, int]], list[tuple[GraphPattern, bool]]]:
    """Every alternative under an id of its own."""
    model, _, queries = case
    asked = [(pattern, query.injective) for query in queries for pattern in query.alternatives]
    ops: Ops[tuple[int, int]] = Ops(model)
    for time in range(times):
        for number, (pattern, injective) in enumerate(asked):
            ops.add((number, time), _renamed(pattern, str(time)), injective)
    return ops, asked


def _renamed(pattern: GraphPattern, suffix: str) -> GraphPattern:
    vertexes = (replace(each, name=each.name + suffix) for each in pattern.vertexes[1:])
    return replace(pattern, vertexes=(pattern.vertexes[0], *vertexes))


@given(cases())
@settings(max_examples=examples(150), deadline=None)
def test_theorem_2_a_root_that_is_not_checked_means_no_match(case: Case) -> None:
    model, event, _ = case
    ops, asked = all_of(case)
    forest, _ = ops.grow(event)
    checked = {number for number, tree in forest.planted.items() if tree.root.checked}
    unchecked = [each for number, each in enumerate(asked) if number not in checked]
    assume(unchecked)
    for pattern, injective in unchecked:
        assert not matches_pattern(pattern, event, model, injective)


@given(cases())
@settings(max_examples=examples(150), deadline=None)
def test_equal_waiting_patterns_are_matched_once(case: Case) -> None:
    """S5.4: a second set of the same subscriptions makes no more work in the lists, and hears the same."""
    _, event, _ = case
    once, thrice = all_of(case)[0].match(event), all_of(case, 3)[0].match(event)
    assert thrice.counts.offered == once.counts.offered
    assert thrice.counts.entries == once.counts.entries
    assert thrice.counts.statement_patterns == 3 * once.counts.statement_patterns
    assert thrice.matched == {(number, time) for number, _ in once.matched for time in range(3)}


@given(cases())
@settings(max_examples=examples(150), deadline=None)
def test_the_letter_of_section_5_3_finds_no_more_than_the_repair(case: Case) -> None:
    _, event, _ = case
    ops, _ = all_of(case)
    literal, repaired = ops.match(event, repaired=False), ops.match(event)
    assert literal.matched <= repaired.matched
    assert literal.counts.tree_nodes <= repaired.counts.tree_nodes


def outcomes(event: EventGraph, pattern: GraphPattern, model: ConceptModel) -> tuple[bool, bool]:
    ops: Ops[str] = Ops(model)
    ops.add("it", pattern)
    return "it" in ops.match(event, repaired=False).matched, "it" in ops.match(event).matched


def test_a_pattern_that_is_derived_after_its_arc_has_passed_is_lost_by_the_letter() -> None:
    event = drawn.event("H-p->a", "H-q->b", "b-r->a", "a-s->c")
    pattern = drawn.pattern("H-q->?1", "?1-r->?2", "?2-s->?3")
    assert matches_pattern(pattern, event, drawn.model())
    assert outcomes(event, pattern, drawn.model()) == (False, True)


def test_it_is_lost_in_whatever_order_the_arcs_stand() -> None:
    arcs = ["H-q->b", "H-p->a", "b-r->d", "d-t->a", "a-s->c"]
    pattern = drawn.pattern("H-q->?1", "?1-r->?2", "?2-t->?3", "?3-s->?4")
    for first in range(len(arcs)):
        event = drawn.event(*arcs[first:], *arcs[:first])
        assert matches_pattern(pattern, event, drawn.model())
        assert outcomes(event, pattern, drawn.model()) == (False, True)


def test_an_equal_pattern_that_is_registered_late_hears_what_was_found_before() -> None:
    """`?2` gets to `a` by two ways, the second of which is derived after `a-s->c` has passed."""
    event = drawn.event("H-p->a", "H-q->b", "b-r->a", "a-s->c")
    ops: Ops[str] = Ops(drawn.model())
    ops.add("early", drawn.pattern("H-p->?1", "?1-s->?2"))
    ops.add("late", drawn.pattern("H-q->?1", "?1-r->?2", "?2-s->?3"))
    assert ops.match(event, repaired=False).matched == {"early"}
    outcome = ops.match(event)
    assert outcome.matched == {"early", "late"}
    assert outcome.counts.statement_patterns - outcome.counts.entries == 1


def shown(node: Circle | Rectangle, names: tuple[PatternVertex, ...], event: EventGraph) -> object:
    """A circle as what it maps last, a rectangle as its statement, each with its children."""
    children = [shown(each, names, event) for each in node.children]
    if isinstance(node, Circle):
        asked, at = list(node.pairs.items())[-1]
        return {f"{names[asked].name}={event.vertexes[at].term}": children}
    arc = node.statement.arc
    return {f"({event.vertexes[node.parent.pairs[arc.source]].term}, {names[arc.target].name})": children}


def test_the_tree_of_figures_4_to_6() -> None:
    """The figures are lost from our text, which says: `(_:H, _:a)` matches `(_:H, ?1)`, and then `(_:a, ?2)` and
    `(_:a, ?4)` must match as well. The rest is chosen: of two ways for `?2`, one has no `?3`."""
    event = drawn.event("H:D-p3->a:A", "a-p1->b:B", "a-p1->c:B", "a-p2->d:C", "c-p2->e:C")
    pattern = drawn.pattern("H:D-p3->?1:A", "?1-p1->?2:B", "?2-p2->?3:C", "?1-p2->?4:C")
    ops: Ops[str] = Ops(drawn.model())
    ops.add("it", pattern)
    (tree,) = ops.grow(event)[0].planted.values()
    two: list[object] = [{"?2=_:b": [{"(_:b, ?3)": []}]}, {"?2=_:c": [{"(_:c, ?3)": [{"?3=_:e": []}]}]}]
    below = [{"(_:a, ?2)": two}, {"(_:a, ?4)": [{"?4=_:d": []}]}]
    assert shown(tree.root, pattern.vertexes, event) == {"_:H=_:H": [{"(_:H, ?1)": [{"?1=_:a": below}]}]}
    assert tree.nodes == 11
    of_two, of_four = [True, [False, 1, [False]], [True, 0, [True, [True, 0]]]], [True, [True, 0]]
    assert states(tree.root) == [True, 0, [True, [True, 0, of_two, of_four]]]


def states(node: Circle | Rectangle) -> list[object]:
    """As in Fig. 7: whether it is checked, of a circle the unchecked children, then the children."""
    counted = [node.unchecked_children] if isinstance(node, Circle) else []
    return [node.checked, *counted, *(states(each) for each in node.children)]


def test_nothing_is_derived_for_a_vertex_that_is_on_the_path_already() -> None:
    event = drawn.event("H-p->a", "a-q->H", "H-r->b")
    ops: Ops[str] = Ops(drawn.model())
    ops.add("cycle", drawn.pattern("H-p->?1", "?1-q->H"))
    ops.add("no cycle", drawn.pattern("H-p->?1", "?1-q->?2"))
    outcome = ops.match(event)
    assert outcome.matched == {"cycle"}
    assert outcome.counts.checked == 2  # SBPV lets the other through: that ?2 is home, too, is for BEBV to see
    assert outcome.counts.tree_nodes == 10


def test_an_ontology_is_looked_up_once_for_all_ancestors() -> None:
    model = drawn.model((("Computer", ("Product",)), ("Product", ())), (("mobile", ("phone",)), ("phone", ())))
    event = drawn.event("H-mobile->a:Computer")
    ops: Ops[str] = Ops(model)
    for name in ("Product", "Computer"):
        ops.add(name, drawn.pattern(f"H-phone->?1:{name}"))
    ops.add("narrower", drawn.pattern("H-mobile->?1:Desktop"))
    assert ops.match(event).matched == {"Product", "Computer"}
    assert ops.match(event).counts.offered == 2


def test_a_clique_is_left_undecided_rather_than_grown_without_end() -> None:
    size = 9
    clique = [f"v{one}-p->v{other}" for one in range(size) for other in range(size) if one != other]
    event = drawn.event("H-p->v0", *clique)
    pattern = drawn.pattern("H-p->?0", *(f"?{at}-p->?{at + 1}" for at in range(size)))
    ops: Ops[str] = Ops(drawn.model(), budget=2_000)
    ops.add("too long", pattern)
    outcome = ops.match(event)
    assert not outcome.matched
    assert outcome.undecided == {"too long"}


def test_siblings_that_cannot_be_told_apart_meet_the_budget_of_the_verification() -> None:
    event = drawn.event(*(f"H-p->a{at}" for at in range(9)))
    ops: Ops[str] = Ops(drawn.model(), budget=1_000)
    ops.add("one too many", drawn.pattern(*(f"H-p->?{at}" for at in range(10))))
    ops.add("just right", drawn.pattern(*(f"H-p->?{at}" for at in range(9))))
    outcome = ops.match(event)
    assert outcome.matched == {"just right"}
    assert outcome.undecided == {"one too many"}
    assert len(outcome.matched) / outcome.counts.subscriptions == 0.5
    assert outcome.counts == Counts(
        subscriptions=2,
        statements=9,
        offered=9,
        entries=1,
        statement_patterns=19,
        tree_nodes=(1 + 10 + 10 * 9) + (1 + 9 + 9 * 9),
        standing=(1 + 10) + (1 + 9),
        largest_tree=101,
        checked=2,
    )
    assert (outcome.counts.nodes_per_tree, outcome.counts.grown_per_tree) == (96.0, 85.5)
