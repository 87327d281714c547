"""The search kernel: all patterns of a trie against one event graph at once.

Sets of vertexes are bits of words. A step keeps those vertexes that its property leads to, that have its predicate, and
that no other vertex of the pattern is bound to; classes and properties above what the event says are in the sets
already. A subtree is searched until all that ends in it was found. What is visited too often is given up, and told.

All of it is one file, because numba does not see a change of a kernel that is called from another one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tocsin.matching.graphs import layout as at
from tocsin.matching.jit import kernel

Ints = NDArray[np.int32]
Numbers = NDArray[np.uint32]
Words = NDArray[np.uint64]
Doubles = NDArray[np.float64]

ONE = np.uint64(1)
BITS = np.uint64(63)
ZERO = np.uint64(0)

# What a search is told, and what it tells.
NOW, DEPTH, LEAVES, VISITS, BUDGET = range(5)
FOUND, SPENT, GONE = range(3)


@intrinsic  # type: ignore[untyped-decorator]
def lowest(_context: Any, word: Any) -> Any:
    """The position of the lowest bit of a word that is not zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    del word
    return types.uint64(types.uint64), generate


@kernel
def compared(how: int, one: float, other: float) -> bool:
    """0 to 5 are `<`, `<=`, `>`, `>=`, `=`, `!=`."""
    if how == 0:
        return one < other
    if how == 1:
        return one <= other
    if how == 2:
        return one > other
    if how == 3:
        return one >= other
    return one == other if how == 4 else one != other


@kernel
def is_marked(masks: Words, fresh: Numbers, now: int, predicate: int, vertex: int, words: int) -> bool:
    if fresh[predicate] != now:  # no vertex of this event has it
        return False
    return bool((masks[predicate * words + (vertex >> 6)] >> (np.uint64(vertex) & BITS)) & ONE != ZERO)


@kernel
def passes(
    vertex: int,
    start: int,
    programs: Numbers,
    doubles: Doubles,
    vertexes: Ints,
    numbers: Doubles,
    masks: Words,
    fresh: Numbers,
    now: int,
    words: int,
    stack: NDArray[np.int8],
) -> bool:
    """Whether a vertex has the predicate that a program tells."""
    top, place = 0, start
    while programs[place] != at.STOP:
        what = programs[place]
        if what == at.MARKED:
            stack[top] = is_marked(masks, fresh, now, programs[place + 1], vertex, words)
            top += 1
            place += 2
        elif what == at.NUMBERED:
            if vertexes[at.KIND, vertex] != programs[place + 1]:
                stack[top] = at.ERROR
            else:
                stack[top] = compared(programs[place + 2], numbers[vertex], doubles[programs[place + 3]])
            top += 1
            place += 4
        elif what == at.TEXT:
            if vertexes[at.KIND, vertex] != programs[place + 1]:
                stack[top] = at.ERROR
            else:
                stack[top] = (vertexes[at.TEXT_ID, vertex] == np.int32(programs[place + 3])) == (
                    programs[place + 2] == 4
                )
            top += 1
            place += 4
        elif what == at.TOLD:
            stack[top] = is_marked(masks, fresh, now, programs[place + 1], vertex, words)
            fails = is_marked(masks, fresh, now, programs[place + 2], vertex, words)
            kind, asked = vertexes[at.KIND, vertex], programs[place + 3]
            if fails or kind < 0 or (asked != at.ANY_KIND and kind != asked):
                stack[top] = at.ERROR
            top += 1
            place += 4
        elif what == at.NOT:
            stack[top - 1] = at.ERROR if stack[top - 1] == at.ERROR else 1 - stack[top - 1]
            place += 1
        else:
            decisive = 0 if what == at.AND else 1
            one, other = stack[top - 2], stack[top - 1]
            top -= 1
            if one == decisive or other == decisive:
                stack[top - 1] = decisive
            else:
                stack[top - 1] = at.ERROR if one == at.ERROR or other == at.ERROR else 1 - decisive
            place += 1
    return bool(stack[0] == 1)


@kernel
def mark(masks: Words, fresh: Numbers, now: int, predicate: int, vertex: int, words: int) -> None:
    """One vertex more has a predicate in this event."""
    start = predicate * words
    if fresh[predicate] != now:
        fresh[predicate] = now
        for word in range(words):
            masks[start + word] = ZERO
    masks[start + (vertex >> 6)] |= ONE << (np.uint64(vertex) & BITS)


