"""WS-Eventing 2004/08 (W3C Submission 2006) over either WS-Addressing: tables."""

from tocsin.mediation.content_filters import EVENT_DIALECTS
from tocsin.mediation.namespaces import WSA_2004, WSE, WSE_PUSH, WSN
from tocsin.mediation.rules import Dialect, Entry, Faults, Message, Names
from tocsin.mediation.shared_tables import own_policies, raw_event
from tocsin.mediation.topics import IN_1_3

NAME = "wse-2004-08"

_wsa = Names("wsa", WSA_2004)
_e = Names("wse", WSE)
_b = Names("wsnt", WSN)

# Topic and producer, for which WS-Eventing has no place, travel as headers.
EVENT = raw_event(_wsa, _b)
_EXPIRES = Entry("expires", _e("Expires"))


def _operation(operation: str, *entries: Entry, answer: tuple[Entry, ...] = (), empty: bool = False) -> Message:
    name = None if empty else _e.one(f"{operation}Response")
    said = Message(operation, name, f"{WSE}/{operation}Response", answer)
    return Message(operation, _e.one(operation), f"{WSE}/{operation}", entries, said, facts=(("modes", WSE_PUSH),))


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
UNSUBSCRIBE = _operation("Unsubscribe", empty=True)
SUBSCRIPTION_END = Message(
    "End",
    _e.one("SubscriptionEnd"),
    f"{WSE}/SubscriptionEnd",
    (
        Entry("subscription", _e("SubscriptionManager"), required=True),
        Entry("status", _e("Status"), required=True),
        Entry("reason", _e("Reason")),
    ),
    facts=(("statuses", f"{WSE}/"),),
)

_INVALID, _UNABLE = _e.one("InvalidMessage"), _e.one("EventSourceUnableToProcess")
_UNAVAILABLE = _e.one("FilteringRequestedUnavailable")
FAULTS = Faults(
    {
        "unknown-subscription": _INVALID,
        "unknown-topic-dialect": _UNAVAILABLE,
        "bad-topic-expression": _UNAVAILABLE,
        "unknown-topic": _UNAVAILABLE,
        "unsupported-filter": _UNAVAILABLE,
        "bad-filter": _UNAVAILABLE,
        "bad-producer-filter": _UNAVAILABLE,
        "bad-expiry": _e.one("InvalidExpirationTime"),
        "unsupported-delivery": _e.one("DeliveryModeRequestedUnavailable"),
        "bad-consumer": _INVALID,
        "bad-start": _INVALID,
        "malformed": _INVALID,
        "unknown-operation": _INVALID,
        "overloaded": _UNABLE,
        "cannot-store": _UNABLE,
    },
    {("Renew", "cannot-store"): _e.one("UnableToRenew")},
    supported={
        "DeliveryModeRequestedUnavailable": (_e.one("SupportedDeliveryMode"), (WSE_PUSH,)),
        "FilteringRequestedUnavailable": (_e.one("SupportedDialect"), EVENT_DIALECTS),
    },
)

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
