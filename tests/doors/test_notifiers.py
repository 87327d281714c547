"""A notifier's address: every way to say Publish and Notify, and everything that is not believed."""

import base64
import json

import pytest
from lxml import etree
from msgspec.structs import replace
from tests.doors.fake_implicit import NOW, FakeImplicit, ask, gate, small_world

from tocsin.broker.caller import NODE
from tocsin.doors.notifiers import NotifierDoor
from tocsin.mediation.soap.namespaces import NOTIFIER, SOAP_11, SOAP_12, WSA_2005
from tocsin.mediation.soap.security import security_header
from tocsin.mediation.times import timestamp
from tocsin.mediation.ws.notifier_messages import PublishRequest, notify_request, publish_request
from tocsin.model.access import Principal, Right
from tocsin.model.filters import TopicIs
from tocsin.model.identity import MessageId, after
from tocsin.model.names import QName
from tocsin.model.notification import Copy, Message, Payload
from tocsin.routing.implicit.notifier import MOST_NAMES
from tocsin.routing.implicit.services import Published

BOTH = pytest.mark.parametrize(("version", "namespace"), [("1.1", SOAP_11), ("1.2", SOAP_12)])
XML = Payload("application/xml", b"<quake>7</quake>")
MESSAGE = Message(MessageId("m"), "hin-din", "IDER", "Earthquake", XML, NOW, "http://root:1", (("note", "a < b"),))
COPY = Copy("c", MESSAGE, "IDER", "CARE", 1, ("CARE",))
PUBLISH = PublishRequest("Earthquake", XML)


@pytest.fixture
def port() -> FakeImplicit:
    return FakeImplicit(small_world())


@pytest.fixture
def door(port: FakeImplicit) -> NotifierDoor:
    return NotifierDoor(gate(port))


def part(element: "etree._Element", path: str) -> "etree._Element":
    """As a document of its own."""
    found = element.find(path)
    assert found is not None, path
    return etree.fromstring(etree.tostring(found))


async def said(door: NotifierDoor, name: str, request: tuple[tuple[tuple[str, str], ...], bytes]) -> tuple[int, str]:
    """The status, and the code of the fault or the name of the answer."""
    status, _, body = await ask(door, "POST", f"/notifiers/{name}", request[1], dict(request[0]))
    content = part(etree.fromstring(body), "{*}Body/*")
    if not content.tag.endswith("}Fault"):
        return status, etree.QName(content).localname
    code = content.findtext("faultcode") or content.findtext(".//{*}Subcode/{*}Value") or ""
    return status, code.rpartition(":")[2]


@BOTH
async def test_publish(version: str, namespace: str, port: FakeImplicit, door: NotifierDoor) -> None:
    headers, body = publish_request(PublishRequest("Earthquake", XML, "cin", 7), version)
    status, told, answer = await ask(door, "POST", "/notifiers/IDER", body, dict(headers))
    assert status == 200 and etree.fromstring(answer).tag == f"{{{namespace}}}Envelope"
    assert etree.fromstring(answer).findtext(f".//{{{NOTIFIER}}}MessageID") == "m1"
    assert port.published == [("IDER", Published("Earthquake", XML, "cin", limit=7))]
    assert ("soap+xml" in told["content-type"]) == (version == "1.2")


async def test_notify_of_a_stranger_is_a_message_of_its_own(port: FakeImplicit, door: NotifierDoor) -> None:
    body = f"""<s:Envelope xmlns:s="{SOAP_11}"><s:Body><Notify xmlns="{NOTIFIER}">
        <Topic>Earthquake</Topic><Data><quake xmlns="">7</quake></Data></Notify></s:Body></s:Envelope>"""
    assert await said(door, "CARE", ((("Content-Type", "text/xml"),), body.encode())) == (200, "NotifyResponse")
    (copy,) = port.notified
    assert (copy.to, copy.sender, copy.hop, copy.notified, copy.most) == ("CARE", "", 1, (), None)
    message = copy.message
    assert (message.root, message.protocol, message.topic, message.when) == ("CARE", "din", "Earthquake", NOW)
    assert message.reports == "http://here:1" and message.id and copy.id not in ("", message.id)


