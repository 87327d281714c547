"""WS-Notification 1.2 (drafts of June 2004) with the WSRF of its time, as Globus Toolkit 4 and caGrid speak it: tables.

Subscribe is flat, a subscription is renewed and ended by WS-ResourceLifetime, and its id is a reference property.
"""

from tocsin.mediation.rules import Dialect, Entry, Faults, Message, Names
from tocsin.mediation.soap.namespaces import (
    RESOURCE,
    WSA_2004_03,
    WSA_VERSIONS,
    WSN_1_2,
    WSN_1_2_ACTIONS,
    WSN_1_2_BROKERED,
    WSN_1_2_BROKERED_ACTIONS,
    WSRF_1_2_FAULTS,
    WSRF_1_2_LIFETIME,
    WSRF_1_2_LIFETIME_ACTIONS,
    WSRF_1_2_PROPERTIES,
    WSRF_1_2_PROPERTIES_ACTIONS,
)
from tocsin.mediation.topics import IN_1_2
from tocsin.mediation.ws.shared_tables import own_policies, raw_event
from tocsin.model.names import NO_TOPIC

NAME = "wsn-1.2"

_wsa = Names("wsa", WSA_2004_03)
_b = Names("wsnt", WSN_1_2)
_br = Names("wsnbr", WSN_1_2_BROKERED)
_rp = Names("wsrp", WSRF_1_2_PROPERTIES)
_rl = Names("wsrl", WSRF_1_2_LIFETIME)

NOTIFY = Message(
    "Notify",
    _b.one("Notify"),
    f"{WSN_1_2_ACTIONS}/Notify",
    (
        Entry("action", _wsa("Action"), required=True, header=True),
        Entry("message_id", _wsa("MessageID"), header=True),
        Entry("consumer", _wsa("To"), header=True),
        Entry("topic", _b("Topic"), required=True, default=str(NO_TOPIC)),
        Entry("producer", _b("ProducerReference")),
        Entry("payload", _b("Message"), required=True),
    ),
    holder=_b.one("NotificationMessage"),
)
# UseNotify=false: the payload alone. What then has no place in the body travels as headers.
RAW = raw_event(_wsa, _b)

_REFERENCE = Entry("reference", _b("SubscriptionReference"))


def _operation(
    operation: str,
    names: Names,
    local: str,
    actions: str,
    *entries: Entry,
    answer: tuple[Entry, ...] = (),
    element: str = "",
) -> Message:
    """The action of a request is the bare name of its operation."""
    said = Message(operation, names.one(f"{local}Response"), f"{actions}/{local}Response", answer)
    return Message(operation, names.one(element or local), f"{actions}/{local}", entries, said)


def _subscribe(element: str) -> Message:
    return _operation(
        "Subscribe",
        _b,
        "Subscribe",
        WSN_1_2_ACTIONS,
        Entry("consumer", _b("ConsumerReference"), required=True),
        Entry("topic_expression", _b("TopicExpression")),
        Entry("use_notify", _b("UseNotify"), default="true"),
        Entry("precondition", _b("Precondition")),
        Entry("selector", _b("Selector")),
        Entry("policy", _b("SubscriptionPolicy")),
        *own_policies(_b("SubscriptionPolicy")),
        Entry("expires", _b("InitialTerminationTime")),
        answer=(Entry("subscription", _b("SubscriptionReference"), required=True),),
        element=element,
    )


SUBSCRIBE = _subscribe("Subscribe")
SUBSCRIBE_REQUEST = _subscribe("SubscribeRequest")  # as table 5 of WS-Messenger has it
GET_CURRENT_MESSAGE = _operation(
    "GetCurrentMessage",
    _b,
    "GetCurrentMessage",
    WSN_1_2_ACTIONS,
    Entry("topic", _b("Topic"), required=True),
    answer=(Entry("message", ()),),
)
PAUSE = _operation("Pause", _b, "PauseSubscription", WSN_1_2_ACTIONS, _REFERENCE)
RESUME = _operation("Resume", _b, "ResumeSubscription", WSN_1_2_ACTIONS, _REFERENCE)
REGISTER_PUBLISHER = _operation(
    "RegisterPublisher",
    _br,
    "RegisterPublisher",
    WSN_1_2_BROKERED_ACTIONS,
    Entry("publisher", _br("PublisherReference")),
    Entry("topic", _br("Topic")),
    Entry("demand", _br("Demand"), default="false"),
    Entry("expires", _br("InitialTerminationTime")),
    answer=(Entry("registration", _br("PublisherRegistrationReference"), required=True),),
)
_PROPERTIES = (Entry("properties", ()),)
GET_PROPERTY = _operation(
    "GetProperties",
    _rp,
    "GetResourceProperty",
    WSRF_1_2_PROPERTIES_ACTIONS,
    Entry("name", ()),
    answer=_PROPERTIES,
)
GET_PROPERTIES = _operation(
    "GetProperties",
    _rp,
    "GetMultipleResourceProperties",
    WSRF_1_2_PROPERTIES_ACTIONS,
    Entry("property", _rp("ResourceProperty")),
    _REFERENCE,
    answer=_PROPERTIES,
)
SET_TERMINATION_TIME = _operation(
    "Renew",
    _rl,
    "SetTerminationTime",
    WSRF_1_2_LIFETIME_ACTIONS,
    Entry("expires", _rl("RequestedTerminationTime"), required=True, nil=True),
    _REFERENCE,
    answer=(
        Entry("expires", _rl("NewTerminationTime"), nil=True),
        Entry("now", _rl("CurrentTime"), required=True),
    ),
)
DESTROY = _operation("Unsubscribe", _rl, "Destroy", WSRF_1_2_LIFETIME_ACTIONS, _REFERENCE)
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
    base_fault=Names("wsbf", WSRF_1_2_FAULTS).one("BaseFault"),
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
    TERMINATION,
    FAULTS,
    identifier=Names("tr", RESOURCE).one("Id"),
    identifier_for=frozenset(WSA_VERSIONS.values()),
    durations=False,
    topic_dialects=IN_1_2,
)