@kernel
def load(
    vertexes: Ints, told: Ints, sets_at: Ints, sets: Ints, masks: Words, fresh: Numbers, now: int, words: int
) -> None:
    """Which vertexes have the predicates that a class, a constant or a told test is."""
    for vertex in range(vertexes.shape[1]):
        mark(masks, fresh, now, at.ANY, vertex, words)
        known = vertexes[at.CLASSES, vertex]
        for place in range(sets_at[known], sets_at[known + 1]):
            mark(masks, fresh, now, sets[place], vertex, words)
        if vertexes[at.CONSTANT, vertex] >= 0:
            mark(masks, fresh, now, vertexes[at.CONSTANT, vertex], vertex, words)
    for place in range(told.shape[1]):
        mark(masks, fresh, now, told[0, place], told[1, place], words)


@kernel
def connect(
    arcs: Ints, below_at: Ints, below: Ints, local: Ints, rows: Ints, ways: Words, count: int, words: int
) -> int:
    """From each vertex along each property that is asked for: the set of vertexes there. How many properties it met."""
    met = 0
    for arc in range(arcs.shape[1]):
        for place in range(below_at[arcs[1, arc]], below_at[arcs[1, arc] + 1]):
            if local[below[place]] == 0:
                met += 1
                local[below[place]] = met
    rows[: count * (met + 1)] = 0
    used = 0
    for word in range(words):
        ways[word] = ZERO
    for arc in range(arcs.shape[1]):
        target = arcs[2, arc]
        for place in range(below_at[arcs[1, arc]], below_at[arcs[1, arc] + 1]):
            cell = arcs[0, arc] * (met + 1) + local[below[place]]
            if rows[cell] == 0:
                used += 1
                rows[cell] = used
                for word in range(words):
                    ways[used * words + word] = ZERO
            ways[rows[cell] * words + (target >> 6)] |= ONE << (np.uint64(target) & BITS)
    return met


@kernel
def disconnect(arcs: Ints, below_at: Ints, below: Ints, local: Ints) -> None:
    for arc in range(arcs.shape[1]):
        for place in range(below_at[arcs[1, arc]], below_at[arcs[1, arc] + 1]):
            local[below[place]] = 0


@kernel
def examine(
    able: np.uint64,
    word: int,
    predicate: int,
    program: int,
    programs: Numbers,
    doubles: Doubles,
    vertexes: Ints,
    numbers: Doubles,
    masks: Words,
    tried: Words,
    fresh: Numbers,
    now: int,
    words: int,
    stack: NDArray[np.int8],
) -> np.uint64:
    """Of the vertexes of one word those that pass a program, which is run once in an event for each of them."""
    start = predicate * words
    if fresh[predicate] != now:
        fresh[predicate] = now
        for each in range(words):
            masks[start + each] = tried[start + each] = ZERO
    rest = able & ~tried[start + word]
    tried[start + word] |= able
    while rest:
        bit = lowest(rest)
        rest &= rest - ONE
        vertex = (word << 6) + int(bit)
        if passes(vertex, program, programs, doubles, vertexes, numbers, masks, fresh, now, words, stack):
            masks[start + word] |= ONE << bit
    return np.uint64(able & masks[start + word])


@kernel
def place(
    choice: Words,
    given: Ints,
    size: int,
    width: int,
    taken: Words,
    low: int,
    up: int,
    came: Ints,
    queue: Ints,
    words: int,
) -> bool:
    """One leaf more gets a vertex of its own: an augmenting path, along which other leaves move over.

    `given` has a row for each number of leaves, so that the rows of fewer stay as they were.
    """
    old, new = size * width, (size + 1) * width
    for leaf in range(size):
        given[new + leaf] = given[old + leaf]
    for word in range(words):
        taken[up + word] = taken[low + word]
    for word in range(words):
        free = choice[size * words + word] & ~taken[low + word]
        if free:
            given[new + size] = (word << 6) + int(lowest(free))
            taken[up + word] |= free & (~free + ONE)
            return True
    came[:] = -1
    queue[0] = size
    first, last = 0, 1
    while first < last:
        leaf = queue[first]
        first += 1
        for word in range(words):
            rest = choice[leaf * words + word]
            while rest:
                bit = lowest(rest)
                rest &= rest - ONE
                vertex = (word << 6) + int(bit)
                if came[vertex] >= 0:
                    continue
                came[vertex] = leaf
                if taken[low + word] & (ONE << bit):
                    for owner in range(size):
                        if given[old + owner] == vertex:
                            queue[last] = owner
                            last += 1
                    continue
                taken[up + word] |= ONE << bit
                move_over(vertex, size, given, new, came)
                return True
    return False


