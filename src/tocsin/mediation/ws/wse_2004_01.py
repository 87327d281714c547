"""WS-Eventing of January 2004: tables that read leniently, for no client of it is left to ask.

NotifyTo is a child of Subscribe, and the id of a subscription stands in the answer; GetStatus came later.
"""

from functools import partial

from tocsin.mediation.rules import Dialect, Entry, Names
from tocsin.mediation.soap.namespaces import WSA_2003, WSA_VERSIONS, WSE_2004_01, WSN
from tocsin.mediation.topics import IN_1_3
from tocsin.mediation.ws.shared_tables import eventing, own_policies, raw_event
from tocsin.mediation.ws.wse_2004_08 import faults, subscription_end, unsubscribe

NAME = "wse-2004-01"
PUSH = f"{WSE_2004_01}/DeliveryModes/Push"

_wsa = Names("wsa", WSA_2003)
_e = Names("wse", WSE_2004_01)
_b = Names("wsnt", WSN)

# Topic and producer, for which WS-Eventing has no place, travel as headers.
EVENT = raw_event(_wsa, _b)
_EXPIRES, _ID = Entry("expires", _e("Expires")), Entry("id", _e("Id"))


_operation = partial(eventing, _e, PUSH)
SUBSCRIBE = _operation(
    "Subscribe",
    Entry("consumer", _e("NotifyTo")),
    Entry("consumer", _e("Delivery", "NotifyTo"), required=True, also=True),
    Entry("mode", _e("Delivery", "@Mode"), default=PUSH, also=True),
    Entry("end_to", _e("EndTo")),
    _EXPIRES,
    Entry("event_filter", _e("Filter")),
    *own_policies(),
    answer=(Entry("subscription", _e("SubscriptionManager"), required=True), _ID, _EXPIRES),
)
RENEW = _operation("Renew", _ID, _EXPIRES, answer=(_EXPIRES,))
GET_STATUS = _operation("GetStatus", _ID, answer=(_EXPIRES,))
UNSUBSCRIBE = unsubscribe(_e, PUSH, _ID)
SUBSCRIPTION_END = subscription_end(_e)
FAULTS = faults(_e, PUSH)

DIALECT = Dialect(
    NAME,
    "WS-Eventing 2004/01",
    "2003/03",
    None,
    EVENT,
    (SUBSCRIBE, RENEW, GET_STATUS, UNSUBSCRIBE),
    SUBSCRIPTION_END,
    FAULTS,
    identifier=_e.one("Id"),
    identifier_for=frozenset(WSA_VERSIONS.values()),
    leases="as asked",
    topic_dialects=IN_1_3,
)
