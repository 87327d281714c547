"""What is asked for the matrix of rights: every operation of every door, with a plausible body.

`$id` is that of what Alice owns, made anew before each request; `$n` is a number of its own for each.
"""

import json
from dataclasses import dataclass, field

from tests.whole.speech import (
    CONCRETE,
    DEFAULT,
    FULL,
    WSE,
    WSN,
    Said,
    Tongue,
    message,
    notify,
    wse_manage,
    wse_subscribe,
    wsn_manage,
    wsn_subscribe,
)
from tests.whole.speech import wse_event as raw_event

JSON, EVENT, BATCH = "application/json", "application/cloudevents+json", "application/cloudevents-batch+json"
TURTLE, XML = "text/turtle", "application/xml"
SOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
SINK = "$sink/consumer"
WORLD = {
    "topics": {"flood": None, "fire": None},
    "categories": {"Desks": None, "Owned": {"parent": None, "owner": "alice"}},
    "edges": [["Desks", "flood", "Owned"]],
}
ONTOLOGY = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix : <urn:base#> . :Thing a owl:Class ."
CE_FILTER = [{"urn:tocsin:dialect:topic": "flood"}]


@dataclass(frozen=True)
class Case:
    """One request; `made` is what stands before it, `note` tells it from others to the same operation."""

    method: str
    path: str
    note: str = ""
    made: str = ""
    query: str = ""
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    address: str = ""  # where it is asked, if not at the path with `$id` for its parameter

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}" + (f" ({self.note})" if self.note else "")

    @property
    def target(self) -> str:
        return (self.address or self.path) + self.query


def api(operation: str, note: str = "", made: str = "", query: str = "", body: object = None, **more: str) -> Case:
    """`more` may name the `kind` of the body and the `address`."""
    method, path = operation.split(" ")
    sent = body.encode() if isinstance(body, str) else b"" if body is None else json.dumps(body).encode()
    kind = more.get("kind", JSON if body is not None else "")
    address = more.get("address", path)
    for name in ("id", "name", "message", "address", "offset", "token"):
        address = address.replace(f"{{{name}}}", "$id")
    return Case(
        method, path, note, made, query, sent, {"Content-Type": kind} if kind else {}, address.replace("{index}", "0")
    )


def socket(path: str, made: str = "", query: str = "") -> Case:
    return Case("GET", path, "", made, query, b"", SOCKET, path.replace("{id}", "$id"))


def event(topic: str, **more: object) -> dict[str, object]:
    return {"specversion": "1.0", "id": "e$n", "source": "urn:test", "type": "t", "topic": topic, "data": {}, **more}


EDGE = {"source": "Desks", "topic": "fire", "target": "Owned"}
OWN_EDGE = {"source": "Owned", "topic": "fire", "target": "Desks"}
OF_EDGE = "?source=$source&topic=$id&target=$target"
ASK = {"pattern": "pull-1:1-explicit", "topic": "flood", "by": "$id", "of": "Chair", "data": 1}
LIFTING = {"syntax": "xml", "types": ["{urn:shop}offer$n"], "class": "urn:base#Thing", "properties": {}}
SPACE = {"dimensions": [{"name": "t", "kind": "number"}]}
TOPICS = (
    '<w:TopicNamespace xmlns:w="http://docs.oasis-open.org/wsn/t-1" targetNamespace="{}">'
    '<w:Topic name="a"/></w:TopicNamespace>'
)
SECRET = {"name": "s$n", "kind": "bearer", "value": "t0ken"}
CE_SUBSCRIPTION = {"protocol": "HTTP", "sink": SINK, "filters": CE_FILTER}
PUSH = {"pattern": "push-1:n-implicit", "topic": "flood", "by": "$id"}

