"""WS-Notification 1.2: a client of the drafts at our broker, and our client at a producer of the drafts."""

from uuid import uuid4

import pytest
from lxml import etree
from tests.whole.gt4 import (
    BASE,
    FAULTS,
    LIFETIME,
    PROPERTIES,
    SOAP_11,
    WSA,
    Counter,
    Reference,
    envelope,
    http_1_0,
    later,
)
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink

from tocsin import Client
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
ACTIONS = "http://docs.oasis-open.org/wsn/2004/06/wsn-WS-BaseNotification"


class Gt4:
    """A client that knows the drafts only."""

    def __init__(self, http: HttpClient, broker: BrokerProcess) -> None:
        self.http, self.url = http, f"{broker.url}/broker"
        self.topic = f"t{uuid4().hex}"

    async def post(self, url: str, name: str, **values: str) -> Answer:
        return await self.http.request("POST", url, SOAP_11, envelope(name, to=url, **values))

    async def subscribe(self, consumer: str, until: str = "") -> Reference:
        values = {"consumer": consumer, "topic": self.topic, "until": until or later(hours=1)}
        answer = await self.post(self.url, "subscribe", **values)
        root = whole(answer)
        assert root.findtext(f".//{{{WSA}}}Action") == f"{ACTIONS}/SubscribeResponse"
        (found,) = root.iter(f"{{{BASE}}}SubscriptionReference")
        return Reference.read(found)

    async def manage(self, name: str, to: Reference, **values: str) -> Answer:
        """At the address of the broker itself: what tells the subscription is the reference property."""
        return await self.post(self.url, name, reference=to.headers, **values)

    async def publish(self, old: int, new: int) -> None:
        values = {"topic": self.topic, "old": str(old), "new": str(new), "producer": "http://gt4/"}
        answer = await self.post(self.url, "notify", **values)
        assert (answer.status, answer.body) == (202, b""), answer


def whole(answer: Answer) -> "etree._Element":
    assert answer.status == 200, answer
    return etree.fromstring(answer.body)


def detail(answer: Answer) -> str:
    """SOAP 1.1 faults are 500, and their detail is a base fault of the drafts."""
    assert answer.status == 500, answer
    (found,) = etree.fromstring(answer.body).iter("detail")
    assert found[0].findtext(f"{{{FAULTS}}}Timestamp")
    return str(found[0].tag)


@pytest.fixture
def gt4(http: HttpClient, broker: BrokerProcess) -> Gt4:
    return Gt4(http, broker)


def values_at(sink: Sink, path: str) -> list[str]:
    return [etree.fromstring(each.body).findtext(".//{*}NewValue/{urn:counter}Value") or "" for each in sink.at(path)]


async def test_the_life_of_a_subscription(gt4: Gt4, sink: Sink) -> None:
    reference = await gt4.subscribe(sink.url("gt4"))
    assert "Id" in reference.headers and reference.address.startswith(gt4.url)
    await gt4.publish(1, 2)
    await wait_until(lambda: values_at(sink, "gt4") == ["2"], "the first change arrives")
    root = etree.fromstring(sink.at("gt4")[0].body)
    assert root.findtext(".//{http://www.globus.org/namespaces/2004/06/core}NotificationConsumerKey") == "41"
    assert b"IsReferenceParameter" not in sink.at("gt4")[0].body
    (topic,) = root.iter(f"{{{BASE}}}Topic")
    assert topic.get("Dialect") == "http://docs.oasis-open.org/wsn/2004/06/TopicExpression/Simple"
    assert root.findtext(f".//{{{WSA}}}Action") == f"{ACTIONS}/Notify"
    assert whole(await gt4.manage("pause", reference)).find(f".//{{{BASE}}}PauseSubscriptionResponse") is not None
    await gt4.publish(2, 3)
    assert whole(await gt4.manage("resume", reference)).find(f".//{{{BASE}}}ResumeSubscriptionResponse") is not None
    await gt4.publish(3, 4)
    await wait_until(lambda: values_at(sink, "gt4") == ["2", "4"], "what is published while it stands arrives")
    until = later(hours=3)
    renewed = whole(await gt4.manage("set_termination_time", reference, until=until))
    assert renewed.findtext(f".//{{{LIFETIME}}}NewTerminationTime") == until
    assert renewed.findtext(f".//{{{LIFETIME}}}CurrentTime")
    assert whole(await gt4.manage("destroy", reference)).find(f".//{{{LIFETIME}}}DestroyResponse") is not None
    assert detail(await gt4.manage("destroy", reference)) == f"{{{LIFETIME}}}ResourceUnknownFault"
    again = await gt4.manage("set_termination_time", reference, until=until)
    assert detail(again) == f"{{{LIFETIME}}}ResourceUnknownFault"
    assert detail(await gt4.manage("pause", reference)) == f"{{{BASE}}}ResourceUnknownFault"


