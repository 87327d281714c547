"""For each row of each dialect's table of faults, what a client says to be told that fault.

The Body's child is written out by hand with the prefixes of PREFIXES; `{id}` is that of what is made first.
"""

from dataclasses import dataclass, replace
from typing import Literal

from tests.whole.speech import FULL

from tocsin.mediation.soap import namespaces as ns

Row = tuple[str, str]  # operation, empty where it is not of one alone, and reason
Stage = Literal["plain", "fixed", "full", "guarded", "meaning"]
Made = Literal["", "subscription", "pull point", "registration"]
DOORS: dict[Made, str] = {
    "": "/broker",
    "subscription": "/broker/subscriptions/{id}",
    "pull point": "/broker/pullpoints/{id}",
    "registration": "/broker/registrations/{id}",
}
HERE = "http://127.0.0.1:9/"
ADDRESS = f"<a:Address>{HERE}</a:Address>"
LONG = f"<a:Address>{HERE}{'x' * 5000}</a:Address>"
PAST = "2001-01-01T00:00:00Z"
NO_XPATH = f'Dialect="{ns.XPATH_10}">///['


@dataclass(frozen=True)
class Provocation:
    content: str
    word: str  # of the reason given
    of: Made = ""
    door: str = ""
    stage: Stage = "plain"
    who: str = ""

    @property
    def path(self) -> str:
        return self.door or DOORS[self.of]


def full(content: str, of: Made = "") -> Provocation:
    return Provocation(content, "could not be stored, try again", of, stage="full")


def _wsn_subscribe(inside: str, consumer: str = ADDRESS) -> str:
    return f"<n:Subscribe><n:ConsumerReference>{consumer}</n:ConsumerReference>{inside}</n:Subscribe>"


def _filtered(inside: str) -> str:
    return _wsn_subscribe(f"<n:Filter>{inside}</n:Filter>")


def _topic(expression: str, dialect: str = FULL, prefix: str = "n") -> str:
    return f'<{prefix}:TopicExpression Dialect="{dialect}">{expression}</{prefix}:TopicExpression>'


def _current(expression: str) -> str:
    return f'<n:GetCurrentMessage><n:Topic Dialect="{FULL}">{expression}</n:Topic></n:GetCurrentMessage>'


def _register(inside: str) -> str:
    return f"<br:RegisterPublisher>{inside}</br:RegisterPublisher>"


def _publisher(inside: str) -> str:
    return f"<br:PublisherReference>{inside}</br:PublisherReference>"


def _set_time(time: str) -> str:
    asked = f"<rl:RequestedTerminationTime>{time}</rl:RequestedTerminationTime>"
    return f"<rl:SetTerminationTime>{asked}</rl:SetTerminationTime>"


