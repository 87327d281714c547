"""Matches notifications and turns each match into a delivery, for the node and for Spark alike."""

from msgspec.structs import replace

from tocsin.flow.addressing import NOTIFIERS, addressed_by
from tocsin.flow.lifetime import expiry_of
from tocsin.flow.replies import customised
from tocsin.flow.thin import thinned
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import Engine, Matched, matches
from tocsin.matching.index.compiled import Compiled
from tocsin.matching.judge import Judge, Undecided
from tocsin.mediation import dialects
from tocsin.mediation.dialects import Reading, Written, customise
from tocsin.model.declarations import Declaration
from tocsin.model.delivery import Delivery, Match
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Subscription
from tocsin.routing.ring.meeting import tells

__all__ = ["UNJUDGED", "Flow", "normalise", "unmade", "with_meaning"]

UNJUDGED = "its filter could not be evaluated: "


def normalise(record: Accepted, reading: Reading | None = None) -> tuple[Notification, ...]:
    """The notifications of an accepted request; at the door of a notifier they are for its service alone."""
    found = dialects.normalise(record, reading)
    if record.reply is not None:
        found = tuple(replace(each, reply=record.reply) for each in found)
    return found if not record.door.startswith(NOTIFIERS) else addressed_by(record.door, found)


class Flow:
    """The subscriptions and declarations as of some offset; matches notifications and makes deliveries.

    `base_url` is where the node is reached. `catalogue` goes on with `declare`; `base` is a snapshot to begin with.
    """

    def __init__(
        self,
        base_url: str,
        catalogue: Catalogue | None = None,
        judge: Judge | None = None,
        base: Compiled | None = None,
    ) -> None:
        self.base_url = base_url
        self.catalogue, self._judge = catalogue or Catalogue(), judge
        self._engine = Engine(self.catalogue, judge, base_url, base=base, tells=tells)
        self.match = self._engine.match

    def declare(self, what: Declaration) -> None:
        self.catalogue.declare(what)

    def apply(self, subscription: Subscription) -> None:
        self._engine.apply(subscription)

    def remove(self, subscription: SubscriptionId) -> None:
        self._engine.remove(subscription)

    def get(self, subscription: SubscriptionId) -> Subscription | None:
        return self._engine.get(subscription)

    def matched(self, subscription: Subscription, notification: Notification, catalogue: Catalogue) -> Matched:
        """Whether one subscription wants it, by what was declared then."""
        try:
            wanted = matches(subscription, notification, catalogue, self._judge, self.base_url, tells)
        except Undecided as problem:
            return Matched([], [(subscription, str(problem))])
        return Matched([subscription] if wanted else [], [])

    def deliver(
        self,
        notification: Notification,
        subscription: Subscription,
        catalogue: Catalogue | None = None,
        written: Written | None = None,
    ) -> Delivery:
        """`written` is what was made of the notification for others, and is not looked at where it goes out changed."""
        form, told = subscription.form, notification
        if form.thin:
            told, written = thinned(notification, form.dialect, self.base_url), None
        elif form.graph or form.bindings:
            told, written = with_meaning(notification, subscription, catalogue or self.catalogue), None
        if (request := notification.reply) is None:
            headers, body = customise(told, subscription, self.base_url, written)
        else:
            headers, body = customised(request, told, subscription, self.base_url, written)
        return Delivery(
            Match(notification.id, subscription.id),
            notification.at,
            notification.index,
            subscription.consumer or Endpoint(""),
            headers,
            body,
            0,
            notification.when,
            expiry_of(notification) if notification.attributes else None,
        )

    def __contains__(self, subscription: SubscriptionId) -> bool:
        return subscription in self._engine

    def __len__(self) -> int:
        return len(self._engine)


def with_meaning(notification: Notification, subscription: Subscription, catalogue: Catalogue) -> Notification:
    """Only for who asks for it RDF is read and written."""
    if not (subscription.form.graph or subscription.form.bindings):
        return notification
    from tocsin.flow.graphs import with_meaning as told

    return told(notification, subscription, catalogue)


def unmade(notification: Notification, subscription: Subscription, problem: Exception) -> Delivery:
    """What stands for a delivery that could not be written, or that nobody knows whether it is wanted.

    It goes to the dead letters, with the reason. Tried again from there it is sent, if it can be written by then.
    """
    if isinstance(problem, Undecided):
        text = f"{UNJUDGED}{problem}"
    else:
        reason = problem.text if isinstance(problem, Refusal) else f"{type(problem).__name__}: {problem}"
        text = f"it could not be written as {subscription.form.dialect}: {reason}"
    return Delivery(
        Match(notification.id, subscription.id),
        notification.at,
        notification.index,
        subscription.consumer or Endpoint(""),
        (),
        text.encode(errors="replace"),
        0,
        notification.when,
        expiry_of(notification) if notification.attributes else None,
    )
