"""What replies cost over full trees of two to five behind each node, up to a million receivers, by the machines."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from msgspec import Struct

from tocsin.lab.experiment import Progress
from tocsin.routing.reply.trees import FullTree
from tocsin.sim.harvest import Depth, Setting, harvest

BRANCHINGS = (2, 3, 4, 5)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
PARTS = {"dispatcher": 0.0, "message": 1.0, "mixed": 0.5}
TIMES_AS_MANY = 10  # values as receivers, where |P| is above |R|
MOST_FOR_ALL = 100_000  # receivers, where all algorithms have many values; beyond only the one they matter most to


class Task(Struct, frozen=True):
    algorithm: str
    tree: FullTree
    many: bool
    values: int
    seed: int


class Point(Struct, frozen=True):
    """Bytes and state by depth; entries are of all messages over edges, receivers' own among them."""

    task: Task
    by_depth: list[Depth]
    distinct: int
    outstanding: int
    exact: bool
    seconds: float

    @property
    def algorithm(self) -> str:
        return self.task.algorithm

    @property
    def tree(self) -> FullTree:
        return self.task.tree

    @property
    def messages(self) -> int:
        return sum(each.reply_messages for each in self.by_depth)

    @property
    def bytes(self) -> int:
        return sum(each.reply_bytes for each in self.by_depth)

    @property
    def look_messages(self) -> int:
        return sum(each.look_messages for each in self.by_depth)

    @property
    def publication_bytes(self) -> int:
        return sum(each.publication_bytes for each in self.by_depth)

    @property
    def state(self) -> int:
        return max(each.state_max for each in self.by_depth)

    @property
    def mean_entries(self) -> float:
        """Over an edge. Who merges sends what it has kept; who does not a value and the path that is left."""
        if self.algorithm == "dispatcher":
            sent = sum(each.state_sum for each in self.by_depth[1:-1])
        else:
            sent = sum(each.reply_messages * each.depth for each in self.by_depth[1:-1])
        return (sent + self.tree.receivers) / self.tree.edges


def heights(branching: int, most: int) -> list[int]:
    """Those of about each size, but no larger than a tenth more."""
    found = []
    for size in (*(each for each in SIZES if each < most), most):
        height = 1
        while branching ** (height + 1) <= 1.1 * size:
            height += 1
        found.append(height)
    return sorted(set(found))


def tasks(most: int, few: int, seed: int) -> Iterator[Task]:
    """The longest first."""
    trees = [FullTree(b, height) for b in BRANCHINGS for height in heights(b, most)]
    for tree in sorted(trees, key=lambda each: -each.dispatchers):
        many = TIMES_AS_MANY * tree.receivers
        for algorithm in ("mixed", "dispatcher", "message"):
            yield Task(algorithm, tree, False, few, seed)
            if algorithm == "dispatcher" or tree.receivers <= MOST_FOR_ALL:
                yield Task(algorithm, tree, True, many, seed)


def measured(task: Task) -> Point:
    began = time.process_time()
    found = harvest(Setting(task.tree, task.values, PARTS[task.algorithm], task.seed))
    seconds, view = time.process_time() - began, found.view
    return Point(task, found.by_depth, len(view.histogram.counts), view.outstanding, view.exact, seconds)


def points(asked: Iterable[Task], workers: int, progress: Progress) -> list[Point]:
    """Side by side in so many processes; with none, here."""
    waiting, found = list(asked), list[Point]()

    def told(point: Point) -> Point:
        found.append(point)
        progress(f"Table 1: {len(found)} of {len(waiting)} trees")
        return point

    progress(f"Table 1: {len(waiting)} trees, the largest first")
    if not workers:
        return [told(measured(each)) for each in waiting]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return [told(each) for each in pool.map(measured, waiting)]
