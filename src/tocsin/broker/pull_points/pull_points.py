"""Pull points as those who fetch use them."""

from collections.abc import Callable, Sequence

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.subscriptions.subscriptions import Subscriptions
from tocsin.mediation.operations import CreatePullPoint, Held, Pulled, Renew, Subscribe
from tocsin.model.filters import NOTHING
from tocsin.model.identity import SECOND, Instant, after
from tocsin.model.subscription import Subscription
from tocsin.store.pull_points import PointState


class PullPoints:
    """`idle` is for how many seconds a mailbox stays that nobody reads."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        standing: StandingSubscriptions,
        mailboxes: Mailboxes,
        idle: float,
        now: Callable[[], Instant],
    ) -> None:
        self._subscriptions, self._standing, self._mailboxes = subscriptions, standing, mailboxes
        self._idle, self._now = idle, now

    async def create(self, caller: Caller, request: CreatePullPoint) -> Subscription:
        if not caller.may_subscribe_at_all():
            raise caller.may_not("have a pull point without any right to subscribe")
        asked = Subscribe(None, None, request.form, (NOTHING,), after(self._now(), self._idle))
        return await self._subscriptions.create_mailbox(caller, asked)

    async def pull(self, caller: Caller, name: str, most: int | None, seconds: float = 0.0) -> Pulled:
        """Hands out what waits; waits so long for the first. What was handed out is on disk as such."""
        await self._stay(self._readable(caller, name))
        held = await self._mailboxes.pull(name, most, seconds)
        return Pulled(self._standing.get(name), held, self._now())

    async def held(self, caller: Caller, name: str, after: int, limit: int, seconds: float = 0.0) -> Sequence[Held]:
        """What has a higher number, handed out not long ago or not yet; hands out nothing."""
        self._readable(caller, name)
        return await self._mailboxes.held(name, after, limit, seconds)

    async def hand_out(self, caller: Caller, name: str, number: int) -> None:
        """All up to that number count as handed out."""
        await self._stay(self._readable(caller, name))
        await self._mailboxes.hand_out(name, number)

    def state(self, caller: Caller, name: str) -> PointState:
        caller.must_manage(self._standing.pull_point(name))
        return self._mailboxes.state(name)

    def _readable(self, caller: Caller, name: str) -> Subscription:
        """What lies there was chosen by its owner's rights, and is its owner's to read."""
        found = self._standing.pull_point(name)
        if not caller.may_pull(found):
            raise caller.may_not(f"pull from {name}, which is another's")
        return found

    async def _stay(self, pull_point: Subscription) -> None:
        """Whoever pulls keeps a mailbox alive; told to the log when half of its time has passed, not each time."""
        expires = pull_point.expires
        if expires is None or pull_point.filters != (NOTHING,) or expires - self._now() > self._idle * SECOND / 2:
            return
        await self._subscriptions.renew(NODE, Renew(pull_point.id, after(self._now(), self._idle), pull_point.form))