API = [
    api("GET /api/categories"),
    api("PUT /api/categories", body={"parents": {"hospital": ["care"]}}),
    api("GET /api/cloudevents/subscriptions", made="ce subscription"),
    api("OPTIONS /api/cloudevents/subscriptions"),
    api("POST /api/cloudevents/subscriptions", body=CE_SUBSCRIPTION),
    api("POST /api/cloudevents/subscriptions", "every topic", body=CE_SUBSCRIPTION | {"filters": []}),
    api(
        "POST /api/cloudevents/subscriptions",
        "with a credential",
        body=CE_SUBSCRIPTION | {"sinkcredential": {"credentialtype": "PLAIN", "identifier": "me", "secret": "x"}},
    ),
    api("DELETE /api/cloudevents/subscriptions/{id}", made="ce subscription"),
    api("GET /api/cloudevents/subscriptions/{id}", made="ce subscription"),
    api("OPTIONS /api/cloudevents/subscriptions/{id}", made="ce subscription"),
    api("PUT /api/cloudevents/subscriptions/{id}", made="ce subscription", body=CE_SUBSCRIPTION),
    api("GET /api/consents", made="consent"),
    api("GET /api/consents/{id}", made="consent"),
    api("GET /api/consents/{id}", "unknown", made="nothing"),
    api("POST /api/consents/{id}", made="consent"),
    api("GET /api/dead-letters"),
    api("GET /api/dead-letters", "of a subscription", "subscription", "?subscription=$id"),
    api("POST /api/dead-letters/redrive", body={"ids": []}),
    api("GET /api/views", made="view"),
    api("GET /api/views/{id}", made="view"),
    api("GET /api/views/{id}/stream", made="view"),
    api("DELETE /api/views/{id}", made="view", query="?grace=0s"),
    api("GET /api/replies/{token}", made="reply token"),
    api("POST /api/replies/{token}", made="reply token", body={"value": True}),
    api("GET /api/disseminations", made="dissemination", query="?limit=1000"),
    api("GET /api/disseminations/{id}", made="dissemination"),
    api("GET /api/interactions", made="request", query="?request=$id"),
    api("POST /api/interactions", made="notifier", body=PUSH),
    api("POST /api/interactions", "another's topic", "notifier", body=PUSH | {"topic": "fire"}),
    api("GET /api/liftings", made="lifting"),
    api("DELETE /api/liftings/{name}", made="lifting"),
    api("DELETE /api/liftings/{name}", "dry run", "lifting", "?dry-run=true"),
    api("GET /api/liftings/{name}", made="lifting"),
    api("PUT /api/liftings/{name}", made="nothing", body=LIFTING),
    api("PUT /api/liftings/{name}", "dry run", "nothing", "?dry-run=true", LIFTING),
    api("PUT /api/liftings/{name}", "malformed", "nothing", body={}),
    api("GET /api/notifications/{offset}/{index}", made="place"),
    api("GET /api/notifiers", made="notifier"),
    api("POST /api/notifiers", body={"name": "S$n", "categories": ["Desks"]}),
    api("POST /api/notifiers", "for a user", body={"name": "S$n", "categories": ["Desks"], "owner": "bob"}),
    api("POST /api/notifiers", "for nobody", body={"name": "S$n", "categories": ["Desks"], "owner": "zoe"}),
    api("DELETE /api/notifiers/{name}", made="notifier"),
    api("GET /api/notifiers/{name}", made="notifier"),
    api("POST /api/notifiers/{name}/publish", made="notifier", body={"topic": "flood", "data": 1}),
    api("POST /api/notifiers/{name}/publish", "another's topic", "notifier", body={"topic": "fire", "data": 1}),
    api("GET /api/ontologies", made="ontology"),
    api("DELETE /api/ontologies/{name}", made="ontology"),
    api("DELETE /api/ontologies/{name}", "dry run", "ontology", "?dry-run=true"),
    api("GET /api/ontologies/{name}", made="ontology"),
    api("PUT /api/ontologies/{name}", made="nothing", body=ONTOLOGY.replace("base", "o$n"), kind=TURTLE),
    api("PUT /api/ontologies/{name}", "malformed", "nothing", body="no turtle", kind=TURTLE),
    api("GET /api/patterns"),
    api("GET /api/pipeline"),
    api("GET /api/producers", made="producer", query="?limit=1000"),
    api("DELETE /api/producers/{address}", made="producer"),
    api("GET /api/producers/{address}", made="producer"),
    api("PUT /api/producers/{address}", made="nothing", body={"categories": ["hospital"]}),
    api("POST /api/pullpoints", body={"topic": "flood"}),
    api("POST /api/pullpoints", "another's topic", body={"topic": "fire"}),
    api("POST /api/pullpoints", "every topic", body={}),
    api("DELETE /api/pullpoints/{id}", made="pull point"),
    api("GET /api/pullpoints/{id}", made="pull point"),
    api("GET /api/pullpoints/{id}/messages", made="pull point"),
    api("GET /api/pullpoints/{id}/messages", "read again", "pull point", "?after=0"),
    socket("/api/pullpoints/{id}/socket", "pull point"),
    api("GET /api/pullpoints/{id}/stream", made="pull point"),
    api("GET /api/registrations", made="registration"),
    api("POST /api/registrations", body={"topics": ["flood"]}),
    api("POST /api/registrations", "another's topic", body={"topics": ["flood", "fire"]}),
    api("POST /api/registrations", "every topic", body={}),
    api("DELETE /api/registrations/{id}", made="registration"),
    api("GET /api/registrations/{id}", made="registration"),
    api("GET /api/requests", made="request", query="?limit=1000"),
    api("POST /api/requests", made="notifier", body=ASK),
    api("POST /api/requests", "another's topic", "notifier", body=ASK | {"topic": "fire"}),
    api("POST /api/requests", "for another's service", "notifier", body=ASK | {"by": "Chair", "of": "$id"}),
    api("DELETE /api/requests/{id}", made="request"),
    api("DELETE /api/requests/{id}", "of another", "question"),
    api("GET /api/requests/{id}", made="request"),
    api("GET /api/requests/{id}", "to one's own service", "question"),
    api("POST /api/requests/{id}/answer", made="question", body={"by": "$service", "data": 1}),
    api("POST /api/requests/{id}/answer", "for another's service", "request", body={"by": "Chair", "data": 1}),
    api("GET /api/secrets", made="secret"),
    api("POST /api/secrets", body=SECRET),
    api("DELETE /api/secrets/{id}", made="secret"),
    socket("/api/socket", query="?topic=flood"),
    api("GET /api/spaces", made="space"),
    api("DELETE /api/spaces/{name}", made="space"),
    api("GET /api/spaces/{name}", made="space"),
    api("PUT /api/spaces/{name}", made="nothing", body=SPACE),
    api("GET /api/status"),
    api("GET /api/stream", query="?topic=flood"),
    api("GET /api/stream", "another's topic", query="?topic=fire"),
    api("GET /api/subscriptions", made="subscription", query="?limit=1000"),
    api("POST /api/subscriptions", body={"consumer": SINK, "topic": "flood"}),
    api("POST /api/subscriptions", "another's topic", body={"consumer": SINK, "topic": "fire"}),
    api("POST /api/subscriptions", "every topic", body={"consumer": SINK}),
    api("POST /api/subscriptions", "to a pull point", "pull point", body={"consumer": "$address", "topic": "flood"}),
    api(
        "POST /api/subscriptions", "with a secret", "secret", body={"consumer": SINK, "topic": "flood", "secret": "$id"}
    ),
    api(
        "POST /api/subscriptions",
        "with a secret for there",
        "secret for the sink",
        body={"consumer": SINK, "topic": "flood", "secret": "$id"},
    ),
    api("DELETE /api/subscriptions/{id}", made="subscription"),
    api("DELETE /api/subscriptions/{id}", "cancel", "subscription", "?cancel=true"),
    api("GET /api/subscriptions/{id}", made="subscription"),
    api("GET /api/subscriptions/{id}", "of a notifier", "subscription of a notifier"),
    api("GET /api/subscriptions/{id}/explain", made="subscription and message", query="?limit=100"),
    api("GET /api/subscriptions/{id}/explain", "a message", "subscription and message", "?message=$message"),
    api("POST /api/subscriptions/{id}/pause", made="subscription"),
    api("POST /api/subscriptions/{id}/renew", made="subscription", body={"expires": "PT1H"}),
    api("POST /api/subscriptions/{id}/resume", made="paused subscription"),
    api("GET /api/topics", made="topic"),
    api("GET /api/topics/current", made="topic", query="?topic=$id"),
    api("GET /api/topics/current", "another's topic", query="?topic=fire"),
    api("DELETE /api/topics/namespaces", made="namespace", query="?namespace=$id"),
    api("GET /api/topics/namespaces", made="namespace"),
    api("PUT /api/topics/namespaces", body=TOPICS.format("urn:ns:$n"), kind=XML),
    api("GET /api/trace", made="place", query="?offset=$id"),
    api("GET /api/trace", "of a subscription", "subscription and message", "?offset=$offset&subscription=$id"),
    api("GET /api/trace/{message}", made="message"),
    api("GET /api/ring"),
    api("POST /api/ring/leave"),
    api("DELETE /api/ring/{name}", made="nothing"),
    api("GET /api/tree"),
    api("DELETE /api/tree/{address}", made="nothing"),
    api("GET /api/types"),
    api("PUT /api/types", body={"parents": {"warning": ["alert"]}}),
    api("GET /api/world"),
    api("GET /api/world", "as a table", query="?form=csv&table=services"),
    api("PUT /api/world", body={"topics": {"T$n": None}}),
    api(
        "PUT /api/world", "an edge from one's own category", "world topic", body={"edges": [["Owned", "$id", "Desks"]]}
    ),
    api("GET /api/world/categories"),
    api("DELETE /api/world/categories/{name}", made="category"),
    api("GET /api/world/categories/{name}", made="category"),
    api("PUT /api/world/categories/{name}", made="nothing", body={"parent": None}),
    api("DELETE /api/world/edges", made="edge", query=OF_EDGE),
    api("DELETE /api/world/edges", "from one's own category", "own edge", OF_EDGE),
    api("DELETE /api/world/edges", "proposed", "proposed edge", OF_EDGE),
    api("GET /api/world/edges"),
    api("PUT /api/world/edges", made="world topic", body=EDGE | {"topic": "$id"}),
    api("PUT /api/world/edges", "there before", "edge", body=EDGE | {"topic": "$id", "note": "x"}),
    api("PUT /api/world/edges", "from one's own category", "own edge", body=OWN_EDGE | {"topic": "$id", "note": "x"}),
    api("POST /api/world/edges/votes", made="proposed edge", body=EDGE | {"topic": "$id", "agrees": True}),
    api("GET /api/world/history"),
    api("GET /api/world/neighbours", made="notifier", query="?service=$id&topic=flood"),
    api("GET /api/world/rules"),
    api("PUT /api/world/rules", body={"quorum": 2}),
    api("GET /api/world/services", made="notifier", query="?limit=1000"),
    api("DELETE /api/world/services/{name}", made="service"),
    api("GET /api/world/services/{name}", made="service"),
    api("PATCH /api/world/services/{name}", made="service", body={"policies": ["free"]}),
    api("PATCH /api/world/services/{name}", "of a notifier", "notifier", body={"policies": ["free"]}),
    api("PUT /api/world/services/{name}", made="nothing", body={"categories": ["Desks"]}),
    api("GET /api/world/topics"),
    api("DELETE /api/world/topics/{name}", made="world topic"),
    api("GET /api/world/topics/{name}", made="world topic"),
    api("PUT /api/world/topics/{name}", made="nothing", body={}),
    api("OPTIONS /events"),
    api("POST /events", body=event("flood"), kind=EVENT),
    api("POST /events", "another's topic", body=event("fire"), kind=EVENT),
    api("POST /events", "no topic", body={"specversion": "1.0", "id": "e$n", "source": "s", "type": "t"}, kind=EVENT),
    api("POST /events", "batch, one of another's topic", body=[event("flood"), event("fire", id="f$n")], kind=BATCH),
    api("GET /notifiers/{name}", made="notifier"),
    api("GET /notifiers/{name}", "WSDL", "notifier", "?wsdl"),
    api("POST /notifiers/{name}", made="notifier", query="?topic=flood", body="x", kind="text/plain"),
    api("POST /notifiers/{name}", "another's topic", "notifier", "?topic=fire", "x", kind="text/plain"),
    api("POST /notifiers/{name}", "CloudEvent", "notifier", body=event("", subject="flood"), kind=EVENT),
]

