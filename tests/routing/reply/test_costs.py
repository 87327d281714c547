"""The formulas of paper 001 s4 are what the machines send and keep."""

import math

import pytest

from tocsin.routing.reply import costs
from tocsin.routing.reply.costs import ALGORITHMS, Algorithm, Load, cost, distinct, plan
from tocsin.routing.reply.trees import FullTree
from tocsin.sim.harvest import Harvest, Setting, harvest

TREES = [FullTree(2, 8), FullTree(3, 5), FullTree(5, 3), FullTree(4, 1), FullTree(1, 3)]
FEW, MANY = 4, 10**9  # values, so that all of them come wherever there is room, and none comes twice


def run(algorithm: Algorithm, tree: FullTree, values: int) -> Harvest:
    return harvest(Setting(tree, values, 0.0 if algorithm == "dispatcher" else 1.0))


@pytest.mark.parametrize("tree", TREES, ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_messages_are_exactly_those(algorithm: Algorithm, tree: FullTree) -> None:
    for each in run(algorithm, tree, FEW).by_depth:
        said = cost(algorithm, tree, FEW, each.depth)
        assert each.reply_messages == each.nodes * said.sent_messages
        if each.depth < tree.height:
            below = cost(algorithm, tree, FEW, each.depth + 1)
            assert said.received_messages == tree.branching * below.sent_messages
            assert said.received_entries == tree.branching * below.sent_entries


@pytest.mark.parametrize("tree", TREES, ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_entries_are_exactly_those_when_no_value_comes_twice(algorithm: Algorithm, tree: FullTree) -> None:
    for each in run(algorithm, tree, MANY).by_depth:
        assert each.state_sum == each.nodes * cost(algorithm, tree, MANY, each.depth).stored_entries


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_entries_are_at_most_those_when_values_come_again(algorithm: Algorithm) -> None:
    tree = FullTree(2, 9)
    for each in run(algorithm, tree, 20).by_depth:
        assert each.state_max <= cost(algorithm, tree, 20, each.depth).stored_entries
    assert run("dispatcher", tree, 20).by_depth[0].state_max == cost("dispatcher", tree, 20, 0).stored_entries == 20


def test_how_many_are_different() -> None:
    assert distinct(1, 1) == distinct(1, 50) == 1
    assert distinct(10, 10**6) == pytest.approx(10)
    assert distinct(10**9, 100) == pytest.approx(100, rel=1e-5)
    tree = FullTree(2, 10)
    for each in run("dispatcher", tree, 30).by_depth[:-1]:
        assert each.state_mean == pytest.approx(distinct(30, tree.behind(each.depth)), rel=0.1)


@pytest.mark.parametrize("values", [FEW, MANY])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_bytes_are_those_of_the_encoder(algorithm: Algorithm, values: int) -> None:
    """Of all values as long as the longest, each with the mean count: within a few of a hundred."""
    tree = FullTree(4, 5)
    for each in run(algorithm, tree, values).by_depth[1:]:
        said = each.nodes * costs.sent_bytes(algorithm, tree, values, each.depth)
        assert 0.9 * said <= each.reply_bytes <= 1.06 * said


def test_a_long_histogram_is_weighed_by_its_first_part() -> None:
    whole = costs._report_bytes({str(number): 1 for number in range(0, 10**6, 100)}, 10_000)
    assert costs.report_bytes(10**6, 10_000) == pytest.approx(whole, rel=0.05)


@pytest.mark.parametrize("tree", [each for each in TREES if each.branching > 1], ids=str)
def test_averages_of_section_4_4(tree: FullTree) -> None:
    """The paper's middle term is too small by b-1."""
    b, h = tree.branching, tree.height
    assert costs.mean_linear(tree) == pytest.approx(costs.mean_of(tree, tree.behind))
    assert costs.mean_quadratic(tree) == pytest.approx(costs.mean_of(tree, lambda depth: depth * tree.behind(depth)))
    assert costs.mean_as_printed(tree) * (b - 1) == pytest.approx(costs.mean_linear(tree))
    assert costs.mean_linear(tree) == pytest.approx(h * (b - 1) / b, rel=1.01 / (b**h - 1))


def test_a_chain_has_averages_too() -> None:
    assert costs.mean_linear(FullTree(1, 7)) == 1
    assert math.isinf(costs.mean_as_printed(FullTree(1, 7)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_plan_is_the_mean_and_the_peak_of_the_simulation(algorithm: Algorithm) -> None:
    tree, n, m = FullTree(3, 5), 10, 2
    found, ran = plan(algorithm, tree, Load(n, m, MANY)), run(algorithm, tree, MANY)
    assert found.edge.messages.mean == pytest.approx(n * ran.reply_messages / tree.edges)
    assert found.edge.messages.peak == pytest.approx(m * ran.by_depth[1].reply_messages / 3)
    assert found.node.messages.mean == pytest.approx(n * ran.reply_messages / tree.dispatchers)
    assert found.node.messages.peak == m * ran.by_depth[1].reply_messages
    assert found.edge.bytes.mean == pytest.approx(n * ran.reply_bytes / tree.edges, rel=0.05)
    assert found.node.bytes.peak == pytest.approx(m * ran.by_depth[1].reply_bytes, rel=0.05)
    stored = sum(each.state_sum for each in ran.by_depth)
    assert found.stored_entries.mean == pytest.approx(n * stored / tree.dispatchers)
    assert found.stored_entries.peak == m * ran.state_entries


def test_few_values_bound_what_is_merged_and_nothing_else() -> None:
    """Section 4.5 has min(|P|, |R|) for both."""
    tree = FullTree(2, 12)
    few, many = (plan("dispatcher", tree, Load(1, 1, values)) for values in (10, MANY))
    assert few.node.entries.peak == 20 and many.node.entries.peak == tree.receivers
    few, many = (plan("message", tree, Load(1, 1, values)) for values in (10, MANY))
    assert few.node.entries == many.node.entries
    assert few.node.entries.peak == tree.receivers
    assert few.edge.entries.mean == pytest.approx(costs.mean_quadratic(tree), rel=0.2)


def test_more_publications_need_more() -> None:
    one, ten = (plan("message", FullTree(2, 6), Load(n, m, 5)) for n, m in ((1, 1), (10, 3)))
    assert ten.edge.bytes.mean == pytest.approx(10 * one.edge.bytes.mean)
    assert ten.stored_bytes.peak == pytest.approx(3 * one.stored_bytes.peak)
    own, others = 3 * one.node.bytes.peak, 7 * one.node.bytes.mean
    assert ten.node.bytes.total == pytest.approx(own + others)
