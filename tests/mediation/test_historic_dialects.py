"""What the tables of the older dialects add to the engine."""

from typing import get_args

import pytest
from lxml import etree
from tests.mediation.requests import NOW, SOAP, accepted

from tocsin.markup import xml
from tocsin.mediation import dialects
from tocsin.mediation.dialects import BY_NAME, customise, end_notice, fault, hear, mentioned_in, normalise, open_in_full
from tocsin.mediation.operations import Context, Ended, Subscribe, Unsubscribe
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.namespaces import (
    SOAP_12,
    TOPICS_1_2,
    WSA_NAMESPACES,
    WSE,
    WSE_2004_01,
    WSE_2011,
    WSN,
    WSN_1_0,
    WSN_1_2,
    WSRF_1_2_FAULTS,
    WSRF_1_2_LIFETIME,
)
from tocsin.mediation.soap.soap import open_envelope
from tocsin.mediation.ws import wse_2011, wsn_1_2
from tocsin.model.identity import SECOND, Instant, Node, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.refusal import Reason, Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

HISTORIC = ("wsn-1.2", "wsn-1.0", "wse-2011", "wse-2004-01")
REASONS: tuple[Reason, ...] = get_args(Reason)
VERSIONS = pytest.mark.parametrize("wsa", WSA_NAMESPACES)
CONSUMER = "<n:ConsumerReference><a:Address>http://c/</a:Address></n:ConsumerReference>"


def envelope(content: str, namespace: str, headers: str = "", wsa: str = "2005/08") -> bytes:
    declared = f'xmlns:e="{SOAP_12}" xmlns:a="{WSA_NAMESPACES[wsa]}" xmlns:n="{namespace}"'
    return f"<e:Envelope {declared}><e:Header>{headers}</e:Header><e:Body>{content}</e:Body></e:Envelope>".encode()


def subscribed(content: str, namespace: str, wsa: str = "2005/08") -> Subscribe:
    request = hear(open_in_full(envelope(content, namespace, wsa=wsa)), "", NOW).request
    assert isinstance(request, Subscribe)
    return request


def subscription(dialect: str, *, wrapped: bool = True, wsa: str | None = None) -> Subscription:
    form = Form(dialect, "1.2", wsa or BY_NAME[dialect].addressing, wrapped)
    consumer = Endpoint("http://c/", b'<q:id xmlns:q="urn:q">7</q:id>')
    at = Position(Node("n"), 1)
    return Subscription(SubscriptionId("s-1"), None, consumer, Endpoint("http://end/"), form, (), at, NOW)


def event() -> Notification:
    body = envelope('<t:x xmlns:t="urn:t"/>', WSN, "<a:Action>urn:act</a:Action><n:Topic>a/b</n:Topic>")
    return normalise(accepted(body, "wse-2004-08", "/broker/publish"))[0]


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("dialect", HISTORIC)
@pytest.mark.parametrize("soap", ["1.1", "1.2"])
def test_every_refusal_is_a_fault_of_the_dialect(reason: Reason, dialect: str, soap: str) -> None:
    table = BY_NAME[dialect].faults
    assert table is not None
    for (operation, why), name in [(("", reason), table.named.get(reason)), *table.of.items()]:
        if why != reason or name is None:
            continue
        asked = next((m for m in BY_NAME[dialect].requests if m.operation == operation), None)
        clark = "" if asked is None or asked.element is None else asked.element.clark
        reply = fault(Context(dialect, soap, "2005/08", "urn:q", clark), Refusal(reason, "why"), NOW)
        content = open_envelope(reply.body).content
        assert content is not None and content.tag == f"{{{SOAP[soap]}}}Fault"
        if table.base_fault is not None:
            detail = next(content.iter(name.clark))
            assert detail.findtext(f"{{{WSRF_1_2_FAULTS}}}Timestamp")
        else:
            assert name.local.encode() in reply.body


@VERSIONS
@pytest.mark.parametrize(
    ("element", "notify", "wrapped"), [("Subscribe", "", True), ("SubscribeRequest", "false", False)]
)
def test_wsn_1_2_subscribe_is_flat(wsa: str, element: str, notify: str, wrapped: bool) -> None:
    chosen = f"<n:UseNotify>{notify}</n:UseNotify>" if notify else ""
    topic = f'<n:TopicExpression Dialect="{TOPICS_1_2}/Simple">a</n:TopicExpression>'
    asked = subscribed(f"<n:{element}>{CONSUMER}{topic}{chosen}</n:{element}>", WSN_1_2, wsa)
    assert asked.form == Form("wsn-1.2", "1.2", wsa, wrapped, "time")
    assert len(asked.filters) == 1


@VERSIONS
@pytest.mark.parametrize("dialect", HISTORIC)
def test_reference_parameters_are_marked_in_2005_08_alone(dialect: str, wsa: str) -> None:
    _, body = customise(event(), subscription(dialect, wsa=wsa), "http://b")
    assert body.count(b">7</q:id>") == 1
    assert (b"IsReferenceParameter" in body) == (wsa == "2005/08")
    assert WSA_NAMESPACES[wsa].encode() in body


