"""Which trees are covered by the one that was reserved for (paper 001 s4.5)."""

import pytest

from tocsin.model.refusal import Refusal
from tocsin.routing.reply.trees import FullTree, fit, fit_of_full


def full(branching: int, height: int) -> dict[str, list[str]]:
    """Level by level, the receivers too."""
    found: dict[str, list[str]] = {}
    layer = ["0"]
    for _ in range(height):
        found |= {node: [f"{node}.{number}" for number in range(branching)] for node in layer}
        layer = [child for node in layer for child in found[node]]
    return found


def test_a_full_tree_is_counted() -> None:
    tree = FullTree(3, 4)
    assert (tree.receivers, tree.dispatchers, tree.edges, tree.behind(1)) == (81, 40, 120, 27)
    assert fit(full(3, 4), tree).receivers == 81


def test_a_part_of_it_is_preserving() -> None:
    reserved = FullTree(3, 3)
    part = {"root": ["a", "b"], "a": ["c"], "c": ["d", "e", "f"]}
    for children in (full(3, 3), full(2, 3), full(3, 2), part):
        found = fit(children, reserved)
        assert found.preserving and not found.overloads
    assert (fit(part, reserved).branching, fit(part, reserved).height, fit(part, reserved).receivers) == (3, 3, 4)


def test_a_node_with_more_children_is_named() -> None:
    found = fit({"root": ["a", "b"], "a": ["c", "d", "e", "f"]}, FullTree(3, 3))
    assert not found.preserving
    assert [(each.node, each.depth) for each in found.excess] == [("a", 1)]
    assert "4 children" in found.excess[0].why
    assert not found.overloads, "nine receivers are reserved for behind it"


def test_a_node_that_is_deeper_is_named_and_what_is_below_it_is_not() -> None:
    found = fit({"root": ["a"], "a": ["b"], "b": ["c"], "c": ["d"]}, FullTree(3, 2))
    assert [(each.node, each.depth) for each in found.excess] == [("c", 3)]


def test_where_the_way_to_the_root_is_too_narrow() -> None:
    """Figure 4: a node with more behind it than there would be, and all before it."""
    found = fit({"root": ["a", "b"], "a": [f"r{number}" for number in range(10)]}, FullTree(3, 2))
    assert [(each.node, each.receivers, each.reserved) for each in found.overloads] == [("root", 11, 9), ("a", 10, 3)]


@pytest.mark.parametrize(
    ("children", "words"),
    [
        ({}, "none"),
        ({"a": ["b"], "b": ["a"]}, "none"),
        ({"a": ["b"], "c": ["d"]}, "'a', 'c'"),
        ({"a": ["b", "c"], "b": ["c"]}, "'c' is behind 'a' and behind 'b'"),
        ({"a": ["b", "b"]}, "'b' is behind"),
        ({"a": [], "b": ["c"], "c": ["b"]}, "circle"),
    ],
)
def test_what_is_no_tree_is_refused(children: dict[str, list[str]], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        fit(children, FullTree(2, 2))


def test_a_full_tree_is_classed_without_being_written_down() -> None:
    for tree, reserved in ((FullTree(3, 3), FullTree(2, 4)), (FullTree(2, 4), FullTree(3, 2)), (FullTree(2, 2),) * 2):
        short, whole = fit_of_full(tree, reserved), fit(full(tree.branching, tree.height), reserved)
        assert short.preserving == whole.preserving
        assert {each.depth for each in short.overloads} == {each.depth for each in whole.overloads}
        assert (short.receivers, short.branching, short.height) == (whole.receivers, whole.branching, whole.height)
