"""ONVIF's synchronization point: a subscription is told again how the properties stand that it asks for."""

from collections.abc import Iterator
from uuid import uuid4

from tocsin.app.current import CurrentMessages
from tocsin.app.pulling import PullPoints
from tocsin.app.sending import Sending
from tocsin.flow.pull_points import pulled_by
from tocsin.matching.engine import matches_filters
from tocsin.matching.judging import Undecided
from tocsin.matching.known import Known
from tocsin.mediation.onvif_properties import initialised
from tocsin.model.identity import Instant
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription
from tocsin.store.judge import Judges

MOST_TOLD = 1000


class Synchronising:
    """A base of `Node`, which has these."""

    base_url: str
    pulling: PullPoints
    current: CurrentMessages
    sending: Sending
    known: Known
    judges: Judges

    def now(self) -> Instant:
        raise NotImplementedError

    def subscription(self, subscription: str) -> Subscription:
        raise NotImplementedError

    async def synchronise(self, subscription: str) -> None:
        """Into a pull point, on disk when it returns; else to its consumer, tried like a delivery."""
        asking = self.subscription(subscription)
        if asking.state != "active":
            return
        pull_point = pulled_by(asking)
        for each in self._standing(asking):
            if pull_point is None:
                self.sending.notices.tell(each, asking, self.base_url)
            else:
                self.pulling.put_again(pull_point, asking.id, each)
        if pull_point is not None:
            await self.pulling.surely_saved()

    def _standing(self, asking: Subscription) -> Iterator[Notification]:
        name = uuid4().hex
        for each in self.current.latest(MOST_TOLD):
            if self._wants(asking, each) and (told := initialised(each, name)) is not None:
                yield told

    def _wants(self, asking: Subscription, notification: Notification) -> bool:
        judge = self.judges.in_loop
        judge.begin()
        try:
            return matches_filters(asking, notification, self.known, judge, self.base_url)
        except Undecided as problem:
            self.sending.unjudged(notification, asking, str(problem))
            return False
