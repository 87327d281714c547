"""sdc11073, the stack of medical devices: WS-Eventing 2004/08 over WS-Addressing 2005/08, every message validated."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from lxml import etree
from tests.clients.peers import events, sdc
from tests.clients.peers.peer import Event, canonical
from tests.whole.acts import call, dead_letters, subscribe, until
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import (
    CONCRETE,
    WSA,
    WSE,
    WSN,
    Said,
    Tongue,
    fault_of,
    manager_of,
    message,
    notify,
    text_at,
    wse_event,
    wse_manage,
    wse_subscribe,
)

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.clients

Listen = Callable[..., sdc.Consumer]


@pytest.fixture
def consumer(broker: BrokerProcess) -> Iterator[Listen]:
    """Consumers of this broker, or of another event source; none leaves a thread behind."""
    made, before = list[sdc.Consumer](), set(threading.enumerate())

    def begin(source: str = "", manager: type = sdc.PATHS) -> sdc.Consumer:
        made.append(sdc.Consumer(source or f"{broker.url}/broker", manager))
        return made[-1]

    yield begin
    for each in made:
        each.close()
    assert not [each.name for each in set(threading.enumerate()) - before if not each.name.startswith("asyncio_")]


@pytest.fixture
def provider() -> Iterator[sdc.Provider]:
    made = sdc.Provider()
    yield made
    made.close()


def new_name() -> str:
    return f"urn:uuid:{uuid4()}"


def sequences(found: list[sdc.Notified]) -> list[str]:
    return [str(each.body.get("SequenceId")) for each in found]


async def introduce(consumer: Listen, provider: sdc.Provider, broker: BrokerProcess, topic: str) -> Any:
    """The broker is subscribed at the provider: by the path of its NotifyTo all reports stand under a topic."""
    asking = consumer(provider.end.url).subscription(sdc.action_filter(sdc.METRIC, sdc.ALERT))
    asking.notification_url = f"{broker.url}/broker/publish/{topic}"
    await asyncio.to_thread(asking.subscribe, 60)
    assert asking.is_subscribed
    return asking


@pytest.mark.parametrize("manager", [sdc.PATHS, sdc.PARAMETERS])
def test_life_of_a_subscription(manager: type, consumer: Listen) -> None:
    subscription = consumer(manager=manager).subscription(sdc.action_filter(sdc.METRIC))
    subscription.subscribe(3600)
    assert subscription.is_subscribed and subscription.granted_expires == 3600
    assert subscription.renew(60) == 60
    assert 50 < subscription.get_status() <= 60
    assert subscription.renew(86400) == 86400, "a day is told in hours, it reads no days"
    subscription.unsubscribe()
    assert not subscription.is_subscribed


def test_what_is_gone_is_a_fault_it_reads(consumer: Listen) -> None:
    peer = consumer()
    subscription = peer.subscription(sdc.action_filter(sdc.METRIC))
    subscription.subscribe(60)
    subscription.unsubscribe()
    subscription.is_subscribed = True
    assert subscription.renew(60) == 0.0 and not subscription.is_subscribed
    with pytest.raises(sdc.Refused) as raised:
        peer.end.post(f"{peer.event_source}/subscriptions/none", sdc.RENEW, sdc.renewal())
    assert raised.value.status == 400
    assert raised.value.soap_fault.Code.Subcode.Value == etree.QName(WSE, "InvalidMessage")


async def test_its_manager_renews_in_time(consumer: Listen, broker: BrokerProcess, http: HttpClient) -> None:
    """By itself, once half of what was granted is gone."""
    peer = consumer()
    subscription = peer.subscription(sdc.action_filter(sdc.METRIC))
    await asyncio.to_thread(subscription.subscribe, 3)
    name = subscription.subscribe_response.SubscriptionManager.Address.rpartition("/")[2]
    address = f"{broker.url}/api/subscriptions/{name}"

    async def expires() -> str:
        answer = await call(http, "GET", address)
        return str(document(answer.body)["expires"]) if answer.status == 200 else "gone"

    first = await expires()
    peer.manager.start()
    try:
        assert await until(expires, lambda found: found != first) != "gone"
        assert subscription.is_subscribed
    finally:
        await asyncio.to_thread(peer.manager.stop)
    await asyncio.to_thread(subscription.unsubscribe)
    assert await expires() == "gone"


@pytest.mark.parametrize("manager", [sdc.PATHS, sdc.PARAMETERS])
async def test_reports_by_their_action(
    manager: type, consumer: Listen, provider: sdc.Provider, broker: BrokerProcess
) -> None:
    peer, names = consumer(manager=manager), [new_name() for _ in range(3)]
    subscription = peer.subscription(sdc.action_filter(sdc.METRIC))
    await asyncio.to_thread(subscription.subscribe, 60)
    await introduce(consumer, provider, broker, "icu/bed1")
    for name, action in zip(names, (sdc.METRIC, sdc.ALERT, sdc.METRIC), strict=True):
        await asyncio.to_thread(provider.send, sdc.report(name, action), action)
    await wait_until(lambda: len(peer.received) >= 2, "two reports arrive")
    await asyncio.to_thread(subscription.unsubscribe)
    assert sequences(peer.received) == [names[0], names[2]], "not what it did not ask for"
    assert {each.action for each in peer.received} == {sdc.METRIC}
    if manager is sdc.PARAMETERS:
        echoed = [each.header.findtext(str(subscription.IDENT_TAG)) for each in peer.received]
        assert echoed == [subscription.notify_to_identifier.text] * 2
    else:
        assert subscription.event_counter == 2


async def test_its_provider_is_heard_by_others(
    consumer: Listen, provider: sdc.Provider, broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    topic, name = f"icu/t{uuid4().hex}", new_name()
    await subscribe(http, broker, sink.url("all"), topic)
    await introduce(consumer, provider, broker, topic)
    sent = sdc.report(name)
    await asyncio.to_thread(provider.send, sent)
    (found,) = await wait_until(lambda: sink.notifications("all"), "the report arrives")
    assert (str(found.topic), found.type) == (topic, sdc.METRIC)
    assert canonical(etree.fromstring(found.payload.data)) == canonical(sent)
    assert len(provider.subscribers) == 1, "it is content with how the broker answers"


@pytest.mark.parametrize(("setting", "value"), [("request_encodings", ["gzip"]), ("_chunk_size", 64)])
async def test_its_reports_compressed_and_in_chunks(
    setting: str, value: object, broker: BrokerProcess, provider: sdc.Provider, sink: Sink, http: HttpClient
) -> None:
    topic, name = f"icu/t{uuid4().hex}", new_name()
    await subscribe(http, broker, sink.url("all"), topic)
    address = f"{broker.url}/broker/publish/{topic}"
    setattr(provider.end.client(address), setting, value)
    message_id = await asyncio.to_thread(provider.end.post, address, sdc.METRIC, sdc.report(name))
    (found,) = await wait_until(lambda: sink.notifications("all"), "the report arrives")
    assert (found.id, name.encode() in found.payload.data) == (message_id, True)


async def test_a_topic_as_reference_parameter(
    consumer: Listen, provider: sdc.Provider, broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    """What NotifyTo holds comes back as headers; a Topic among them is the topic of all that the provider reports."""
    topic = f"icu/t{uuid4().hex}"
    await subscribe(http, broker, sink.url("all"), topic)
    asking = consumer(provider.end.url).subscription(sdc.action_filter(sdc.METRIC))
    asking.notification_url = f"{broker.url}/broker/publish"
    asking.notify_to_identifier = etree.Element(f"{{{WSN}}}Topic", Dialect=CONCRETE)
    asking.notify_to_identifier.text = topic
    await asyncio.to_thread(asking.subscribe, 60)
    await asyncio.to_thread(provider.send, sdc.report(new_name()))
    (found,) = await wait_until(lambda: sink.notifications("all"), "the report arrives")
    assert str(found.topic) == topic


async def test_what_its_schemas_do_not_know_it_refuses(
    consumer: Listen, broker: BrokerProcess, http: HttpClient
) -> None:
    """A dead letter, and what comes after it is delivered."""
    peer, action, name = consumer(), f"urn:uuid:{uuid4()}", new_name()
    subscription = peer.subscription(sdc.action_filter(action, sdc.METRIC))
    await asyncio.to_thread(subscription.subscribe, 60)
    peer.expect(action, "{urn:q}quake")
    strange = Tongue().say(action, '<quake xmlns="urn:q"/>', message_id=action)
    assert (await http.request("POST", f"{broker.url}/broker/publish", *strange)).status == 202
    await asyncio.to_thread(peer.end.post, f"{broker.url}/broker/publish", sdc.METRIC, sdc.report(name))
    await wait_until(lambda: name in sequences(peer.received), "the report arrives")
    made = subscription.subscribe_response.SubscriptionManager.Address.rpartition("/")[2]
    (letter,) = await until(lambda: dead_letters(http, broker, made), bool)
    assert "400" in letter["reason"] and letter["attempts"] == 1 and subscription.is_subscribed
    await asyncio.to_thread(subscription.unsubscribe)


async def test_the_action_of_what_had_none(consumer: Listen, broker: BrokerProcess, http: HttpClient) -> None:
    """The type of a CloudEvent is one; of WS-Notification it is made from the name of the element."""
    peer, names = consumer(), [new_name(), new_name()]
    of_type, of_element = (peer.subscription(sdc.action_filter(each)) for each in (sdc.METRIC, sdc.MADE_METRIC))
    peer.expect(sdc.MADE_METRIC, sdc.report("").tag)
    for each in (of_type, of_element):
        await asyncio.to_thread(each.subscribe, 60)
    reports = [etree.tostring(sdc.report(each)).decode() for each in names]
    async with events.publishing(broker.url, "structured", sdc.METRIC) as sdk:
        await sdk.publish(Event("icu/bed2", reports[0].encode()))
    said = notify(message(reports[1], "icu/bed2"), message_id=new_name())
    assert (await http.request("POST", f"{broker.url}/broker", *said)).status == 202
    await wait_until(lambda: set(names) <= set(sequences(peer.received)), "both arrive")
    for each in (of_type, of_element):
        await asyncio.to_thread(each.unsubscribe)
    assert names[1] not in sequences(peer.at(of_type)) and names[0] not in sequences(peer.at(of_element))


@pytest.mark.parametrize("manager", [sdc.PATHS, sdc.PARAMETERS])
async def test_cancelled_at_the_broker(
    manager: type, consumer: Listen, broker: BrokerProcess, http: HttpClient
) -> None:
    peer = consumer(manager=manager)
    subscription = peer.subscription(sdc.action_filter(sdc.METRIC))
    await asyncio.to_thread(subscription.subscribe, 60)
    name = subscription.subscribe_response.SubscriptionManager.Address.rpartition("/")[2]
    answer = await call(http, "DELETE", f"{broker.url}/api/subscriptions/{name}?cancel=true")
    assert answer.status == 204
    await wait_until(lambda: peer.ended, "it is told")
    assert not subscription.is_subscribed
    assert subscription.end_status == f"{WSE}/SourceCancelling"
    assert subscription.end_reason.text == "it was cancelled at the broker"


# What the broker says, against the schemas that the package carries


BOTH = pytest.mark.parametrize("tongue", [Tongue("1.2", version) for version in WSA], ids=list(WSA))
SCHEMAS = sdc.schemas()


def check(said: bytes) -> None:
    """The package's schema of WS-Eventing is that of 2004/08 with the later WS-Addressing put in its place."""
    SCHEMAS.assertValid(etree.fromstring(said.replace(WSA["2004/08"].encode(), WSA["2005/08"].encode())))


