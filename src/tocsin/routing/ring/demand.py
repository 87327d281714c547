"""Demand-based relay at the rendezvous: who asked is told before a new subscription is acknowledged (paper 004, s5.B).

The paper has a later subscription "made known to the interested nodes, so that a notification for which a subscription
exists is never dropped", and leaves open when. Here a change is settled once every interface node that may hold that
nobody wants it has answered, or its lease has passed: only then may it be acknowledged.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from msgspec import Struct

from tocsin.model.identity import SECOND, Instant, after
from tocsin.routing.machine import Answer, Ask, Deliver, Effect, SetTimer, Unanswered, Woken
from tocsin.routing.ring.changes import Changes
from tocsin.routing.ring.registrations import Registration, Registrations, Spans
from tocsin.routing.ring.relay import Matches
from tocsin.routing.ring.relay_messages import (
    Answered,
    Arc,
    Flow,
    Handover,
    Question,
    Registered,
    Settled,
    Tell,
    Told,
    Unsettled,
    Unwanted,
    Wanting,
)

TOGETHER = 1_000  # flows in one message
Message = Question | Told | Unanswered | Woken
Wanted = Callable[[Flow], Sequence[Wanting]]


class DemandSettings(Struct, frozen=True):
    """In seconds: how long an interface node may hold that nobody wants a flow (the same at all nodes of a ring); how
    long those are remembered who hold that somebody does; when who did not answer is told again. `margin` is the share
    by which clocks may differ in pace. At most so many `registrations` of each kind are kept, and as many subscriptions
    told in an answer as `most`: one is enough to relay."""

    lease: float = 10.0
    held: float = 120.0
    again: float = 0.25
    margin: float = 0.1
    registrations: int = 20_000
    most: int = 16


class _Telling(Struct, frozen=True):
    node: str
    tell: Tell
    registrations: tuple[int, ...]
    until: Instant


class Demand:
    """The registrations of one rendezvous, and the changes that wait for them to be told.

    `wanted` finds the subscriptions that stand for a flow, those that are not acknowledged yet among them: a change is
    stored first and said here then. `now` is of a clock that is never set. Nothing of it outlasts a crash: who is
    started again takes over what it owns, and knows no more of it than of what another owned.
    """

    def __init__(
        self,
        epoch: int,
        wanted: Wanted,
        matches: Matches,
        settings: DemandSettings = DemandSettings(),  # noqa: B008 - frozen
    ) -> None:
        self.epoch, self._wanted, self._matches, self._settings = epoch, wanted, matches, settings
        self.owned: Arc | None = None
        self._sure: Instant | None = None
        self._nobody, self._somebody = Registrations(), Registrations()
        self._numbers = count(1)
        self._changes = Changes()
        self._tells: dict[int, _Telling] = {}
        self._telling: set[int] = set()  # registrations
        self._waits: list[tuple[Arc, Instant]] = []
        self._again: list[tuple[Instant, int]] = []  # tells that are to be repeated
        self._timer: Instant | None = None
        self._lease, self._kept = round(settings.lease * SECOND), round(settings.lease * (1 + settings.margin) * SECOND)

    def __len__(self) -> int:
        return len(self._nobody) + len(self._somebody)

    def collect(self, now: Instant) -> None:
        """What has passed."""
        self._nobody.collect(now)
        self._somebody.collect(now)

    # Of the ring

    def owns(self, key: int, now: Instant) -> bool:
        """Only then is anything answered or stored for it."""
        return self.owned is not None and key in self.owned and (self._sure is None or now < self._sure)

    def confirm(self, until: Instant) -> None:
        """The ring says that nobody else takes over before then what this node owns; unsaid it always holds."""
        self._sure = until

    def moved(self, epoch: int, arc: Arc | None) -> None:
        """The ring has another roster, and whoever may leave anything of that arc goes by it too: what others promised
        is void. What this node promised by the one before is still told."""
        self.epoch, self.owned = epoch, arc

    def took_over(self, arc: Arc, now: Instant, handed: Handover | None = None) -> Instant:
        """From one that answers no more; the moment before which no change there is acknowledged. From one that crashed
        nothing was handed over: what it promised ends with its leases."""
        assert self.owned is None or arc.upto == self.owned.after, "a range grows towards the node before it"
        self.owned = arc if self.owned is None else Arc(arc.after, self.owned.upto)
        wait = self._kept if handed is None else handed.wait
        for each in () if handed is None else handed.registered:
            self._register(self._nobody, each.node, each.flow, Instant(now + each.lasts))
        if wait:
            self._waits.append((arc, Instant(now + wait)))
        return Instant(now + wait)

    def gave_up(self, arc: Arc, now: Instant) -> tuple[Handover, list[Effect]]:
        """To the next owner; of it nothing is answered any more, and what was being changed is to be asked again."""
        assert self.owned is not None and arc.after == self.owned.after
        self.owned = None if arc.upto == self.owned.upto else Arc(arc.upto, self.owned.upto)
        wait = max([until - now for each, until in self._waits if until > now], default=0)
        moving = self._nobody.within(arc)
        registered = [Registered(each.node, each.flow, each.until - now) for each in moving if each.until > now]
        for each in moving:
            self._nobody.remove(each.number)
        unsettled: list[Effect] = [Deliver(Unsettled(each)) for each in self._changes.take_all()]
        return Handover(arc, tuple(registered), wait), [*unsettled, *self._look_at()]

    # Of interface nodes

    def asked(self, question: Question, now: Instant) -> Answered:
        """That nobody wants it is promised only to a node that knows the same roster."""
        flow, node = question.flow, question.node
        unsure = Answered(flow, question.number, self.epoch)
        if question.epoch != self.epoch or not self.owns(flow.key, now):
            return unsure
        if found := tuple(self._wanted(flow)[: self._settings.most]):
            self._hold(node, flow, now)
            return Answered(flow, question.number, self.epoch, found)
        self._nobody.collect(now)
        if len(self._nobody) >= self._settings.registrations:
            return unsure
        self._somebody.discard(node, flow)
        self._register(self._nobody, node, flow, Instant(now + self._kept))
        return Answered(flow, question.number, self.epoch, (), self._lease)

    # Of subscribers

    def changed(self, change: str, wanting: Wanting, now: Instant, spans: Spans | None = None) -> list[Effect]:
        """A subscription was made, resumed or renewed, and is stored; by its spans it need be compared with few. Said
        again it waits for what is still to be told, if anything is."""
        found = [each for each in self._nobody.spanned(spans) if self._hides(each, wanting, now)]
        not_before = max([until for arc, until in self._waits if _meets(arc, spans)], default=now)
        self._changes.put(change, found, not_before)
        return [*self._tell(wanting, found), *self._settle(now)]

    def ended(self, wanting: Wanting, now: Instant, spans: Spans | None = None) -> list[Effect]:
        """It is no longer stored. Who relays for it alone is told, once; nobody waits for that."""
        flows = defaultdict[str, list[Flow]](list)
        for each in list(self._somebody.spanned(spans)):
            if self._hides(each, wanting, now) and not self._wanted(each.flow):
                self._somebody.remove(each.number)
                flows[each.node].append(each.flow)
        return [Ask(node, Unwanted(wanting.id, tuple(each))) for node, each in flows.items()]

    def step(self, message: Message, now: Instant) -> list[Effect]:
        match message:
            case Question():
                return [Answer(self.asked(message, now))]
            case Told(number):
                return [*self._told(number, now), *self._settle(now)]
            case Unanswered(Tell(number)):
                return [*self._unanswered(number, now), *self._look_at()]
            case Woken():
                self._timer = None
                self._waits = [each for each in self._waits if each[1] > now]
                return [*self._repeat(now), *self._settle(now)]
        return []

    def _hides(self, registration: Registration, wanting: Wanting, now: Instant) -> bool:
        return now < registration.until and self._matches(wanting.filters, registration.flow)

    def _hold(self, node: str, flow: Flow, now: Instant) -> None:
        """Losing one costs messages only: the oldest makes room."""
        self._somebody.collect(now)
        if len(self._somebody) >= self._settings.registrations:
            self._somebody.remove_oldest()
        self._register(self._somebody, node, flow, after(now, self._settings.held))

    def _register(self, kept: Registrations, node: str, flow: Flow, until: Instant) -> None:
        kept.put(Registration(next(self._numbers), node, flow, until))

    # Telling

    def _tell(self, wanting: Wanting, registrations: Iterable[Registration]) -> list[Effect]:
        """A message a node, or a few. What is being told already is not told twice: it makes the flow relayed, and that
        is all that a change waits for."""
        by_node = defaultdict[str, list[Registration]](list)
        for each in registrations:
            if each.number not in self._telling:
                by_node[each.node].append(each)
        return [
            self._tell_node(node, wanting, each[at : at + TOGETHER])
            for node, each in by_node.items()
            for at in range(0, len(each), TOGETHER)
        ]

    def _tell_node(self, node: str, wanting: Wanting, registrations: list[Registration]) -> Effect:
        tell = Tell(next(self._numbers), wanting, tuple(each.flow for each in registrations))
        numbers = tuple(each.number for each in registrations)
        self._tells[tell.number] = _Telling(node, tell, numbers, max(each.until for each in registrations))
        self._telling.update(numbers)
        return Ask(node, tell)

    def _told(self, number: int, now: Instant) -> list[Effect]:
        """Who was told relays from now on, and so hears when that is no longer needed; if it is not needed by now, at
        once."""
        if (telling := self._use(number)) is None:
            return []
        unwanted = list[Flow]()
        for flow in telling.tell.flows:
            if self._wanted(flow):
                self._hold(telling.node, flow, now)
            else:
                unwanted.append(flow)
        return [Ask(telling.node, Unwanted(telling.tell.wanting.id, tuple(unwanted)))] if unwanted else []

    def _use(self, number: int) -> _Telling | None:
        """The registrations are deleted; one that was made meanwhile for the same flow stands, by another number."""
        telling = self._tells.pop(number, None)
        for each in () if telling is None else telling.registrations:
            self._nobody.remove(each)
            self._telling.discard(each)
            self._changes.use(each)
        return telling

    def _unanswered(self, number: int, now: Instant) -> list[Effect]:
        if (telling := self._tells.get(number)) is not None:
            heapq.heappush(self._again, (min(after(now, self._settings.again), telling.until), number))
        return []

    def _repeat(self, now: Instant) -> list[Effect]:
        """Once all its leases have passed there is nobody left to be told."""
        effects: list[Effect] = []
        while self._again and self._again[0][0] <= now:
            number = heapq.heappop(self._again)[1]
            telling = self._tells.get(number)
            if telling is not None and now < telling.until:
                effects.append(Ask(telling.node, telling.tell))
            else:
                self._use(number)
        return effects

    def _settle(self, now: Instant) -> list[Effect]:
        return [*(Deliver(Settled(each)) for each in self._changes.take_settled(now)), *self._look_at()]

    def _look_at(self) -> list[Effect]:
        """When there is something to do next."""
        again = self._again[0][0] if self._again else None
        due = min((each for each in (again, self._changes.due()) if each is not None), default=None)
        before, self._timer = self._timer, due
        return [] if due == before else [SetTimer(due)]


def _meets(arc: Arc, spans: Spans | None) -> bool:
    return spans is None or any(arc.meets(each) for each in spans.values())