LATER = "2099-01-01T00:00:00Z"
NOWHERE = "/broker/subscriptions/none"
STRANGE = '<x:strange xmlns:x="urn:x"/>'
# Said in the same words in versions 1.2 and 1.3 of WS-Notification.
_BOTH_WSN: dict[Row, Provocation] = {
    ("", "no-current-message"): Provocation(_current("nothing/yet"), "nothing was published"),
    ("", "bad-consumer"): Provocation(_wsn_subscribe("", "<a:Address>mailto:me</a:Address>"), "http://"),
    ("", "bad-expiry"): Provocation(
        _wsn_subscribe(f"<n:InitialTerminationTime>{PAST}</n:InitialTerminationTime>"), "future"
    ),
    ("", "unknown-policy"): Provocation(
        _wsn_subscribe(f"<n:SubscriptionPolicy>{STRANGE}</n:SubscriptionPolicy>"), "urn:x"
    ),
    ("", "bad-start"): Provocation(
        _wsn_subscribe("<n:SubscriptionPolicy><t:From>soon</t:From></n:SubscriptionPolicy>"), "soon"
    ),
    ("", "unknown-property"): Provocation(
        "<rp:GetResourceProperty>n:Strange</rp:GetResourceProperty>", "no property", "subscription"
    ),
    ("", "bad-registration"): Provocation(_register("<br:Demand>true</br:Demand>"), "PublisherReference"),
    ("Subscribe", "malformed"): Provocation("<n:Subscribe/>", "ConsumerReference"),
    ("Subscribe", "cannot-store"): full(_wsn_subscribe("")),
    ("Pause", "cannot-store"): full("<n:PauseSubscription/>", "subscription"),
    ("Resume", "cannot-store"): full("<n:ResumeSubscription/>", "subscription"),
    ("RegisterPublisher", "malformed"): Provocation(_register(_publisher(LONG)), "4096"),
    ("RegisterPublisher", "bad-consumer"): Provocation(_register(_publisher("")), "Address"),
    ("RegisterPublisher", "cannot-store"): full(_register(_publisher(ADDRESS))),
    ("RegisterPublisher", "bad-expiry"): Provocation(
        _register(f"<br:InitialTerminationTime>{PAST}</br:InitialTerminationTime>"), "future"
    ),
}
WSN_1_3: dict[Row, Provocation] = _BOTH_WSN | {
    ("", "unknown-subscription"): Provocation("<n:Unsubscribe/>", "no subscription", door=NOWHERE),
    ("", "unknown-topic-dialect"): Provocation(_filtered(_topic("a", "urn:odd")), "urn:odd"),
    ("", "bad-topic-expression"): Provocation(_filtered(_topic("a//")), "position"),
    ("", "unknown-topic"): Provocation(_filtered(_topic("nowhere")), "declared", stage="fixed"),
    ("", "several-topics"): Provocation(_current("a|b"), "one topic"),
    ("", "unsupported-filter"): Provocation(_filtered(STRANGE), "urn:x"),
    ("", "bad-filter"): Provocation(_filtered(f"<n:MessageContent {NO_XPATH}</n:MessageContent>"), "XPath 1.0"),
    ("", "bad-producer-filter"): Provocation(
        _filtered('<n:ProducerProperties Dialect="urn:odd">a</n:ProducerProperties>'), "urn:odd"
    ),
    ("Renew", "bad-expiry"): Provocation(
        f"<n:Renew><n:TerminationTime>{PAST}</n:TerminationTime></n:Renew>", "future", "subscription"
    ),
    ("Unsubscribe", "cannot-store"): full("<n:Unsubscribe/>", "subscription"),
    ("SetTerminationTime", "bad-expiry"): Provocation(_set_time(PAST), "future", "subscription"),
    ("SetTerminationTime", "cannot-store"): full(_set_time(LATER), "subscription"),
    ("Destroy", "cannot-store"): full("<rl:Destroy/>", "subscription"),
    ("CreatePullPoint", "cannot-store"): full("<n:CreatePullPoint/>"),
    ("Pull", "cannot-store"): full("<n:GetMessages/>", "pull point"),
    ("Pull", "malformed"): Provocation(
        "<n:GetMessages><n:MaximumNumber>few</n:MaximumNumber></n:GetMessages>", "few", "pull point"
    ),
    ("DestroyPullPoint", "cannot-store"): full("<n:DestroyPullPoint/>", "pull point"),
    ("DestroyRegistration", "cannot-store"): full("<br:DestroyRegistration/>", "registration"),
}
WSN_1_2: dict[Row, Provocation] = _BOTH_WSN | {
    ("", "unknown-subscription"): Provocation("<n:PauseSubscription/>", "no subscription", door=NOWHERE),
    ("", "unknown-topic-dialect"): Provocation(_wsn_subscribe(_topic("a", "urn:odd")), "urn:odd"),
    ("", "bad-topic-expression"): Provocation(_wsn_subscribe(_topic("a//")), "position"),
    ("", "unknown-topic"): Provocation(_wsn_subscribe(_topic("nowhere")), "declared", stage="fixed"),
    ("", "bad-filter"): Provocation(_wsn_subscribe(f"<n:Selector {NO_XPATH}</n:Selector>"), "XPath 1.0"),
    ("", "bad-producer-filter"): Provocation(
        _wsn_subscribe(f"<n:Precondition {NO_XPATH}</n:Precondition>"), "XPath 1.0"
    ),
    ("GetCurrentMessage", "several-topics"): Provocation(_current("a|b"), "one topic"),
    ("GetProperties", "unknown-subscription"): Provocation(
        "<rp:GetResourceProperty>n:Strange</rp:GetResourceProperty>", "no subscription", door=NOWHERE
    ),
    ("Renew", "bad-expiry"): Provocation(_set_time(PAST), "future", "subscription"),
    ("Renew", "malformed"): Provocation("<rl:SetTerminationTime/>", "RequestedTerminationTime", "subscription"),
    ("Renew", "cannot-store"): full(_set_time(LATER), "subscription"),
    ("Renew", "unknown-subscription"): Provocation(_set_time(LATER), "no subscription", door=NOWHERE),
    ("Unsubscribe", "unknown-subscription"): Provocation("<rl:Destroy/>", "no subscription", door=NOWHERE),
    ("Unsubscribe", "cannot-store"): full("<rl:Destroy/>", "subscription"),
}


_NO_EVENT = (
    "<n:Notify><n:NotificationMessage><n:Message>"
    '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><o:Nothing r:nodeID="H" xmlns:o="urn:o#"/></r:RDF>'
    "</n:Message></n:NotificationMessage></n:Notify>"
)


def _at_onvif(said: Provocation) -> Provocation:
    """There an id is no part of the address, but a header."""
    return replace(said, door="/onvif/events")


ONVIF: dict[Row, Provocation] = {row: _at_onvif(said) for row, said in WSN_1_3.items()} | {
    ("", "unknown-subscription"): Provocation("<tev:PullMessages/>", "no pull point", door="/broker/pullpoints/none"),
    ("", "not-authenticated"): Provocation("<tev:GetEventProperties/>", "who are you?", stage="guarded"),
    ("", "not-allowed"): Provocation("<tev:CreatePullPointSubscription/>", "may not", stage="guarded", who="eve"),
    ("", "unknown-operation"): Provocation("<tev:Dance/>", "Dance"),
    ("", "malformed"): Provocation("<n:Notify/>", "NotificationMessage", door="/onvif/events"),
    ("", "bad-event-graph"): Provocation(_NO_EVENT, "urn:o#Nothing", door="/onvif/events", stage="meaning"),
}