def test_the_schemas_see_what_is_wrong() -> None:
    _, body = wse_manage("Renew", "<w:Expires>soon</w:Expires>")
    with pytest.raises(etree.DocumentInvalid):
        check(body)
    with pytest.raises(etree.DocumentInvalid):
        check(Tongue().say("a", f'<w:SubscribeResponse xmlns:w="{WSE}"/>')[1])
    with pytest.raises(etree.DocumentInvalid):
        check(Tongue().say("a", "<x/>", more="<a:From/>")[1])


@BOTH
@pytest.mark.parametrize("expires", ["", "PT1H", "P2D", "2099-01-01T00:00:00Z"])
async def test_answers_are_valid(tongue: Tongue, expires: str, broker: BrokerProcess, http: HttpClient) -> None:
    made = await http.request(
        "POST", f"{broker.url}/broker", *wse_subscribe("http://127.0.0.1:9/", "no", expires=expires, tongue=tongue)
    )
    asked = f"<w:Expires>{expires}</w:Expires>" if expires else ""
    said = [made]
    for name, inside in (("Renew", asked), ("GetStatus", ""), ("Unsubscribe", "")):
        said.append(await http.request("POST", manager_of(made.body), *wse_manage(name, inside, tongue)))
    for each in said:
        assert each.status == 200, each
        check(each.body)
        assert text_at(each.body, "RelatesTo") == "urn:m"


