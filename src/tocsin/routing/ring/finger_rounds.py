"""Which fingers a node looks at next (Chord s4.4, `fix_fingers`): several at once while they may be wrong, then one at
a time. From the nearest on: the way to each is short once the one before is right."""

from tocsin.routing.ring.search import ForFinger, Search
from tocsin.routing.ring.table import Run, Table


class FingerRounds:
    def __init__(self, burst: int) -> None:
        self._burst = burst
        self._next = self._right = 0  # how many were right one after the other

    def distrust(self) -> None:
        self._right = 0

    def are_right(self, table: Table) -> bool:
        return self._right >= len(table.wanted())

    def searches(self, table: Table) -> list[Search]:
        """Of this round."""
        wanted = table.wanted()
        count = min(1 if self.are_right(table) else self._burst, len(wanted))
        return [_search(table, self._turn(wanted)) for _ in range(count)]

    def found(self, before: Run | None, run: Run) -> bool:
        """Was it right? If not, others may not be either."""
        is_right = before is not None and before.peers[0].id == run.peers[0].id
        self._right = self._right + 1 if is_right else 0
        return is_right

    def _turn(self, wanted: list[int]) -> int:
        finger = next((each for each in wanted if each >= self._next), wanted[0])
        self._next = finger + 1
        return finger


def _search(table: Table, finger: int) -> Search:
    """Who was it before knows best whether it still is."""
    key, run = table.target(finger), table.fingers[finger]
    return Search(key, ForFinger(finger), table.preceding(key), first=None if run is None else run.peers[0])
