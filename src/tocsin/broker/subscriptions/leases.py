"""How long a subscription is granted, and when it is over."""

from tocsin.mediation.times import timestamp
from tocsin.model.identity import Instant, after
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription


def granted(asked: Instant | None, now: Instant, default: float, longest: float) -> Instant:
    """What was asked for, up to the longest; the default when nothing was asked for."""
    if asked is None:
        return after(now, default)
    latest = after(now, longest)
    return min(asked, latest)


def standing(subscription: Subscription | None, name: str, now: Instant) -> Subscription:
    """The subscription if it can still be managed; refused if it is unknown, ended or expired."""
    if subscription is None or subscription.state == "ended":
        raise Refusal("unknown-subscription", f"there is no subscription {name!r} here; it may have ended")
    if subscription.expires is not None and subscription.expires <= now:
        ended = timestamp(subscription.expires)
        raise Refusal("unknown-subscription", f"subscription {name!r} expired at {ended}; subscribe again")
    return subscription
