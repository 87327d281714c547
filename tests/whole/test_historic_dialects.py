"""WS-Notification 1.0, WS-Eventing 2011 and of January 2004 through the door: each operation, each fault."""

from dataclasses import dataclass
from uuid import uuid4

import pytest
from lxml import etree
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import SOAP, fault_of

from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
IBM = "http://www.ibm.com/xmlns/stdwip/web-services"
WSN_1_0 = f"{IBM}/WS-BaseNotification"
WSN_1_2 = "http://docs.oasis-open.org/wsn/2004/06/wsn-WS-BaseNotification-1.2-draft-01.xsd"
WSE_2011 = "http://www.w3.org/2011/03/ws-evt"
WSE_2004_01 = "http://schemas.xmlsoap.org/ws/2004/01/eventing"
WSA_2005 = "http://www.w3.org/2005/08/addressing"
WSA_2003 = "http://schemas.xmlsoap.org/ws/2003/03/addressing"
FULL = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Full"


@dataclass
class Caller:
    http: HttpClient
    url: str
    namespace: str
    wsa: str
    soap: str = "1.2"

    async def say(self, content: str, *, url: str = "", headers: str = "", message_id: str = "urn:m") -> Answer:
        body = (
            f'<e:Envelope xmlns:e="{SOAP[self.soap]}" xmlns:a="{self.wsa}" xmlns:n="{self.namespace}"><e:Header>'
            f"<a:MessageID>{message_id}</a:MessageID>{headers}</e:Header><e:Body>{content}</e:Body></e:Envelope>"
        )
        kind = "text/xml" if self.soap == "1.1" else "application/soap+xml"
        return await self.http.request("POST", url or self.url, (("Content-Type", kind),), body.encode())

    async def ask(self, content: str, *, url: str = "", headers: str = "") -> "etree._Element":
        answer = await self.say(content, url=url, headers=headers)
        assert answer.status == 200, answer
        root = etree.fromstring(answer.body)
        assert root.findtext(f".//{{{self.wsa}}}RelatesTo") == "urn:m"
        return root

    async def refused(self, content: str, *, url: str = "") -> str:
        """The subcode, and that the sender is told it is to blame."""
        answer = await self.say(content, url=url)
        assert answer.status == (400 if self.soap == "1.2" else 500), answer
        return fault_of(answer.body).subcode.removeprefix(f"{{{self.namespace}}}")


def address(url: str) -> str:
    return f"<a:Address>{url}</a:Address>"


def action(root: "etree._Element") -> str:
    return root.findtext("{*}Header/{*}Action") or ""


def text(root: "etree._Element", name: str) -> str:
    return root.findtext(f".//{{*}}{name}") or ""


def echoed(root: "etree._Element", holder: str) -> tuple[str, str]:
    """The address of a manager, and what is to be shown to it again."""
    found = next(root.iter(f"{{*}}{holder}"))
    inside = next((each for each in found if etree.QName(each).localname.startswith("Reference")), ())
    return text(found, "Address"), "".join(etree.tostring(each, with_tail=False).decode() for each in inside)


@pytest.fixture
def messenger(http: HttpClient, broker: BrokerProcess) -> Caller:
    return Caller(http, f"{broker.url}/broker", WSN_1_0, WSA_2005, "1.1")


