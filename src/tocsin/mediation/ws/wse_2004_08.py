"""WS-Eventing 2004/08 (W3C Submission 2006) over either WS-Addressing: tables."""

from tocsin.mediation.rules import Dialect, Entry, Message, Names
from tocsin.mediation.soap.namespaces import WSA_2004, WSE, WSE_PUSH, WSN
from tocsin.mediation.topics import IN_1_3
from tocsin.mediation.ws.shared_tables import own_policies, raw_event
from tocsin.mediation.ws.wse_drafts import faults, subscription_end

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
