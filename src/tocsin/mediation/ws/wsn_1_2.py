"""WS-Notification 1.2 (drafts of June 2004) with the WSRF of its time, as Globus Toolkit 4 and caGrid speak it: tables.

Subscribe is flat, a subscription is renewed and ended by WS-ResourceLifetime, and its id is a reference property.
"""

from msgspec.structs import replace

from tocsin.mediation.rules import Dialect, Entry, Faults, Names
from tocsin.mediation.soap import namespaces as ns
from tocsin.mediation.topics import IN_1_2
from tocsin.mediation.ws import shared_tables as shared

NAME = "wsn-1.2"

_wsa = Names("wsa", ns.WSA_2004_03)
_b = Names("wsnt", ns.WSN_1_2)
_br = Names("wsnbr", ns.WSN_1_2_BROKERED)
_rp = Names("wsrp", ns.WSRF_1_2_PROPERTIES)
_rl = Names("wsrl", ns.WSRF_1_2_LIFETIME)

NOTIFY = shared.notify(_wsa, _b, f"{ns.WSN_1_2_ACTIONS}/Notify")
# UseNotify=false: the payload alone. What then has no place in the body travels as headers.
RAW = shared.raw_event(_wsa, _b)

_REFERENCE = Entry("reference", _b("SubscriptionReference"))
SUBSCRIBE = shared.exchange(
    "Subscribe",
    _b.one("Subscribe"),
    ns.WSN_1_2_ACTIONS,
    *shared.flat_subscribe(_b),
    answer=(Entry("subscription", _b("SubscriptionReference"), required=True),),
)
SUBSCRIBE_REQUEST = replace(SUBSCRIBE, element=_b.one("SubscribeRequest"))  # as table 5 of WS-Messenger has it
GET_CURRENT_MESSAGE = shared.exchange(
    "GetCurrentMessage",
    _b.one("GetCurrentMessage"),
    ns.WSN_1_2_ACTIONS,
    Entry("topic", _b("Topic"), required=True),
    answer=(Entry("message", ()),),
)
PAUSE = shared.exchange("Pause", _b.one("PauseSubscription"), ns.WSN_1_2_ACTIONS, _REFERENCE)
RESUME = shared.exchange("Resume", _b.one("ResumeSubscription"), ns.WSN_1_2_ACTIONS, _REFERENCE)
REGISTER_PUBLISHER = shared.exchange(
    "RegisterPublisher",
    _br.one("RegisterPublisher"),
    ns.WSN_1_2_BROKERED_ACTIONS,
    *shared.register_publisher(_br),
    answer=(Entry("registration", _br("PublisherRegistrationReference"), required=True),),
)
GET_PROPERTY = shared.exchange(
    "GetProperties",
    _rp.one("GetResourceProperty"),
    ns.WSRF_1_2_PROPERTIES_ACTIONS,
    Entry("name", ()),
    answer=(Entry("properties", ()),),
)
GET_PROPERTIES = shared.exchange(
    "GetProperties",
    _rp.one("GetMultipleResourceProperties"),
    ns.WSRF_1_2_PROPERTIES_ACTIONS,
    Entry("property", _rp("ResourceProperty")),
    _REFERENCE,
    answer=(Entry("properties", ()),),
)
SET_TERMINATION_TIME = shared.exchange(
    "Renew",
    _rl.one("SetTerminationTime"),
    ns.WSRF_1_2_LIFETIME_ACTIONS,
    Entry("expires", _rl("RequestedTerminationTime"), required=True, nil=True),
    _REFERENCE,
    answer=shared.new_termination_time(_rl),
)
DESTROY = shared.exchange("Unsubscribe", _rl.one("Destroy"), ns.WSRF_1_2_LIFETIME_ACTIONS, _REFERENCE)

_FAILED = _b.one("SubscribeCreationFailedFault")
_UNABLE, _GONE = _rl.one("UnableToSetTerminationTimeFault"), _rl.one("ResourceUnknownFault")
_REGISTRATION = _br.one("PublisherRegistrationFailedFault")
FAULTS = Faults(
    {
        "unknown-subscription": _b.one("ResourceUnknownFault"),
        "unknown-topic-dialect": _b.one("TopicPathDialectUnknownFault"),
        "bad-topic-expression": _b.one("InvalidTopicExpressionFault"),
        "unknown-topic": _b.one("TopicNotSupportedFault"),
        "no-current-message": _b.one("NoCurrentMessageOnTopicFault"),
        "bad-filter": _FAILED,
        "bad-producer-filter": _FAILED,
        "bad-expiry": _FAILED,
        "unknown-policy": _FAILED,
        "bad-start": _FAILED,
        "bad-consumer": _FAILED,
        "unknown-property": _rp.one("InvalidResourcePropertyQNameFault"),
        "bad-registration": _REGISTRATION,
    },
    {
        ("Subscribe", "malformed"): _FAILED,
        ("Subscribe", "cannot-store"): _FAILED,
        ("GetCurrentMessage", "several-topics"): _b.one("InvalidTopicExpressionFault"),
        ("Pause", "cannot-store"): _b.one("PauseFailedFault"),
        ("Resume", "cannot-store"): _b.one("ResumeFailedFault"),
        ("Renew", "bad-expiry"): _UNABLE,
        ("Renew", "malformed"): _UNABLE,
        ("Renew", "cannot-store"): _rl.one("TerminationTimeChangeRejectedFault"),
        ("Renew", "unknown-subscription"): _GONE,
        ("Unsubscribe", "unknown-subscription"): _GONE,
        ("Unsubscribe", "cannot-store"): _rl.one("ResourceNotDestroyedFault"),
        ("GetProperties", "unknown-subscription"): _rp.one("ResourceUnknownFault"),
        ("RegisterPublisher", "malformed"): _REGISTRATION,
        ("RegisterPublisher", "bad-expiry"): _REGISTRATION,
        ("RegisterPublisher", "cannot-store"): _REGISTRATION,
        ("RegisterPublisher", "bad-consumer"): _br.one("PublisherRegistrationRejectedFault"),
    },
    base_fault=Names("wsbf", ns.WSRF_1_2_FAULTS).one("BaseFault"),
)

DIALECT = Dialect(
    NAME,
    "WS-Notification 1.2 (drafts)",
    "2004/03",
    NOTIFY,
    RAW,
    (
        NOTIFY,
        SUBSCRIBE,
        SUBSCRIBE_REQUEST,
        GET_CURRENT_MESSAGE,
        PAUSE,
        RESUME,
        REGISTER_PUBLISHER,
        GET_PROPERTY,
        GET_PROPERTIES,
        SET_TERMINATION_TIME,
        DESTROY,
    ),
    shared.termination(_rl),
    FAULTS,
    identifier=Names("tr", ns.RESOURCE).one("Id"),
    identifier_for=frozenset(ns.WSA_VERSIONS.values()),
    durations=False,
    topic_dialects=IN_1_2,
)
