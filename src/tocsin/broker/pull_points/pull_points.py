"""Pull points as those who fetch use them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.ring.messages import Looked
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.subscriptions.subscriptions import Subscriptions
from tocsin.flow.ring_addresses import original
from tocsin.mediation.operations import CreatePullPoint, Held, Pulled, Renew, Subscribe
from tocsin.model.filters import NOTHING
from tocsin.model.identity import SECOND, Instant, after
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.store.pull_points import PointState


class Elsewhere(Protocol):
    """Pull points that have their home at other nodes of a ring."""

    def has(self, name: str) -> bool: ...

    async def look(self, name: str) -> Looked: ...

    async def pull(self, name: str, most: int | None, seconds: float) -> tuple[Held, ...]: ...

    async def held(self, name: str, after: int, limit: int, seconds: float) -> tuple[Held, ...]: ...

    async def hand_out(self, name: str, upto: int) -> PointState: ...


class PullPoints:
    """`idle` is for how many seconds a mailbox stays that nobody reads; `elsewhere` is None outside a ring."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        standing: StandingSubscriptions,
        mailboxes: Mailboxes,
        idle: float,
        now: Callable[[], Instant],
        elsewhere: Callable[[], Elsewhere | None] = lambda: None,
    ) -> None:
        self._subscriptions, self._standing, self._mailboxes = subscriptions, standing, mailboxes
        self._idle, self._now, self._elsewhere = idle, now, elsewhere

    async def create(self, caller: Caller, request: CreatePullPoint) -> Subscription:
        if not caller.may_subscribe_at_all():
            raise caller.may_not("have a pull point without any right to subscribe")
        asked = Subscribe(None, None, request.form, (NOTHING,), after(self._now(), self._idle))
        return await self._subscriptions.create_mailbox(caller, asked)

    async def pull(self, caller: Caller, name: str, most: int | None, seconds: float = 0.0) -> Pulled:
        """Hands out what waits; waits so long for the first. What was handed out is on disk as such."""
        if (away := self._away(name)) is not None:
            pull_point, _ = await self._looked(caller, name, away)
            return Pulled(pull_point, await away.pull(name, most, seconds), self._now())
        await self._stay(self._readable(caller, name))
        held = await self._mailboxes.pull(name, most, seconds)
        return Pulled(self._standing.get(name), held, self._now())

    async def held(self, caller: Caller, name: str, after: int, limit: int, seconds: float = 0.0) -> Sequence[Held]:
        """What has a higher number, handed out not long ago or not yet; hands out nothing."""
        if (away := self._away(name)) is not None:
            await self._looked(caller, name, away)
            return await away.held(name, after, limit, seconds)
        self._readable(caller, name)
        return await self._mailboxes.held(name, after, limit, seconds)

    async def hand_out(self, caller: Caller, name: str, number: int) -> None:
        """All up to that number count as handed out."""
        if (away := self._away(name)) is not None:
            await self._looked(caller, name, away)
            await away.hand_out(name, number)
            return
        await self._stay(self._readable(caller, name))
        await self._mailboxes.hand_out(name, number)

    async def look(self, caller: Caller, name: str) -> tuple[Subscription, PointState]:
        """Wherever in a ring it is."""
        if (away := self._away(name)) is not None:
            found, state = await self._looked(caller, name, away)
            return caller.must_manage(found), state
        state = self.state(caller, name)
        return self._subscriptions.get(caller, name), state

    def looked(self, name: str) -> Looked:
        """For another node of the ring, which holds its caller to its rights."""
        try:
            found = original(self._standing.get(name))
            return Looked(found, self._mailboxes.state(name) if found.consumer is None else None)
        except Refusal:
            return Looked(None)

    def state(self, caller: Caller, name: str) -> PointState:
        caller.must_manage(self._standing.pull_point(name))
        return self._mailboxes.state(name)

    def _readable(self, caller: Caller, name: str) -> Subscription:
        """What lies there was chosen by its owner's rights, and is its owner's to read."""
        return _readable(caller, self._standing.pull_point(name))

    def _away(self, name: str) -> Elsewhere | None:
        elsewhere = self._elsewhere()
        return elsewhere if elsewhere is not None and elsewhere.has(name) else None

    async def _looked(self, caller: Caller, name: str, away: Elsewhere) -> tuple[Subscription, PointState]:
        looked = await away.look(name)
        if looked.subscription is None or looked.point is None:
            raise Refusal("unknown-subscription", f"there is no pull point {name!r} here; it may have ended")
        return _readable(caller, looked.subscription), looked.point

    async def _stay(self, pull_point: Subscription) -> None:
        """Whoever pulls keeps a mailbox alive; told to the log when half of its time has passed, not each time."""
        expires = pull_point.expires
        if expires is None or pull_point.filters != (NOTHING,) or expires - self._now() > self._idle * SECOND / 2:
            return
        await self._subscriptions.renew(NODE, Renew(pull_point.id, after(self._now(), self._idle), pull_point.form))


def _readable(caller: Caller, pull_point: Subscription) -> Subscription:
    if not caller.may_pull(pull_point):
        raise caller.may_not(f"pull from {pull_point.id}, which is another's")
    return pull_point
