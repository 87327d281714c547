"""What a report says. A section is a class here, a function in `sums`, its tables in `tables`, its plot in `plots`."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Unit = Literal["minute", "hour", "day"]


@dataclass(frozen=True)
class Share:
    """How many of all have this name; None is those that say nothing."""

    name: str | None
    count: int


@dataclass(frozen=True)
class Moment:
    """What happened in a minute, an hour or a day: accepted, matched, and attempts by what came of them."""

    time: datetime
    notifications: int = 0
    matches: int = 0
    delivered: int = 0
    retry: int = 0
    dead: int = 0


@dataclass(frozen=True)
class Peak:
    time: datetime
    count: int


@dataclass(frozen=True)
class NodeRates:
    """What one node of several accepted: `published` there, `received` from others, the furthest after `hops`; what it
    matched, and what came of its attempts to deliver."""

    node: str
    notifications: int
    published: int = 0
    received: int = 0
    hops: int = 0
    matches: int = 0
    delivered: int = 0
    retry: int = 0
    dead: int = 0


@dataclass(frozen=True)
class Rates:
    """Of notifications, from the minute in which the first was accepted to that of the last. The names are the most
    frequent ones. What nodes pass on counts at each; where there are several `by_node` tells them apart."""

    notifications: int
    matches: int
    first: datetime
    last: datetime
    minutes: int
    per_minute: float
    per_hour: float
    busiest_minute: Peak
    busiest_hour: Peak
    by_dialect: list[Share]
    by_topic: list[Share]
    by_producer: list[Share]
    unit: Unit
    series: list[Moment]
    by_node: list[NodeRates] = field(default_factory=list)


@dataclass(frozen=True)
class Bar:
    """Of a histogram: so many have from `low` up to `high`; None is without end."""

    low: int
    high: int | None
    count: int


@dataclass(frozen=True)
class Spread:
    mean: float
    p50: int
    p99: int
    max: int
    histogram: list[Bar]


@dataclass(frozen=True)
class Latency:
    """In seconds; `percentiles` are the 1st to the 99th."""

    stage: str
    count: int
    p50: float
    p90: float
    p99: float
    max: float
    percentiles: list[float]


@dataclass(frozen=True)
class Deliveries:
    """A delivery is a notification for a subscription, however often it was tried. `untried` are dead or dropped
    without an attempt; `repeated` were delivered more than once, `extra` times beyond the first."""

    count: int
    delivered: int
    dead: int
    dropped: int
    untried: int
    attempts: Spread | None
    repeated: int
    extra: int


@dataclass(frozen=True)
class Asking:
    """The publications on a topic that asked for replies."""

    topic: str
    publications: int
    receivers: int
    replied: int


@dataclass(frozen=True)
class Replies:
    """To publications that asked for some; `answered` have at least one. `rates` are publications by how many of a
    hundred receivers replied, `times` from when it was accepted to the first and to the last reply."""

    publications: int
    answered: int
    receivers: int
    replied: int
    not_reached: int
    outstanding: int
    rates: list[Bar]
    times: list[Latency]
    by_topic: list[Asking]


@dataclass(frozen=True)
class DeadLetters:
    count: int
    by_reason: list[Share]
    by_consumer: list[Share]


@dataclass(frozen=True)
class Quarantined:
    """By when it was found, whatever the notification's time."""

    count: int
    by_reason: list[Share]


@dataclass(frozen=True)
class Cost:
    """Of one subscription. `bytes` are those of the payloads, for each attempt."""

    subscription: str
    consumer: str | None
    matches: int
    attempts: int
    delivered: int
    dead: int
    bytes: int


@dataclass(frozen=True)
class Costs:
    """The dearest ones, of all."""

    subscriptions: int
    top: list[Cost]


@dataclass(frozen=True)
class Report:
    """Of the notifications accepted from `start` up to `stop`, and what became of them. A section is None where the
    tables have nothing for it."""

    made: datetime
    start: datetime | None
    stop: datetime | None
    rates: Rates | None = None
    fan_out: Spread | None = None
    latencies: list[Latency] | None = None
    deliveries: Deliveries | None = None
    replies: Replies | None = None
    dead_letters: DeadLetters | None = None
    quarantine: Quarantined | None = None
    costs: Costs | None = None

    @property
    def is_empty(self) -> bool:
        return not any((self.rates, self.deliveries, self.quarantine))