@kernel
def move_over(vertex: int, last: int, given: Ints, row: int, came: Ints) -> None:
    mover = came[vertex]
    while mover != last:
        before = given[row + mover]
        given[row + mover] = vertex
        vertex = before
        mover = came[vertex]
    given[row + last] = vertex


@kernel
def give_up(nodes: Numbers, node: int, stamps: Numbers, visits: Numbers, now: int) -> None:
    """All that is still to be searched from a node on, along its chain."""
    while not node & at.LAST:
        if stamps[node] != now:
            stamps[node] = now
            visits[node] = 0
        if not visits[node] & at.IS_DONE:
            visits[node] |= at.IS_GONE
        node = nodes[node * at.WIDTH + at.NEXT]


@kernel
def bind_lowest(
    left: Words, used: Words, low: int, up: int, bind: Ints, position: int, injective: bool, words: int
) -> bool:
    """The next vertex of those that are left; False when none is."""
    for word in range(words):
        if left[up + word]:
            bit = lowest(left[up + word])
            left[up + word] &= left[up + word] - ONE
            bind[position] = (word << 6) + int(bit)
            if injective:
                for each in range(words):
                    used[up + each] = used[low + each]
                used[up + word] |= ONE << bit
            return True
    return False


@kernel
def keep_equal(able: Words, start: int, words: int, vertexes: Ints, row: int, other: int) -> bool:
    """Of some vertexes those with the same value as another; whether there are any."""
    some = False
    for word in range(words):
        rest = able[start + word]
        while rest:
            bit = lowest(rest)
            rest &= rest - ONE
            if vertexes[row, (word << 6) + int(bit)] == vertexes[row, other]:
                some = True
            else:
                able[start + word] &= ~(ONE << bit)
    return some


