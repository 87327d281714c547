"""What replies to a publication cost, in a full tree in which every receiver replies (paper 001 s4), as formulas.

An entry is a value with its count, or one address of a path. Where the paper's text is wrong this is corrected: where
nothing is merged it is no less for there being few values (s4.5), and what a node sends is told apart from what it
receives (Table 1).
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from tocsin.model.histogram import Histogram
from tocsin.routing.reply.messages import Passed, Replied, Report, Reported, Single, harvester_of, relay_of
from tocsin.routing.reply.trees import FullTree
from tocsin.routing.reply.weights import VIEW, letter_bytes, node_name, receiver_name, written_bytes

Algorithm = Literal["dispatcher", "message"]
ALGORITHMS: tuple[Algorithm, ...] = ("dispatcher", "message")
_MOST_ENCODED = 2_000  # entries; a longer histogram is longer in proportion


class Cost(Struct, frozen=True):
    """At most, of one publication at one node. What is sent is sent to the node before it."""

    sent_messages: int
    sent_entries: int
    received_messages: int
    received_entries: int
    stored_entries: int


def cost(algorithm: Algorithm, tree: FullTree, values: int, depth: int) -> Cost:
    """Of a node that is so far from the root, which sends nothing; a receiver sends its reply."""
    return (_merging if algorithm == "dispatcher" else _passing)(tree, values, depth)


def _merging(tree: FullTree, values: int, depth: int) -> Cost:
    """One message to the node before, with as many values as there are, or as there are receivers behind; until then
    they are kept."""
    if depth == tree.height:
        return Cost(1, 1, 0, 0, 0)
    kept = min(values, tree.behind(depth))
    received = tree.branching * min(values, tree.behind(depth + 1))
    return Cost(min(depth, 1), kept if depth else 0, tree.branching, received, kept)


def _passing(tree: FullTree, values: int, depth: int) -> Cost:
    """Every reply of those behind, with the path that is left. The last before the receivers keeps the path, the root
    what it has counted."""
    behind, is_last = tree.behind(depth), depth == tree.height - 1
    if depth == tree.height:
        return Cost(1, 1, 0, 0, 0)
    kept = min(values, behind) if not depth else depth if is_last else 0
    return Cost(behind if depth else 0, behind * depth, behind, behind * (1 if is_last else depth + 1), kept)


def distinct(values: int, replies: int) -> float:
    """How many different ones are to be expected among so many replies, each value as likely."""
    return float(replies) if values == 1 == replies else -values * math.expm1(replies * _log_other(values))


def _log_other(values: int) -> float:
    return math.log1p(-1 / values) if values > 1 else -math.inf


# Averages over the nodes behind the root (s4.4)


def mean_of(tree: FullTree, at: Callable[[int], float]) -> float:
    """Of what a node at each depth has, over all nodes behind the root, receivers too."""
    depths = range(1, tree.height + 1)
    return sum(tree.nodes(depth) * at(depth) for depth in depths) / tree.edges


def mean_linear(tree: FullTree) -> float:
    """Of |R| b^-d: about h (b-1)/b. The paper's middle term lacks the (b-1), its last has it."""
    b, h = tree.branching, tree.height
    return h * (b**h - b ** (h - 1)) / (b**h - 1) if b > 1 else 1.0


def mean_as_printed(tree: FullTree) -> float:
    """The middle term of s4.4 as it stands."""
    b, h = tree.branching, tree.height
    return h * b**h / (b * (b**h - 1)) if b > 1 else math.inf


def mean_quadratic(tree: FullTree) -> float:
    """Of |R| d b^-d: about h (h+1)/2 (b-1)/b."""
    return mean_linear(tree) * (tree.height + 1) / 2


# In bytes, as the encoder has them