def named(operation: str, name: str, data: str = "7") -> bytes:
    return f"""<s:Envelope xmlns:s="{SOAP_11}" xmlns:wsa="{WSA_2005}"><s:Header><wsa:MessageID>{name}</wsa:MessageID>
        </s:Header><s:Body><{operation} xmlns="{NOTIFIER}"><Topic>Earthquake</Topic>
        <Data><quake xmlns="">{data}</quake></Data></{operation}></s:Body></s:Envelope>""".encode()


async def test_what_is_sent_again_is_the_same_message(port: FakeImplicit, door: NotifierDoor) -> None:
    kind = {"Content-Type": "text/xml"}
    for name, data in (("a", "7"), ("a", "7"), ("b", "7"), ("a", "8")):
        await ask(door, "POST", "/notifiers/IDER", named("Publish", name, data), kind)
        await ask(door, "POST", "/notifiers/IDER", named("Notify", name, data), kind)
    for made in ([each.id for _, each in port.published], [each.message.id for each in port.notified]):
        assert all(made) and made[0] == made[1] and len(set(made)) == 3
    await ask(door, "POST", "/notifiers/CARE", named("Publish", "a"), kind)  # through another it is another
    assert port.published[-1][1].id not in [each.id for _, each in port.published[:-1]]


async def test_an_event_that_is_sent_again_is_the_same_message(port: FakeImplicit, door: NotifierDoor) -> None:
    for name in ("1", "1", "2"):
        event = {"specversion": "1.0", "id": name, "source": "s", "type": "t", "subject": "Earthquake", "data": 7}
        body = json.dumps(event).encode()
        await ask(door, "POST", "/notifiers/IDER", body, {"Content-Type": "application/cloudevents+json"})
    made = [each.id for _, each in port.published]
    assert all(made) and made[0] == made[1] != made[2]


@BOTH
async def test_notify_with_a_proof(version: str, namespace: str, port: FakeImplicit, door: NotifierDoor) -> None:
    assert await said(door, "CARE", notify_request(COPY, port.proof(NODE, COPY), version)) == (200, "NotifyResponse")
    assert port.notified == [COPY]


CHANGED = {
    "root": replace(COPY, message=replace(MESSAGE, root="CARE")),
    "topic": replace(COPY, message=replace(MESSAGE, topic="Disaster Info")),
    "data": replace(COPY, message=replace(MESSAGE, data=Payload("application/xml", b"<quake>8</quake>"))),
    "message": replace(COPY, message=replace(MESSAGE, id=MessageId("other"))),
    "protocol": replace(COPY, message=replace(MESSAGE, protocol="bin")),
    "reports": replace(COPY, message=replace(MESSAGE, reports="http://thief:1")),
    "attributes": replace(COPY, message=replace(MESSAGE, attributes=())),
    "notified": replace(COPY, notified=()),
    "sender": replace(COPY, sender="CARE"),
    "hop": replace(COPY, hop=2),
    "most": replace(COPY, most=5),
    "id": replace(COPY, id="d"),
}


@pytest.mark.parametrize("what", CHANGED)
@BOTH
async def test_what_was_changed_on_the_way_is_not_believed(
    version: str, namespace: str, what: str, port: FakeImplicit, door: NotifierDoor
) -> None:
    request = notify_request(CHANGED[what], port.proof(NODE, COPY), version)
    assert await said(door, "CARE", request) == (403, "NotProven")
    assert not port.notified


@pytest.mark.parametrize("proof", ["", "0", "ü", "0" * 64])
async def test_a_forged_root(proof: str, port: FakeImplicit, door: NotifierDoor) -> None:
    assert await said(door, "CARE", notify_request(COPY, proof)) == (403, "NotProven")
    assert not port.notified


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        (replace(COPY, message=replace(MESSAGE, root="Nobody")), (403, "NotProven")),
        (replace(COPY, notified=("CARE",) * (MOST_NAMES + 1)), (413, "TooLarge")),
        (replace(COPY, notified=tuple(f"n{number}" for number in range(1000))), (413, "TooLarge")),
        (replace(COPY, hop=0), (400, "Malformed")),
        (replace(COPY, to="IDER"), (400, "Malformed")),
        (replace(COPY, message=replace(MESSAGE, protocol="gossip")), (400, "Malformed")),
        (replace(COPY, message=replace(MESSAGE, topic="Weather")), (400, "UnknownName")),
    ],
)
async def test_contradictions_that_are_proven(
    copy: Copy, expected: tuple[int, str], port: FakeImplicit, door: NotifierDoor
) -> None:
    assert await said(door, "CARE", notify_request(copy, port.proof(NODE, copy))) == expected
    assert not port.notified


