"""How patient delivery is, in seconds; and its figures."""

from msgspec import Struct


class DeliverySettings(Struct, frozen=True):
    window: int = 256  # entries in memory for a subscription; what follows is read again from the backlog
    window_bytes: int = 8 << 20  # of the large among them: it takes no more once it has so many
    attempts: int = 8
    first_delay: float = 0.5
    longest_delay: float = 300.0
    longest_retry_after: float = 3600.0
    failures_to_open: int = 5
    cool_down: float = 1.0
    longest_cool_down: float = 60.0
    in_flight_per_origin: int = 256
    backlog_readers: int = 8
    backlog_timeout: float = 30.0
    longest_latency: float = 60.0  # that a subscription may let notifications wait to be grouped


class DeliveryFigures(Struct, frozen=True):
    delivered: int
    retried: int
    dead: int
    dropped: int
    in_flight: int
    waiting: int
    behind: int
    breakers_open: int
