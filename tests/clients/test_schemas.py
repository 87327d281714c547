"""What the broker says in WS-Notification 1.3 and ONVIF, held against the schemas that onvif-zeep-async carries."""

import shutil
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from uuid import uuid4

import onvif
import pytest
from lxml import etree
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import CONCRETE, DEFAULT, WSN, Said, manager_of, message, notify, text_at, wsn_subscribe

from tocsin.doors import wsdl as wsdl_door
from tocsin.mediation.faults import fault
from tocsin.mediation.operations import Context
from tocsin.mediation.rules import Dialect
from tocsin.mediation.ws import onvif as onvif_rules
from tocsin.mediation.ws import wsn_1_3
from tocsin.model.identity import SECOND, Instant
from tocsin.model.names import QName
from tocsin.model.refusal import Reason, Refusal
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.clients

XS = "http://www.w3.org/2001/XMLSchema"
BR = "http://docs.oasis-open.org/wsn/br-2"
RP = "http://docs.oasis-open.org/wsrf/rp-2"
RL = "http://docs.oasis-open.org/wsrf/rl-2"
TEV = "http://www.onvif.org/ver10/events/wsdl"
TDS = "http://www.onvif.org/ver10/device/wsdl"
THEIRS = {WSN: "b-2.xsd", "http://docs.oasis-open.org/wsrf/r-2": "r-2.xsd", TEV: "events.xsd", TDS: "devicemgmt.xsd"}
OURS = {
    WSN: "b-2.xsd",
    "http://docs.oasis-open.org/wsrf/r-2": "r-2.xsd",
    BR: "br-2.xsd",
    RP: "rp-2.xsd",
    RL: "rl-2.xsd",
}
Post = Callable[[str, Said], Awaitable[bytes]]


@cache
def ours() -> "etree.XMLSchema":
    return _joined(Path(wsdl_door.__file__).with_name("wsdl_files"), OURS)


@pytest.fixture(scope="session")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> "etree.XMLSchema":
    """Those in files, and those that stand inside a WSDL."""
    folder = tmp_path_factory.mktemp("schemas") / "wsdl"
    shutil.copytree(Path(onvif.__file__).with_name("wsdl"), folder)
    for name in ("events", "devicemgmt"):
        schema = next(etree.parse(folder / f"{name}.wsdl").iter(f"{{{XS}}}schema"))
        (folder / f"{name}.xsd").write_bytes(etree.tostring(schema))
    return _joined(folder, THEIRS)


def _joined(folder: Path, schemas: dict[str, str]) -> "etree.XMLSchema":
    imports = "".join(
        f'<xs:import namespace="{uri}" schemaLocation="{(folder / name).as_uri()}"/>' for uri, name in schemas.items()
    )
    text = f'<xs:schema xmlns:xs="{XS}">{imports}</xs:schema>'
    return etree.XMLSchema(etree.fromstring(text, etree.XMLParser(no_network=True)))


def content(body: bytes) -> "etree._Element":
    """The element in the Body, as a document of its own."""
    holder = next(etree.fromstring(body).iter("{*}Body"))
    return etree.fromstring(etree.tostring(holder[0]))


def check(schema: "etree.XMLSchema", element: "etree._Element") -> None:
    assert schema.validate(element), f"{schema.error_log}\n{etree.tostring(element).decode()}"


def say(namespace: str, name: str, inside: str = "", declared: str = "") -> Said:
    return DEFAULT.say("urn:any", f'<n:{name} xmlns:n="{namespace}"{declared}>{inside}</n:{name}>')


@pytest.fixture
def post(http: HttpClient) -> Post:
    async def ask(url: str, said: Said) -> bytes:
        answer = await http.request("POST", url, *said)
        assert answer.status == 200, answer
        return answer.body

    return ask


async def test_wsn_answers(
    broker: BrokerProcess, sink: Sink, http: HttpClient, post: Post, theirs: "etree.XMLSchema"
) -> None:
    topic, door, said = f"schemas/t{uuid4().hex}", f"{broker.url}/broker", []

    async def ask(url: str, request: Said) -> bytes:
        said.append(await post(url, request))
        return said[-1]

    manager = manager_of(await ask(door, wsn_subscribe(sink.url("a"), topic)))
    pull_point = text_at(await ask(door, say(WSN, "CreatePullPoint")), "Address")
    await ask(door, wsn_subscribe(pull_point, topic))
    published = notify(message("<a/>", topic, "urn:producer"), message("<b xmlns='urn:b'/>", topic))
    assert (await http.request("POST", door, *published)).status == 202
    await ask(pull_point, say(WSN, "GetMessages", "<n:MaximumNumber>5</n:MaximumNumber>"))
    await ask(pull_point, say(WSN, "GetMessages"))
    await ask(door, say(WSN, "GetCurrentMessage", f'<n:Topic Dialect="{CONCRETE}">{topic}</n:Topic>'))
    await ask(manager, say(WSN, "Renew", "<n:TerminationTime>PT1H</n:TerminationTime>"))
    for name in ("PauseSubscription", "ResumeSubscription", "Unsubscribe"):
        await ask(manager, say(WSN, name))
    await ask(pull_point, say(WSN, "DestroyPullPoint"))
    await wait_until(lambda: len(sink.at("a")) == 2, "both arrive")
    found = [content(each) for each in (*said, *(each.body for each in sink.at("a")))]
    assert len({each.tag for each in found}) == 10
    for each in found:
        check(theirs, each)
        check(ours(), each)


