"""When a notification expires: by its own attribute, or by the age after which a node no longer delivers it."""

from collections.abc import Iterable

from tocsin.mediation.times import instant, timestamp
from tocsin.model.identity import Instant, after
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal

EXPIRY = "expirytime"  # the extension attribute of CloudEvents by that name, in the form of RFC 3339


def expiry_of(notification: Notification) -> Instant | None:
    """What its producer says of it; what cannot be read as a time says nothing."""
    text = notification.attribute(EXPIRY)
    try:
        return None if text is None else instant(text.upper())
    except Refusal:
        return None


def check_expiry(notifications: Iterable[Notification]) -> None:
    """At the door: a time that nobody could read later is refused."""
    for each in notifications:
        text = each.attribute(EXPIRY) if each.attributes else None
        if text is not None and expiry_of(each) is None:
            hint = "write a time such as 2030-01-31T12:00:00Z"
            raise Refusal("malformed", f"the attribute {EXPIRY} is {text[:80]!r}; {hint}")


def overdue(notification: Notification, now: Instant, lifetime: float | None) -> str | None:
    """Why it is not to be told of any more; None while it is. `lifetime` is in seconds from its acceptance."""
    return too_late(notification.when, expiry_of(notification), now, lifetime)


def too_late(when: Instant, expires: Instant | None, now: Instant, lifetime: float | None) -> str | None:
    """As `overdue`; deliveries that were written down without `when` have none (0)."""
    if expires is not None and expires <= now:
        return f"overdue: it expired at {timestamp(expires)}"
    if lifetime is not None and when and after(when, lifetime) <= now:
        return f"overdue: it was accepted at {timestamp(when)} and is told of for {lifetime:g} s only"
    return None
