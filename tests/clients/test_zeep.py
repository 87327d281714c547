"""zeep, with the WSDL that the broker serves: every operation, in both versions of SOAP."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
import requests
from lxml import etree
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from zeep import Client, Plugin, Transport
from zeep.exceptions import Fault
from zeep.wsa import WsAddressingPlugin

pytestmark = pytest.mark.clients

WSN = "http://docs.oasis-open.org/wsn/b-2"
RL = "http://docs.oasis-open.org/wsrf/rl-2"
R = "http://docs.oasis-open.org/wsrf/r-2"
FULL = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Full"
CONCRETE = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete"
WSA = "http://www.w3.org/2005/08/addressing"


class Kept(Plugin):  # type: ignore[misc]
    """The last envelope that went out."""

    envelope: Any = None

    def egress(self, envelope: Any, headers: Any, operation: Any, options: Any) -> tuple[Any, Any]:
        self.envelope = envelope
        return envelope, headers


class Zeep:
    """One client; a port of the service for each port type, or that port type at an address of its own."""

    def __init__(self, broker: BrokerProcess, soap: str, *plugins: Any) -> None:
        self._session = requests.Session()
        self._session.trust_env = False
        self.kept = Kept()
        transport = Transport(session=self._session)
        self._client = Client(f"{broker.url}/broker?wsdl", transport=transport, plugins=[*plugins, self.kept])
        self._suffix = "Soap" + soap.replace(".", "")

    def port(self, port_type: str) -> Any:
        return self._client.bind("NotificationBroker", port_type + self._suffix)

    def at(self, port_type: str, reference: Any) -> Any:
        address = reference.Address._value_1
        return self._client.create_service(f"{{urn:tocsin:broker}}{port_type}{self._suffix}", address)

    def close(self) -> None:
        self._session.close()

    def wanted(self, topic: str) -> Any:
        expression = etree.Element(f"{{{WSN}}}TopicExpression", Dialect=FULL)
        expression.text = topic
        return {"_value_1": [expression]}

    def notify(self, topic: str, text: str) -> Any:
        payload = etree.Element("{urn:test}reading")
        payload.text = text
        message = {"Topic": {"_value_1": topic, "Dialect": CONCRETE}, "Message": {"_value_1": payload}}
        return self.port("NotificationConsumer").Notify(NotificationMessage=[message])


Open = Callable[..., Zeep]


@pytest.fixture
def opened(broker: BrokerProcess) -> Iterator[Open]:
    made: list[Zeep] = []

    def begin(soap: str, *plugins: Any) -> Zeep:
        made.append(Zeep(broker, soap, *plugins))
        return made[-1]

    yield begin
    for each in made:
        each.close()


BOTH = pytest.mark.parametrize("soap", ["1.1", "1.2"])


@BOTH
def test_pull_point(soap: str, opened: Open) -> None:
    zeep, topic = opened(soap), f"zeep/t{uuid4().hex}"
    pull_point = zeep.port("CreatePullPoint").CreatePullPoint().PullPoint
    consumer = {"Address": pull_point.Address._value_1}
    made = zeep.port("NotificationProducer").Subscribe(ConsumerReference=consumer, Filter=zeep.wanted(topic))
    assert made.TerminationTime > made.CurrentTime
    zeep.notify(topic, "1")
    zeep.notify(topic, "2")
    pulling = zeep.at("PullPoint", pull_point)
    found = pulling.GetMessages(MaximumNumber=10).NotificationMessage
    assert [each.Message._value_1.text for each in found] == ["1", "2"]
    assert {each.Topic._value_1 for each in found} == {topic}, "the text of a topic is kept"
    assert {each.SubscriptionReference.Address._value_1 for each in found} == {
        made.SubscriptionReference.Address._value_1
    }
    assert not pulling.GetMessages().NotificationMessage
    zeep.at("PausableSubscriptionManager", made.SubscriptionReference).Unsubscribe()
    pulling.DestroyPullPoint()
    with pytest.raises(Fault):
        pulling.GetMessages()


@BOTH
async def test_subscription(soap: str, opened: Open, sink: Sink) -> None:
    zeep, topic = opened(soap), f"zeep/t{uuid4().hex}"
    asked = {
        "ConsumerReference": {"Address": sink.url("a")},
        "Filter": zeep.wanted(topic),
        "InitialTerminationTime": "PT1H",
    }
    made = await asyncio.to_thread(lambda: zeep.port("NotificationProducer").Subscribe(**asked))
    manager = zeep.at("PausableSubscriptionManager", made.SubscriptionReference)
    await asyncio.to_thread(zeep.notify, topic, "1")
    await wait_until(lambda: len(sink.at("a")) == 1, "it arrives")
    await asyncio.to_thread(manager.PauseSubscription)
    await asyncio.to_thread(zeep.notify, topic, "2")
    await asyncio.to_thread(manager.ResumeSubscription)
    await asyncio.to_thread(zeep.notify, topic, "3")
    await wait_until(lambda: len(sink.at("a")) == 2, "it arrives again")
    assert [b"3" in each for each in sink.payloads("a")] == [False, True]
    renewed = await asyncio.to_thread(lambda: manager.Renew(TerminationTime="PT2H"))
    assert renewed.TerminationTime > made.TerminationTime
    await asyncio.to_thread(manager.Unsubscribe)


@BOTH
def test_resource(soap: str, opened: Open) -> None:
    """A subscription as a WS-Resource; what nobody listens to is not sent, so the consumer may be anywhere."""
    zeep, topic = opened(soap), f"zeep/t{uuid4().hex}"
    producer = zeep.port("NotificationProducer")
    consumer = {"Address": "http://127.0.0.1:9/never"}
    made = producer.Subscribe(ConsumerReference=consumer, Filter=zeep.wanted("nothing/else"))
    manager = zeep.at("PausableSubscriptionManager", made.SubscriptionReference)
    new = manager.SetTerminationTime(RequestedLifetimeDuration="PT3H").NewTerminationTime
    assert manager.GetResourceProperty(etree.QName(RL, "TerminationTime")) == [new]
    several = manager.GetMultipleResourceProperties(
        ResourceProperty=[etree.QName(RL, "TerminationTime"), etree.QName(WSN, "ConsumerReference")]
    )
    assert len(several) == 2 and several[0] == new
    manager.Destroy()
    dialects = producer.GetResourceProperty(etree.QName(WSN, "TopicExpressionDialect"))
    assert FULL in dialects
    zeep.notify(topic, "now")
    current = producer.GetCurrentMessage(Topic={"_value_1": topic, "Dialect": CONCRETE})
    assert [each.text for each in current] == ["now"]


@BOTH
def test_publisher(soap: str, opened: Open) -> None:
    zeep, topic = opened(soap), f"zeep/t{uuid4().hex}"
    made = zeep.port("RegisterPublisher").RegisterPublisher(Topic=[{"_value_1": topic, "Dialect": CONCRETE}])
    zeep.at("NotificationConsumer", made.ConsumerReference)
    registration = zeep.at("PublisherRegistrationManager", made.PublisherRegistrationReference)
    registration.DestroyRegistration()
    with pytest.raises(Fault):
        registration.DestroyRegistration()


@BOTH
def test_fault(soap: str, opened: Open, broker: BrokerProcess) -> None:
    """Raised as zeep's own Fault, with what the specification wants in its detail."""
    zeep = opened(soap)
    nowhere = zeep._client.create_service(
        f"{{urn:tocsin:broker}}PausableSubscriptionManager{zeep._suffix}", f"{broker.url}/broker/subscriptions/none"
    )
    with pytest.raises(Fault) as raised:
        nowhere.Renew(TerminationTime="PT1H")
    assert "there is no subscription 'none'" in raised.value.message
    detail = raised.value.detail
    assert detail is not None and detail[0].tag == f"{{{R}}}ResourceUnknownFault"
    if soap == "1.2":
        assert [etree.QName(each).text for each in raised.value.subcodes] == [f"{{{R}}}ResourceUnknownFault"]


@BOTH
def test_twice_the_headers(soap: str, opened: Open) -> None:
    """zeep adds WS-Addressing where the WSDL names an action; with its plugin on top every header is there twice."""
    zeep = opened(soap, WsAddressingPlugin())
    made = zeep.port("CreatePullPoint").CreatePullPoint()
    assert len(zeep.kept.envelope.findall(f".//{{{WSA}}}Action")) == 2
    pulling = zeep.at("PullPoint", made.PullPoint)
    assert not pulling.GetMessages().NotificationMessage
    pulling.DestroyPullPoint()
