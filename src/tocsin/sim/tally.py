"""The same network for worlds so large that it can only be counted what happens, not kept."""

from collections.abc import Callable, Iterable

from tocsin.routing.implicit.messages import Deliver, Effect, Forward, Handled
from tocsin.semantics.interest.world import World
from tocsin.sim.implicit import Network

Weigh = Callable[[Iterable[str]], int]  # the bytes of a header


class Tally(Network):
    """Headers are unlimited, so that one sees how they grow. `weigh` is asked once for all copies that share one."""

    def __init__(self, world: World, weigh: Weigh) -> None:
        super().__init__(world, most_names=None)
        self.notifications = self.dropped = self.withheld = 0
        self.reached: set[str] = set()
        self.largest_header = self.header_bytes = 0
        self._weigh, self._weighed = weigh, (tuple[str, ...](), 0)

    def _do(self, effect: Effect) -> None:
        match effect:
            case Forward():
                self._count(effect.copy.notified)
                super()._do(effect)
            case Handled():
                self.dropped += effect.dropped
                self.withheld += len(effect.withheld)
            case Deliver():
                self.reached.add(effect.copy.to)
            case _:
                super()._do(effect)

    def _count(self, header: tuple[str, ...]) -> None:
        self.notifications += 1
        if header is not self._weighed[0]:
            self._weighed = header, self._weigh(header) if header else 0
        self.header_bytes += self._weighed[1]
        self.largest_header = max(self.largest_header, self._weighed[1])
