"""Demand-based relay at the interface node: what nobody wants need not be relayed (paper 004, s5.B)."""

from collections.abc import Callable
from itertools import count

from msgspec import Struct

from tocsin.model.filters import Filter
from tocsin.model.identity import SECOND, Instant
from tocsin.routing.machine import Answer, Effect
from tocsin.routing.ring.relay_messages import Answered, Flow, Question, Tell, Told, Unwanted, Wanting

Matches = Callable[[tuple[Filter, ...], Flow], bool]
Message = Answered | Tell | Unwanted


class RelaySettings(Struct, frozen=True):
    """In seconds: how long it may be held at most that nobody wants a flow (the same at all nodes of a ring); how long
    that somebody does before it is asked again, which costs nothing; and when an answer is no longer waited for.
    `caches` are flows, `near` those subscriptions that a flow is compared with before it is asked about."""

    lease: float = 10.0
    refresh: float = 60.0
    patience: float = 2.0
    caches: int = 65_536
    near: int = 64


class Verdict(Struct, frozen=True):
    """What is to be done with a notification; a question goes with it."""

    relay: bool
    question: Question | None = None


RELAY, LEAVE = Verdict(True), Verdict(False)


class _Cache(Struct, gc=False):
    """What is known of a flow, until when; asked, and when, while an answer is awaited."""

    verdict: Verdict
    until: int
    asked: int = 0
    number: int = 0


class Relay:
    """The subscription caches of one interface node, by flow.

    That a flow is wanted may be wrong, and costs a message. That it is not never is: it is known from a rendezvous that
    promised to tell, is held no longer than the promise counted from the question, and not beyond the roster of then.

    `now` is of a clock that is never set. `wanted` is asked when a notification is accepted or later, never before:
    else one that is accepted after a subscription was acknowledged could be left by what was known earlier. `session`
    is greater than all that this node began with before: an answer to an earlier process is none to this one.
    """

    def __init__(
        self,
        node: str,
        session: int,
        epoch: int,
        matches: Matches,
        settings: RelaySettings = RelaySettings(),  # noqa: B008 - frozen
    ) -> None:
        self._node, self._epoch, self._matches, self._settings = node, epoch, matches, settings
        self._numbers = count(session + 1)
        self._caches: dict[Flow, _Cache] = {}  # least lately changed first
        self._near: dict[str, tuple[Wanting, int]] = {}  # each until when
        self._lease, self._refresh, self._patience = (
            round(each * SECOND) for each in (settings.lease, settings.refresh, settings.patience)
        )

    def __len__(self) -> int:
        return len(self._caches)

    def wanted(self, flow: Flow, now: Instant) -> Verdict:
        cache = self._caches.get(flow)
        return cache.verdict if cache is not None and now < cache.until else self._look(flow, now)

    def leaves(self, flow: Flow, now: Instant) -> bool:
        """What `wanted` would say, for those who only look."""
        cache = self._caches.get(flow)
        return cache is not None and now < cache.until and not cache.verdict.relay

    def moved(self, epoch: int) -> None:
        """There is another roster, or the ring is out of sight: whoever was to tell of a subscription may not be who is
        asked for it now."""
        self._epoch = epoch
        self._caches = {flow: each for flow, each in self._caches.items() if each.verdict.relay and not each.number}

    def collect(self, now: Instant) -> None:
        """What has passed, and what nobody published on since."""
        self._caches = {flow: each for flow, each in self._caches.items() if now < each.until}
        self._near = {name: each for name, each in self._near.items() if now < each[1]}

    def step(self, message: Message, now: Instant) -> list[Effect]:
        match message:
            case Answered():
                self._answered(message, now)
                return []
            case Tell(number, wanting, flows):
                until = self._remember(wanting, now)
                for flow in flows:
                    self._put(flow, _Cache(RELAY, until))  # also in place of a question: its answer may be older
                return [Answer(Told(number))]
            case Unwanted(subscription, flows):
                self._near.pop(subscription, None)
                for flow in flows:
                    self._withdraw(flow)
                return [Answer(Told(0))]

    def _look(self, flow: Flow, now: Instant) -> Verdict:
        """Nothing is known any more, or never was: so it is relayed. Other flows' subscriptions may want it too; asking
        is for when none does."""
        until = max((until for each, until in self._near.values() if self._is_near(each, until, flow, now)), default=0)
        if until:
            self._put(flow, _Cache(RELAY, until))
            return RELAY
        number = next(self._numbers)
        self._put(flow, _Cache(RELAY, now + self._patience, now, number))
        return Verdict(True, Question(self._node, number, flow, self._epoch))

    def _is_near(self, wanting: Wanting, until: int, flow: Flow, now: Instant) -> bool:
        return now < until and self._matches(wanting.filters, flow)

    def _answered(self, answer: Answered, now: Instant) -> None:
        """To what was asked last, and not told since."""
        cache = self._caches.get(answer.flow)
        if cache is None or not cache.number or cache.number != answer.number:
            return
        if answer.wanting:
            until = max([self._remember(each, now) for each in answer.wanting])
            self._put(answer.flow, _Cache(RELAY, until))
        elif answer.lease and answer.epoch == self._epoch:
            self._put(answer.flow, _Cache(LEAVE, cache.asked + min(answer.lease, self._lease)))

    def _remember(self, wanting: Wanting, now: Instant) -> int:
        """Until when it stands as far as is known here."""
        lasts = self._refresh if wanting.lasts is None else min(wanting.lasts, self._refresh)
        until, known = now + lasts, self._near.get(wanting.id)
        if known is None or known[0].version <= wanting.version:
            self._near.pop(wanting.id, None)
            self._near[wanting.id] = wanting, until
        if len(self._near) > self._settings.near:
            del self._near[next(iter(self._near))]
        return until

    def _withdraw(self, flow: Flow) -> None:
        cache = self._caches.get(flow)
        if cache is not None and cache.verdict.relay and not cache.number:
            del self._caches[flow]

    def _put(self, flow: Flow, cache: _Cache) -> None:
        """What was not changed for longest makes room: it is asked about again."""
        self._caches.pop(flow, None)
        self._caches[flow] = cache
        if len(self._caches) > self._settings.caches:
            del self._caches[next(iter(self._caches))]