async def test_resources(broker: BrokerProcess, post: Post) -> None:
    """Of these the package carries no schemas, so it is ours alone that they are held against."""
    door = f"{broker.url}/broker"
    manager = manager_of(await post(door, wsn_subscribe("http://127.0.0.1:9/never", "nothing/here")))
    registered = await post(door, say(BR, "RegisterPublisher", f'<n:Topic Dialect="{CONCRETE}">a/b</n:Topic>'))
    names = f' xmlns:rl="{RL}" xmlns:w="{WSN}"'
    several = (
        "<n:ResourceProperty>rl:TerminationTime</n:ResourceProperty><n:ResourceProperty>w:Filter</n:ResourceProperty>"
    )
    said = [
        registered,
        await post(text_at(registered, "Address"), say(BR, "DestroyRegistration")),
        await post(door, say(RP, "GetResourceProperty", "w:TopicExpressionDialect", names)),
        await post(manager, say(RP, "GetMultipleResourceProperties", several, names)),
        await post(
            manager, say(RL, "SetTerminationTime", "<n:RequestedLifetimeDuration>PT1H</n:RequestedLifetimeDuration>")
        ),
        await post(manager, say(RL, "Destroy")),
    ]
    for each in said:
        check(ours(), content(each))


async def test_onvif_answers(broker: BrokerProcess, http: HttpClient, post: Post, theirs: "etree.XMLSchema") -> None:
    device, events, topic = f"{broker.url}/onvif/device_service", f"{broker.url}/onvif/events", f"q:cam/t{uuid4().hex}"
    said = [
        await post(device, say(TDS, "GetServices", "<n:IncludeCapability>true</n:IncludeCapability>")),
        await post(device, say(TDS, "GetCapabilities", "<n:Category>All</n:Category>")),
        await post(device, say(TDS, "GetSystemDateAndTime")),
        await post(device, say(TDS, "GetDeviceInformation")),
        await post(events, say(TEV, "GetServiceCapabilities")),
        await post(events, say(TEV, "CreatePullPointSubscription")),
    ]
    address = text_at(said[-1], "Address")
    published = notify(message("<a/>", topic).replace("<n:Topic ", '<n:Topic xmlns:q="urn:q" '))
    assert (await http.request("POST", f"{broker.url}/broker", *published)).status == 202
    pull = "<n:Timeout>PT0S</n:Timeout><n:MessageLimit>10</n:MessageLimit>"
    said.append(await post(address, say(TEV, "PullMessages", pull)))
    assert topic[1:] in text_at(said[-1], "Topic")
    said.append(await post(events, say(TEV, "GetEventProperties")))
    said.append(await post(address, say(TEV, "SetSynchronizationPoint")))
    await post(address, say(WSN, "Unsubscribe"))
    for each in map(content, said):
        _drop_what_has_no_place(each)
        check(theirs, each)


def _drop_what_has_no_place(answer: "etree._Element") -> None:
    """A topic without a namespace is a topic, but the schema of a TopicSet has room for those with one only."""
    for topics in answer.iter("{http://docs.oasis-open.org/wsn/t-1}TopicSet"):
        named = [each for each in topics if etree.QName(each).namespace]
        assert named
        topics[:] = named


FAULTS = [
    (dialect, operation, reason)
    for dialect in (wsn_1_3.DIALECT, onvif_rules.DIALECT)
    if dialect.faults is not None
    for operation, reason in (*(("", each) for each in dialect.faults.named), *dialect.faults.of)
]


@pytest.mark.parametrize(("dialect", "operation", "reason"), FAULTS)
@pytest.mark.parametrize("soap", ["1.1", "1.2"])
def test_faults(dialect: Dialect, operation: str, reason: Reason, soap: str, theirs: "etree.XMLSchema") -> None:
    """The detail of every fault there is a name for."""
    about = QName("urn:x", "y") if reason in ("unsupported-filter", "unknown-policy") else None
    reply = fault(dialect, operation, Context(dialect.name, soap, "2005/08"), _refusal(reason, about), _NOW)
    detail = next(iter(etree.fromstring(reply.body).iter("detail", "{*}Detail")), None)
    if detail is None:
        assert reason in ("not-authenticated", "not-allowed", "unknown-operation", "malformed", "bad-event-graph")
        return
    found = etree.fromstring(etree.tostring(detail[0]))
    check(ours(), found)
    if etree.QName(found).namespace in THEIRS:
        check(theirs, found)


_NOW = Instant(1_900_000_000 * SECOND)


def _refusal(reason: Reason, about: QName | None) -> Refusal:
    return Refusal(reason, "so & so", about)