async def test_as_many_names_as_there_may_be(port: FakeImplicit, door: NotifierDoor) -> None:
    copy = replace(COPY, notified=tuple(f"n{number}" for number in range(MOST_NAMES)))
    assert (await said(door, "CARE", notify_request(copy, port.proof(NODE, copy))))[0] == 200


async def test_where_another_keeps_the_world_the_proof_has_to_do(port: FakeImplicit, door: NotifierDoor) -> None:
    port.keeps_world = False
    copy = replace(COPY, message=replace(MESSAGE, root="Elsewhere"))
    assert (await said(door, "CARE", notify_request(copy, port.proof(NODE, copy))))[0] == 200


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("Nobody", publish_request(PUBLISH)[1], (404, "UnknownName")),
        ("IDER", b"<s:Envelope", (400, "Malformed")),
        ("IDER", b"<a/>", (400, "Malformed")),
        ("IDER", f'<s:Envelope xmlns:s="{SOAP_12}"><s:Body/></s:Envelope>'.encode(), (400, "UnknownOperation")),
        ("IDER", publish_request(replace(PUBLISH, protocol="gossip"))[1], (400, "Malformed")),
        ("IDER", publish_request(replace(PUBLISH, topic="Weather"))[1], (400, "UnknownName")),
        ("IDER", b" " * 100_001, (413, "TooLarge")),
    ],
)
async def test_faults(
    name: str, body: bytes, expected: tuple[int, str], port: FakeImplicit, door: NotifierDoor
) -> None:
    assert await said(door, name, ((("Content-Type", "application/soap+xml"),), body)) == expected
    assert not port.published and not port.notified


STRUCTURED = {"Content-Type": "application/cloudevents+json"}
EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "quake", "data": {"m": 7}}


async def test_cloud_events(port: FakeImplicit, door: NotifierDoor) -> None:
    event = EVENT | {"subject": "Disaster Info", "room": 7, "hop": "x"}
    status, told, body = await ask(door, "POST", "/notifiers/IDER", json.dumps(event).encode(), STRUCTURED)
    assert (status, told["content-type"]) == (202, "application/json")
    assert json.loads(body) == {"id": "m1", "result": "http://here:1/api/disseminations/m1"}
    (asked,) = [each for _, each in port.published]
    assert (asked.topic, asked.protocol) == ("Disaster Info", "hin-din")
    assert asked.data == Payload("application/json", b'{"m": 7}')
    assert dict(asked.attributes) == {
        "eventid": "1",
        "eventsource": "/s",
        "eventtype": "quake",
        "eventsubject": "Disaster Info",
        "room": "7",
        "eventhop": "x",
    }


async def test_a_binary_event(port: FakeImplicit, door: NotifierDoor) -> None:
    headers = {f"ce-{name}": str(value) for name, value in EVENT.items() if name != "data"}
    headers |= {"ce-topic": "Disaster%20Info", "ce-subject": "Earthquake", "Content-Type": "image/png"}
    status, _, _ = await ask(door, "POST", "/notifiers/IDER?protocol=bin&limit=5", b"\x89PNG", headers)
    assert status == 202
    (asked,) = [each for _, each in port.published]
    assert (asked.topic, asked.protocol, asked.limit) == ("Disaster Info", "bin", 5)
    assert asked.data == Payload("image/png", b"\x89PNG")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b'{"m": 7}'),
        ("text/plain; charset=utf-8", b"7"),
        ("", b"\0"),
        ("application/xml", b"<quake/>"),
        ("text/xml", b"<Envelope>no soap</Envelope>"),
    ],
)
async def test_anything_else_as_it_is(kind: str, body: bytes, port: FakeImplicit, door: NotifierDoor) -> None:
    headers = {"Content-Type": kind} if kind else {}
    status, _, told = await ask(door, "POST", "/notifiers/IDER?topic=Disaster%20Info&protocol=din", body, headers)
    assert status == 202 and json.loads(told)["id"] == "m1"
    assert port.published == [("IDER", Published("Disaster Info", Payload(kind, body), "din"))]


