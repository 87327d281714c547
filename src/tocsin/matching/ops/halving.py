"""Cutting a pattern in two (Messmer and Bunke leave open where): both halves are connected wherever that can be."""

from collections import defaultdict

from tocsin.matching.ops.part_views import Link

Vertexes = frozenset[int]


def halves(vertexes: Vertexes, links: frozenset[Link]) -> tuple[Vertexes, Vertexes]:
    """One branch of a spanning tree is cut off, the one nearest to half of the vertexes; or what is not connected."""
    parents = _spanning_tree(vertexes, links)
    if len(parents) < len(vertexes):
        connected = frozenset(parents)
        return connected, vertexes - connected
    branches = _branches(parents)
    root = next(iter(parents))
    cut = min((at for at in parents if at != root), key=lambda at: abs(2 * len(branches[at]) - len(vertexes)))
    return vertexes - branches[cut], frozenset(branches[cut])


def _spanning_tree(vertexes: Vertexes, links: frozenset[Link]) -> dict[int, int]:
    """From each vertex to its parent, parents first; the root is its own."""
    beside: defaultdict[int, set[int]] = defaultdict(set)
    for each in links:
        beside[each.source].add(each.target)
        beside[each.target].add(each.source)
    root = min(vertexes)
    parents, queue = {root: root}, [root]
    for at in queue:
        for other in sorted(beside[at] - parents.keys()):
            parents[other] = at
            queue.append(other)
    return parents


def _branches(parents: dict[int, int]) -> dict[int, set[int]]:
    branches = {at: {at} for at in parents}
    for at, parent in reversed(parents.items()):
        branches[parent] |= branches[at]
    return branches
