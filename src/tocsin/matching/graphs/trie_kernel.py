"""Kernels that change the trie of steps and put it in order in memory."""

import numpy as np

from tocsin.matching.graphs import layout as at
from tocsin.matching.graphs.kernel import Ints, Numbers
from tocsin.matching.jit import kernel


@kernel
def descend(nodes: Numbers, root: int, steps: Numbers, reached: Ints) -> None:
    """How far a sequence of steps is there already: the last node, and how many steps lead to it."""
    node, taken = np.uint32(root), 0
    while taken < len(steps) // 2:
        child = nodes[node * at.WIDTH + at.BELOW]
        if child & at.ENDS:
            break
        while not child & at.LAST:
            base = child * at.WIDTH
            if nodes[base] == steps[2 * taken] and nodes[base + 1] == steps[2 * taken + 1]:
                break
            child = nodes[base + at.NEXT]
        if child & at.LAST:
            break
        node = child
        taken += 1
    reached[0], reached[1] = np.int32(node), taken


@kernel
def above(nodes: Numbers, node: int) -> int:
    """The node that a chain is below."""
    following = nodes[node * at.WIDTH + at.NEXT]
    while not following & at.LAST:
        following = nodes[following * at.WIDTH + at.NEXT]
    return int(following & ~np.uint32(at.LAST))


@kernel
def unlink(nodes: Numbers, parent: int, node: int) -> None:
    """Takes one node, with all below it, out of its chain."""
    following = nodes[node * at.WIDTH + at.NEXT]
    link = parent * at.WIDTH + at.BELOW
    while nodes[link] != node:
        link = nodes[link] * at.WIDTH + at.NEXT
    if link == parent * at.WIDTH + at.BELOW and following & at.LAST:
        nodes[link] = np.uint32(at.NOTHING)
    else:
        nodes[link] = following


@kernel
def packed(
    nodes: Numbers,
    lists: Ints,
    order: Ints,
    out: Numbers,
    out_lists: Ints,
    out_order: Ints,
    terminal: Ints,
    ends: Ints,
) -> None:
    """The same trie with each node before all that is below it, lists in that order, and where each entry ends."""
    waiting = np.empty(len(nodes) // at.WIDTH + 1, np.uint32)
    number = np.empty(len(nodes) // at.WIDTH + 1, np.uint32)
    made, list_end, order_end = at.ROOTS, 0, 0
    for root in range(at.ROOTS):
        out[root * at.WIDTH] = out[root * at.WIDTH + 1] = 0
        out[root * at.WIDTH + at.BELOW] = np.uint32(at.NOTHING)
        out[root * at.WIDTH + at.NEXT] = np.uint32(at.LAST)
        node = nodes[root * at.WIDTH + at.BELOW]
        if node & at.ENDS:
            continue
        out[root * at.WIDTH + at.BELOW] = made
        depth = 0
        while True:
            base, mine = node * at.WIDTH, np.uint32(made)
            made += 1
            out[mine * at.WIDTH] = nodes[base]
            out[mine * at.WIDTH + 1] = nodes[base + 1]
            below = nodes[base + at.BELOW]
            waiting[depth], number[depth] = node, mine
            if not below & at.ENDS:
                out[mine * at.WIDTH + at.BELOW] = made
                depth += 1
                node = below
                continue
            if below & at.IS_LIST:
                start, size = lists[at.RUN * (below & at.NUMBER)], lists[at.RUN * (below & at.NUMBER) + 1]
                out_lists[at.RUN * list_end], out_lists[at.RUN * list_end + 1] = order_end, size
                out_lists[at.RUN * list_end + 2] = size
                out[mine * at.WIDTH + at.BELOW] = np.uint32(at.LIST) | np.uint32(list_end)
                list_end += 1
                for place in range(start, start + size):
                    out_order[order_end] = order[place]
                    terminal[order[place]] = mine
                    order_end += 1
            else:
                out[mine * at.WIDTH + at.BELOW] = below
                terminal[below & at.NUMBER] = mine
            # On to the next one: of this chain, or of one above.
            finished = False
            while True:
                following = nodes[waiting[depth] * at.WIDTH + at.NEXT]
                if not following & at.LAST:
                    out[number[depth] * at.WIDTH + at.NEXT] = made
                    node = following
                    break
                above_it = np.uint32(root) if depth == 0 else number[depth - 1]
                out[number[depth] * at.WIDTH + at.NEXT] = above_it | np.uint32(at.LAST)
                finished = depth == 0
                if finished:
                    break
                depth -= 1
            if finished:
                break
    ends[0], ends[1] = list_end, order_end


@kernel
def unfinished(
    nodes: Numbers, lists: Ints, order: Ints, stamps: Numbers, visits: Numbers, now: int, found: Ints
) -> int:
    """The entries below nodes that were given up, and that were not found elsewhere."""
    count = 0
    path = np.empty(1024, np.uint32)
    for start in range(at.ROOTS, min(len(nodes) // at.WIDTH, len(stamps))):
        if stamps[start] != now or not visits[start] & at.IS_GONE:
            continue
        depth = 0
        path[0] = start
        while depth >= 0:
            node = path[depth]
            is_done = stamps[node] == now and visits[node] & at.IS_DONE
            below = nodes[node * at.WIDTH + at.BELOW]
            if not is_done and not below & at.ENDS:
                depth += 1
                path[depth] = below
                continue
            if not is_done:
                stamps[node], visits[node] = now, np.uint32(at.IS_DONE)  # told once
                if below & at.IS_LIST:
                    first, size = lists[at.RUN * (below & at.NUMBER)], lists[at.RUN * (below & at.NUMBER) + 1]
                    for place in range(first, first + size):
                        found[count] = order[place]
                        count += 1
                else:
                    found[count] = np.int32(below & at.NUMBER)
                    count += 1
            while depth > 0 and nodes[path[depth] * at.WIDTH + at.NEXT] & at.LAST:
                depth -= 1
            if depth == 0:
                break
            path[depth] = nodes[path[depth] * at.WIDTH + at.NEXT]
    return count
