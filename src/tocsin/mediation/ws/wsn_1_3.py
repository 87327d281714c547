"""WS-Notification 1.3 (OASIS, 2006), with what of WSRF 1.2 its resources understand: tables."""

from functools import partial

from tocsin.mediation.rules import Dialect, Entry, Faults, Names
from tocsin.mediation.soap import namespaces as ns
from tocsin.mediation.topics import IN_1_3
from tocsin.mediation.ws import shared_tables as shared

NAME = "wsn-1.3"
NOTIFY_ACTION = f"{ns.WSN_CONSUMER}/Notify"

_wsa = Names("wsa", ns.WSA_2005)
_b = Names("wsnt", ns.WSN)
_br = Names("wsnbr", ns.WSN_BROKERED)
_rp = Names("wsrf-rp", ns.WSRF_PROPERTIES)
_rl = Names("wsrf-rl", ns.WSRF_LIFETIME)
_r = Names("wsrf-r", ns.WSRF_RESOURCE)

NOTIFY = shared.notify(_wsa, _b, NOTIFY_ACTION, Entry("subscription", _b("SubscriptionReference")))
# UseRaw, WSN 1.3 s4.2: the payload alone. What then has no place in the body travels as headers.
RAW = shared.raw_event(_wsa, _b)

_CURRENT, _TERMINATION = Entry("now", _b("CurrentTime")), Entry("expires", _b("TerminationTime"), nil=True)
_REFERENCE = Entry("reference", _b("SubscriptionReference"))


_exchange = partial(shared.exchange, request="Request")
SUBSCRIBE = _exchange(
    "Subscribe",
    _b.one("Subscribe"),
    ns.WSN_PRODUCER,
    Entry("consumer", _b("ConsumerReference"), required=True),
    Entry("filter", _b("Filter")),
    Entry("expires", _b("InitialTerminationTime")),
    Entry("policy", _b("SubscriptionPolicy")),
    Entry("use_raw", _b("SubscriptionPolicy", "UseRaw")),
    *shared.own_policies(_b("SubscriptionPolicy")),
    answer=(Entry("subscription", _b("SubscriptionReference"), required=True), _CURRENT, _TERMINATION),
)
RENEW = _exchange(
    "Renew",
    _b.one("Renew"),
    ns.WSN_MANAGER,
    Entry("expires", _b("TerminationTime"), required=True, nil=True),
    _REFERENCE,
    answer=(_TERMINATION, _CURRENT),
)
UNSUBSCRIBE = _exchange("Unsubscribe", _b.one("Unsubscribe"), ns.WSN_MANAGER, _REFERENCE)
PAUSE = _exchange("Pause", _b.one("PauseSubscription"), ns.WSN_PAUSABLE, _REFERENCE)
RESUME = _exchange("Resume", _b.one("ResumeSubscription"), ns.WSN_PAUSABLE, _REFERENCE)
GET_CURRENT_MESSAGE = _exchange(
    "GetCurrentMessage",
    _b.one("GetCurrentMessage"),
    ns.WSN_PRODUCER,
    Entry("topic", _b("Topic"), required=True),
    answer=(Entry("message", ()),),
)
CREATE_PULL_POINT = _exchange(
    "CreatePullPoint",
    _b.one("CreatePullPoint"),
    ns.WSN_CREATE_PULL_POINT,
    answer=(Entry("subscription", _b("PullPoint"), required=True),),
)
GET_MESSAGES = _exchange(
    "Pull",
    _b.one("GetMessages"),
    ns.WSN_PULL_POINT,
    Entry("most", _b("MaximumNumber")),
    answer=(Entry("messages", ()),),
)
DESTROY_PULL_POINT = _exchange("DestroyPullPoint", _b.one("DestroyPullPoint"), ns.WSN_PULL_POINT)

REGISTER_PUBLISHER = _exchange(
    "RegisterPublisher",
    _br.one("RegisterPublisher"),
    ns.WSN_REGISTER,
    *shared.register_publisher(_br),
    answer=(
        Entry("registration", _br("PublisherRegistrationReference"), required=True),
        Entry("consumer", _br("ConsumerReference")),
    ),
)
DESTROY_REGISTRATION = _exchange(
    "DestroyRegistration",
    _br.one("DestroyRegistration"),
    ns.WSN_REGISTRATION,
    Entry("reference", _br("PublisherRegistrationReference")),
)
GET_PROPERTY = _exchange(
    "GetProperties",
    _rp.one("GetResourceProperty"),
    f"{ns.WSRF_PROPERTIES_PORTS}/GetResourceProperty",
    Entry("name", ()),
    answer=(Entry("properties", ()),),
)
GET_PROPERTIES = _exchange(
    "GetProperties",
    _rp.one("GetMultipleResourceProperties"),
    f"{ns.WSRF_PROPERTIES_PORTS}/GetMultipleResourceProperties",
    Entry("property", _rp("ResourceProperty")),
    answer=(Entry("properties", ()),),
)
SET_TERMINATION_TIME = _exchange(
    "Renew",
    _rl.one("SetTerminationTime"),
    f"{ns.WSRF_LIFETIME_PORTS}/ScheduledResourceTermination",
    Entry("expires", _rl("RequestedTerminationTime")),
    Entry("lifetime", _rl("RequestedLifetimeDuration")),
    answer=shared.new_termination_time(_rl),
    facts=(("faults", "SetTerminationTime"),),
)
DESTROY = _exchange(
    "Unsubscribe",
    _rl.one("Destroy"),
    f"{ns.WSRF_LIFETIME_PORTS}/ImmediateResourceTermination",
    facts=(("faults", "Destroy"),),
)