@pytest.mark.parametrize(
    ("target", "headers", "body", "status", "why"),
    [
        ("IDER", {}, b"7", 400, "add ?topic=NAME"),
        ("IDER?topic=", {}, b"7", 400, "add ?topic=NAME"),
        ("IDER?topic=Weather", {}, b"7", 404, "Weather"),
        ("Nobody?topic=Earthquake", {}, b"7", 404, "Nobody"),
        ("IDER?topic=Earthquake&protocol=gossip", {}, b"7", 400, "there are: bin"),
        ("IDER?topic=Earthquake&limit=0", {}, b"7", 400, "1 or more"),
        ("IDER?topic=Earthquake&limit=" + "9" * 30, {}, b"7", 400, "1 or more"),
        ("IDER?topic=Earthquake&limit=%C2%B2", {}, b"7", 400, "1 or more"),
        ("IDER?topic=%FF", {}, b"7", 400, "UTF-8"),
        ("IDER?topik=Earthquake", {}, b"7", 400, "topic, protocol, limit are"),
        ("IDER", STRUCTURED, json.dumps(EVENT).encode(), 400, "of which topic"),
        ("IDER", STRUCTURED, b"{}", 400, "specversion"),
        ("IDER", STRUCTURED, b"{", 400, "JSON"),
        ("IDER", {"Content-Type": "application/cloudevents-batch+json"}, b"[]", 400, "one event at a time"),
        ("IDER?topic=Earthquake", {}, b" " * 100_001, 413, "bytes"),
    ],
)
async def test_problems(
    target: str,
    headers: dict[str, str],
    body: bytes,
    status: int,
    why: str,
    port: FakeImplicit,
    door: NotifierDoor,
) -> None:
    got, told, problem = await ask(door, "POST", f"/notifiers/{target}", body, headers)
    assert (got, told["content-type"]) == (status, "application/problem+json")
    assert why in json.loads(problem)["detail"] and not port.published


async def test_broken_xml_that_says_envelope_gets_a_fault(door: NotifierDoor) -> None:
    assert await said(door, "IDER", ((("Content-Type", "text/xml"),), b"<s:Envelope>")) == (500, "Malformed")


async def test_what_a_notifier_is(door: NotifierDoor) -> None:
    status, _, body = await ask(door, "GET", '/notifiers/Rè & "Co"')
    address = "http://here:1/notifiers/R%C3%A8%20%26%20%22Co%22"
    assert status == 200
    assert json.loads(body) == {
        "name": 'Rè & "Co"',
        "categories": ["Global"],
        "address": address,
        "wsdl": f"{address}?wsdl",
        "operations": ["Publish", "Notify"],
        "protocols": ["bin", "cin", "din", "hin", "hin-din", "dht-cin"],
    }
    for method, target, expected in (("PUT", "IDER", 405), ("GET", "Nobody", 404), ("GET", "Nobody?wsdl", 404)):
        assert (await ask(door, method, f"/notifiers/{target}"))[0] == expected


