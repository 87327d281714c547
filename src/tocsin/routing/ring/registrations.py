"""The temporary registrations of a rendezvous: which interface nodes asked about which flows (paper 004, s5.B)."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.routing.ring.relay_messages import Arc, Flow, Span

Spans = Mapping[str, Span]  # by plane


class Registration(Struct, frozen=True):
    """A later one of the same node and flow has a higher number, and stands in place of the earlier."""

    number: int
    node: str
    flow: Flow
    until: Instant


class Registrations:
    """Found by the keys that a subscription spans, without looking at the others."""

    def __init__(self) -> None:
        self._numbered: dict[int, Registration] = {}  # oldest first
        self._at: dict[tuple[str, int], dict[Flow, dict[str, Registration]]] = {}
        self._keys: dict[str, list[int]] = {}  # of each plane, in order

    def __len__(self) -> int:
        return len(self._numbered)

    def put(self, registration: Registration) -> None:
        node, flow = registration.node, registration.flow
        self.discard(node, flow)
        place = flow.plane, flow.key
        if place not in self._at:
            insort(self._keys.setdefault(flow.plane, []), flow.key)
        self._at.setdefault(place, {}).setdefault(flow, {})[node] = registration
        self._numbered[registration.number] = registration

    def discard(self, node: str, flow: Flow) -> None:
        found = self._at.get((flow.plane, flow.key), {}).get(flow, {}).get(node)
        if found is not None:
            self.remove(found.number)

    def remove(self, number: int) -> None:
        """The one with this number, if it was not replaced."""
        found = self._numbered.pop(number, None)
        if found is None:
            return
        flow = found.flow
        flows = self._at[flow.plane, flow.key]
        del flows[flow][found.node]
        if not flows[flow]:
            del flows[flow]
        if not flows:
            self._clear(flow.plane, flow.key)

    def collect(self, now: Instant) -> None:
        """What has passed, oldest first; one that was handed over may pass before its turn, and waits for it."""
        while self._numbered and (oldest := next(iter(self._numbered.values()))).until <= now:
            self.remove(oldest.number)

    def remove_oldest(self) -> None:
        self.remove(next(iter(self._numbered)))

    def spanned(self, spans: Spans | None) -> Iterator[Registration]:
        """All with a key in the spans; without spans all there are."""
        for plane in self._keys if spans is None else [each for each in spans if each in self._keys]:
            keys = self._keys[plane]
            for key in keys if spans is None else _walk(keys, spans[plane]):
                for nodes in self._at[plane, key].values():
                    yield from nodes.values()

    def within(self, arc: Arc) -> list[Registration]:
        return [each for each in self._numbered.values() if each.flow.key in arc]

    def _clear(self, plane: str, key: int) -> None:
        del self._at[plane, key]
        keys = self._keys[plane]
        del keys[bisect_left(keys, key)]
        if not keys:
            del self._keys[plane]


def _walk(keys: list[int], span: Span) -> Iterator[int]:
    """Those of the keys that are in the span; each step finds one, or passes a gap of the span."""
    at = 0
    while at < len(keys) and (wanted := span.next_key(keys[at])) is not None:
        if wanted == keys[at]:
            yield wanted
            at += 1
        else:
            at = bisect_left(keys, wanted, at)
