"""Messmer and Bunke's network of parts; that it is exact is among the agreements."""

from random import Random

from hypothesis import given, settings
from tests.effort import examples
from tests.matching.graphs import drawn
from tests.matching.graphs.strategies import random_event, random_model, random_pattern, randoms

from tocsin.matching.ops.decomposition import Decomposition, halves, link


def test_patterns_share_the_parts_they_have_in_common() -> None:
    network: Decomposition[str] = Decomposition(drawn.model())
    network.add("small", drawn.pattern("H:A-p->?1:B", "?1-q->?2:C"))
    parts = len(network.parts)
    network.add("the same", drawn.pattern("H:A-p->?b:B", "?b-q->?c:C"))
    assert len(network.parts) == parts
    network.add("one more", drawn.pattern("?1:B-q->?2:C", "H:A-p->?1", "H-r->?3:D"))
    assert len(network.parts) == parts + 2  # its fourth vertex, and that one with all the rest
    event = drawn.event("H:A-p->b:B", "b-q->c:C")
    assert network.match(event).matched == {"small", "the same"}


@given(randoms())
@settings(max_examples=examples(100), deadline=None)
def test_the_same_pattern_once_more_adds_no_part(random: Random) -> None:
    model, event = random_model(random), random_event(random)
    pattern = random_pattern(random, event, model)
    network: Decomposition[int] = Decomposition(model)
    network.add(1, pattern)
    parts = list(network.parts)
    network.add(2, pattern)
    assert network.parts == parts
    assert network.match(event).matched in ({1, 2}, frozenset())


def test_both_halves_are_connected() -> None:
    chain = frozenset(link(at, "p", at + 1) for at in range(9))
    assert halves(frozenset(range(10)), chain) == (frozenset(range(5)), frozenset(range(5, 10)))
    apart = frozenset((link(0, "p", 1), link(2, "p", 3)))
    assert halves(frozenset(range(4)), apart) == (frozenset((0, 1)), frozenset((2, 3)))


def test_too_many_pairs_leave_a_pattern_undecided_and_the_others_alone() -> None:
    event = drawn.event(*(f"H:A-p->a{at}:B" for at in range(30)))
    network: Decomposition[str] = Decomposition(drawn.model(), budget=1_000)
    network.add("too many", drawn.pattern(*(f"H:A-p->?{at}:B" for at in range(6))))
    network.add("few", drawn.pattern("H:A-p->?1:B", "H-p->?2:B"))
    network.add("none", drawn.pattern("H:B-p->?1:B", "H-p->?2:B"))
    decided = network.match(event)
    assert decided.matched == {"few"}
    assert decided.undecided == {"too many"}
