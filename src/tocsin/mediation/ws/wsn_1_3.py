"""WS-Notification 1.3 (OASIS, 2006), with what of WSRF 1.2 its resources understand: tables."""

from tocsin.mediation.rules import Dialect, Entry, Faults, Message, Names
from tocsin.mediation.soap.namespaces import (
    WSA_2005,
    WSN,
    WSN_BROKERED,
    WSN_CONSUMER,
    WSN_CREATE_PULL_POINT,
    WSN_FAULT_ACTION,
    WSN_MANAGER,
    WSN_PAUSABLE,
    WSN_PRODUCER,
    WSN_PULL_POINT,
    WSN_REGISTER,
    WSN_REGISTRATION,
    WSRF_FAULTS,
    WSRF_LIFETIME,
    WSRF_LIFETIME_PORTS,
    WSRF_PROPERTIES,
    WSRF_PROPERTIES_PORTS,
    WSRF_RESOURCE,
)
from tocsin.mediation.topics import IN_1_3
from tocsin.mediation.ws.shared_tables import own_policies, raw_event
from tocsin.model.names import NO_TOPIC

NAME = "wsn-1.3"
NOTIFY_ACTION = f"{WSN_CONSUMER}/Notify"

_wsa = Names("wsa", WSA_2005)
_b = Names("wsnt", WSN)
_br = Names("wsnbr", WSN_BROKERED)
_rp = Names("wsrf-rp", WSRF_PROPERTIES)
_rl = Names("wsrf-rl", WSRF_LIFETIME)
_r = Names("wsrf-r", WSRF_RESOURCE)

NOTIFY = Message(
    "Notify",
    _b.one("Notify"),
    NOTIFY_ACTION,
    (
        Entry("action", _wsa("Action"), required=True, header=True),
        Entry("message_id", _wsa("MessageID"), header=True),
        Entry("consumer", _wsa("To"), header=True),
        Entry("subscription", _b("SubscriptionReference")),
        Entry("topic", _b("Topic"), required=True, default=str(NO_TOPIC)),
        Entry("producer", _b("ProducerReference")),
        Entry("payload", _b("Message"), required=True),
    ),
    holder=_b.one("NotificationMessage"),
)
# UseRaw, WSN 1.3 s4.2: the payload alone. What then has no place in the body travels as headers.
RAW = raw_event(_wsa, _b)

_CURRENT, _TERMINATION = Entry("now", _b("CurrentTime")), Entry("expires", _b("TerminationTime"), nil=True)
_REFERENCE = Entry("reference", _b("SubscriptionReference"))


def _simple(operation: str, local: str, port: str, *entries: Entry, answer: tuple[Entry, ...] = ()) -> Message:
    """An operation of base notification whose answer is named after it."""
    said = Message(operation, _b.one(f"{local}Response"), f"{port}/{local}Response", answer)
    return Message(operation, _b.one(local), f"{port}/{local}Request", entries, said)


SUBSCRIBE = _simple(
    "Subscribe",
    "Subscribe",
    WSN_PRODUCER,
    Entry("consumer", _b("ConsumerReference"), required=True),
    Entry("filter", _b("Filter")),
    Entry("expires", _b("InitialTerminationTime")),
    Entry("policy", _b("SubscriptionPolicy")),
    Entry("use_raw", _b("SubscriptionPolicy", "UseRaw")),
    *own_policies(_b("SubscriptionPolicy")),
    answer=(Entry("subscription", _b("SubscriptionReference"), required=True), _CURRENT, _TERMINATION),
)
RENEW = _simple(
    "Renew",
    "Renew",
    WSN_MANAGER,
    Entry("expires", _b("TerminationTime"), required=True, nil=True),
    _REFERENCE,
    answer=(_TERMINATION, _CURRENT),
)
UNSUBSCRIBE = _simple("Unsubscribe", "Unsubscribe", WSN_MANAGER, _REFERENCE)
PAUSE = _simple("Pause", "PauseSubscription", WSN_PAUSABLE, _REFERENCE)
RESUME = _simple("Resume", "ResumeSubscription", WSN_PAUSABLE, _REFERENCE)
GET_CURRENT_MESSAGE = _simple(
    "GetCurrentMessage",
    "GetCurrentMessage",
    WSN_PRODUCER,
    Entry("topic", _b("Topic"), required=True),
    answer=(Entry("message", ()),),
)
CREATE_PULL_POINT = _simple(
    "CreatePullPoint",
    "CreatePullPoint",
    WSN_CREATE_PULL_POINT,
    answer=(Entry("subscription", _b("PullPoint"), required=True),),
)
GET_MESSAGES = _simple(
    "Pull",
    "GetMessages",
    WSN_PULL_POINT,
    Entry("most", _b("MaximumNumber")),
    answer=(Entry("messages", ()),),
)
DESTROY_PULL_POINT = _simple("DestroyPullPoint", "DestroyPullPoint", WSN_PULL_POINT)

