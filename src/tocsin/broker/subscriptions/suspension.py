"""Subscriptions whose filters keep failing are suspended, and their subscribers told."""

from collections.abc import Callable, Collection
from uuid import uuid4

from tocsin.broker.consumers.end_notices import EndNotices
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.subscriptions.failures import FilterFailures
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.flow.addressing import pulled_by
from tocsin.markup import xml
from tocsin.mediation.dialects import BY_NAME
from tocsin.model.identity import Instant, MessageId, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

SUSPENDED = QName("urn:tocsin:notice", "Suspended")


class Suspension:
    """As if they were paused, by us; who resumes one has put right what the reason says."""

    def __init__(
        self,
        standing: StandingSubscriptions,
        notices: EndNotices,
        mailboxes: Mailboxes,
        base_url: str,
        now: Callable[[], Instant],
    ) -> None:
        self._standing, self._notices, self._mailboxes = standing, notices, mailboxes
        self._base_url, self._now = base_url, now

    async def suspend(self, name: SubscriptionId, reason: str, states: Collection[str] = ("active",)) -> bool:
        """If it is in one of these states; whether it was."""
        try:
            if self._standing.get(name).state not in states:
                return False
            # Where its notifications went: no specification has a message for this, SubscriptionEnd would say it is
            # over
            suspended = await self._standing.turn(name, "suspended", reason)
            notice, pull_point = _notice(suspended, self._now(), self._base_url), pulled_by(suspended)
            if pull_point is None:
                self._notices.tell(notice, suspended, self._base_url)
            else:
                self._mailboxes.put_again(pull_point, suspended.id, notice)
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":  # else it ended meanwhile
                raise
            return False
        return True

    async def suspend_failing(self, failures: FilterFailures, report: Callable[[str], None]) -> None:
        for name, reason in failures.over().items():
            if await self.suspend(name, reason):
                report(f"subscription {name} is suspended: {reason}")
            failures.forget(name)


def _notice(suspended: Subscription, now: Instant, base_url: str) -> Notification:
    name, rules = MessageId(f"urn:uuid:{uuid4()}"), BY_NAME.get(suspended.form.dialect)
    as_xml = rules is not None and rules.is_soap
    payload = _element(suspended) if as_xml else Payload("text/plain", suspended.reason.encode())
    topic, dialect = Topic((SUSPENDED,)), suspended.form.dialect
    return Notification(name, suspended.since, 0, now, dialect, name, base_url, topic, SUSPENDED, (), payload)


def _element(suspended: Subscription) -> Payload:
    shape = b'<n:%b xmlns:n="%b" subscription=%b reason=%b/>'
    names = SUSPENDED.local.encode(), SUSPENDED.namespace.encode()
    data = shape % (*names, xml.attribute(suspended.id), xml.attribute(suspended.reason))
    return Payload("application/xml", data)
