"""What is known of one notification: who wanted it and why, as it was then, and what became of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic

from msgspec.structs import replace

from tocsin.broker.caller import Caller
from tocsin.broker.engines.settlement import Engine, Settlement
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.tracing import lookup as trace_lookup
from tocsin.flow.addressing import pulled_by
from tocsin.flow.ring_addresses import original
from tocsin.flow.traces import Account, Accounts, Logged, Newest, Outcome, Sought
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import matches, may_have
from tocsin.matching.explain.explanation import count, leaf
from tocsin.matching.explain.filters import Explanation, explain
from tocsin.matching.judge import Judge, Undecided
from tocsin.model.identity import SubscriptionId
from tocsin.model.records import Changed
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.routing.ring.meeting import tells
from tocsin.store.database import Store
from tocsin.store.errors import StoreError
from tocsin.store.past import History
from tocsin.store.pull_points import PointState

MOST_LOOKED_AT = 5_000  # subscriptions, for one page
AT_ONCE = 1_000  # whose rights are looked at without a pause
MOST_SECONDS = 5.0  # for one page
MOST_WAITING = 16  # who ask at the same time
MOST_TOLD = 10_000  # parts of explanations, in one answer
_AS_IT_WAS = "it was changed since; this is as it was then"


class Traces:
    """One at a time, in a thread: it reads much and is in no hurry."""

    def __init__(
        self,
        store: Store,
        log: Path,
        base_url: str,
        *,
        standing: StandingSubscriptions,
        engine: Engine,
        settlement: Settlement,
        mailboxes: Mailboxes,
        judge: Judge | None = None,
    ) -> None:
        self._store, self._log, self._base_url, self._judge = store, log, base_url, judge
        self._standing, self._engine, self._settlement, self._mailboxes = standing, engine, settlement, mailboxes
        self._lock, self._waiting = asyncio.Lock(), 0

    async def find(self, caller: Caller, sought: Sought) -> Logged:
        """The newest such notification that is kept; refused when there is none within reach. Nobody is told that
        there is something that it may not hear."""
        heard = None if caller.principal is None else partial(_hears, caller)
        async with self._turn():
            return await asyncio.to_thread(trace_lookup.find, self._log, sought, heard)

    async def known_subscription(self, caller: Caller, subscription: str) -> Subscription:
        """As it is now or ended; refused when there never was one of that id."""
        found = (await asyncio.to_thread(self._history, subscription))[-1].subscription
        return caller.must_manage(found)

    async def account(self, caller: Caller, found: Logged, subscription: str) -> Account:
        """Also of a subscription that has ended since."""
        await self.known_subscription(caller, subscription)
        async with self._turn():
            account = await asyncio.to_thread(self._explained, found, subscription)
            await self._settle()
            return await self._with_outcome(found, account, self._sent())

    async def accounts(self, caller: Caller, found: Logged, after: str, limit: int, *, every: bool) -> Accounts:
        """Of those that stand: those that wanted it or could not tell, or with `every` all of them."""
        async with self._turn():
            names = await self._manageable(caller, after)
            items, following = await asyncio.to_thread(self._page, found, names, limit, every)
            await self._settle()
            sent = self._sent()
            return Accounts(tuple([await self._with_outcome(found, each, sent) for each in items]), following)

    async def newest(self, caller: Caller, subscription: str, most: int) -> Newest:
        """The newest notifications of the log before one subscription, newest first. What its owner was sent it may be
        told of again; others, and of the rest, only what they may hear."""
        await self.known_subscription(caller, subscription)
        async with self._turn():
            pairs, cut = await asyncio.to_thread(self._newest, subscription, most)
            await self._settle()
            sent = self._sent()
            told = [(found, await self._with_outcome(found, each, sent)) for found, each in pairs]
        return Newest(tuple(pair for pair in told if _was_sent(caller, pair[1]) or _hears(caller, pair[0])), cut)

    async def _manageable(self, caller: Caller, after: str) -> list[SubscriptionId]:
        """Those to look at, and one more if there is. Rights take their time, and the loop has others to serve."""
        names: list[SubscriptionId] = []
        while len(names) <= MOST_LOOKED_AT and (some := self._standing.page(after, AT_ONCE, neighbours=True)):
            names += [each.id for each in some if caller.may_manage(each)]
            after = some[-1].id
            await asyncio.sleep(0)
        return names[: MOST_LOOKED_AT + 1]

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._waiting >= MOST_WAITING:
            raise Refusal("overloaded", f"{MOST_WAITING} others look for notifications; try again a little later")
        self._waiting += 1
        try:
            async with self._lock:
                yield
        finally:
            self._waiting -= 1

    def _history(self, subscription: str) -> History:
        history = self._store.past.history(SubscriptionId(subscription))
        if not history:
            raise Refusal("unknown-subscription", f"there never was a subscription {subscription[:80]!r}")
        return history

    def _page(
        self, found: Logged, names: Sequence[SubscriptionId], limit: int, every: bool
    ) -> tuple[list[Account], str | None]:
        items: list[Account] = []
        known, bounds = self._known(found), _Bounds()
        for at, name in enumerate(names):
            if at == MOST_LOOKED_AT or len(items) == limit or (at and bounds.are_reached()):
                return items, names[at - 1]
            history = self._history(name)
            if every or self._may_want(found, history, known):
                items.append(bounds.told(self._as_met(found, history, known)))
        return items, None

    def _newest(self, subscription: str, most: int) -> tuple[list[tuple[Logged, Account]], bool]:
        history, bounds = self._history(subscription), _Bounds()
        pairs: list[tuple[Logged, Account]] = []
        for each in trace_lookup.newest(self._log, most):
            if pairs and bounds.are_reached():
                return pairs, True
            pairs.append((each, bounds.told(self._as_met(each, history, self._known(each)))))
        return pairs, False

    def _explained(self, found: Logged, subscription: str) -> Account:
        return self._as_met(found, self._history(subscription), self._known(found))

    def _may_want(self, found: Logged, history: History, known: Catalogue) -> bool:
        """Sooner told than explained."""
        met = history.state_at(found.notification.at.offset)
        if found.pull_point is not None:
            return met.id == found.pull_point
        try:
            return matches(met, found.notification, known, self._judge, self._base_url, tells)
        except Undecided:
            return True

    def _as_met(self, found: Logged, history: History, known: Catalogue) -> Account:
        at = history.met_by(found.notification.at.offset)
        subscription = history[at].subscription
        if found.pull_point is not None:
            return Account(subscription, _addressed(found.pull_point, subscription))
        way = found.notification.way
        if way is not None and way.plane and not may_have(subscription, found.notification, known, tells):
            return Account(subscription, _elsewhere())
        explanation = explain(subscription, found.notification, known, self._judge, self._base_url)
        return Account(subscription, explanation, remark=_remark(history, at, found.notification.at.offset))

    def _known(self, found: Logged) -> Catalogue:
        return self._store.past.catalogue(found.notification.at.offset)

    async def _settle(self) -> None:
        """So that what was given up a moment ago is among the dead letters."""
        with contextlib.suppress(StoreError):  # the checkpoint says so itself
            await self._settlement.save()

    async def _with_outcome(self, found: Logged, account: Account, sent: "_Sent") -> Account:
        """A pull point that has its home elsewhere in the ring is told of as its owner made it."""
        told = replace(account, subscription=original(account.subscription))
        if account.explanation.wanted is False:
            return told
        point = pulled_by(account.subscription)
        if account.explanation.wanted and point is not None:
            outcome, detail = await self._pulled(found, account.subscription.id, point)
        else:
            outcome, detail = await asyncio.to_thread(sent, found, account)
        return replace(told, outcome=outcome, detail=detail)

    async def _pulled(self, found: Logged, subscription: SubscriptionId, point: str) -> tuple[Outcome, str]:
        at, index, mailboxes = found.notification.at, found.notification.index, self._mailboxes
        try:
            await mailboxes.surely_saved()  # what overflows does so then
            state = mailboxes.state(point)
        except Refusal:
            return "not known", ""
        matched_to = min(mailboxes.pulled_to, mailboxes.feeds.lagging.get(subscription, mailboxes.pulled_to))
        number = await asyncio.to_thread(self._store.pull_points.number_of, point, subscription, at, index)
        if number is not None:
            return _fetched(state, number)
        letter = await asyncio.to_thread(self._store.dead_letter_at, subscription, at, index)
        if letter is not None:
            return "dead letter", letter.reason
        return ("not matched yet", "") if at.offset >= matched_to else _fetched(state, None)

    def _sent(self) -> "_Sent":
        """What the engine knows is taken now, in the loop; the store is asked later, in a thread."""
        waits = self._engine.waits()

        def sent(found: Logged, account: Account) -> tuple[Outcome, str]:
            at, index, name = found.notification.at, found.notification.index, account.subscription.id
            letter = self._store.dead_letter_at(name, at, index)
            if letter is not None:
                return ("waiting" if letter.state == "queued" else "dead letter"), letter.reason
            if account.explanation.wanted is None:
                return "", ""
            is_waiting = waits(name, at, index)
            if is_waiting is None:
                return "not matched yet", ""
            if is_waiting:
                return "waiting", ""
            return ("not known" if self._history(name)[-1].subscription.state == "ended" else "delivered"), ""

        return sent


_Sent = Callable[[Logged, Account], tuple[Outcome, str]]


class _Bounds:
    """Of one answer, in time and size."""

    def __init__(self) -> None:
        self._until, self._room = monotonic() + MOST_SECONDS, MOST_TOLD

    def told(self, account: Account) -> Account:
        self._room -= max(1, sum(map(count, account.explanation.parts)))
        return account

    def are_reached(self) -> bool:
        return self._room <= 0 or monotonic() > self._until


def _fetched(state: PointState, number: int | None) -> tuple[Outcome, str]:
    """What waits is there. Of what is not, it is known only how many were handed out, and how many lost."""
    if number is not None and number > state.handed_to:
        return "waiting", ""
    if not state.handed_to:
        return "not known", ""
    if not state.overflowed:
        return "handed out", ""
    if state.handed_to == state.overflowed:
        return "overflowed", f"the pull point was full; {state.overflowed:,} were lost so"
    return "not known", f"it was handed out, or is one of the {state.overflowed:,} that overflowed"


def _addressed(pull_point: str, subscription: Subscription) -> Explanation:
    """What is posted to the address of a pull point is for no subscription but that."""
    is_it = subscription.id == pull_point
    part = leaf("what is for everybody", is_it, f"it was put into the pull point {pull_point} alone")
    return Explanation(is_it, part.why, (part if is_it else replace(part, decides=True),))


def _elsewhere() -> Explanation:
    """One that stands at several nodes is told by one of them, which says whether it wants it."""
    part = leaf("what this node tells", False, "if it wants this, another node of the ring tells it, or has told it")
    return Explanation(False, part.why, (replace(part, decides=True),))


def _remark(history: Sequence[Changed], at: int, offset: int) -> str:
    met, now = history[at].subscription, history[-1].subscription
    if history[0].at.offset > offset:
        return f"it was made after this, as record {history[0].at.offset}"
    if now.state == "ended":
        return f"it has ended since: {now.reason}" if met.state != "ended" else ""
    return "" if (met.filters, met.state) == (now.filters, now.state) else _AS_IT_WAS


def _was_sent(caller: Caller, account: Account) -> bool:
    """Who manages it now may not have been allowed to, as it was then."""
    return account.explanation.wanted is True and caller.owns(account.subscription)


def _hears(caller: Caller, found: Logged) -> bool:
    if caller.manages_everything():
        return True
    return not found.private and caller.may_hear(found.notification.topic)
