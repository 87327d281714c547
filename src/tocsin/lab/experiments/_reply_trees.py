"""Trees that publications take through networks of different kinds, classed against what was reserved (paper 001 s4.5):
a tree is Reply-performance preserving if it is a part of the full tree that was reserved for."""

import math
from collections.abc import Callable, Iterator
from random import Random

from msgspec import Struct

from tocsin.routing.reply.trees import Fit, FullTree, fit

Children = dict[str, list[str]]
NODES = 1_000
LEAST, MOST = 2, 4  # connections of a node of a mesh that is held to some


class Classed(Struct, frozen=True):
    """So many trees of one kind; `overload` is the largest: receivers behind a node over those reserved for."""

    kind: str
    reserved: FullTree
    trees: int
    preserving: int
    too_wide: int
    too_deep: int
    overload: float


def classed(trees: int, seed: int) -> Iterator[Classed]:
    flat = FullTree(MOST, math.ceil(math.log(NODES, MOST)))
    yield _classed("parts of a hierarchy of these dimensions (s4.5.1)", flat, trees, seed, _part)
    yield _classed(f"a mesh of {LEAST} to {MOST} connections (s4.5.2)", flat, trees, seed, _held_mesh)
    deep = FullTree(MOST, 2 * flat.height)
    yield _classed("the same, reserved twice as deep", deep, trees, seed, _held_mesh)
    yield _classed("a mesh in which new nodes join where many are", flat, trees, seed, _grown_mesh)


def _classed(
    kind: str, reserved: FullTree, count: int, seed: int, make: Callable[[FullTree, Random], Children]
) -> Classed:
    random = Random(seed)
    found = [fit(make(reserved, random), reserved) for _ in range(count)]
    return Classed(
        kind,
        reserved,
        count,
        sum(each.preserving for each in found),
        sum(each.branching > reserved.branching for each in found),
        sum(each.height > reserved.height for each in found),
        max(map(_overload, found)),
    )


def _overload(found: Fit) -> float:
    return max((each.receivers / each.reserved for each in found.overloads), default=1.0)


def _part(tree: FullTree, random: Random) -> Children:
    """The ways from the root to some receivers."""
    children: dict[str, dict[str, None]] = {}
    for _ in range(random.randint(1, tree.receivers)):
        node = "0"
        for _ in range(tree.height):
            child = f"{node}.{random.randrange(tree.branching)}"
            children.setdefault(node, {})[child] = None
            node = child
    return {node: list(below) for node, below in children.items()}


def _held_mesh(_: FullTree, random: Random) -> Children:
    """A ring, so that all are in it, and chords between nodes that have room."""
    links = [{(node - 1) % NODES, (node + 1) % NODES} for node in range(NODES)]
    room = [node for node in range(NODES) for _ in range(MOST - LEAST)]
    random.shuffle(room)
    for one, other in zip(room[::2], room[1::2], strict=True):
        if one != other:
            links[one].add(other)
            links[other].add(one)
    return _shortest(links, random)


def _grown_mesh(_: FullTree, random: Random) -> Children:
    """Who has many connections gets more: two for each new node."""
    links: list[set[int]] = [{1}, {0}]
    ends = [0, 1]
    for node in range(2, NODES):
        links.append(set())
        for other in {random.choice(ends), random.choice(ends)}:
            links[node].add(other)
            links[other].add(node)
            ends += [node, other]
    return _shortest(links, random)


def _shortest(links: list[set[int]], random: Random) -> Children:
    """Everybody is told by the first who can; a publication at any node."""
    root = random.randrange(NODES)
    children, told, waiting = Children(), {root}, [root]
    for node in waiting:
        new = [each for each in sorted(links[node]) if each not in told]
        told.update(new)
        waiting += new
        if new:
            children[f"n{node}"] = [f"n{each}" for each in new]
    return children
