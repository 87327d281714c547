"""WS-Eventing, W3C Recommendation of 2011: tables. Wrap and Unwrap are its formats, PT0S its word for no end."""

from functools import partial

from tocsin.mediation.rules import Dialect, Entry, Faults, Message, Names
from tocsin.mediation.soap.content_filters import EVENT_DIALECTS, XPATH_10_OF_2011
from tocsin.mediation.soap.namespaces import WSA_2005, WSE_2011, WSN
from tocsin.mediation.topics import IN_1_3
from tocsin.mediation.ws.shared_tables import event_headers, eventing, own_policies, raw_event

NAME = "wse-2011"
UNWRAP, WRAP = f"{WSE_2011}/DeliveryFormats/Unwrap", f"{WSE_2011}/DeliveryFormats/Wrap"
ENDLESS = "PT0S"

_wsa = Names("wsa", WSA_2005)
_e = Names("wse", WSE_2011)
_b = Names("wsnt", WSN)

EVENT = raw_event(_wsa, _b)
NOTIFY = Message(
    "Notify",
    _e.one("Notify"),
    f"{WSE_2011}/WrappedSinkPortType/NotifyEvent",
    (*event_headers(_wsa, _b), Entry("action", _e("@actionURI")), Entry("payload", (), required=True)),
)


_operation = partial(eventing, _e, f"{UNWRAP} {WRAP}")
_EXPIRES = Entry("expires", _e("Expires"))  # whatever BestEffort says, what was asked for is granted or refused
_GRANTED = Entry("expires", _e("GrantedExpires"), required=True, default=ENDLESS)
SUBSCRIBE = _operation(
    "Subscribe",
    Entry("end_to", _e("EndTo")),
    Entry("consumer", _e("Delivery", "NotifyTo"), required=True, missing="no-consumer"),
    Entry("mode", _e("Format", "@Name"), default=UNWRAP),
    _EXPIRES,
    Entry("event_filter", _e("Filter")),
    *own_policies(),
    answer=(Entry("subscription", _e("SubscriptionManager"), required=True), _GRANTED),
)
RENEW = _operation("Renew", _EXPIRES, answer=(_GRANTED,))
GET_STATUS = _operation("GetStatus", answer=(_GRANTED,))
UNSUBSCRIBE = _operation("Unsubscribe")
SUBSCRIPTION_END = Message(
    "End",
    _e.one("SubscriptionEnd"),
    f"{WSE_2011}/SubscriptionEnd",
    (Entry("status", _e("Status"), required=True), Entry("reason", _e("Reason"))),
    facts=(("statuses", f"{WSE_2011}/"),),
)

_UNAVAILABLE, _UNUSABLE = _e.one("FilteringRequestedUnavailable"), _e.one("UnusableEPR")
_CANNOT_PROCESS = _e.one("CannotProcessFilter")
FAULTS = Faults(
    {
        "unknown-subscription": _e.one("UnknownSubscription"),
        "unknown-topic-dialect": _UNAVAILABLE,
        "unsupported-filter": _UNAVAILABLE,
        "bad-topic-expression": _CANNOT_PROCESS,
        "bad-filter": _CANNOT_PROCESS,
        "bad-producer-filter": _CANNOT_PROCESS,
        "unknown-topic": _e.one("EmptyFilter"),  # nothing will ever stand under it
        "bad-expiry": _e.one("UnsupportedExpirationValue"),
        "unsupported-delivery": _e.one("DeliveryFormatRequestedUnavailable"),
        "bad-consumer": _UNUSABLE,
        "no-consumer": _e.one("NoDeliveryMechanismEstablished"),
    },
    action=f"{WSE_2011}/fault",
    supported={
        "DeliveryFormatRequestedUnavailable": (_e.one("SupportedDeliveryFormat"), (UNWRAP, WRAP)),
        "FilteringRequestedUnavailable": (_e.one("SupportedDialect"), (XPATH_10_OF_2011, *EVENT_DIALECTS)),
    },
)

DIALECT = Dialect(
    NAME,
    "WS-Eventing 2011",
    "2005/08",
    NOTIFY,
    EVENT,
    (NOTIFY, SUBSCRIBE, RENEW, GET_STATUS, UNSUBSCRIBE),
    SUBSCRIPTION_END,
    FAULTS,
    leases="as asked",
    endless=ENDLESS,
    topic_dialects=IN_1_3,
)
