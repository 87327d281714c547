"""ONVIF at the door: what clients in the field send that the standard does not, and what they need in return."""

import asyncio
from uuid import uuid4

import pytest
from tests.whole.shell import BrokerProcess
from tests.whole.sink import Sink
from tests.whole.speech import DEFAULT, WSA, WSN, Said, Tongue, fault_of, message, notify, parsed, text_at

from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker

TEV = "http://www.onvif.org/ver10/events/wsdl"
TDS = "http://www.onvif.org/ver10/device/wsdl"
TER = "http://www.onvif.org/ver10/error"
CONCRETE_SET = "http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet"
ITEM_FILTER = "http://www.onvif.org/ver10/tev/messageContentFilter/ItemFilter"
FAULT_ACTION = "http://www.w3.org/2005/08/addressing/soap/fault"
UNKNOWN = "{http://docs.oasis-open.org/wsrf/r-2}ResourceUnknownFault"
PULL = "<n:Timeout>PT0S</n:Timeout><n:MessageLimit>10</n:MessageLimit>"


def say(namespace: str, name: str, inside: str = "", *, more: str = "", tongue: Tongue = DEFAULT) -> Said:
    content = f'<n:{name} xmlns:n="{namespace}" xmlns:w="{WSN}">{inside}</n:{name}>'
    return tongue.say(f"{namespace}/{name}", content, message_id="urn:m", more=more)


async def ask(http: HttpClient, url: str, said: Said) -> Answer:
    return await http.request("POST", url, *said)


async def created(http: HttpClient, broker: BrokerProcess, filters: str = "") -> str:
    inside = f"<n:Filter>{filters}</n:Filter>" if filters else ""
    answer = await ask(http, f"{broker.url}/onvif/events", say(TEV, "CreatePullPointSubscription", inside))
    assert answer.status == 200, answer
    return text_at(answer.body, "Address")


async def topics_pulled(http: HttpClient, address: str) -> list[str]:
    answer = await ask(http, address, say(TEV, "PullMessages", PULL))
    assert answer.status == 200, answer
    return [str(each.text) for each in parsed(answer.body).iter(f"{{{WSN}}}Topic")]


UNKNOWN_REQUESTS = [
    say(TEV, "PullMessages", PULL),
    say(TEV, "SetSynchronizationPoint"),
    say(WSN, "Renew", "<n:TerminationTime>PT1H</n:TerminationTime>"),
    say(WSN, "Unsubscribe"),
]


@pytest.mark.parametrize("said", UNKNOWN_REQUESTS, ids=["pull", "synchronise", "renew", "unsubscribe"])
@pytest.mark.parametrize("ended", [False, True], ids=["never was", "ended"])
async def test_unknown_subscription(said: Said, ended: bool, broker: BrokerProcess, http: HttpClient) -> None:
    """EdgeX makes a new pull point when it hears 400 or 404, and only then."""
    address = await created(http, broker)
    assert (await ask(http, address, say(WSN, "Unsubscribe"))).status == 200
    if not ended:
        address = f"{broker.url}/broker/pullpoints/none"
    answer = await ask(http, address, said)
    assert answer.status == 400 and fault_of(answer.body).subcode == UNKNOWN


@pytest.mark.parametrize("dialect", ["", f' Dialect="{CONCRETE_SET}"'], ids=["without a dialect", "concrete set"])
async def test_topic_expressions(dialect: str, broker: BrokerProcess, http: HttpClient) -> None:
    """A dialect left out is Concrete; ConcreteSet has alternatives and whole branches."""
    stem = f"t{uuid4().hex}"
    wanted = f"{stem}/a|{stem}/b//." if dialect else f"{stem}/a"
    address = await created(http, broker, f"<w:TopicExpression{dialect}>{wanted}</w:TopicExpression>")
    for tail in ("a", "b", "b/deep", "c"):
        assert (await ask(http, f"{broker.url}/broker", notify(message("<x/>", f"{stem}/{tail}")))).status == 202
    expected = ["a", "b", "b/deep"] if dialect else ["a"]
    assert await topics_pulled(http, address) == [f"{stem}/{tail}" for tail in expected]
    await ask(http, address, say(WSN, "Unsubscribe"))


async def test_item_filter(broker: BrokerProcess, http: HttpClient) -> None:
    """Core, message content filter: items by name and value; what is none is told where."""
    stem, schema = f"t{uuid4().hex}", "http://www.onvif.org/ver10/schema"
    expression = 'boolean(//tt:SimpleItem[@Name="IsMotion" and @Value="true"])'
    opening = f'<w:MessageContent xmlns:tt="{schema}" Dialect="{ITEM_FILTER}">'
    address = await created(http, broker, f"{opening}{expression}</w:MessageContent>")
    for value in ("false", "true"):
        item = f'<tt:SimpleItem Name="IsMotion" Value="{value}"/>'
        payload = f'<tt:Message xmlns:tt="{schema}"><tt:Data>{item}</tt:Data></tt:Message>'
        assert (await ask(http, f"{broker.url}/broker", notify(message(payload, f"{stem}/{value}")))).status == 202
    assert await topics_pulled(http, address) == [f"{stem}/true"]
    await ask(http, address, say(WSN, "Unsubscribe"))
    inside = f"<n:Filter>{opening}boolean(//x)</w:MessageContent></n:Filter>"
    answer = await ask(http, f"{broker.url}/onvif/events", say(TEV, "CreatePullPointSubscription", inside))
    fault = fault_of(answer.body)
    assert answer.status == 400 and fault.subcode == f"{{{WSN}}}InvalidMessageContentExpressionFault"
    assert "position 10" in fault.reason


