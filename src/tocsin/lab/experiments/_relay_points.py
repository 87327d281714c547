"""A ring of the machines of demand-based relay, whose requests are counted, with it and without."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from random import Random
from typing import Literal

from msgspec import Struct

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.ring.demand import DemandSettings
from tocsin.routing.ring.identifiers import identifier_of
from tocsin.routing.ring.relay import RELAY, Relay, RelaySettings, Verdict
from tocsin.routing.ring.relay_messages import Flow
from tocsin.sim.relay_nodes import Machines
from tocsin.sim.relay_roster import Membership

NODES = 8
BEFORE = AFTER = 3.0  # seconds in which all is quiet


class Always(Relay):
    """As if there were no caches."""

    def wanted(self, flow: Flow, now: Instant) -> Verdict:
        del flow, now
        return RELAY


class Workload(Struct, frozen=True):
    """Each topic is published on by so many nodes, none of them its rendezvous, each with so many notifications at a
    rate a second, at times as by chance. A share of the topics is wanted all the time; `changes` are subscriptions and
    cancellations of each topic in turn, for each notification of one node: every other topic begins as one that is
    wanted."""

    topics: int
    notifications: int
    wanted: float = 0.0
    changes: float = 0.0
    publishers: int = 1
    rate: float = 10.0
    lease: float = 10.0


class Point(Struct, frozen=True):
    """`without`: the requests there are when everything is relayed. The acknowledgement of each is not counted."""

    workload: Workload
    without: int
    relays: int
    questions: int
    tells: int
    ends: int
    left: int
    hidden: int

    @property
    def messages(self) -> int:
        """Questions travel with relays, answers with their acknowledgements."""
        return self.relays + self.tells + self.ends

    @property
    def counted_as_in_paper(self) -> int:
        """A question and its answer are two messages of their own (s5.B)."""
        return self.messages + 2 * self.questions

    @property
    def ratio(self) -> float:
        return self.messages / self.without

    @property
    def paper_ratio(self) -> float:
        return self.counted_as_in_paper / self.without


def measured(workload: Workload, seed: int) -> Point:
    counts, hidden = _run(workload, seed, Relay)
    without, _ = _run(workload, seed, Always)
    relays, questions, tells, ends = (counts[each] for each in ("relays", "questions", "Tell", "Unwanted"))
    return Point(workload, without["relays"], relays, questions, tells, ends, counts["left"], hidden)


def _run(workload: Workload, seed: int, relay: Callable[..., Relay]) -> tuple[dict[str, int], int]:
    settings = RelaySettings(lease=workload.lease), DemandSettings(lease=workload.lease)
    members = Membership(seed, None, Machines(relay, relay_settings=settings[0], demand_settings=settings[1]))
    members.start(f"n{number}" for number in range(NODES))
    members.ring.is_watched = False
    random = Random(seed)
    for number in range(workload.topics):
        is_wanted = number % 2 == 1 if workload.changes else number < workload.wanted * workload.topics
        _schedule(members, workload, f"t{number}", is_wanted, random)
    members.ring.run_for(BEFORE + workload.notifications / workload.rate + AFTER)
    return members.ring.counts, len(members.ring.hidden)


def _schedule(members: Membership, workload: Workload, topic: str, is_wanted: bool, random: Random) -> None:
    owner = members.owner(identifier_of(topic), 0)
    others = [each for each in members.members() if each != owner]
    ring, lasts = members.ring, workload.notifications / workload.rate
    if is_wanted:
        ring.subscribe(others[0], f"{topic}/0", [topic])
    for publisher in random.sample(others, workload.publishers):
        for _ in range(workload.notifications):
            ring.clock.after(_at(random.uniform(0, lasts)), partial(ring.notify, publisher, topic))
    times = sorted(random.uniform(0, lasts) for _ in range(round(workload.changes * workload.notifications)))
    for number, when in enumerate(times, start=is_wanted):
        name = f"{topic}/{number // 2}"
        made = partial(ring.subscribe, others[0], name, [topic])
        ring.clock.after(_at(when), partial(ring.unsubscribe, others[0], name) if number % 2 else made)


def _at(seconds: float) -> int:
    return round((BEFORE + seconds) * SECOND)


def crossing(found: Sequence[Point], ratio: Literal["ratio", "paper_ratio"]) -> float | None:
    """How many changes there are for each notification where as many messages are sent with it as without: between the
    points on either side."""
    for before, behind in pairwise(sorted(found, key=lambda each: each.workload.changes)):
        low, high = getattr(before, ratio), getattr(behind, ratio)
        if low < 1 <= high:
            start, end = math.log(before.workload.changes), math.log(behind.workload.changes)
            return math.exp(start + (end - start) * (1 - low) / (high - low))
    return None
