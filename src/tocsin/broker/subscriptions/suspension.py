"""Subscriptions whose filters keep failing are suspended, and their subscribers told."""

from collections.abc import Callable
from typing import Protocol
from uuid import uuid4

from tocsin.broker.engines.sending import Sending
from tocsin.broker.pull_points.pull_points import PullPoints
from tocsin.flow.addressing import pulled_by
from tocsin.markup import xml
from tocsin.mediation.dialects import BY_NAME
from tocsin.model.identity import Instant, MessageId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

SUSPENDED = QName("urn:tocsin:notice", "Suspended")


class Suspending(Protocol):
    """What of a node is needed for it."""

    base_url: str
    sending: Sending
    pulling: PullPoints

    def now(self) -> Instant: ...

    def subscription(self, subscription: str) -> Subscription: ...

    async def suspend(self, subscription: str, reason: str) -> Subscription: ...


async def suspend_failing(node: Suspending, report: Callable[[str], None]) -> None:
    failures = node.sending.filters
    for name, reason in failures.over().items():
        try:
            if node.subscription(name).state == "active":
                told = await node.suspend(name, reason)
                report(f"subscription {name} is suspended: {reason}")
                tell_suspended(node, told)
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":  # else it ended meanwhile
                raise
        failures.forget(name)


def tell_suspended(node: Suspending, suspended: Subscription) -> None:
    """Where its notifications went: no specification has a message for this, SubscriptionEnd would say it is over."""
    notice, pull_point = _notice(suspended, node.now(), node.base_url), pulled_by(suspended)
    if pull_point is None:
        node.sending.notices.tell(notice, suspended, node.base_url)
    else:
        node.pulling.put_again(pull_point, suspended.id, notice)


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
