"""Traces as one principal sees them: of what it may hear, and of subscriptions that it may manage."""

from msgspec.structs import replace

from tocsin.documents.ports.trace_port import (
    Account,
    Accounts,
    Found,
    Heard,
    Newest,
    SeenSubscription,
    Sought,
    TracesPort,
)
from tocsin.matching import rights
from tocsin.model.access import Principal
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription


class GuardedTraces:
    """Implements `TracesPort`."""

    def __init__(self, behind: TracesPort, principal: Principal) -> None:
        self._behind, self._principal = behind, principal

    async def find(self, sought: Sought, heard: Heard | None = None) -> Found:
        """Nobody is told that there is something that it may not hear."""
        return await self._behind.find(sought, lambda each: self._hears(each) and (heard is None or heard(each)))

    async def known_subscription(self, subscription: str) -> Subscription:
        found = await self._behind.known_subscription(subscription)
        if not rights.may_manage(self._principal, found):
            raise self._may_not(f"manage the subscription {subscription}, which is another's")
        return found

    async def account(self, found: Found, subscription: str) -> Account:
        await self.known_subscription(subscription)
        return await self._behind.account(found, subscription)

    async def accounts(
        self, found: Found, after: str, limit: int, *, every: bool, seen: SeenSubscription | None = None
    ) -> Accounts:
        def both(each: Subscription) -> bool:
            return rights.may_manage(self._principal, each) and (seen is None or seen(each))

        return await self._behind.accounts(found, after, limit, every=every, seen=both)

    async def newest(self, subscription: str, most: int) -> Newest:
        """What its owner was sent it may be told of again; others, and of the rest, only what they may hear."""
        await self.known_subscription(subscription)
        found = await self._behind.newest(subscription, most)
        return replace(
            found, items=tuple(pair for pair in found.items if self._was_sent(pair[1]) or self._hears(pair[0]))
        )

    def _was_sent(self, account: Account) -> bool:
        """Who manages it now may not have been allowed to, as it was then."""
        return account.explanation.wanted is True and rights.owns(self._principal, account.subscription)

    def _hears(self, found: Found) -> bool:
        if rights.may_manage_everything(self._principal):
            return True
        return not found.private and rights.may_hear(self._principal, found.notification.topic)

    def _may_not(self, what: str) -> Refusal:
        name = self._principal.name or "whoever does not say who it is"
        return Refusal("not-allowed", f"{name} may not {what}; `tocsin users grant` gives rights")