@BOTH
async def test_events_and_ends_are_valid(tongue: Tongue, broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    topic = f"icu/t{uuid4().hex}"
    headers, body = wse_subscribe(sink.url("a"), topic, tongue=tongue)
    end_to = f"<w:EndTo><a:Address>{sink.url('end')}</a:Address></w:EndTo>"
    asked = body.replace(b"<w:Delivery ", end_to.encode() + b"<w:Delivery ", 1)
    made = await http.request("POST", f"{broker.url}/broker", headers, asked)
    report = etree.tostring(sdc.report(new_name())).decode()
    event = wse_event(report, topic, new_name(), "http://monitor.example/", tongue)
    assert (await http.request("POST", f"{broker.url}/broker/publish", *event)).status == 202
    (received,) = await wait_until(lambda: sink.at("a"), "the event arrives")
    check(received.body)
    name = manager_of(made.body).rpartition("/")[2]
    await call(http, "DELETE", f"{broker.url}/api/subscriptions/{name}?cancel=true")
    (ended,) = await wait_until(lambda: sink.at("end"), "its end is told")
    check(ended.body)
    assert text_at(ended.body, "Status") == f"{WSE}/SourceCancelling"


def _wrong(tongue: Tongue) -> dict[str, Said]:
    """What provokes each fault of WS-Eventing, by its name."""
    there = "http://127.0.0.1:9/"
    return {
        "DeliveryModeRequestedUnavailable": wse_subscribe(there, mode="urn:by-post", tongue=tongue),
        "FilteringRequestedUnavailable": wse_subscribe(there, "x", dialect="urn:by-mood", tongue=tongue),
        "InvalidExpirationTime": wse_subscribe(there, expires="2001-01-01T00:00:00Z", tongue=tongue),
        "InvalidMessage": tongue.say(f"{WSE}/Subscribe", f'<w:Subscribe xmlns:w="{WSE}"/>', message_id="urn:m"),
    }


@BOTH
@pytest.mark.parametrize("fault", list(_wrong(Tongue())))
async def test_faults_are_valid(fault: str, tongue: Tongue, broker: BrokerProcess, http: HttpClient) -> None:
    answer = await http.request("POST", f"{broker.url}/broker", *_wrong(tongue)[fault])
    assert (answer.status, fault_of(answer.body).subcode) == (400, f"{{{WSE}}}{fault}")
    check(answer.body)
    assert text_at(answer.body, "Action") == f"{WSA[tongue.wsa]}/fault"
