"""Changes of subscriptions that are not acknowledged yet, and what each of them waits for."""

import heapq
from collections import defaultdict
from collections.abc import Collection
from itertools import count

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.routing.ring.registrations import Registration


class _Change(Struct):
    """For registrations to be used, by their numbers, or all to pass; and for a moment in any case."""

    left: set[int]
    until: Instant
    not_before: Instant


class Changes:
    def __init__(self) -> None:
        self._waiting: dict[str, _Change] = {}
        self._by_registration: defaultdict[int, list[str]] = defaultdict(list)
        self._agenda: list[tuple[Instant, int, str]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, change: str, registrations: Collection[Registration], not_before: Instant) -> None:
        until = max([not_before, *(each.until for each in registrations)])
        self._waiting[change] = _Change({each.number for each in registrations}, until, not_before)
        for each in registrations:
            self._by_registration[each.number].append(change)
        self._plan(until if registrations else not_before, change)

    def use(self, registration: int) -> None:
        for change in self._by_registration.pop(registration, ()):
            found = self._waiting.get(change)
            if found is not None:
                found.left.discard(registration)
                if not found.left:
                    self._plan(found.not_before, change)

    def take_settled(self, now: Instant) -> list[str]:
        settled: list[str] = []
        while self._agenda and self._agenda[0][0] <= now:
            change = heapq.heappop(self._agenda)[2]
            if change in self._waiting and self._is_settled(self._waiting[change], now):
                del self._waiting[change]
                settled.append(change)
        return settled

    def take_all(self) -> list[str]:
        every = list(self._waiting)
        self._waiting.clear()
        self._by_registration.clear()
        return every

    def due(self) -> Instant | None:
        """When one may be settled though nothing is heard."""
        while self._agenda and self._agenda[0][2] not in self._waiting:
            heapq.heappop(self._agenda)
        return self._agenda[0][0] if self._agenda else None

    def _is_settled(self, change: _Change, now: Instant) -> bool:
        return change.until <= now or (not change.left and change.not_before <= now)

    def _plan(self, when: Instant, change: str) -> None:
        heapq.heappush(self._agenda, (when, next(self._order), change))
