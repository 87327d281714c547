"""Where a node joins so that it helps: keys lie closer in some parts of the circle than in others, for content is not
spread evenly over an information space, and a curve keeps neighbours together (Squid s5)."""

from collections.abc import Sequence

from msgspec import Struct

from tocsin.routing.ring.identifiers import within


class Load(Struct, frozen=True):
    """What a node says of its arc (after, upto]: how much it has to do for the keys there, and which of them has half
    of that behind it."""

    after: int
    upto: int
    count: int
    middle: int


def place_by_load(loads: Sequence[Load], otherwise: int) -> int:
    """Of some nodes that were asked, the one with most to do is relieved of half of it."""
    heaviest = max(loads, key=lambda each: each.count, default=None)
    if heaviest is None or heaviest.count < 2 or heaviest.middle == heaviest.upto:
        return otherwise
    return heaviest.middle if within(heaviest.middle, heaviest.after, heaviest.upto) else otherwise
