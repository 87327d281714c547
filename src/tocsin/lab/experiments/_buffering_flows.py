"""Flows of notifications through the manager of production, on a clock of their own."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from random import Random

from msgspec import Struct

from tocsin.delivery.grouping import head_size, saved
from tocsin.mediation.dialects import BY_NAME, customise, takes_several
from tocsin.model.delivery import Delivery, Match
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.routing.ring.buffering import OVERHEAD, WINDOW, BufferManager, period_of

MAX_LATENCY = 1.0  # seconds, as in the paper
PAYLOADS = (10, 100, 500, 1000, 5000, 10_000)
LEARNT = 5 * WINDOW * MAX_LATENCY  # seconds after which a regular flow is known
BROKER, CONSUMER = "http://broker.example.org:8080", "http://consumer.example.org:9000/notifications"


class Cost(Struct, frozen=True):
    """Bytes of a message besides the payload: those it has `once`, and those that come `each` with a notification."""

    name: str
    once: int
    each: int = 0

    @property
    def alone(self) -> int:
        return self.once + self.each


PAPER = Cost("the paper's: XML and JXTA", OVERHEAD)


class Group(Struct, frozen=True):
    """When it went, and when each of it had come."""

    went: float
    came: tuple[float, ...]


class Arrival(Struct, frozen=True):
    at: float
    size: int


def groups(manager: BufferManager, arrivals: Iterable[Arrival]) -> Iterator[Group]:
    """Each group goes when its manager says, and not when somebody looks."""
    came: list[float] = []
    for each in arrivals:
        if came and manager.due <= each.at:
            yield _left(manager, manager.due, came)
        came.append(each.at)
        if manager.arrived(each.size, each.at) <= each.at:
            yield _left(manager, each.at, came)
    if came:
        yield _left(manager, manager.due, came)


def _left(manager: BufferManager, at: float, came: list[float]) -> Group:
    group = Group(at, tuple(came))
    came.clear()
    manager.left()
    return group


# A regular flow


class Point(Struct, frozen=True):
    """A flow of so many a second with such payloads: overhead is in bytes a second, periods and waits are seconds."""

    cost: Cost
    rate: float
    payload: int
    period: float
    together: float
    overhead: float
    mean_wait: float
    longest_wait: float

    @property
    def formula(self) -> float:
        return period_of(self.rate, self.payload + self.cost.each, self.cost.once, MAX_LATENCY)

    @property
    def most(self) -> float:
        """The overhead where nothing is grouped."""
        return self.rate * self.cost.once

    @property
    def least(self) -> float:
        """And where all is that comes within the maximum latency."""
        return least(self.rate, self.cost)


def least(rate: float, cost: Cost) -> float:
    whole = -(-rate * MAX_LATENCY // 1)
    return rate * cost.once / max(1.0, whole)


def measured(cost: Cost, rate: float, payload: int, seconds: float) -> Point:
    manager = BufferManager(MAX_LATENCY, cost.once, together=10**6, most_bytes=10**12)
    size, until = payload + cost.each, LEARNT + seconds
    arrivals = (Arrival(number / rate, size) for number in range(round(until * rate)))
    found = [each for each in groups(manager, arrivals) if each.came[0] >= LEARNT and each.went < until - 1 / rate]
    waits = [each.went - came for each in found for came in each.came]
    together = len(waits) / len(found)
    overhead = rate * cost.once / together
    return Point(cost, rate, payload, manager.period, together, overhead, sum(waits) / len(waits), max(waits))


# Many producers of one topic


class Change(Struct, frozen=True):
    """What the manager thought after an arrival; `wanted` is the period by the equations alone."""

    at: float
    rate: float
    payload: float
    period: float
    wanted: float


class Course(Struct, frozen=True):
    cost: Cost
    arrivals: tuple[Arrival, ...]
    changes: tuple[Change, ...]
    groups: tuple[Group, ...]

    def times_changed(self, name: str = "period") -> int:
        values = [getattr(each, name) for each in self.changes]
        return sum(one != other for one, other in pairwise(values))


def many_producers(random: Random, producers: int, seconds: float, longest: float = 5.0) -> tuple[Arrival, ...]:
    """Each waits a random time up to the longest between one and the next; payloads are of 10 to 500 bytes."""
    found: list[Arrival] = []
    for _ in range(producers):
        at = random.uniform(0, longest)
        while at < seconds:
            found.append(Arrival(at, random.randint(10, 500)))
            at += random.uniform(0, longest)
    return tuple(sorted(found, key=lambda each: each.at))


def course(cost: Cost, arrivals: tuple[Arrival, ...]) -> Course:
    manager, changes = BufferManager(MAX_LATENCY, cost.once, together=10**6), list[Change]()

    def seen() -> Iterator[Arrival]:
        for each in arrivals:
            yield Arrival(each.at, each.size + cost.each)
            wanted = period_of(manager.rate, manager.payload, manager.overhead, MAX_LATENCY)
            changes.append(Change(each.at, manager.rate, manager.payload, manager.period, wanted))

    found = tuple(groups(manager, seen()))
    return Course(cost, arrivals, tuple(changes), found)


# Bursts in a slow flow


class Counting(BufferManager):
    """Each message counts as one, as in a mean over the same window."""

    __slots__ = ()

    def _share(self, seen: float) -> float:
        del seen
        return 1.0


class Sparse(Struct, frozen=True):
    """Of the notifications that came alone: how many were held, and for how long."""

    estimator: str
    alone: int
    held: int
    waited: float


def bursts(name: str, manager: BufferManager, seconds: float) -> Sparse:
    """One each two seconds; with each thirtieth come two hundred within 10 ms."""
    arrivals: list[Arrival] = []
    for number in range(round(seconds / 2)):
        arrivals.append(Arrival(2.0 * number, 100))
        if number % 30 == 29:
            arrivals += [Arrival(2.0 * number + (1 + each) / 20_000, 100) for each in range(200)]
    alone = {2.0 * number for number in range(round(seconds / 2)) if number % 30 != 29}
    waits = [each.went - came for each in groups(manager, arrivals) for came in each.came if came in alone]
    return Sparse(name, len(waits), sum(wait > 0 for wait in waits), sum(waits))


# What a message of ours costs


def costs() -> list[tuple[Cost, bool]]:
    """Of each form, as it is really written; and whether one message has room for several."""
    found = []
    for title, form in _forms():
        delivery = _delivery(form)
        several = takes_several(form.dialect, wrapped=form.wrapped) and (form.soap is not None or form.together > 1)
        outside = head_size(delivery) + len(delivery.body) - len(_PAYLOAD)
        once = saved(delivery) if several else outside
        found.append((Cost(title, once, outside - once), several))
    return found


def cost_of(title: str) -> Cost:
    return next(cost for cost, _ in costs() if cost.name == title)


WSN, BATCH = "wsn-1.3, Notify", "cloudevents, batch"
_PAYLOAD = b"<level>%b</level>" % (b"8" * 85)  # of 100 bytes


def _forms() -> Iterator[tuple[str, Form]]:
    for name in ("wsn-1.3", "wsn-1.2", "wsn-1.0"):
        yield f"{name}, Notify", Form(name, "1.2", BY_NAME[name].addressing, together=100)
    yield "wsn-1.3, raw", Form("wsn-1.3", "1.2", BY_NAME["wsn-1.3"].addressing, wrapped=False)
    for name in ("wse-2004-08", "wse-2011"):
        yield name, Form(name, "1.2", BY_NAME[name].addressing)
    yield BATCH, Form("cloudevents", together=100)
    yield "cloudevents, structured", Form("cloudevents")
    yield "cloudevents, binary", Form("cloudevents", wrapped=False)
    yield "between nodes", Form("node", together=100)


def _delivery(form: Form) -> Delivery:
    at, name, about = (
        Position(Node("node-1"), 0),
        "urn:uuid:5f6b9a3e-8d0f-4f6a-9c3a-1f2e3d4c5b6a",
        topic("flood/severe"),
    )
    assert about is not None
    payload, kind = Payload("application/xml", _PAYLOAD), QName("", "level")
    told = Notification(
        MessageId(name), at, 0, Instant(1_900_000_000_000_000_000), "wsn-1.3", name, "http://gauge.example.org/7",
        about, kind, (), payload,
    )  # fmt: skip
    whom = Subscription(
        SubscriptionId("a046c3e174974d3d8d7103f48a43d693"), None, Endpoint(CONSUMER), None, form, (), at, None
    )
    headers, body = customise(told, whom, BROKER)
    return Delivery(Match(told.id, whom.id), at, 0, Endpoint(CONSUMER), headers, body)