T1 = "http://docs.oasis-open.org/wsn/t-1"
BROKERED = "http://docs.oasis-open.org/wsn/br-2"
PROPERTIES = "http://docs.oasis-open.org/wsrf/rp-2"
LIFETIME = "http://docs.oasis-open.org/wsrf/rl-2"
ONVIF_EVENTS = "http://www.onvif.org/ver10/events/wsdl"
ONVIF_DEVICE = "http://www.onvif.org/ver10/device/wsdl"
NOTIFIER = "urn:tocsin:notifier"
SUBSCRIPTION, PULL_POINT = "/broker/subscriptions/{id}", "/broker/pullpoints/{id}"
REGISTRATION = "/broker/registrations/{id}"
LATER = "<n:TerminationTime>PT1H</n:TerminationTime>"
SOAP_11 = Tongue("1.1", "2004/08")


def soap(path: str, said: Said, note: str, made: str = "") -> Case:
    address = path.replace("{id}", "$id").replace("{name}", "$id")
    return Case("POST", path, note, made, "", said[1], dict(said[0]), address)


def element(namespace: str, name: str, inside: str = "") -> Said:
    content = (
        f'<n:{name} xmlns:n="{namespace}" xmlns:w="{WSN}" xmlns:br="{BROKERED}" xmlns:t="{T1}">{inside}</n:{name}>'
    )
    return DEFAULT.say(f"{namespace}/{name}", content, message_id="urn:m$n")


