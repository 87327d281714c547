"""The forwarding trees that the costs of replies are told of (paper 001 s4), and which trees they hold for (s4.5)."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tocsin.model.refusal import Refusal


class FullTree(Struct, frozen=True):
    """Each node has `branching` behind it; the receivers are those that are `height` edges from the root."""

    branching: int
    height: int

    @property
    def receivers(self) -> int:
        return self.nodes(self.height)

    @property
    def dispatchers(self) -> int:
        return sum(map(self.nodes, range(self.height)))

    @property
    def edges(self) -> int:
        return sum(map(self.nodes, range(1, self.height + 1)))

    def nodes(self, depth: int) -> int:
        return int(self.branching**depth)

    def behind(self, depth: int) -> int:
        """The receivers behind a node; a receiver is behind itself."""
        return self.nodes(self.height - depth)


class Excess(Struct, frozen=True):
    """Why a node is not in the tree that was reserved for."""

    node: str
    depth: int
    why: str


class Overload(Struct, frozen=True):
    """A node with more receivers behind it than were reserved for at its depth: its way to the root is too narrow."""

    node: str
    depth: int
    receivers: int
    reserved: int


class Fit(Struct, frozen=True):
    """Whether a tree is Reply-performance Preserving: a part of the full tree that was reserved for, else Degrading."""

    branching: int
    height: int
    receivers: int
    excess: tuple[Excess, ...]
    overloads: tuple[Overload, ...]

    @property
    def preserving(self) -> bool:
        return not self.excess


def fit(children: Mapping[str, Sequence[str]], reserved: FullTree) -> Fit:
    """`children` of each node that has any, receivers among them: those that have none."""
    depths = _depths(children)
    widest = max((len(children.get(node, ())) for node in depths), default=0)
    receivers = _receivers(children, depths)
    excess = [each for node, depth in depths.items() for each in _excess(node, depth, children, reserved)]
    overloads = [
        Overload(node, depth, receivers[node], reserved.behind(depth))
        for node, depth in depths.items()
        if depth < reserved.height and receivers[node] > reserved.behind(depth)
    ]
    root = next(iter(depths))
    return Fit(widest, max(depths.values()), receivers[root], tuple(excess), tuple(overloads))


def fit_of_full(tree: FullTree, reserved: FullTree) -> Fit:
    """Of a tree that is full itself, and may be far too large to be written down: all nodes of a depth are alike."""
    excess, overloads = list[Excess](), list[Overload]()
    if tree.branching > reserved.branching:
        excess.append(Excess("the root, as every other", 0, _too_many(tree.branching, reserved)))
    if tree.height > reserved.height:
        depth = reserved.height + 1
        excess.append(Excess("all there", depth, _too_deep(depth, reserved)))
    for depth in range(min(tree.height, reserved.height)):
        if tree.behind(depth) > reserved.behind(depth):
            name = "each of them" if depth else "the root"
            overloads.append(Overload(name, depth, tree.behind(depth), reserved.behind(depth)))
    return Fit(tree.branching, tree.height, tree.receivers, tuple(excess), tuple(overloads))


def _too_many(count: int, reserved: FullTree) -> str:
    return f"it has {count:,} children, and {reserved.branching:,} are reserved for"


def _too_deep(depth: int, reserved: FullTree) -> str:
    return f"it is {depth} edges from the root, and {reserved.height} are reserved for"


def _excess(node: str, depth: int, children: Mapping[str, Sequence[str]], reserved: FullTree) -> list[Excess]:
    """What is below a node that is too deep need not be told as well."""
    found, count = list[Excess](), len(children.get(node, ()))
    if depth <= reserved.height and count > reserved.branching:
        found.append(Excess(node, depth, _too_many(count, reserved)))
    if depth == reserved.height + 1:
        found.append(Excess(node, depth, _too_deep(depth, reserved)))
    return found


def _depths(children: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Of all nodes, the root first, each before those behind it. What is no tree is refused."""
    parents: dict[str, str] = {}
    for parent, below in children.items():
        for child in below:
            if child in parents:
                raise _no_tree(f"{child!r} is behind {parents[child]!r} and behind {parent!r}")
            parents[child] = parent
    roots = [node for node in children if node not in parents]
    if len(roots) != 1:
        shown = ", ".join(map(repr, roots[:5])) or "none"
        raise _no_tree(f"one node is behind no other, the root; here that is {shown}")
    depths = {roots[0]: 0}
    waiting = [roots[0]]
    for node in waiting:
        for child in children.get(node, ()):
            depths[child] = depths[node] + 1
            waiting.append(child)
    if lost := next((node for node in children if node not in depths), None):
        raise _no_tree(f"{lost!r} is not behind the root: it is in a circle")
    return depths


def _receivers(children: Mapping[str, Sequence[str]], depths: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in reversed(list(depths)):
        below = children.get(node, ())
        found[node] = sum(found[each] for each in below) if below else 1
    return found


def _no_tree(why: str) -> Refusal:
    return Refusal("malformed", f"not a tree: {why}")