@pytest.mark.parametrize(
    ("subscribe", "pause", "resume", "end"),
    [
        ("SubscribeRequest", "PauseSubsriptionRequest", "ResumeSubsriptionRequest", "UnsubsribeRequest"),
        ("Subscribe", "PauseSubscription", "ResumeSubscription", "Unsubscribe"),
    ],
)
async def test_wsn_1_0_as_ws_messenger_spoke_it(
    subscribe: str, pause: str, resume: str, end: str, messenger: Caller, sink: Sink
) -> None:
    leaf = f"t{uuid4().hex}"
    wanted = f'<n:TopicExpression n:Dialect="{IBM}/WS-Topics/TopicExpression/simple">{leaf}</n:TopicExpression>'
    consumer = f"<n:ConsumerReference>{address(sink.url('own'))}</n:ConsumerReference>"
    made = await messenger.ask(f"<n:{subscribe}>{consumer}{wanted}<n:UseNotify>true</n:UseNotify></n:{subscribe}>")
    assert action(made) == f"{WSN_1_0}/SubscribeRequestResponse"
    _, reference = echoed(made, "SubscriptionReference")
    assert f"{{{WSN_1_0}}}Identifier" == etree.fromstring(reference).tag
    for number, name in enumerate((pause, resume, ""), start=1):
        await _notify(messenger, leaf, number)
        if name:
            found = await messenger.ask(f"<n:{name}/>", headers=reference)
            assert action(found).endswith("SubscriptionResponse")
    await wait_until(lambda: len(sink.at("own")) == 2, "what was published while it stood")
    assert [each.payload.data for each in sink.notifications("own")] == [b"<x>1</x>", b"<x>3</x>"]
    assert b"wsnt:Dialect" in sink.at("own")[0].body
    ended = await messenger.ask(f"<n:{end}/>", headers=reference)
    assert action(ended) == f"{WSN_1_0}/UnsubscribeResponse"
    again = await messenger.say(f"<n:{end}/>", headers=reference)
    assert again.status == 500 and "there is no subscription" in fault_of(again.body).reason


async def _notify(messenger: Caller, leaf: str, number: int) -> None:
    """It is answered, the first time and when the broker knows its sender."""
    name = f"urn:{leaf}:{number}"
    content = (
        f'<n:Notify><n:NotificationMessage><n:Topic n:Dialect="{IBM}/WS-Topics/TopicExpression/simple">{leaf}</n:Topic>'
        f'<n:Message><x xmlns="">{number}</x></n:Message></n:NotificationMessage></n:Notify>'
    ).replace(' xmlns=""', "")
    answer = await messenger.say(content, message_id=name)
    assert answer.status == 200, answer
    root = etree.fromstring(answer.body)
    assert root.tag == f"{{{SOAP['1.1']}}}Envelope" and action(root) == f"{WSN_1_0}/NotifyResponse"
    (said,) = root.iter(f"{{{WSN_1_0}}}NotifyResponse")
    assert said.get("trackId") == text(root, "RelatesTo") == name


@pytest.fixture
def w3c(http: HttpClient, broker: BrokerProcess) -> Caller:
    return Caller(http, f"{broker.url}/broker", WSE_2011, WSA_2005)


def w3c_subscribe(consumer: str, more: str = "") -> str:
    return f"<n:Subscribe><n:Delivery><n:NotifyTo>{address(consumer)}</n:NotifyTo></n:Delivery>{more}</n:Subscribe>"


@pytest.mark.parametrize("name", ["Wrap", "Unwrap"])
async def test_wse_2011(name: str, w3c: Caller, sink: Sink) -> None:
    leaf = f"t{uuid4().hex}"
    chosen = f'<n:Format Name="{WSE_2011}/DeliveryFormats/{name}"/>'
    wanted = f'<n:Expires BestEffort="true">PT1H</n:Expires><n:Filter Dialect="{FULL}">{leaf}//.</n:Filter>'
    made = await w3c.ask(w3c_subscribe(sink.url("own"), chosen + wanted))
    assert (action(made), text(made, "GrantedExpires")) == (f"{WSE_2011}/SubscribeResponse", "PT1H0S")
    manager, _ = echoed(made, "SubscriptionManager")
    topic = f'<t:Topic xmlns:t="http://docs.oasis-open.org/wsn/b-2">{leaf}</t:Topic>'
    wrapped = '<n:Notify actionURI="urn:shaken"><q:quake xmlns:q="urn:q"/></n:Notify>'
    for _ in range(3):
        assert (await w3c.say(wrapped, headers=topic, message_id=f"urn:{uuid4()}")).status == 202
    await wait_until(lambda: len(sink.at("own")) == 3, "the events arrive")
    for each in sink.at("own"):
        _check_event(name, etree.fromstring(each.body))
    renewed = await w3c.ask("<n:Renew><n:Expires>PT2H</n:Expires></n:Renew>", url=manager)
    assert text(renewed, "GrantedExpires") == "PT2H0S"
    assert text(await w3c.ask("<n:GetStatus/>", url=manager), "GrantedExpires").startswith("PT1H59M")
    ended = await w3c.ask("<n:Unsubscribe/>", url=manager)
    assert ended.find(f".//{{{WSE_2011}}}UnsubscribeResponse") is not None
    assert await w3c.refused("<n:GetStatus/>", url=manager) == "UnknownSubscription"