def current(topic: str) -> Said:
    return wsn_manage("GetCurrentMessage", f'<n:Topic Dialect="{CONCRETE}">{topic}</n:Topic>')


TOPIC = f'<n:Topic Dialect="{CONCRETE}">{{}}</n:Topic>'


def register(*topics: str) -> Said:
    return element(
        BROKERED, "RegisterPublisher", "".join(f'<n:Topic Dialect="{CONCRETE}">{each}</n:Topic>' for each in topics)
    )


def pulled_topic(topic: str) -> str:
    return f'<n:Filter><w:TopicExpression Dialect="{FULL}">{topic}</w:TopicExpression></n:Filter>'


SET_TIME = "<n:RequestedTerminationTime>2099-01-01T00:00:00Z</n:RequestedTerminationTime>"
PULL = "<n:Timeout>PT0S</n:Timeout><n:MessageLimit>10</n:MessageLimit>"
STATUS = f'<n:ResourceProperty xmlns:b="{WSN}">b:CreationTime</n:ResourceProperty>'
DEVICE = ("GetSystemDateAndTime", "GetServices", "GetServiceCapabilities", "GetCapabilities", "GetDeviceInformation")

SOAP = [
    soap("/broker", wsn_subscribe(SINK, "flood"), "WSN Subscribe"),
    soap("/broker", wsn_subscribe(SINK, "fire"), "WSN Subscribe, another's topic"),
    soap("/broker", wsn_subscribe(SINK), "WSN Subscribe, every topic"),
    soap("/broker", wsn_subscribe("$address", "flood"), "WSN Subscribe, to a pull point", "pull point"),
    soap(SUBSCRIPTION, wsn_manage("Renew", LATER), "WSN Renew", "soap subscription"),
    soap(SUBSCRIPTION, wsn_manage("Unsubscribe"), "WSN Unsubscribe", "soap subscription"),
    soap(SUBSCRIPTION, wsn_manage("PauseSubscription"), "WSN PauseSubscription", "soap subscription"),
    soap(SUBSCRIPTION, wsn_manage("ResumeSubscription"), "WSN ResumeSubscription", "soap subscription"),
    soap(
        SUBSCRIPTION, element(LIFETIME, "SetTerminationTime", SET_TIME), "WSRF SetTerminationTime", "soap subscription"
    ),
    soap(SUBSCRIPTION, element(LIFETIME, "Destroy"), "WSRF Destroy", "soap subscription"),
    soap(
        SUBSCRIPTION,
        element(PROPERTIES, "GetResourceProperty", "w:CreationTime"),
        "WSRF GetResourceProperty",
        "soap subscription",
    ),
    soap(
        SUBSCRIPTION,
        element(PROPERTIES, "GetResourcePropertyDocument"),
        "WSRF GetResourcePropertyDocument",
        "soap subscription",
    ),
    soap(
        SUBSCRIPTION,
        element(PROPERTIES, "GetMultipleResourceProperties", STATUS),
        "WSRF GetMultipleResourceProperties",
        "soap subscription",
    ),
    soap("/broker/subscriptions/none", wsn_manage("Unsubscribe"), "WSN Unsubscribe, unknown"),
    soap("/broker", wsn_manage("CreatePullPoint"), "WSN CreatePullPoint"),
    soap(PULL_POINT, wsn_manage("GetMessages"), "WSN GetMessages", "pull point"),
    soap(PULL_POINT, wsn_manage("DestroyPullPoint"), "WSN DestroyPullPoint", "pull point"),
    soap(PULL_POINT, notify(message("<a/>", "flood")), "WSN Notify", "pull point"),
    soap(PULL_POINT, notify(message("<a/>", "fire")), "WSN Notify, another's topic", "pull point"),
    soap("/broker", current("$id"), "WSN GetCurrentMessage", "topic"),
    soap("/broker", current("fire"), "WSN GetCurrentMessage, another's topic"),
    soap("/broker", register("flood"), "WSN RegisterPublisher"),
    soap("/broker", register("fire"), "WSN RegisterPublisher, another's topic"),
    soap("/broker", register(), "WSN RegisterPublisher, every topic"),
    soap(REGISTRATION, element(BROKERED, "DestroyRegistration"), "WSN DestroyRegistration", "registration"),
    soap(
        REGISTRATION,
        element(PROPERTIES, "GetResourceProperty", "br:CreationTime"),
        "WSRF GetResourceProperty",
        "registration",
    ),
    soap("/broker", element(PROPERTIES, "GetResourceProperty", "t:TopicSet"), "WSRF GetResourceProperty", "topic"),
    soap("/broker", notify(message("<a/>", "flood")), "WSN Notify"),
    soap("/broker", notify(message("<a/>", "fire")), "WSN Notify, another's topic"),
    soap("/broker", notify(message("<a/>", "flood"), message("<a/>", "fire")), "WSN Notify, one of another's topic"),
    soap("/broker", element(WSN, "Dance"), "WSN Dance"),
    soap("/broker", wse_subscribe(SINK, "flood"), "WSE Subscribe"),
    soap("/broker", wse_subscribe(SINK, "fire"), "WSE Subscribe, another's topic"),
    soap("/broker", wse_subscribe(SINK), "WSE Subscribe, every topic"),
    soap("/broker", wse_subscribe(SINK, "flood", tongue=SOAP_11), "WSE Subscribe, SOAP 1.1"),
    soap(SUBSCRIPTION, wse_manage("Renew", "<w:Expires>PT1H</w:Expires>"), "WSE Renew", "wse subscription"),
    soap(SUBSCRIPTION, wse_manage("GetStatus"), "WSE GetStatus", "wse subscription"),
    soap(SUBSCRIPTION, wse_manage("Unsubscribe"), "WSE Unsubscribe", "wse subscription"),
    soap(SUBSCRIPTION, wse_manage("Unsubscribe", tongue=SOAP_11), "WSE Unsubscribe, SOAP 1.1", "wse subscription"),
    soap("/broker", element(WSE, "Dance"), "WSE Dance"),
    soap("/onvif/events", element(ONVIF_EVENTS, "CreatePullPointSubscription"), "ONVIF CreatePullPointSubscription"),
    soap(
        "/onvif/events",
        element(ONVIF_EVENTS, "CreatePullPointSubscription", pulled_topic("flood")),
        "ONVIF CreatePullPointSubscription, a topic",
    ),
    soap(
        "/onvif/events",
        element(ONVIF_EVENTS, "CreatePullPointSubscription", pulled_topic("fire")),
        "ONVIF CreatePullPointSubscription, another's topic",
    ),
    soap("/onvif/events", element(ONVIF_EVENTS, "GetEventProperties"), "ONVIF GetEventProperties", "topic"),
    soap("/onvif/events", element(ONVIF_EVENTS, "GetServiceCapabilities"), "ONVIF GetServiceCapabilities"),
    soap(PULL_POINT, element(ONVIF_EVENTS, "PullMessages", PULL), "ONVIF PullMessages", "pull point"),
    soap(PULL_POINT, element(ONVIF_EVENTS, "SetSynchronizationPoint"), "ONVIF SetSynchronizationPoint", "pull point"),
    *(soap("/onvif/device_service", element(ONVIF_DEVICE, each), f"ONVIF {each}") for each in DEVICE),
    soap("/broker/publish", raw_event("<a/>", "flood", "urn:e$n"), "WSE event"),
    soap("/broker/publish", raw_event("<a/>", "fire", "urn:e$n"), "WSE event, another's topic"),
    soap("/broker/publish/flood", DEFAULT.say("urn:e", "<a/>"), "WSE event"),
    soap("/broker/publish/fire", DEFAULT.say("urn:e", "<a/>"), "WSE event, another's topic"),
    soap(
        "/notifiers/{name}",
        element(NOTIFIER, "Publish", "<n:Topic>flood</n:Topic><n:Data><a/></n:Data>"),
        "SOAP Publish",
        "notifier",
    ),
    soap(
        "/notifiers/{name}",
        element(NOTIFIER, "Publish", "<n:Topic>fire</n:Topic><n:Data><a/></n:Data>"),
        "SOAP Publish, another's topic",
        "notifier",
    ),
    soap(
        "/notifiers/{name}",
        element(NOTIFIER, "Notify", "<n:Topic>flood</n:Topic><n:Data><a/></n:Data>"),
        "SOAP Notify",
        "notifier",
    ),
    soap(
        "/notifiers/none",
        element(NOTIFIER, "Publish", "<n:Topic>flood</n:Topic><n:Data><a/></n:Data>"),
        "SOAP Publish, unknown",
    ),
]

OTHERS = [
    Case("GET", "/healthz"),
    Case("GET", "/metrics"),
    Case("GET", "/api/openapi.json"),
    Case("GET", "/nowhere"),
    Case("GET", "/broker", "WSDL", query="?wsdl"),
    Case("GET", "/broker/topics", made="topic"),
    Case("GET", "/broker/topics", "a namespace", "namespace", "?namespace=$id"),
    Case("OPTIONS", "/broker/publish"),
    Case("POST", "/peer/implicit", body=b"{}", headers={"Content-Type": JSON}),
]
