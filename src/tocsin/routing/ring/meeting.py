"""Who tells a subscription of a notification that lies at many keys, and so at many nodes (paper 004 s3.A): of the keys
that both have, all nodes pick the same one, and who has that tells. So it is told once, wherever else both stand."""

from functools import lru_cache

from tocsin.matching.catalogue import Catalogue
from tocsin.model.filters import Filter
from tocsin.model.notification import Notification
from tocsin.model.space import InformationSpace
from tocsin.model.subscription import Subscription
from tocsin.routing.ring.identifiers import BITS, LAST
from tocsin.routing.ring.keys import place_of, told_of
from tocsin.routing.ring.ranges import Range, Ranges
from tocsin.routing.ring.roster import Roster
from tocsin.routing.ring.spans import Box, Several, Span, curve_of

CIRCLE: Ranges = ((0, LAST),)
MOST_REMEMBERED = 4_096  # spans


def tells(subscription: Subscription, notification: Notification, catalogue: Catalogue) -> bool:
    """Whether one that matches is told by the node that took the notification for some arcs. What arcs those are is
    part of the record: who matches it again, here or elsewhere and by whatever roster, comes to the same."""
    way = notification.way
    space = None if way is None or not way.arcs else catalogue.spaces.get(way.plane)
    if way is None or space is None:
        return True
    key = meeting_key(_asked(subscription.filters, space), told_of(notification, space))
    return key is None or any(first <= key <= last for first, last in way.arcs)


@lru_cache(MOST_REMEMBERED)
def _asked(filters: tuple[Filter, ...], space: InformationSpace) -> Span:
    return place_of(filters, {space.name: space}).span


def meeting_key(one: Span, other: Span) -> int | None:
    """A key of both, the same whoever asks and in whatever roster; None when they have none in common."""
    pairs = ((first, second) for first in _parts(one) for second in _parts(other))
    return next((key for pair in pairs if (key := _common(*pair)) is not None), None)


def _parts(span: Span) -> tuple[Span, ...]:
    return span.spans if isinstance(span, Several) else (span,)


def _common(one: Span, other: Span) -> int | None:
    if isinstance(one, Box) and isinstance(other, Box) and _are_of_one_space(one, other):
        return _corner(one, other)
    at = one.next_key(0)
    while at is not None:
        found = other.next_key(at)
        if found is None or found == at:
            return found
        at = one.next_key(found)
    return None


def _are_of_one_space(one: Box, other: Box) -> bool:
    return one.start == other.start and len(one.sides) == len(other.sides)


def _corner(one: Box, other: Box) -> int | None:
    """Of all cells in both the lowest in each dimension, which is quicker to find than the first on the curve."""
    cells = list(map(_lowest, one.sides, other.sides))
    known = [each for each in cells if each is not None]
    if len(known) < len(cells):
        return None
    curve = curve_of(len(known))
    return (curve.index(known) << BITS - curve.dimensions * curve.bits) + one.start & LAST


def _lowest(one: Ranges, other: Ranges) -> int | None:
    both = (max(first, start) for first, last in one for start, end in other if max(first, start) <= min(last, end))
    return min(both, default=None)


def shared_out(roster: Roster, span: Span, arcs: Ranges = CIRCLE) -> dict[str, Ranges]:
    """Those who have keys of it in these arcs, each with the arcs that it has of them."""
    found: dict[str, list[Range]] = {}
    for first, last in arcs:
        at = span.next_key(first)
        while at is not None and at <= last:
            name, (start, end) = _stretch(roster, at)
            found.setdefault(name, []).append((max(start, first), min(end, last)))
            at = span.next_key(end + 1) if end < last else None
    return {name: tuple(ranges) for name, ranges in found.items()}


def _stretch(roster: Roster, key: int) -> tuple[str, Range]:
    """Who has a key, and all that it has around it up to where the circle begins anew."""
    owner = roster.owner(key)
    after, upto = roster.range_of(owner)
    if key > upto:
        return owner.name, (after + 1, LAST)
    return owner.name, (after + 1 if after < upto else 0, upto)
