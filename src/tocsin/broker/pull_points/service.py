"""What a node does for those who fetch: pull points, and the current message of a topic."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from tocsin.broker.publishing.current_messages import CurrentMessages
from tocsin.broker.pull_points.pull_points import PullPoints
from tocsin.broker.settings import Settings
from tocsin.flow.addressing import PULL_POINTS, pull_point_of
from tocsin.mediation.operations import CreatePullPoint, Held, Pulled, Renew, Subscribe
from tocsin.model.filters import NOTHING, TopicIs
from tocsin.model.identity import SECOND, Instant, after
from tocsin.model.notification import Notification
from tocsin.model.records import Changed, Declared
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Subscription
from tocsin.store.pull_points import PointState


class Addressed(Struct, frozen=True):
    """Notifications for one pull point alone."""

    pull_point: str
    notifications: Sequence[Notification]


Waited = Sequence[Notification] | Addressed | Changed | Declared  # what waits for the disk


def open_to_all(what: Sequence[Notification] | Addressed) -> Sequence[Notification]:
    """What subscriptions are matched against."""
    return () if isinstance(what, Addressed) else what


def said_to_all(notifications: Sequence[Notification]) -> Sequence[Notification]:
    """What a notifier tells its service is nobody else's: no topic's current message, and not counted as published."""
    return () if notifications and notifications[0].addressee else notifications


class Pulls:
    """A base of `Node`, which has these."""

    base_url: str
    settings: Settings
    pulling: PullPoints
    current: CurrentMessages

    def now(self) -> Instant:
        raise NotImplementedError

    def subscription(self, subscription: str) -> Subscription:
        raise NotImplementedError

    async def subscribe(self, request: Subscribe, *, owner: str | None = None) -> Subscription:
        raise NotImplementedError

    async def renew(self, request: Renew) -> Subscription:
        raise NotImplementedError

    async def create_pull_point(self, request: CreatePullPoint, *, owner: str | None = None) -> Subscription:
        expires = after(self.now(), self.settings.limits.pull_idle)
        return await self.subscribe(Subscribe(None, None, request.form, (NOTHING,), expires), owner=owner)

    async def pull(self, pull_point: str, most: int | None, seconds: float = 0.0) -> Pulled:
        await self._stay(self._pull_point(pull_point))
        held = await self.pulling.pull(pull_point, most, seconds)
        return Pulled(self.subscription(pull_point), held, self.now())

    async def held(self, pull_point: str, after: int, limit: int, seconds: float = 0.0) -> Sequence[Held]:
        self._pull_point(pull_point)
        return await self.pulling.held(pull_point, after, limit, seconds)

    async def hand_out(self, pull_point: str, number: int) -> None:
        await self._stay(self._pull_point(pull_point))
        await self.pulling.hand_out(pull_point, number)

    def pull_point(self, pull_point: str) -> PointState:
        self._pull_point(pull_point)
        return self.pulling.state(pull_point)

    def closing(self) -> bool:
        return self.pulling.closing

    def current_message(self, topic: TopicIs) -> Notification:
        return self.current.current(topic)

    def fetched(self, offset: int, what: Sequence[Notification] | Addressed) -> None:
        """What was accepted there, in the order of the log; without pull points it costs next to nothing."""
        if isinstance(what, Addressed):
            self.pulling.addressed(what.pull_point, what.notifications)
        else:
            self.current.note(offset, said_to_all(what))
            if self.pulling.feeds:
                self.pulling.accepted(what)
        self.pulling.pulled_to = offset + 1

    def addressee(self, door: str) -> str | None:
        """The pull point that a door is the address of; refused when there is none of that name."""
        name = pull_point_of(door)
        if name is not None:
            self._pull_point(name)
        return name

    def at_home(self, consumer: Endpoint | None) -> Endpoint | None:
        """A consumer that is a pull point of ours, as a path alone; any other as None."""
        if consumer is None or not consumer.address.startswith(f"{self.base_url}{PULL_POINTS}"):
            return None
        path = consumer.address[len(self.base_url) :]
        if not self.pulling.has(pull_point_of(path) or ""):
            hint = "create one and name its address"
            raise Refusal("bad-consumer", f"there is no pull point at {consumer.address}; {hint}")
        return replace(consumer, address=path)

    def _pull_point(self, name: str) -> Subscription:
        try:
            found = self.subscription(name)
        except Refusal as refusal:
            text = f"there is no pull point {name!r} here; it may have ended: create another"
            raise Refusal(refusal.reason, text) from None
        if found.consumer is not None:
            raise Refusal("unknown-subscription", f"{name!r} is no pull point: what it matches is sent")
        return found

    async def _stay(self, pull_point: Subscription) -> None:
        """Whoever pulls keeps a mailbox alive; told to the log when half of its time has passed, not each time."""
        idle, expires = self.settings.limits.pull_idle, pull_point.expires
        if expires is None or pull_point.filters != (NOTHING,) or expires - self.now() > idle * SECOND / 2:
            return
        await self.renew(Renew(pull_point.id, after(self.now(), idle), pull_point.form))