REGISTER_PUBLISHER = Message(
    "RegisterPublisher",
    _br.one("RegisterPublisher"),
    f"{WSN_REGISTER}/RegisterPublisherRequest",
    (
        Entry("publisher", _br("PublisherReference")),
        Entry("topic", _br("Topic")),
        Entry("demand", _br("Demand"), default="false"),
        Entry("expires", _br("InitialTerminationTime")),
    ),
    Message(
        "RegisterPublisher",
        _br.one("RegisterPublisherResponse"),
        f"{WSN_REGISTER}/RegisterPublisherResponse",
        (
            Entry("registration", _br("PublisherRegistrationReference"), required=True),
            Entry("consumer", _br("ConsumerReference")),
        ),
    ),
)
DESTROY_REGISTRATION = Message(
    "DestroyRegistration",
    _br.one("DestroyRegistration"),
    f"{WSN_REGISTRATION}/DestroyRegistrationRequest",
    (Entry("reference", _br("PublisherRegistrationReference")),),
    Message(
        "DestroyRegistration",
        _br.one("DestroyRegistrationResponse"),
        f"{WSN_REGISTRATION}/DestroyRegistrationResponse",
    ),
)


def _property(local: str, *entries: Entry) -> Message:
    port = f"{WSRF_PROPERTIES_PORTS}/{local}/{local}"
    said = Message("GetProperties", _rp.one(f"{local}Response"), f"{port}Response", (Entry("properties", ()),))
    return Message("GetProperties", _rp.one(local), f"{port}Request", entries, said)


GET_PROPERTY = _property("GetResourceProperty", Entry("name", ()))
GET_PROPERTIES = _property("GetMultipleResourceProperties", Entry("property", _rp("ResourceProperty")))
SET_TERMINATION_TIME = Message(
    "Renew",
    _rl.one("SetTerminationTime"),
    f"{WSRF_LIFETIME_PORTS}/ScheduledResourceTermination/SetTerminationTimeRequest",
    (
        Entry("expires", _rl("RequestedTerminationTime")),
        Entry("lifetime", _rl("RequestedLifetimeDuration")),
    ),
    Message(
        "Renew",
        _rl.one("SetTerminationTimeResponse"),
        f"{WSRF_LIFETIME_PORTS}/ScheduledResourceTermination/SetTerminationTimeResponse",
        (
            Entry("expires", _rl("NewTerminationTime"), nil=True),
            Entry("now", _rl("CurrentTime"), required=True),
        ),
    ),
    facts=(("faults", "SetTerminationTime"),),
)
DESTROY = Message(
    "Unsubscribe",
    _rl.one("Destroy"),
    f"{WSRF_LIFETIME_PORTS}/ImmediateResourceTermination/DestroyRequest",
    (),
    Message(
        "Unsubscribe",
        _rl.one("DestroyResponse"),
        f"{WSRF_LIFETIME_PORTS}/ImmediateResourceTermination/DestroyResponse",
    ),
    facts=(("faults", "Destroy"),),
)
TERMINATION = Message(
    "End",
    _rl.one("TerminationNotification"),
    "",
    (
        Entry("now", _rl("TerminationTime"), required=True),
        Entry("reason", _rl("TerminationReason")),
    ),
    facts=(("as", "notification"),),
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
    base_fault=Names("wsrf-bf", WSRF_FAULTS).one("BaseFault"),
    action=WSN_FAULT_ACTION,
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
    TERMINATION,
    FAULTS,
    topic_dialects=IN_1_3,
)
