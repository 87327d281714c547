"""Time that passes when something happens: what was put off is done in the order of its time, ties as they came."""

import heapq
from collections.abc import Callable
from itertools import count
from random import Random

from tocsin.model.identity import Instant

Delay = Callable[[], int]
MILLISECOND = 1_000_000


def constant(nanoseconds: int = MILLISECOND) -> Delay:
    return lambda: nanoseconds


def between(seed: int, least: int, most: int) -> Delay:
    """The same seed gives the same delays, so that a run can be seen again."""
    random = Random(seed)
    return lambda: random.randint(least, most)


class Clock:
    def __init__(self) -> None:
        self.now = Instant(0)
        self._order = count()
        self._waiting: list[tuple[int, int, Callable[[], object]]] = []

    def after(self, delay: int, work: Callable[[], object]) -> None:
        heapq.heappush(self._waiting, (self.now + delay, next(self._order), work))

    def step(self) -> bool:
        """Does what comes next; false when there is nothing."""
        if not self._waiting:
            return False
        when, _, work = heapq.heappop(self._waiting)
        self.now = Instant(when)
        work()
        return True

    def run(self) -> None:
        while self.step():
            pass

    def __len__(self) -> int:
        return len(self._waiting)
