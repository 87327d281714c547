"""ONVIF's synchronization point: a subscription is told again how the properties stand that it asks for."""

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple
from uuid import uuid4

from tocsin.broker.caller import Caller
from tocsin.broker.consumers.end_notices import EndNotices
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.engines.settlement import Settlement
from tocsin.broker.publishing.current_messages import CurrentMessages
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.flow.addressing import pulled_by
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import matches_filters
from tocsin.matching.judge import Undecided
from tocsin.mediation.ws.onvif import initialised
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.store.judge.judge import Judges

MOST_TOLD = 1000
MOST_SECONDS = 5.0  # for one call, in a thread


class Wanted(NamedTuple):
    """What a subscription wants, and of what that could not be told, and why."""

    notifications: list[Notification]
    unjudged: list[tuple[Notification, str]]


class Synchronisation:
    def __init__(
        self,
        standing: StandingSubscriptions,
        current: CurrentMessages,
        mailboxes: Mailboxes,
        settlement: Settlement,
        notices: EndNotices,
        declarations: Declarations,
        judges: Judges,
        base_url: str,
    ) -> None:
        self._standing, self._current, self._mailboxes, self._settlement = standing, current, mailboxes, settlement
        self._notices, self._declarations, self._judges, self._base_url = notices, declarations, judges, base_url

    async def synchronise(self, caller: Caller, subscription: str) -> None:
        """Into a pull point, on disk when it returns; else to its consumer, tried like a delivery."""
        asking = caller.must_manage(self._standing.get(subscription))
        if asking.state != "active":
            return
        pull_point = pulled_by(asking)
        for each in await self._latest(asking):
            if pull_point is None:
                self._notices.tell(each, asking, self._base_url)
            else:
                self._mailboxes.put_again(pull_point, asking.id, each)
        if pull_point is not None:
            await self._mailboxes.surely_saved()

    async def _latest(self, asking: Subscription) -> list[Notification]:
        """In a thread: its filter is evaluated for each, and may be any expression."""
        latest, known, name = self._current.latest(MOST_TOLD), self._declarations.known.copy(), uuid4().hex
        found, unjudged = await asyncio.to_thread(self._wanted, asking, latest, known)
        for notification, reason in unjudged:
            self._settlement.unjudged(notification, asking, reason)
        return [told for each in found if (told := initialised(each, name)) is not None]

    def _wanted(self, asking: Subscription, latest: Sequence[Notification], known: Catalogue) -> Wanted:
        """All of them or none: what was left out nobody would miss."""
        found, until = Wanted([], []), monotonic() + MOST_SECONDS
        for count, each in enumerate(latest):
            if monotonic() > until:
                raise _too_slow(count, len(latest))
            try:
                if matches_filters(asking, each, known, self._judges.aside, self._base_url):
                    found.notifications.append(each)
            except Undecided as problem:
                found.unjudged.append((each, str(problem)))
        return found


def _too_slow(count: int, of: int) -> Refusal:
    text = f"after {MOST_SECONDS:.0f} s its filter was evaluated for {count} of {of} properties only"
    return Refusal(
        "overloaded", f"{text}; nothing was told again: try later, or subscribe with a filter that is less work"
    )