_UNKNOWN = _r.one("ResourceUnknownFault")
FAULTS = Faults(
    {
        "unknown-subscription": _UNKNOWN,
        "unknown-topic-dialect": _b.one("TopicExpressionDialectUnknownFault"),
        "bad-topic-expression": _b.one("InvalidTopicExpressionFault"),
        "unknown-topic": _b.one("TopicNotSupportedFault"),
        "several-topics": _b.one("MultipleTopicsSpecifiedFault"),
        "no-current-message": _b.one("NoCurrentMessageOnTopicFault"),
        "unsupported-filter": _b.one("InvalidFilterFault"),
        "bad-filter": _b.one("InvalidMessageContentExpressionFault"),
        "bad-producer-filter": _b.one("InvalidProducerPropertiesExpressionFault"),
        "bad-expiry": _b.one("UnacceptableInitialTerminationTimeFault"),
        "unknown-policy": _b.one("UnrecognizedPolicyRequestFault"),
        "bad-start": _b.one("UnsupportedPolicyRequestFault"),
        "bad-consumer": _b.one("SubscribeCreationFailedFault"),
        "unknown-property": _rp.one("InvalidResourcePropertyQNameFault"),
        "bad-registration": _br.one("PublisherRegistrationFailedFault"),
    },
    {
        ("Subscribe", "malformed"): _b.one("SubscribeCreationFailedFault"),
        ("Subscribe", "cannot-store"): _b.one("SubscribeCreationFailedFault"),
        ("Renew", "bad-expiry"): _b.one("UnacceptableTerminationTimeFault"),
        ("Unsubscribe", "cannot-store"): _b.one("UnableToDestroySubscriptionFault"),
        # Of WS-ResourceLifetime, for those who use it instead.
        ("SetTerminationTime", "bad-expiry"): _rl.one("UnableToSetTerminationTimeFault"),
        ("SetTerminationTime", "cannot-store"): _rl.one("TerminationTimeChangeRejectedFault"),
        ("Destroy", "cannot-store"): _rl.one("ResourceNotDestroyedFault"),
        ("Pause", "cannot-store"): _b.one("PauseFailedFault"),
        ("Resume", "cannot-store"): _b.one("ResumeFailedFault"),
        ("CreatePullPoint", "cannot-store"): _b.one("UnableToCreatePullPointFault"),
        ("Pull", "cannot-store"): _b.one("UnableToGetMessagesFault"),
        ("Pull", "malformed"): _b.one("UnableToGetMessagesFault"),
        ("DestroyPullPoint", "cannot-store"): _b.one("UnableToDestroyPullPointFault"),
        ("RegisterPublisher", "malformed"): _br.one("PublisherRegistrationFailedFault"),
        ("RegisterPublisher", "bad-consumer"): _br.one("PublisherRegistrationRejectedFault"),
        ("RegisterPublisher", "cannot-store"): _br.one("PublisherRegistrationFailedFault"),
        ("RegisterPublisher", "bad-expiry"): _b.one("UnacceptableInitialTerminationTimeFault"),
        ("DestroyRegistration", "cannot-store"): _br.one("ResourceNotDestroyedFault"),
    },
    base_fault=Names("wsrf-bf", ns.WSRF_FAULTS).one("BaseFault"),
    action=ns.WSN_FAULT_ACTION,
    names_at_fault={
        "InvalidFilterFault": _b.one("UnknownFilter"),
        "UnsupportedPolicyRequestFault": _b.one("UnsupportedPolicy"),
        "UnrecognizedPolicyRequestFault": _b.one("UnrecognizedPolicy"),
    },
    minimum_time=_b.one("MinimumTime"),
)

DIALECT = Dialect(
    NAME,
    "WS-Notification 1.3",
    "2005/08",
    NOTIFY,
    RAW,
    (
        NOTIFY,
        SUBSCRIBE,
        RENEW,
        UNSUBSCRIBE,
        PAUSE,
        RESUME,
        GET_CURRENT_MESSAGE,
        CREATE_PULL_POINT,
        GET_MESSAGES,
        DESTROY_PULL_POINT,
        REGISTER_PUBLISHER,
        DESTROY_REGISTRATION,
        GET_PROPERTY,
        GET_PROPERTIES,
        SET_TERMINATION_TIME,
        DESTROY,
    ),
    shared.termination(_rl),
    FAULTS,
    topic_dialects=IN_1_3,
)
