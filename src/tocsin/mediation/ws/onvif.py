"""ONVIF: events over WS-Notification 1.3, and as much of a device as its clients ask for before that (Core s8, s9)."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from msgspec.structs import replace

from tocsin import __version__
from tocsin.markup import xml
from tocsin.mediation.operations import Described
from tocsin.mediation.rules import Dialect, Entry, Faults, Message, Names
from tocsin.mediation.soap import namespaces as ns
from tocsin.mediation.soap.entries import Markup, Value
from tocsin.mediation.topics import DIALECTS, IN_1_3
from tocsin.mediation.ws import wsn_1_3
from tocsin.mediation.ws.shared_tables import own_policies
from tocsin.mediation.ws.topic_documents import topic_set_element
from tocsin.model.identity import SECOND, MessageId
from tocsin.model.notification import Notification, Payload

NAME = "onvif"
DOOR = "/onvif/"
DEVICE_DOOR, EVENTS_DOOR = f"{DOOR}device_service", f"{DOOR}events"
# Where ONVIF keeps the names of its own topics and message contents; what is published here mostly comes from cameras.
TOPIC_NAMESPACES = "http://www.onvif.org/onvif/ver10/topics/topicns.xml"
CONTENT_SCHEMA = "http://www.onvif.org/onvif/ver10/schema/onvif.xsd"
VERSION = (2, 60)
_MOST = "2147483647"  # there is no limit, and the schema wants a number

_tds = Names("tds", ns.ONVIF_DEVICE)
_tev = Names("tev", ns.ONVIF_EVENTS)
_tt = Names("tt", ns.ONVIF_SCHEMA)
_b = Names("wsnt", ns.WSN)
_ter = Names("ter", ns.ONVIF_ERRORS)

Values = Mapping[str, Value]


def _device(local: str, describe: Callable[[Described], Values], answer: tuple[Entry, ...], *entries: Entry) -> Message:
    said = Message("Describe", _tds.one(f"{local}Response"), f"{ns.ONVIF_DEVICE}/{local}Response", answer)
    facts = (("what", local),)
    return Message(
        "Describe", _tds.one(local), f"{ns.ONVIF_DEVICE}/{local}", entries, said, facts=facts, describe=describe
    )


def _event(
    operation: str,
    port: str,
    local: str,
    answer: tuple[Entry, ...],
    *entries: Entry,
    describe: Callable[[Described], Values] | None = None,
) -> Message:
    action = f"{ns.ONVIF_EVENTS}/{port}/{local}"
    said = Message(operation, _tev.one(f"{local}Response"), f"{action}Response", answer)
    facts = (("what", local),)
    return Message(operation, _tev.one(local), f"{action}Request", entries, said, facts=facts, describe=describe)


def _always(value: str, *path: str, names: Names) -> Entry:
    return Entry("/".join(path), names(*path), required=True, default=value)


# The device


def _services(described: Described) -> Values:
    doors = ((ns.ONVIF_DEVICE, DEVICE_DOOR), (ns.ONVIF_EVENTS, EVENTS_DOOR))
    capable = dict(described.asked).get("capability") in ("true", "1")
    return {"services": tuple(_service(described, *each, capable) for each in doors)}


def _service(described: Described, namespace: str, door: str, capable: bool) -> Markup:
    capabilities = _EVENT_CAPABILITIES if capable and namespace == ns.ONVIF_EVENTS else b""
    return Markup(
        b"<tds:Namespace>%b</tds:Namespace><tds:XAddr>%b</tds:XAddr>%b<tds:Version>%b</tds:Version>"
        % (
            namespace.encode(),
            xml.text(f"{described.base_url}{door}"),
            b"<tds:Capabilities>%b</tds:Capabilities>" % capabilities if capabilities else b"",
            b'<tt:Major xmlns:tt="%b">%d</tt:Major><tt:Minor xmlns:tt="%b">%d</tt:Minor>'
            % (ns.ONVIF_SCHEMA.encode(), VERSION[0], ns.ONVIF_SCHEMA.encode(), VERSION[1]),
        )
    )


def _capabilities(described: Described) -> Values:
    return {"device": f"{described.base_url}{DEVICE_DOOR}", "events": f"{described.base_url}{EVENTS_DOOR}"}


def _date_and_time(described: Described) -> Values:
    now = datetime.fromtimestamp(described.now // SECOND, UTC)
    parts = ("hour", "minute", "second", "year", "month", "day")
    return {part: str(getattr(now, part)) for part in parts}


def _information(described: Described) -> Values:
    return {"serial": described.base_url}


_HOLDER, _CLOCK = _tds("Capabilities"), _tds("SystemDateAndTime")
_UTC_TIME, _UTC_DATE = _CLOCK + _tt("UTCDateTime", "Time"), _CLOCK + _tt("UTCDateTime", "Date")
GET_SERVICES = _device(
    "GetServices",
    _services,
    (Entry("services", _tds("Service"), required=True),),
    Entry("capability", _tds("IncludeCapability"), default="false"),
)
GET_CAPABILITIES = _device(
    "GetCapabilities",
    _capabilities,
    (
        Entry("device", _HOLDER + _tt("Device", "XAddr"), required=True),
        Entry("events", _HOLDER + _tt("Events", "XAddr"), required=True),
        *(
            Entry(each, _HOLDER + _tt("Events", each), required=True, default="true")
            for each in (
                "WSSubscriptionPolicySupport",
                "WSPullPointSupport",
                "WSPausableSubscriptionManagerInterfaceSupport",
            )
        ),
    ),
)
GET_DATE_AND_TIME = _device(
    "GetSystemDateAndTime",
    _date_and_time,
    (
        Entry("kind", _CLOCK + _tt("DateTimeType"), required=True, default="NTP"),
        Entry("daylight", _CLOCK + _tt("DaylightSavings"), required=True, default="false"),
        Entry("zone", _CLOCK + _tt("TimeZone", "TZ"), required=True, default="UTC0"),
        *(Entry(each.lower(), _UTC_TIME + _tt(each), required=True) for each in ("Hour", "Minute", "Second")),
        *(Entry(each.lower(), _UTC_DATE + _tt(each), required=True) for each in ("Year", "Month", "Day")),
    ),
)
GET_INFORMATION = _device(
    "GetDeviceInformation",
    _information,
    (
        _always("Tocsin", "Manufacturer", names=_tds),
        _always("Broker", "Model", names=_tds),
        _always(__version__, "FirmwareVersion", names=_tds),
        Entry("serial", _tds("SerialNumber"), required=True),
        _always("software", "HardwareId", names=_tds),
    ),
)

# Events

_CAN = {
    "WSSubscriptionPolicySupport": "true",
    "WSPullPointSupport": "true",
    "WSPausableSubscriptionManagerInterfaceSupport": "true",
    "MaxNotificationProducers": _MOST,
    "MaxPullPoints": _MOST,
    "PersistentNotificationStorage": "false",  # there is, but not for Seek
}
_EVENT_CAPABILITIES = b'<tev:Capabilities xmlns:tev="%b"%b/>' % (
    ns.ONVIF_EVENTS.encode(),
    "".join(f' {name}="{value}"' for name, value in _CAN.items()).encode(),
)


def _event_properties(described: Described) -> Values:
    return {
        "fixed": "true" if described.fixed_topics else "false",
        "topics": Markup(topic_set_element(described.topics)),
        "dialects": tuple(DIALECTS),
    }


CREATE_PULL_POINT_SUBSCRIPTION = _event(
    "Subscribe",
    "EventPortType",
    "CreatePullPointSubscription",
    (
        Entry("subscription", _tev("SubscriptionReference"), required=True),
        Entry("now", _b("CurrentTime")),
        Entry("expires", _b("TerminationTime"), nil=True),
    ),
    Entry("filter", _tev("Filter")),
    Entry("expires", _tev("InitialTerminationTime")),
    Entry("policy", _tev("SubscriptionPolicy")),
    *own_policies(_tev("SubscriptionPolicy")),
)
PULL_MESSAGES = _event(
    "Pull",
    "PullPointSubscription",
    "PullMessages",
    (
        Entry("now", _tev("CurrentTime"), required=True),
        Entry("expires", _tev("TerminationTime"), required=True),
        Entry("messages", ()),
    ),
    Entry("timeout", _tev("Timeout")),
    Entry("most", _tev("MessageLimit")),
)
SET_SYNCHRONIZATION_POINT = _event("Synchronise", "PullPointSubscription", "SetSynchronizationPoint", ())
GET_EVENT_PROPERTIES = _event(
    "Describe",
    "EventPortType",
    "GetEventProperties",
    (
        _always(TOPIC_NAMESPACES, "TopicNamespaceLocation", names=_tev),
        Entry("fixed", _b("FixedTopicSet"), required=True),
        Entry("topics", (), required=True),
        Entry("dialects", _b("TopicExpressionDialect"), required=True),
        _always(ns.ONVIF_ITEM_FILTER, "MessageContentFilterDialect", names=_tev),
        _always(CONTENT_SCHEMA, "MessageContentSchemaLocation", names=_tev),
    ),
    describe=_event_properties,
)
GET_SERVICE_CAPABILITIES = _event(
    "Describe",
    "EventPortType",
    "GetServiceCapabilities",
    tuple(Entry(name, _tev("Capabilities", f"@{name}"), required=True, default=value) for name, value in _CAN.items()),
)

# Its own names where it has them, WS-Notification's elsewhere; which action a fault carries is its own too.
FAULTS = Faults(
    {
        **wsn_1_3.FAULTS.named,
        "not-authenticated": _ter.one("NotAuthorized"),
        "not-allowed": _ter.one("NotAuthorized"),
        "unknown-operation": _ter.one("ActionNotSupported"),
        "malformed": _ter.one("InvalidArgVal"),
        "bad-event-graph": _ter.one("InvalidArgVal"),
    },
    wsn_1_3.FAULTS.of,
    base_fault=wsn_1_3.FAULTS.base_fault,
    action=ns.WSA_SOAP_FAULT,
    names_at_fault=wsn_1_3.FAULTS.names_at_fault,
    minimum_time=wsn_1_3.FAULTS.minimum_time,
)

DIALECT = Dialect(
    NAME,
    "ONVIF events",
    "2005/08",
    wsn_1_3.NOTIFY,
    wsn_1_3.RAW,
    (
        GET_SERVICES,
        GET_CAPABILITIES,
        GET_DATE_AND_TIME,
        GET_INFORMATION,
        CREATE_PULL_POINT_SUBSCRIPTION,
        PULL_MESSAGES,
        SET_SYNCHRONIZATION_POINT,
        GET_EVENT_PROPERTIES,
        GET_SERVICE_CAPABILITIES,
    ),
    wsn_1_3.DIALECT.end,
    FAULTS,
    topic_dialects=IN_1_3,
)

_MESSAGE = f"{{{ns.ONVIF_SCHEMA}}}Message"
_OPERATION = "PropertyOperation"


def initialised(notification: Notification, name: str) -> Notification | None:
    """The event as it is told again at a synchronization point; None when it is not of a property, or of none now."""
    if _OPERATION.encode() not in notification.payload.data:
        return None
    try:
        message = xml.parse(notification.payload.data)
    except xml.MarkupError:
        return None
    if message.tag != _MESSAGE or message.get(_OPERATION) in (None, "Deleted"):
        return None
    message.set(_OPERATION, "Initialized")
    payload = Payload(notification.payload.media_type, xml.serialise(message))
    return replace(notification, id=MessageId(f"{notification.id}#{name}"), payload=payload)