@pytest.mark.parametrize("query", ["wsdl", "WSDL", "wsdl="])
async def test_wsdl(query: str, door: NotifierDoor) -> None:
    status, told, body = await ask(door, "GET", f'/notifiers/Rè & "Co"?{query}')
    wsdl = etree.fromstring(body)
    assert (status, told["content-type"]) == (200, "text/xml; charset=utf-8")
    assert part(wsdl, "{*}service").get("name") == "Rè-Co"
    locations = {each.get("location") for each in wsdl.iterfind("{*}service/{*}port/{*}address")}
    assert locations == {"http://here:1/notifiers/R%C3%A8%20%26%20%22Co%22"}
    for binding in wsdl.iterfind("{*}binding"):
        parts = [each.get("part") for each in binding.iterfind("{*}operation[@name='Notify']/{*}input/{*}header")]
        assert parts[:2] == ["Root", "Notified"] and len(parts) == len(set(parts)) == 13
    schema = etree.XMLSchema(part(wsdl, "{*}types/{*}schema"))
    for _, request in (publish_request(PUBLISH), notify_request(COPY, "p")):
        envelope = etree.fromstring(request)
        schema.assertValid(part(envelope, "{*}Body/*"))
        for header in envelope.iterfind("{*}Header/*"):
            schema.assertValid(etree.fromstring(etree.tostring(header)))


QUAKES = Principal("few", (Right("publish", TopicIs(((QName("", "Disaster-Info"), QName("", "Earthquake")),))),))


def basic(name: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{name}:{name}'.encode()).decode()}"}


@pytest.mark.parametrize(
    ("who", "topic", "status"),
    [({}, "Earthquake", 401), (basic("few"), "Earthquake", 202), (basic("few"), "Disaster Info", 403)],
)
async def test_to_publish_is_to_publish_under_that_topic(
    who: dict[str, str], topic: str, status: int, port: FakeImplicit
) -> None:
    door = NotifierDoor(gate(port, QUAKES))
    assert (await ask(door, "POST", f"/notifiers/IDER?topic={topic.replace(' ', '+')}", b"7", who))[0] == status
    headers, body = publish_request(PublishRequest(topic, XML))
    expected = 200 if status == 202 else status
    assert (await ask(door, "POST", "/notifiers/IDER", body, {**dict(headers), **who}))[0] == expected
    assert len(port.published) == 2 * (status == 202)
    assert (await ask(door, "GET", "/notifiers/IDER", headers=who))[0] == (200 if who else 401)
    assert (await ask(door, "GET", "/notifiers/IDER?wsdl"))[0] == 200


async def test_who_is_there_is_not_told_to_everybody(port: FakeImplicit) -> None:
    door = NotifierDoor(gate(port, QUAKES))
    for name in ("IDER", "Nobody"):
        assert (await ask(door, "GET", f"/notifiers/{name}"))[0] == 401
        assert (await ask(door, "POST", f"/notifiers/{name}?topic=Earthquake", b"7"))[0] == 401
        assert (await said(door, name, publish_request(PUBLISH)))[0] == 401


async def test_a_name_in_the_envelope(port: FakeImplicit) -> None:
    door = NotifierDoor(gate(port, QUAKES))
    headers, body = publish_request(PUBLISH)

    def signed(password: str) -> bytes:
        token = security_header(
            "few", password, b"once", timestamp(after(NOW, 1)), must_understand='s:mustUnderstand="1"'
        )
        return body.replace(b"<s:Header>", b"<s:Header>" + token)

    assert await said(door, "IDER", (headers, signed("wrong"))) == (401, "FailedAuthentication")
    assert await said(door, "IDER", (headers, signed("few"))) == (200, "PublishResponse")
    assert await said(door, "IDER", (headers, signed("few"))) == (401, "FailedAuthentication")
    assert len(port.published) == 1


async def test_a_proof_is_name_enough(port: FakeImplicit) -> None:
    door = NotifierDoor(gate(port, QUAKES))
    own = f"""<s:Envelope xmlns:s="{SOAP_12}"><s:Body><Notify xmlns="{NOTIFIER}">
        <Topic>Earthquake</Topic><Text>7</Text></Notify></s:Body></s:Envelope>""".encode()
    soap = (("Content-Type", "application/soap+xml"),)
    assert await said(door, "CARE", (soap, own)) == (401, "FailedAuthentication")
    assert await said(door, "CARE", ((*soap, *basic("few").items()), own)) == (200, "NotifyResponse")
    assert await said(door, "CARE", notify_request(COPY, port.proof(NODE, COPY))) == (200, "NotifyResponse")
    assert await said(door, "CARE", notify_request(COPY, "forged")) == (403, "NotProven")
    assert len(port.notified) == 2