def _searcher(narrow: bool) -> Callable[..., Any]:
    """With `narrow` a set of vertexes is one word, which the compiler knows then."""

    @kernel
    def search(
        nodes: Numbers,
        lists: Ints,
        order: Ints,
        program_at: Ints,
        base_of: Ints,
        programs: Numbers,
        doubles: Doubles,
        sets_at: Ints,
        sets: Ints,
        below_at: Ints,
        below: Ints,
        vertexes: Ints,
        numbers: Doubles,
        told: Ints,
        arcs: Ints,
        masks: Words,
        tried: Words,
        fresh: Numbers,
        local: Ints,
        rows: Ints,
        ways: Words,
        stamps: Numbers,
        visits: Numbers,
        found: Ints,
        limits: Ints,
        tale: Ints,
    ) -> None:
        count = vertexes.shape[1]
        words = 1 if narrow else (count + 63) >> 6
        now, most_visits, budget = int(limits[NOW]), limits[VISITS], limits[BUDGET]
        load(vertexes, told, sets_at, sets, masks, fresh, now, words)
        met = connect(arcs, below_at, below, local, rows, ways, count, words) + 1
        depth, leaves = limits[DEPTH] + 2, limits[LEAVES] + 1
        # By level: the node, how many positions are bound, how many leaves have a place, whether all below was found.
        here, bound, held = np.zeros(depth, np.uint32), np.zeros(depth, np.int32), np.zeros(depth, np.int32)
        whole = np.zeros(depth, np.bool_)
        # By level: the vertexes that are still to be tried, those that are bound, and those that leaves have.
        left, used, taken = (
            np.zeros(depth * words, np.uint64),
            np.zeros(depth * words, np.uint64),
            np.zeros(depth * words, np.uint64),
        )
        choice, given = np.zeros((leaves + 1) * words, np.uint64), np.zeros((leaves + 1) * (leaves + 1), np.int32)
        came, queue = np.zeros(count, np.int32), np.zeros(leaves + 1, np.int32)
        bind, stack = np.zeros(256, np.int32), np.empty(at.STACK, np.int8)
        matched, spent, gone = 0, 0, False

        for root in range(at.ROOTS):
            injective = root == at.INJECTIVE
            node, level = nodes[root * at.WIDTH + at.BELOW], 0
            if node & at.ENDS:
                continue
            held[0], whole[0] = 0, True
            for word in range(words):
                used[word] = taken[word] = ZERO
            while True:
                if node & at.LAST:
                    # All children of the node at this level were tried, with the vertex that it is bound to now.
                    if level == 0:
                        break
                    mine, up = here[level], level * words
                    if whole[level]:
                        visits[mine] |= at.IS_DONE
                    elif bind_lowest(left, used, up - words, up, bind, bound[level] - 1, injective, words):
                        whole[level] = True
                        node = nodes[mine * at.WIDTH + at.BELOW]
                        continue
                    else:
                        whole[level - 1] = False
                    level -= 1
                    node = nodes[mine * at.WIDTH + at.NEXT]
                    continue

                # One more child of the node at this level.
                spent += 1
                if spent > budget:
                    gone = True
                    give_up(nodes, node, stamps, visits, now)
                    for above in range(1, level + 1):
                        give_up(nodes, here[above], stamps, visits, now)
                    break
                base = node * at.WIDTH
                if stamps[node] != now:
                    stamps[node] = now
                    visits[node] = 0
                elif visits[node] >= most_visits:  # or done, or given up
                    if not visits[node] & at.IS_DONE:
                        visits[node] |= at.IS_GONE
                        gone, whole[level] = True, False
                    node = nodes[base + at.NEXT]
                    continue
                visits[node] += 1
                step, kind = nodes[base + at.STEP], nodes[base + at.PREDICATE] >> at.KIND_SHIFT
                predicate = nodes[base + at.PREDICATE] & at.PREDICATE_MASK
                program = program_at[predicate]
                mask = (predicate if program < 0 else base_of[predicate]) * words
                known = fresh[mask // words] == now  # else no vertex of this event can have it
                low, up = level * words, (level + 1) * words
                fits = False
                if kind == at.END:
                    fits = True
                elif kind == at.START:
                    able = masks[mask] & ONE if known else ZERO
                    if able and program >= 0:
                        able = examine(
                            able, 0, predicate, program, programs, doubles,
                            vertexes, numbers, masks, tried, fresh, now, words, stack,
                        )  # fmt: skip
                    fits = able != ZERO
                else:
                    along = local[step & at.PROPERTY]
                    row = rows[bind[step >> at.SOURCE_SHIFT] * met + along] * words if along else 0
                    other = bind[(step >> at.OTHER_SHIFT) & at.POSITION]
                    if row == 0:
                        pass
                    elif kind == at.CLOSE:
                        fits = (ways[row + (other >> 6)] >> (np.uint64(other) & BITS)) & ONE != ZERO
                    elif known:
                        for word in range(words):
                            able = ways[row + word] & masks[mask + word] & ~used[low + word]
                            if able and program >= 0:
                                able = examine(
                                    able, word, predicate, program, programs, doubles,
                                    vertexes, numbers, masks, tried, fresh, now, words, stack,
                                )  # fmt: skip
                            left[up + word] = able
                            if able:
                                fits = True
                        if fits and kind == at.EQUAL:
                            same = at.VALUE_ID if injective else at.TERM_ID
                            fits = keep_equal(left, up, words, vertexes, same, other)
                        elif fits and kind == at.LEAF and injective:
                            for word in range(words):
                                choice[held[level] * words + word] = left[up + word]
                            fits = place(choice, given, held[level], leaves, taken, low, up, came, queue, words)
                if not fits:
                    whole[level] = False
                    node = nodes[base + at.NEXT]
                    continue

                level += 1
                here[level], whole[level] = node, True
                bound[level], held[level] = bound[level - 1], held[level - 1]
                for word in range(words):
                    used[up + word] = used[low + word]
                if kind == at.LEAF:
                    held[level] += 1
                else:
                    for word in range(words):
                        taken[up + word] = taken[low + word]
                if kind == at.NEW or kind == at.EQUAL:
                    bound[level] += 1
                    bind_lowest(left, used, low, up, bind, bound[level] - 1, injective, words)
                else:
                    for word in range(words):
                        left[up + word] = ZERO
                    if kind == at.START:
                        bind[0], bound[level] = 0, 1
                        if injective:
                            used[up] = ONE
                node = nodes[base + at.BELOW]
                if node & at.ENDS:
                    if node & at.IS_LIST:
                        run = at.RUN * (node & at.NUMBER)
                        for each in range(lists[run], lists[run] + lists[run + 1]):
                            found[matched] = order[each]
                            matched += 1
                    else:
                        found[matched] = node & at.NUMBER
                        matched += 1
                    node = np.uint32(at.LAST)
        disconnect(arcs, below_at, below, local)
        tale[FOUND], tale[SPENT], tale[GONE] = matched, spent, gone

    return search


search_narrow = _searcher(narrow=True)
search_wide = _searcher(narrow=False)