@pytest.mark.parametrize("version", ["2003/03", "2004/03"])
def test_the_drafts_of_ws_addressing_have_properties_only(version: str) -> None:
    assert b"ReferenceProperties" in soap.reference_content("http://m/", b"<x/>", version)


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("dialect", HISTORIC)
def test_events_say_the_same_the_second_time(dialect: str, wrapped: bool) -> None:
    """Once its sender is known, a message is recalled instead of read; the outcome is the same."""
    sender = subscription(dialect, wrapped=wrapped)
    door = f"/broker/publish/{dialect}/{wrapped}"
    for number in range(4):
        said = event()
        named = Notification(f"urn:m:{number}", *(getattr(said, each) for each in said.__struct_fields__[1:]))  # type: ignore[arg-type]
        _, body = customise(named, sender, "http://b")
        record = accepted(body, dialects.event_dialect(open_in_full(body)), door)
        (again,) = normalise(record)
        (whole,) = normalise(record, open_in_full(body))
        assert again == whole
        assert again.id == f"urn:m:{number}"
        assert (again.attribute("action") == "urn:act") == (not wrapped or not dialect.startswith("wsn"))


def test_wse_2011_another_action_from_a_known_sender_is_not_mistaken() -> None:
    for action in ("urn:a", "urn:a", "urn:a", "urn:b", "urn:b", "urn:a"):
        headers = "<a:MessageID>urn:1</a:MessageID>"
        body = envelope(f'<n:Notify actionURI="{action}"><x>1</x></n:Notify>', WSE_2011, headers)
        (found,) = normalise(accepted(body, "wse-2011", "/broker/two-actions"))
        assert found.attribute("action") == action


def ended(dialect: str) -> "tuple[Endpoint, etree._Element] | None":
    notice = end_notice(Ended(subscription(dialect), "http://b/s/s-1", "SourceCancelling", "bye", NOW), "http://b")
    return None if notice is None else (notice[0], xml.parse(notice[2]))


def test_wse_2011_an_end_names_no_manager() -> None:
    found = ended("wse-2011")
    assert found is not None
    to, root = found
    assert to.address == "http://end/"
    (end,) = root.iter(f"{{{WSE_2011}}}SubscriptionEnd")
    assert [etree.QName(each).localname for each in end] == ["Status", "Reason"]
    assert end[0].text == f"{WSE_2011}/SourceCancelling"


def test_the_ends_of_the_others() -> None:
    early, draft = ended("wse-2004-01"), ended("wsn-1.2")
    assert early is not None and early[1].findtext(f".//{{{WSE_2004_01}}}Id") == "s-1"
    assert draft is not None and draft[0].address == "http://c/"
    assert draft[1].find(f".//{{{WSN_1_2}}}Message/{{*}}TerminationNotification") is not None
    assert ended("wsn-1.0") is None


def test_a_time_that_stands_for_no_end() -> None:
    delivery = "<n:Delivery><n:NotifyTo><a:Address>http://c/</a:Address></n:NotifyTo></n:Delivery>"
    asked = subscribed(f"<n:Subscribe>{delivery}<n:Expires>{wse_2011.ENDLESS}</n:Expires></n:Subscribe>", WSE_2011)
    assert asked.expires is None
    asked = subscribed(f"<n:Subscribe>{delivery}<n:Expires BestEffort='1'>PT1H</n:Expires></n:Subscribe>", WSE_2011)
    assert asked.expires == Instant(NOW + 3600 * SECOND)


@pytest.mark.parametrize("address", ["http://b/broker/subscriptions/s-2", "http://b/broker"])
def test_a_reference_in_the_body(address: str) -> None:
    name = wsn_1_2.DIALECT.identifier
    assert name is not None
    inside = f"<a:Address>{address}</a:Address>"
    if address.endswith("broker"):
        held = f'<i:{name.local} xmlns:i="{name.namespace}">s-2</i:{name.local}>'
        inside += f"<a:ReferenceProperties>{held}</a:ReferenceProperties>"
    reference = f"<n:SubscriptionReference>{inside}</n:SubscriptionReference>"
    content = f'<l:Destroy xmlns:l="{WSRF_1_2_LIFETIME}">{reference}</l:Destroy>'
    assert hear(open_in_full(envelope(content, WSN_1_2)), "", NOW).request == Unsubscribe("s-2")


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        (f"<broken {WSN_1_2}", "wsn-1.2"),
        (f"<broken {WSN_1_0}", "wsn-1.0"),
        (f"<broken {WSE_2011} {WSN}", "wse-2011"),
        (f"<broken {WSN} {WSE}", "wse-2004-08"),
        (f"<broken {WSN}", "wsn-1.3"),
        ("<broken", None),
    ],
)
def test_what_a_message_seems_to_be_in(body: str, dialect: str | None) -> None:
    assert mentioned_in(body.encode()) == dialect
