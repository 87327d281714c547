"""What the two member submissions of WS-Eventing, 2004/01 and 2004/08, say alike but for their namespace."""

from tocsin.mediation.rules import Entry, Faults, Message, Names
from tocsin.mediation.soap.content_filters import EVENT_DIALECTS


def subscription_end(names: Names) -> Message:
    return Message(
        "End",
        names.one("SubscriptionEnd"),
        f"{names.namespace}/SubscriptionEnd",
        (
            Entry("subscription", names("SubscriptionManager"), required=True),
            Entry("status", names("Status"), required=True),
            Entry("reason", names("Reason")),
        ),
        facts=(("statuses", f"{names.namespace}/"),),
    )


def faults(names: Names, push: str) -> Faults:
    """2004/08 s4; where it names none, the generic one of its kind is used."""
    invalid, unable = names.one("InvalidMessage"), names.one("EventSourceUnableToProcess")
    unavailable = names.one("FilteringRequestedUnavailable")
    return Faults(
        {
            "unknown-subscription": invalid,
            "unknown-topic-dialect": unavailable,
            "bad-topic-expression": unavailable,
            "unknown-topic": unavailable,
            "unsupported-filter": unavailable,
            "bad-filter": unavailable,
            "bad-producer-filter": unavailable,
            "bad-expiry": names.one("InvalidExpirationTime"),
            "unsupported-delivery": names.one("DeliveryModeRequestedUnavailable"),
            "bad-consumer": invalid,
            "bad-start": invalid,
            "malformed": invalid,
            "unknown-operation": invalid,
            "overloaded": unable,
            "cannot-store": unable,
        },
        {("Renew", "cannot-store"): names.one("UnableToRenew")},
        supported={
            "DeliveryModeRequestedUnavailable": (names.one("SupportedDeliveryMode"), (push,)),
            "FilteringRequestedUnavailable": (names.one("SupportedDialect"), EVENT_DIALECTS),
        },
    )