async def test_resource_properties(gt4: Gt4, sink: Sink) -> None:
    until = later(hours=2)
    reference = await gt4.subscribe(sink.url("gt4"), until)
    for namespace, name, said in (
        (LIFETIME, "TerminationTime", until),
        (BASE, "UseNotify", "true"),
        (BASE, "TopicExpression", f"t0:{gt4.topic}"),
    ):
        answer = await gt4.manage("get_resource_property", reference, namespace=namespace, property=name)
        (held,) = whole(answer).iter(f"{{{PROPERTIES}}}GetResourcePropertyResponse")
        assert [(each.tag, each.text) for each in held] == [(f"{{{namespace}}}{name}", said)]
    several = await gt4.manage("get_multiple_resource_properties", reference)
    (held,) = whole(several).iter(f"{{{PROPERTIES}}}GetMultipleResourcePropertiesResponse")
    assert [etree.QName(each).localname for each in held] == ["UseNotify", "CurrentTime", "ConsumerReference"]
    assert Reference.read(held[2]).address == sink.url("gt4")
    unknown = await gt4.manage("get_resource_property", reference, namespace="urn:x", property="Colour")
    assert detail(unknown) == f"{{{PROPERTIES}}}InvalidResourcePropertyQNameFault"
    asked = {"namespace": BASE, "property": "TopicExpressionDialects"}
    answer = await gt4.post(gt4.url, "get_resource_property", **asked)
    assert [str(each.text).rpartition("/")[2] for each in whole(answer).iter(f"{{{BASE}}}TopicExpressionDialects")] == [
        "Simple",
        "Concrete",
        "Full",
    ]


async def test_the_current_message(gt4: Gt4) -> None:
    none = await gt4.post(gt4.url, "get_current_message", topic=gt4.topic)
    assert detail(none) in (f"{{{BASE}}}NoCurrentMessageOnTopicFault", f"{{{BASE}}}TopicNotSupportedFault")
    await gt4.publish(5, 6)
    found = whole(await gt4.post(gt4.url, "get_current_message", topic=gt4.topic))
    assert found.findtext(".//{*}NewValue/{urn:counter}Value") == "6"


async def test_a_termination_time_in_the_past(gt4: Gt4, sink: Sink) -> None:
    reference = await gt4.subscribe(sink.url("gt4"))
    refused = await gt4.manage("set_termination_time", reference, until="2004-06-01T00:00:00Z")
    assert detail(refused) == f"{{{LIFETIME}}}UnableToSetTerminationTimeFault"
    values = {"consumer": sink.url("gt4"), "topic": gt4.topic, "until": "2004-06-01T00:00:00Z"}
    assert detail(await gt4.post(gt4.url, "subscribe", **values)) == f"{{{BASE}}}SubscribeCreationFailedFault"


async def test_management_with_the_reference_in_the_body(gt4: Gt4, sink: Sink, http: HttpClient) -> None:
    """As the clients of the DHT broker do (paper 004)."""
    reference = await gt4.subscribe(sink.url("gt4"))
    inside = (
        f'<SubscriptionReference xmlns="{BASE}" xmlns:a="{WSA}"><a:Address>http://broker/</a:Address>'
        f"<a:ReferenceProperties>{reference.headers}</a:ReferenceProperties></SubscriptionReference>"
    )
    body = envelope("destroy").replace(b"/>\n  </soapenv:Body>", f">{inside}</Destroy></soapenv:Body>".encode())
    assert (await http.request("POST", gt4.url, SOAP_11, body)).status == 200
    assert detail(await gt4.manage("destroy", reference)) == f"{{{LIFETIME}}}ResourceUnknownFault"


async def test_http_1_0(gt4: Gt4, sink: Sink, broker: BrokerProcess) -> None:
    body = envelope("subscribe", consumer=sink.url("old"), topic=gt4.topic, until=later(hours=1))
    answer = await http_1_0("127.0.0.1", broker.port, "/broker", body)
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0] and b"chunked" not in head.lower()
    assert etree.fromstring(rest).find(f".//{{{BASE}}}SubscriptionReference") is not None
    values = {"topic": gt4.topic, "old": "1", "new": "2", "producer": "http://gt4/"}
    answer = await http_1_0("127.0.0.1", broker.port, "/broker", envelope("notify", **values))
    assert b" 202 " in answer.splitlines()[0]
    await wait_until(lambda: values_at(sink, "old") == ["2"], "it arrives")


async def test_our_client_at_a_producer_of_the_drafts(sink: Sink, http: HttpClient) -> None:
    async with Counter(http).open() as counter:
        client = Client(counter.url, "wsn-1.2", http)
        lease = await client.subscribe(
            sink.url("ours"),
            topic="t:counter",
            topic_dialect="concrete",
            namespaces=(("t", "urn:counter"),),
            expires="PT1H",
        )
        (subscriber,) = counter.subscribers.values()
        assert subscriber.until.endswith("Z"), "the drafts know no durations"
        await counter.change("counter", 1, 2)
        (found,) = await wait_until(lambda: sink.notifications("ours"), "the change arrives")
        assert (str(found.topic), found.producer) == ("{urn:counter}counter", counter.url)
        assert str(found.type) == f"{{{PROPERTIES}}}ResourcePropertyValueChangeNotification"
        await client.pause(lease)
        await counter.change("counter", 2, 3)
        await client.resume(lease)
        before = subscriber.until
        assert (await client.renew(lease, "PT2H")).expires > before
        await client.unsubscribe(lease)
        assert counter.subscribers == {}
        assert counter.heard == [
            "Subscribe",
            "GetMultipleResourceProperties",  # until when: the answer to Subscribe does not tell
            "PauseSubscription",
            "ResumeSubscription",
            "SetTerminationTime",
            "Destroy",
        ]
        assert values_at(sink, "ours") == ["2"]