@lru_cache(maxsize=1024)
def report_bytes(values: int, replies: int) -> int:
    """The last report of a node, if as many values as possible are among the replies behind it."""
    count = min(values, replies)
    encoded = min(count, _MOST_ENCODED)
    each, step = max(1, replies // count), max(1, values // encoded)
    empty, full = (
        _report_bytes({str(number * step): each for number in range(size)}, replies) for size in (0, encoded)
    )
    return empty + round((full - empty) * count / encoded)


def _report_bytes(counts: dict[str, int], replies: int) -> int:
    report = Report(1, replies, replies, 0, 0, True, True, Histogram(counts))
    return letter_bytes(harvester_of(VIEW, node_name(0)), Reported(node_name(1), report))


@lru_cache(maxsize=1024)
def passed_bytes(value: str, depth: int) -> int:
    """One reply, from a node at that depth to the one before, when none before it merges but the root."""
    single, root = Single(node_name(1), value), node_name(0)
    if depth == 1:
        return letter_bytes(harvester_of(VIEW, root), single)
    path = tuple(map(node_name, range(depth - 1)))
    return letter_bytes(relay_of(node_name(2)), Passed(VIEW, path, single))


def replied_bytes(value: str) -> int:
    """One reply, from a receiver to its node."""
    return letter_bytes(harvester_of(VIEW, node_name(0)), Replied(receiver_name(0), value))


def sent_bytes(algorithm: Algorithm, tree: FullTree, values: int, depth: int) -> int:
    """All that a node sends to the one before it."""
    value, behind = str(values - 1), tree.behind(depth)
    if depth == tree.height:
        return replied_bytes(value)
    return report_bytes(values, behind) if algorithm == "dispatcher" else behind * passed_bytes(value, depth)


def entry_bytes(values: int, replies: int) -> float:
    """A value with its count, in a histogram of all of them."""
    count = min(values, replies)
    return (report_bytes(values, replies) - _report_bytes({}, replies)) / count


def address_bytes() -> int:
    """One name of a path."""
    return written_bytes(node_name(0))


# What to reserve (s4.5)


class Need(Struct, frozen=True):
    """`mean` is over all nodes or edges, for all publications; `peak` at a publisher's own node, for its own; `total`
    there with those of others, which meet that node as they meet any."""

    mean: float
    peak: float
    total: float


class Traffic(Struct, frozen=True):
    messages: Need
    entries: Need
    bytes: Need


class Plan(Struct, frozen=True):
    """`edge`: what goes from a node to the one before it. `node`: what a node receives from all behind it."""

    edge: Traffic
    node: Traffic
    stored_entries: Need
    stored_bytes: Need


class Load(Struct, frozen=True):
    """So many publications wait for replies at once, and at most so many of one publisher."""

    publications: int
    per_publisher: int
    values: int


def plan(algorithm: Algorithm, tree: FullTree, load: Load) -> Plan:
    costs = [cost(algorithm, tree, load.values, depth) for depth in range(tree.height + 1)]
    sizes = [0, *(sent_bytes(algorithm, tree, load.values, depth) for depth in range(1, tree.height + 1))]
    each = [_stored_bytes(algorithm, tree, load.values, depth) for depth in range(tree.height)]

    def over_edges(at: Callable[[int], float]) -> Need:
        return _need(load, mean_of(tree, at), at(1))

    def over_nodes(at: Callable[[int], float]) -> Need:
        total = sum(tree.nodes(depth) * at(depth) for depth in range(tree.height))
        return _need(load, total / tree.dispatchers, at(0))

    return Plan(
        Traffic(
            over_edges(lambda depth: costs[depth].sent_messages),
            over_edges(lambda depth: costs[depth].sent_entries),
            over_edges(lambda depth: sizes[depth]),
        ),
        Traffic(
            over_nodes(lambda depth: costs[depth].received_messages),
            over_nodes(lambda depth: costs[depth].received_entries),
            over_nodes(lambda depth: tree.branching * sizes[depth + 1]),
        ),
        over_nodes(lambda depth: costs[depth].stored_entries),
        over_nodes(lambda depth: each[depth]),
    )


def _need(load: Load, mean: float, peak: float) -> Need:
    own = load.per_publisher * peak
    return Need(load.publications * mean, own, own + (load.publications - load.per_publisher) * mean)


def _stored_bytes(algorithm: Algorithm, tree: FullTree, values: int, depth: int) -> float:
    """Of histograms and paths alone: that a receiver has replied is remembered as well, by both algorithms alike."""
    stored = cost(algorithm, tree, values, depth).stored_entries
    if algorithm == "message" and depth > 0:
        return stored * address_bytes()
    return stored * entry_bytes(values, tree.behind(depth))