def _check_event(name: str, root: "etree._Element") -> None:
    (content,) = root.findall("{*}Body/*")
    if name == "Unwrap":
        assert (content.tag, action(root)) == ("{urn:q}quake", "urn:shaken")
    else:
        assert (content.tag, content.get("actionURI")) == (f"{{{WSE_2011}}}Notify", "urn:shaken")
        assert action(root) == f"{WSE_2011}/WrappedSinkPortType/NotifyEvent"
        assert content[0].tag == "{urn:q}quake"


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
@pytest.mark.parametrize(
    ("content", "fault", "told"),
    [
        ("<n:Subscribe/>", "NoDeliveryMechanismEstablished", ""),
        ("<n:Subscribe><n:Delivery><n:NotifyTo/></n:Delivery></n:Subscribe>", "UnusableEPR", ""),
        (w3c_subscribe("nowhere:at-all"), "UnusableEPR", ""),
        (
            w3c_subscribe("http://c.example/", f'<n:Filter Dialect="{WSE_2011}/Dialects/XPath20">/*</n:Filter>'),
            "FilteringRequestedUnavailable",
            "SupportedDialect",
        ),
        (
            w3c_subscribe("http://c.example/", "<n:Filter>/*[</n:Filter>"),
            "CannotProcessFilter",
            "",
        ),
        (w3c_subscribe("http://c.example/", f'<n:Filter Dialect="{FULL}">a//</n:Filter>'), "CannotProcessFilter", ""),
        (
            w3c_subscribe("http://c.example/", '<n:Format Name="urn:x"/>'),
            "DeliveryFormatRequestedUnavailable",
            "SupportedDeliveryFormat",
        ),
        (w3c_subscribe("http://c.example/", "<n:Expires>-PT1S</n:Expires>"), "UnsupportedExpirationValue", ""),
    ],
)
async def test_wse_2011_faults(soap: str, content: str, fault: str, told: str, w3c: Caller) -> None:
    w3c.soap = soap
    answer = await w3c.say(content)
    found = fault_of(answer.body)
    assert (found.code if soap == "1.1" else found.subcode) == f"{{{WSE_2011}}}{fault}"
    assert action(etree.fromstring(answer.body)) == f"{WSE_2011}/fault"
    assert not told or text(etree.fromstring(answer.body), told)


async def test_wse_2011_a_lease_without_an_end(w3c: Caller, sink: Sink) -> None:
    made = await w3c.ask(w3c_subscribe(sink.url("own"), "<n:Expires>PT0S</n:Expires>"))
    assert text(made, "GrantedExpires").startswith("P")


@pytest.mark.parametrize("inside", ["{to}", "<n:Delivery>{to}</n:Delivery>"])
async def test_wse_2004_01(inside: str, http: HttpClient, broker: BrokerProcess, sink: Sink) -> None:
    early = Caller(http, f"{broker.url}/broker", WSE_2004_01, WSA_2003, "1.1")
    leaf = f"t{uuid4().hex}"
    to = inside.format(to=f"<n:NotifyTo>{address(sink.url('own'))}</n:NotifyTo>")
    wanted = f'<n:Expires>PT1H</n:Expires><n:Filter Dialect="{FULL}">{leaf}</n:Filter>'
    made = await early.ask(f"<n:Subscribe>{to}{wanted}</n:Subscribe>")
    manager, reference = echoed(made, "SubscriptionManager")
    name = made.findtext(f"{{*}}Body/*/{{{WSE_2004_01}}}Id") or ""
    assert manager.endswith(name) and etree.fromstring(reference).text == name
    assert text(made, "Expires") in ("PT1H0S", "PT1H")
    topic = f'<t:Topic xmlns:t="http://docs.oasis-open.org/wsn/b-2">{leaf}</t:Topic>'
    event, door = '<q:quake xmlns:q="urn:q"/>', f"{broker.url}/broker/publish"
    sent = await early.say(event, url=door, headers=topic, message_id=f"urn:{leaf}")
    assert sent.status == 202
    (found,) = await wait_until(lambda: sink.at("own"), "the event arrives")
    assert WSA_2003.encode() in found.body
    for url, headers, content in (
        (early.url, reference, ""),
        (early.url, "", f"<n:Id>{name}</n:Id>"),
        (manager, "", ""),
    ):
        status = await early.ask(f"<n:GetStatus>{content}</n:GetStatus>", url=url, headers=headers)
        assert text(status, "Expires").startswith("PT")
    renew = f"<n:Renew><n:Id>{name}</n:Id><n:Expires>PT2H</n:Expires></n:Renew>"
    assert text(await early.ask(renew), "Expires").startswith("PT2H")
    ended = await early.ask(f"<n:Unsubscribe><n:Id>{name}</n:Id></n:Unsubscribe>")
    assert action(ended) == f"{WSE_2004_01}/UnsubscribeResponse"
    early.soap = "1.2"
    assert await early.refused("<n:GetStatus/>", url=manager) == "InvalidMessage"
    assert await early.refused("<n:Subscribe/>") == "InvalidMessage"


