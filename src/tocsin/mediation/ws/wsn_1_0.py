"""WS-Notification 1.0 (March 2004) as the clients of WS-Messenger spoke it: tables, with their spellings.

They say SubscribeRequest and UnsubsribeRequest, put the dialect of a topic into the namespace of its element, use
WS-Addressing 2005/08, and wait for an answer to Notify. What they ought to have said is understood as well.
"""

from tocsin.mediation.rules import Dialect, Entry, Faults, Message, Names
from tocsin.mediation.soap.namespaces import (
    WSA_2005,
    WSA_VERSIONS,
    WSN_1_0,
    WSRF_1_0_LIFETIME,
    WSRF_1_0_PROPERTIES,
)
from tocsin.mediation.topics import IN_1_0
from tocsin.mediation.ws.shared_tables import own_policies, raw_event
from tocsin.model.names import NO_TOPIC

NAME = "wsn-1.0"

_wsa = Names("wsa", WSA_2005)
_b = Names("wsnt", WSN_1_0)
_rp = Names("wsrp", WSRF_1_0_PROPERTIES)
_rl = Names("wsrl", WSRF_1_0_LIFETIME)

NOTIFY = Message(
    "Notify",
    _b.one("Notify"),
    f"{WSN_1_0}/Notify",
    (
        Entry("action", _wsa("Action"), required=True, header=True),
        Entry("message_id", _wsa("MessageID"), header=True),
        Entry("consumer", _wsa("To"), header=True),
        Entry("topic", _b("Topic"), required=True, default=str(NO_TOPIC)),
        Entry("producer", _b("ProducerReference")),
        Entry("payload", _b("Message"), required=True),
    ),
    Message("Notify", _b.one("NotifyResponse"), f"{WSN_1_0}/NotifyResponse", (Entry("request", _b("@trackId")),)),
    holder=_b.one("NotificationMessage"),
)
# UseNotify=false: the payload alone. What then has no place in the body travels as headers.
RAW = raw_event(_wsa, _b)

_REFERENCE = Entry("reference", _b("SubscriptionReference"))


def _operation(
    operation: str,
    elements: tuple[str, ...],
    action: str,
    answer: Message,
    *entries: Entry,
    names: Names = _b,
) -> tuple[Message, ...]:
    """A message for each spelling; the first is the one that was really sent."""
    said = f"{names.namespace}/{action}"
    return tuple(Message(operation, names.one(each), said, entries, answer) for each in elements)


def _answer(operation: str, local: str, action: str, *entries: Entry, names: Names = _b) -> Message:
    return Message(operation, names.one(local), f"{names.namespace}/{action}", entries)


SUBSCRIBE = _operation(
    "Subscribe",
    ("SubscribeRequest", "Subscribe"),
    "SubscribeRequest",
    _answer(
        "Subscribe",
        "SubscribeResponse",
        "SubscribeRequestResponse",
        Entry("subscription", _b("SubscriptionReference"), required=True),
    ),
    Entry("consumer", _b("ConsumerReference"), required=True),
    Entry("topic_expression", _b("TopicExpression")),
    Entry("use_notify", _b("UseNotify"), default="true"),
    Entry("precondition", _b("Precondition")),
    Entry("selector", _b("Selector")),
    Entry("policy", _b("SubscriptionPolicy")),
    *own_policies(_b("SubscriptionPolicy")),
    Entry("expires", _b("InitialTerminationTime")),
)
UNSUBSCRIBE = _operation(
    "Unsubscribe",
    ("UnsubsribeRequest", "UnsubscribeRequest", "Unsubscribe"),
    "UnsubsribeRequest",
    _answer("Unsubscribe", "UnsubscribeResponse", "UnsubscribeResponse"),
    _REFERENCE,
)
PAUSE = _operation(
    "Pause",
    ("PauseSubsriptionRequest", "PauseSubscriptionRequest", "PauseSubsription", "PauseSubscription"),
    "PauseSubsriptionRequest",
    _answer("Pause", "PauseSubscriptionResponse", "PauseSubscriptionResponse"),
    _REFERENCE,
)
RESUME = _operation(
    "Resume",
    ("ResumeSubsriptionRequest", "ResumeSubscriptionRequest", "ResumeSubsription", "ResumeSubscription"),
    "ResumeSubsriptionRequest",
    _answer("Resume", "ResumeSubscriptionResponse", "ResumeSubscriptionResponse"),
    _REFERENCE,
)
GET_CURRENT_MESSAGE = _operation(
    "GetCurrentMessage",
    ("GetCurrentMessageRequest", "GetCurrentMessage"),
    "GetCurrentMessageRequest",
    _answer("GetCurrentMessage", "GetCurrentMessageResponse", "GetCurrentMessageResponse", Entry("message", ())),
    Entry("topic", _b("Topic"), required=True),
)
SET_TERMINATION_TIME = _operation(
    "Renew",
    ("SetTerminationTime",),
    "SetTerminationTime",
    _answer(
        "Renew",
        "SetTerminationTimeResponse",
        "SetTerminationTimeResponse",
        Entry("expires", _rl("NewTerminationTime"), nil=True),
        Entry("now", _rl("CurrentTime"), required=True),
        names=_rl,
    ),
    Entry("expires", _rl("RequestedTerminationTime"), required=True, nil=True),
    _REFERENCE,
    names=_rl,
)
DESTROY = _operation(
    "Unsubscribe",
    ("Destroy",),
    "Destroy",
    _answer("Unsubscribe", "DestroyResponse", "DestroyResponse", names=_rl),
    _REFERENCE,
    names=_rl,
)
GET_PROPERTY = _operation(
    "GetProperties",
    ("GetResourceProperty",),
    "GetResourceProperty",
    _answer(
        "GetProperties",
        "GetResourcePropertyResponse",
        "GetResourcePropertyResponse",
        Entry("properties", ()),
        names=_rp,
    ),
    Entry("name", ()),
    names=_rp,
)

DIALECT = Dialect(
    NAME,
    "WS-Notification 1.0 (WS-Messenger)",
    "2005/08",
    NOTIFY,
    RAW,
    (
        NOTIFY,
        *SUBSCRIBE,
        *UNSUBSCRIBE,
        *PAUSE,
        *RESUME,
        *GET_CURRENT_MESSAGE,
        *SET_TERMINATION_TIME,
        *DESTROY,
        *GET_PROPERTY,
    ),
    faults=Faults({}),  # WS-Messenger threw plain SOAP faults
    identifier=_b.one("Identifier"),
    identifier_for=frozenset(WSA_VERSIONS.values()),
    durations=False,
    topic_dialects=IN_1_0,
    topic_attribute="wsnt:Dialect",
)