def _wse_subscribe(inside: str = "", consumer: str = ADDRESS, delivery: str = "") -> str:
    to = f"<w:NotifyTo>{consumer}</w:NotifyTo>" if consumer else ""
    return f"<w:Subscribe><w:Delivery{delivery}>{to}</w:Delivery>{inside}</w:Subscribe>"


def _wse_filter(dialect: str, inside: str) -> str:
    return _wse_subscribe(f'<w:Filter Dialect="{dialect}">{inside}</w:Filter>')


def _within(inside: str) -> str:
    return _wse_filter(ns.WSE_TOPIC_FILTER, inside)


_ANY_WSE: dict[Row, Provocation] = {
    ("", "unknown-subscription"): Provocation("<w:Unsubscribe/>", "no subscription", door=NOWHERE),
    ("", "unknown-topic-dialect"): Provocation(_within(_topic("a", "urn:odd", "b")), "urn:odd"),
    ("", "bad-topic-expression"): Provocation(_wse_filter(FULL, "a//"), "position"),
    ("", "unknown-topic"): Provocation(_wse_filter(FULL, "nowhere"), "declared", stage="fixed"),
    ("", "unsupported-filter"): Provocation(_wse_filter("urn:klingon", "a"), "urn:klingon"),
    ("", "bad-filter"): Provocation(_wse_filter(ns.DPWS_ACTIONS[0], " "), "no action"),
    ("", "bad-producer-filter"): Provocation(
        _within(f"<b:ProducerProperties {NO_XPATH}</b:ProducerProperties>"), "XPath 1.0"
    ),
    ("", "bad-expiry"): Provocation(_wse_subscribe(f"<w:Expires>{PAST}</w:Expires>"), "future"),
    ("", "bad-consumer"): Provocation(_wse_subscribe("", "<a:Address>mailto:me</a:Address>"), "http://"),
}
WSE_2004: dict[Row, Provocation] = _ANY_WSE | {
    ("", "unsupported-delivery"): Provocation(_wse_subscribe(delivery=' Mode="urn:pigeon"'), "urn:pigeon"),
    ("", "bad-start"): Provocation(_wse_subscribe("<t:From>soon</t:From>"), "soon"),
    ("", "malformed"): Provocation(_wse_subscribe(consumer=""), "NotifyTo"),
    ("", "unknown-operation"): Provocation("<w:Dance/>", "Dance"),
    ("", "cannot-store"): full("<w:Unsubscribe/>", "subscription"),
    ("Renew", "cannot-store"): full("<w:Renew/>", "subscription"),
}
WSE_2011: dict[Row, Provocation] = _ANY_WSE | {
    ("", "unsupported-delivery"): Provocation(_wse_subscribe('<w:Format Name="urn:pigeon"/>'), "urn:pigeon"),
    ("", "no-consumer"): Provocation(_wse_subscribe(consumer=""), "NotifyTo"),
}
PROVOCATIONS = {
    "wsn-1.3": WSN_1_3,
    "wsn-1.2": WSN_1_2,
    "wsn-1.0": dict[Row, Provocation](),
    "onvif": ONVIF,
    "wse-2004-08": WSE_2004,
    "wse-2004-01": WSE_2004,
    "wse-2011": WSE_2011,
}
# Of those it takes more than one request to provoke; `test_too_much_at_once` does.
IN_A_CROWD = {("wse-2004-08", ("", "overloaded")), ("wse-2004-01", ("", "overloaded"))}
_COMMON = {"t": ns.POLICY, "tr": ns.RESOURCE, "b": ns.WSN, "tev": ns.ONVIF_EVENTS}
_WSN_1_3 = {"n": ns.WSN, "br": ns.WSN_BROKERED, "rp": ns.WSRF_PROPERTIES, "rl": ns.WSRF_LIFETIME}
PREFIXES = {
    "wsn-1.3": _COMMON | _WSN_1_3,
    "onvif": _COMMON | _WSN_1_3,
    "wsn-1.2": _COMMON
    | {
        "n": ns.WSN_1_2,
        "br": ns.WSN_1_2_BROKERED,
        "rp": ns.WSRF_1_2_PROPERTIES,
        "rl": ns.WSRF_1_2_LIFETIME,
    },
    "wsn-1.0": _COMMON | {"n": ns.WSN_1_0, "rp": ns.WSRF_1_0_PROPERTIES, "rl": ns.WSRF_1_0_LIFETIME},
    "wse-2004-08": _COMMON | {"w": ns.WSE},
    "wse-2004-01": _COMMON | {"w": ns.WSE_2004_01},
    "wse-2011": _COMMON | {"w": ns.WSE_2011},
}
ADDRESSING = {
    "wsn-1.3": ns.WSA_2005,
    "onvif": ns.WSA_2005,
    "wsn-1.2": ns.WSA_2004_03,
    "wsn-1.0": ns.WSA_2005,
    "wse-2004-08": ns.WSA_2004,
    "wse-2004-01": ns.WSA_2003,
    "wse-2011": ns.WSA_2005,
}
