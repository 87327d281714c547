"""WS-Notification 1.0 (March 2004) as the clients of WS-Messenger spoke it: tables, with their spellings.

They say SubscribeRequest and UnsubsribeRequest, put the dialect of a topic into the namespace of its element, use
WS-Addressing 2005/08, and wait for an answer to Notify. What they ought to have said is understood as well.
"""

from tocsin.mediation.rules import Dialect, Entry, Faults, Message, Names
from tocsin.mediation.soap.namespaces import WSA_2005, WSA_VERSIONS, WSN_1_0, WSRF_1_0_LIFETIME, WSRF_1_0_PROPERTIES
from tocsin.mediation.topics import IN_1_0
from tocsin.mediation.ws.shared_tables import flat_subscribe, new_termination_time, notify, raw_event

NAME = "wsn-1.0"

_wsa = Names("wsa", WSA_2005)
_b = Names("wsnt", WSN_1_0)
_rp = Names("wsrp", WSRF_1_0_PROPERTIES)
_rl = Names("wsrl", WSRF_1_0_LIFETIME)

NOTIFY = notify(
    _wsa,
    _b,
    f"{WSN_1_0}/Notify",
    answer=Message(
        "Notify", _b.one("NotifyResponse"), f"{WSN_1_0}/NotifyResponse", (Entry("request", _b("@trackId")),)
    ),
)
# UseNotify=false: the payload alone. What then has no place in the body travels as headers.
RAW = raw_event(_wsa, _b)

_REFERENCE = Entry("reference", _b("SubscriptionReference"))


def _operation(
    operation: str, spellings: str, *entries: Entry, answer: tuple[Entry, ...] = (), names: Names = _b, action: str = ""
) -> tuple[Message, ...]:
    """A message for each spelling; the first is the one that was really sent, the last what it ought to have been."""
    elements = spellings.split()
    first, last = elements[0], elements[-1]
    said = Message(operation, names.one(f"{last}Response"), f"{names.namespace}/{action or last}Response", answer)
    sent = f"{names.namespace}/{first}"
    return tuple(Message(operation, names.one(each), sent, entries, said) for each in elements)


SUBSCRIBE = _operation(
    "Subscribe",
    "SubscribeRequest Subscribe",
    *flat_subscribe(_b),
    answer=(Entry("subscription", _b("SubscriptionReference"), required=True),),
    action="SubscribeRequest",
)
UNSUBSCRIBE = _operation("Unsubscribe", "UnsubsribeRequest UnsubscribeRequest Unsubscribe", _REFERENCE)
PAUSE = _operation(
    "Pause", "PauseSubsriptionRequest PauseSubscriptionRequest PauseSubsription PauseSubscription", _REFERENCE
)
RESUME = _operation(
    "Resume", "ResumeSubsriptionRequest ResumeSubscriptionRequest ResumeSubsription ResumeSubscription", _REFERENCE
)
GET_CURRENT_MESSAGE = _operation(
    "GetCurrentMessage",
    "GetCurrentMessageRequest GetCurrentMessage",
    Entry("topic", _b("Topic"), required=True),
    answer=(Entry("message", ()),),
)
SET_TERMINATION_TIME = _operation(
    "Renew",
    "SetTerminationTime",
    Entry("expires", _rl("RequestedTerminationTime"), required=True, nil=True),
    _REFERENCE,
    answer=new_termination_time(_rl),
    names=_rl,
)
DESTROY = _operation("Unsubscribe", "Destroy", _REFERENCE, names=_rl)
GET_PROPERTY = _operation(
    "GetProperties", "GetResourceProperty", Entry("name", ()), answer=(Entry("properties", ()),), names=_rp
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
