"""WS-Eventing 2004/08 (W3C Submission 2006) over either WS-Addressing: tables."""

from functools import partial

from msgspec.structs import replace

from tocsin.mediation.rules import Dialect, Entry, Faults, Message, Names
from tocsin.mediation.soap.content_filters import EVENT_DIALECTS
from tocsin.mediation.soap.namespaces import WSA_2004, WSE, WSE_PUSH, WSN
from tocsin.mediation.topics import IN_1_3
from tocsin.mediation.ws.shared_tables import eventing, own_policies, raw_event

NAME = "wse-2004-08"

# The next three are those of the draft of 2004/01 as well, but for the namespace.


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


def unsubscribe(names: Names, push: str, *entries: Entry) -> Message:
    """The Body of its answer is empty."""
    asked = eventing(names, push, "Unsubscribe", *entries)
    return replace(asked, answer=Message("Unsubscribe", None, f"{asked.action}Response"))


_wsa = Names("wsa", WSA_2004)
_e = Names("wse", WSE)
_b = Names("wsnt", WSN)

# Topic and producer, for which WS-Eventing has no place, travel as headers.
EVENT = raw_event(_wsa, _b)
_EXPIRES = Entry("expires", _e("Expires"))


_operation = partial(eventing, _e, WSE_PUSH)
SUBSCRIBE = _operation(
    "Subscribe",
    Entry("end_to", _e("EndTo")),
    Entry("mode", _e("Delivery", "@Mode"), default=WSE_PUSH),
    Entry("consumer", _e("Delivery", "NotifyTo"), required=True),
    _EXPIRES,
    Entry("event_filter", _e("Filter")),
    *own_policies(),
    answer=(Entry("subscription", _e("SubscriptionManager"), required=True), _EXPIRES),
)
RENEW = _operation("Renew", _EXPIRES, answer=(_EXPIRES,))
GET_STATUS = _operation("GetStatus", answer=(_EXPIRES,))
UNSUBSCRIBE = unsubscribe(_e, WSE_PUSH)
SUBSCRIPTION_END = subscription_end(_e)
FAULTS = faults(_e, WSE_PUSH)

DIALECT = Dialect(
    NAME,
    "WS-Eventing 2004/08",
    "2004/08",
    None,
    EVENT,
    (SUBSCRIBE, RENEW, GET_STATUS, UNSUBSCRIBE),
    SUBSCRIPTION_END,
    FAULTS,
    # SDC consumers (WS-Addressing 2005/08) fail on an echoed wse:Identifier, WS-Management ones need it.
    identifier=_e.one("Identifier"),
    identifier_for=frozenset({"2004/08"}),
    leases="as asked",
    topic_dialects=IN_1_3,
)