@pytest.mark.parametrize(
    ("inside", "fault"),
    [
        ("", "SubscribeCreationFailedFault"),
        ('{c}<n:TopicExpression Dialect="urn:x">a</n:TopicExpression>', "TopicPathDialectUnknownFault"),
        (f'{{c}}<n:TopicExpression Dialect="{FULL}">a//</n:TopicExpression>', "InvalidTopicExpressionFault"),
        ("{c}<n:Selector>/*[</n:Selector>", "SubscribeCreationFailedFault"),
        ("{c}<n:SubscriptionPolicy><q:x xmlns:q='urn:q'/></n:SubscriptionPolicy>", "SubscribeCreationFailedFault"),
        ("<n:ConsumerReference/>", "SubscribeCreationFailedFault"),
    ],
)
async def test_wsn_1_2_faults_of_subscribe(inside: str, fault: str, http: HttpClient, broker: BrokerProcess) -> None:
    caller = Caller(http, f"{broker.url}/broker", WSN_1_2, "http://schemas.xmlsoap.org/ws/2004/03/addressing")
    consumer = f"<n:ConsumerReference>{address('http://c.example/')}</n:ConsumerReference>"
    answer = await caller.say(f"<n:Subscribe>{inside.format(c=consumer)}</n:Subscribe>")
    assert fault_of(answer.body).subcode == f"{{{WSN_1_2}}}{fault}"
    root = etree.fromstring(answer.body)
    assert action(root) == "http://schemas.xmlsoap.org/ws/2004/03/addressing/fault"
    assert root.find(f".//{{{WSN_1_2}}}{fault}") is not None


async def test_a_publisher_of_the_drafts_registers_and_goes(http: HttpClient, broker: BrokerProcess) -> None:
    brokered = "http://docs.oasis-open.org/wsn/2004/06/wsn-WS-BrokeredNotification-1.2-draft-01.xsd"
    lifetime = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-ResourceLifetime-1.2-draft-01.xsd"
    wsa = "http://schemas.xmlsoap.org/ws/2004/03/addressing"
    caller = Caller(http, f"{broker.url}/broker", brokered, wsa)
    made = await caller.ask(f"<n:RegisterPublisher><n:Topic>t{uuid4().hex}</n:Topic></n:RegisterPublisher>")
    manager, _ = echoed(made, "PublisherRegistrationReference")
    caller.namespace = lifetime
    await caller.ask("<n:Destroy/>", url=manager)
    assert await caller.refused("<n:Destroy/>", url=manager) == "ResourceUnknownFault"


@pytest.mark.parametrize(
    ("namespace", "mark"),
    [(WSE_2011, b"ws-evt/fault"), (WSE_2004_01, b"2004/01/eventing"), (WSN_1_2, b"addressing/fault")],
)
async def test_a_broken_message_is_refused_in_its_dialect(
    namespace: str, mark: bytes, http: HttpClient, broker: BrokerProcess
) -> None:
    body = f'<e:Envelope xmlns:e="{SOAP["1.2"]}" xmlns:n="{namespace}"><e:Body><n:Subscribe>'.encode()
    headers = (("Content-Type", "application/soap+xml"),)
    answer = await http.request("POST", f"{broker.url}/broker", headers, body)
    assert answer.status == 400
    assert mark in answer.body + str(answer).encode()