async def test_the_item_filter_is_told_of(broker: BrokerProcess, http: HttpClient) -> None:
    answer = await ask(http, f"{broker.url}/onvif/events", say(TEV, "GetEventProperties"))
    assert text_at(answer.body, "MessageContentFilterDialect") == ITEM_FILTER


async def test_fault_action(broker: BrokerProcess, http: HttpClient) -> None:
    """WS-Addressing's own, for operations of ONVIF anywhere and for WS-Notification at the addresses of ONVIF."""
    events, nowhere = f"{broker.url}/onvif/events", f"{broker.url}/broker/pullpoints/none"
    bad = "<n:ConsumerReference/>"
    for url, said, action in (
        (nowhere, say(TEV, "PullMessages", PULL), FAULT_ACTION),
        (events, say(WSN, "Subscribe", bad), FAULT_ACTION),
        (f"{broker.url}/broker", say(WSN, "Subscribe", bad), "http://docs.oasis-open.org/wsn/fault"),
    ):
        answer = await ask(http, url, said)
        assert answer.status == 400
        assert parsed(answer.body).findtext(f".//{{{WSA['2005/08']}}}Action") == action


@pytest.mark.parametrize(
    ("namespace", "name", "where"),
    [(TDS, "GetHostname", "/onvif/device_service"), (TEV, "Seek", "/broker/pullpoints/none")],
)
async def test_not_supported(namespace: str, name: str, where: str, broker: BrokerProcess, http: HttpClient) -> None:
    answer = await ask(http, f"{broker.url}{where}", say(namespace, name))
    fault = fault_of(answer.body)
    assert answer.status == 400 and fault.subcode == f"{{{TER}}}ActionNotSupported" and name in fault.reason


@pytest.mark.parametrize("inside", ["<n:Timeout>soon</n:Timeout>", "<n:MessageLimit>-1</n:MessageLimit>"])
async def test_bad_pull(inside: str, broker: BrokerProcess, http: HttpClient) -> None:
    address = await created(http, broker)
    answer = await ask(http, address, say(TEV, "PullMessages", inside))
    assert answer.status == 400 and fault_of(answer.body).subcode == f"{{{WSN}}}UnableToGetMessagesFault"
    assert (await ask(http, address, say(WSN, "Unsubscribe"))).status == 200


async def test_one_address_for_both(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    """A subscription of WS-Notification made at the address of ONVIF, and a pull point, take both namespaces."""
    consumer = f"<n:ConsumerReference><a:Address>{sink.url('a')}</a:Address></n:ConsumerReference>"
    answer = await ask(http, f"{broker.url}/onvif/events", say(WSN, "Subscribe", consumer))
    pushed, pulled = text_at(answer.body, "Address"), await created(http, broker)
    echoed = f'<x:Id xmlns:x="urn:x" xmlns:i="{WSA["2005/08"]}" i:IsReferenceParameter="true">1</x:Id>'
    for address in (pushed, pulled):
        for said in (
            say(TEV, "SetSynchronizationPoint"),
            say(WSN, "Renew", "<n:TerminationTime>PT1H</n:TerminationTime>", more=echoed),
            say(WSN, "PauseSubscription"),
            say(WSN, "Unsubscribe"),
        ):
            assert (await ask(http, address, said)).status == 200


async def test_without_action(broker: BrokerProcess, http: HttpClient) -> None:
    """Older test tools name no action anywhere."""
    body = (
        '<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope"><e:Body>'
        f'<t:GetServices xmlns:t="{TDS}"><t:IncludeCapability>false</t:IncludeCapability></t:GetServices>'
        "</e:Body></e:Envelope>"
    )
    answer = await ask(http, f"{broker.url}/onvif/device_service", (DEFAULT.content_type(), body.encode()))
    addresses = [str(each.text) for each in parsed(answer.body).iter(f"{{{TDS}}}XAddr")]
    assert addresses == [f"{broker.url}/onvif/device_service", f"{broker.url}/onvif/events"]


async def test_post_only(broker: BrokerProcess, http: HttpClient) -> None:
    answer = await http.request("GET", f"{broker.url}/onvif/events", (), b"")
    assert answer.status == 405


@pytest.mark.parametrize("where", ["/broker/pullpoints/", "/broker/subscriptions/"])
async def test_who_hangs_up_while_pulling_takes_nothing(where: str, broker: BrokerProcess, http: HttpClient) -> None:
    topic = f"t{uuid4().hex}"
    dialect = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete"
    address = await created(http, broker, f'<w:TopicExpression Dialect="{dialect}">{topic}</w:TopicExpression>')
    await hung_up(broker.port, where + address.rpartition("/")[2])
    for _ in range(3):  # so that the broker has heard of it
        assert await topics_pulled(http, address) == []
    await ask(http, f"{broker.url}/broker", notify(message("<a/>", topic), message_id=f"urn:{topic}"))
    assert await topics_pulled(http, address) == [topic]


async def hung_up(port: int, path: str) -> None:
    """Somebody who waits there for a message, and then not."""
    headers, body = say(TEV, "PullMessages", "<n:Timeout>PT60S</n:Timeout><n:MessageLimit>10</n:MessageLimit>")
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {headers[0][1]}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    writer.close()
    await writer.wait_closed()
