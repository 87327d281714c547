"""What delivery has done, and what it is about to do."""

from msgspec import Struct


class DeliveryFigures(Struct, frozen=True):
    delivered: int
    retried: int
    dead: int
    dropped: int
    in_flight: int
    waiting: int
    behind: int
    breakers_open: int
