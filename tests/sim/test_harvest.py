"""The quick simulation of a full tree counts what the network of machines on a clock does, edge by edge."""

from collections import Counter, defaultdict
from functools import partial
from random import Random

import pytest
from msgspec.structs import replace

from tocsin.routing.machine import Send
from tocsin.routing.reply.messages import Passed, Replied, Reported, Single, harvester_of
from tocsin.routing.reply.trees import FullTree
from tocsin.routing.reply.weights import VIEW, letter_bytes, node_name, receiver_name
from tocsin.sim.harvest import Harvest, Setting, harvest
from tocsin.sim.network import between
from tocsin.sim.reply import ReplyNetwork, Tree

TREES = [FullTree(2, 5), FullTree(3, 3), FullTree(4, 2), FullTree(5, 1), FullTree(1, 4)]
PARTS = [0.0, 0.5, 1.0]


class Weighing(ReplyNetwork):
    """Messages with replies, and their bytes, by the depth of who sent them."""

    def __init__(self, tree: Tree, branching: int, most: int) -> None:
        super().__init__(tree, send=between(1, 1, 50), most=most)
        self._branching = branching
        self.messages: Counter[int] = Counter()
        self.bytes: Counter[int] = Counter()

    def sent(self, send: Send) -> None:
        said = send.message.message if isinstance(send.message, Passed) else send.message
        if isinstance(said, Single) or (isinstance(said, Reported) and said.report.final):
            depth = self.depth(int(self._sender[8:16]))
            self.messages[depth] += 1
            self.bytes[depth] += letter_bytes(send.to, send.message)

    def depth(self, number: int) -> int:
        return 1 + self.depth((number - 1) // self._branching) if number else 0


def on_a_clock(setting: Setting) -> tuple[Weighing, dict[str, int]]:
    """The same tree, values and stateless nodes; all reply once all have been told."""
    tree, random = setting.tree, Random(setting.seed)
    others = range(1, tree.dispatchers)
    count = round(setting.stateless * len(others))
    stateless = others if count == len(others) else random.sample(others, count)
    inner = tree.dispatchers - tree.nodes(tree.height - 1)
    b = tree.branching
    children = {node_name(n): [node_name(b * n + 1 + at) for at in range(b)] for n in range(inner)}
    receivers = {node_name(number): b for number in range(inner, tree.dispatchers)}
    network = Weighing(Tree(children, receivers, frozenset(map(node_name, stateless))), b, setting.most)
    network.publish(VIEW, node_name(0), f"int:0..{setting.values - 1}")
    values = list(map(str, range(setting.values)))
    said, sizes, at = Counter[str](), 0, 0
    for node in receivers:
        for value in random.choices(values, k=b):
            name = receiver_name(at)
            said[value] += 1
            sizes += letter_bytes(harvester_of(VIEW, node), Replied(name, value))
            network.clock.after(1000 + at % 7, partial(network.reply, VIEW, node, name, value))
            at += 1
    network.messages[tree.height], network.bytes[tree.height] = at, sizes
    if setting.looks:
        network.clock.after(500, partial(network.look, VIEW, node_name(0), 1))
    stop: list[int] = []
    network.clock.after(10_000, partial(stop.append, 1))
    while not stop:
        network.clock.step()
    return network, dict(said)


@pytest.mark.parametrize("each_relay", [False, True])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("tree", TREES, ids=str)
def test_it_counts_what_the_machines_do_on_a_clock(tree: FullTree, part: float, each_relay: bool) -> None:
    setting = Setting(tree, 5, part, seed=3, each_relay=each_relay)
    found = harvest(setting)
    network, said = on_a_clock(setting)
    assert found.view.histogram.counts == said == network.view(VIEW, node_name(0)).histogram.counts
    for each in found.by_depth:
        assert (each.reply_messages, each.reply_bytes) == (network.messages[each.depth], network.bytes[each.depth])
    assert found.view.outstanding == network.view(VIEW, node_name(0)).outstanding == 0
    assert found.view.exact == network.view(VIEW, node_name(0)).exact


@pytest.mark.parametrize("tree", [FullTree(2, 9), FullTree(3, 6), FullTree(5, 4)], ids=str)
@pytest.mark.parametrize("values", [1, 12, 5000])
def test_one_relay_of_a_class_stands_for_all(tree: FullTree, values: int) -> None:
    for part in (0.3, 0.8, 1.0):
        setting = Setting(tree, values, part, seed=2)
        assert harvest(setting) == harvest(replace(setting, each_relay=True))


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_who_merges_sends_one_message_over_each_edge(tree: FullTree) -> None:
    found = harvest(Setting(tree, 3))
    assert found.reply_messages == found.publication_messages == tree.edges
    assert [each.reply_messages for each in found.by_depth] == [0, *map(tree.nodes, range(1, tree.height + 1))]
    assert (found.look_messages, found.view.exact, found.view.receivers) == (0, True, tree.receivers)


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_who_does_not_sends_each_reply_over_each_edge_to_the_root(tree: FullTree) -> None:
    found = harvest(Setting(tree, 3, 1.0))
    assert found.reply_messages == tree.receivers * tree.height
    assert found.view.histogram.total == tree.receivers


def test_state_is_where_table_1_has_it() -> None:
    tree = FullTree(2, 6)
    merging, passing = harvest(Setting(tree, 4)), harvest(Setting(tree, 4, 1.0))
    assert [each.state_max for each in merging.by_depth] == [4, 4, 4, 4, 4, 2, 0]
    assert [each.state_max for each in passing.by_depth] == [4, 0, 0, 0, 0, 5, 0], "the path, before the receivers"
    assert passing.by_depth[5].state_mean == 5.0


def test_a_publication_is_longer_by_the_path_where_nothing_is_merged() -> None:
    tree = FullTree(2, 6)
    lengths = defaultdict[float, list[float]](list)
    for part in (0.0, 1.0):
        lengths[part] = [e.publication_bytes / e.nodes for e in harvest(Setting(tree, 4, part)).by_depth[1:-1]]
    assert len(set(lengths[0.0])) == 1
    assert [b - a for a, b in zip(lengths[1.0], lengths[1.0][1:], strict=False)] == [22] * 4


def test_a_mixed_tree_is_between_both() -> None:
    tree = FullTree(3, 6)

    def messages(part: float) -> int:
        return harvest(Setting(tree, 10, part)).reply_messages

    assert tree.edges == messages(0.0) < messages(0.25) < messages(0.5) < messages(0.75) < messages(1.0)


def test_a_look_tells_how_many_there_are_where_nothing_is_merged() -> None:
    tree = FullTree(3, 4)
    unseen, seen = (harvest(Setting(tree, 4, 1.0, look=look)).view for look in (False, True))
    assert (unseen.exact, seen.exact, seen.receivers, seen.outstanding) == (False, True, 81, 0)


def test_a_histogram_that_is_cut_says_so() -> None:
    found = harvest(Setting(FullTree(4, 5), 5000, most=50)).view.histogram
    assert len(found.counts) == 50 and found.total == 1024 and not found.exact


def test_the_same_seed_is_the_same_run() -> None:
    def run(seed: int) -> Harvest:
        return harvest(Setting(FullTree(3, 4), 7, 0.5, seed))

    assert run(4) == run(4)
    assert run(4).view.histogram != run(5).view.histogram


def test_it_tells_how_far_it_is() -> None:
    told: list[int] = []
    harvest(Setting(FullTree(10, 4), 7, 1.0), told.append)
    assert told == [10_000]


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_a_large_tree_is_counted_alike(part: float) -> None:
    tree = FullTree(2, 16)
    found = harvest(Setting(tree, 1000, part))
    assert found.view.histogram.total == tree.receivers
    assert found.view.outstanding == 0
    least, most = tree.edges, tree.receivers * tree.height
    assert found.reply_messages == {0.0: least, 1.0: most}.get(part, found.reply_messages)
    assert least <= found.reply_messages <= most
