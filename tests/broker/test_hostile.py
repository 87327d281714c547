"""What is sent to harm, or by somebody who cannot do better, is answered soon and costs little."""

import time
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
from tests.broker import hostility as by_hand
from tests.broker.acts import IMPATIENT, JSON, call, dead_letters, numbers, publish, until
from tests.broker.acts import subscribe as subscribed
from tests.broker.hostility import envelope, notify, subscribe
from tests.broker.shell import BrokerProcess, document, wait_until
from tests.broker.sink import Say, Sink
from tests.broker.speech import SOAP, WSE, fault_of, manager_of, text_at, wse_subscribe

from tocsin.mediation.namespaces import WSE_2011, WSRF_PROPERTIES
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
MANY = 100_000
SOON = 15.0
LITTLE = 250 << 20
SOAP_12 = (("Content-Type", "application/soap+xml; charset=utf-8"),)
HERE = "http://127.0.0.1:9/"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    folder = tmp_path_factory.mktemp("hostile") / "data"
    settings = IMPATIENT | {"delivery-attempts": "2", "advertise": "http://Broker.Example:4321"}
    process = BrokerProcess.start(folder, settings)
    process.url = f"http://127.0.0.1:{listening(process)}"
    yield process
    process.kill()
    assert "Traceback" not in process.said()


def listening(process: BrokerProcess) -> int:
    from tests.broker.test_bad_input import listening_port

    return listening_port(process.process.pid)


@pytest.fixture(autouse=True)
async def in_time_and_room(target: BrokerProcess, sink: Sink, http: HttpClient) -> AsyncIterator[None]:
    """Around each test: it is over soon, takes little memory, and what is good works right after."""
    before, began = target.peak_memory(), time.monotonic()
    yield
    assert time.monotonic() - began < SOON
    assert target.peak_memory() - before < LITTLE
    about = f"well/t{uuid4().hex}"
    name = await subscribed(http, target, sink.url("well"), about)
    await publish(http, target, about, 1)
    await wait_until(lambda: numbers(sink, "well") == [1], "the broker is well")
    await call(http, "DELETE", f"{target.url}/api/subscriptions/{name}")


async def say(http: HttpClient, broker: BrokerProcess, text: str | bytes, path: str = "/broker") -> Answer:
    return await http.request("POST", broker.url + path, SOAP_12, text.encode() if isinstance(text, str) else text)


async def refused(http: HttpClient, broker: BrokerProcess, text: str | bytes, word: str, path: str = "/broker") -> None:
    before = await offset(http, broker)
    answer = await say(http, broker, text, path)
    assert answer.status in (400, 413), answer
    assert word in fault_of(answer.body).reason and len(answer.body) < 20_000
    assert await offset(http, broker) == before


async def offset(http: HttpClient, broker: BrokerProcess) -> int:
    return int(document((await call(http, "GET", f"{broker.url}/api/status")).body)["offset"])


ATTRIBUTES = "".join(f' a{number:x}=""' for number in range(MANY))
DECLARATIONS = "".join(f' xmlns:p{number:x}="u"' for number in range(40_000))


@pytest.mark.parametrize("attributes", [ATTRIBUTES, DECLARATIONS], ids=["attributes", "namespaces"])
@pytest.mark.parametrize("where", ["payload", "envelope", "operation", "header"])
async def test_a_hundred_thousand_attributes(
    where: str, attributes: str, target: BrokerProcess, http: HttpClient
) -> None:
    text = {
        "payload": envelope(notify(f"<a{attributes}/>")),
        "envelope": envelope(notify("<a/>"), attributes=attributes),
        "operation": envelope(subscribe(HERE, attributes=attributes)),
        "header": envelope(notify("<a/>"), f'<x:h xmlns:x="urn:x"{attributes}/>'),
    }[where]
    began = time.monotonic()
    answer = await say(http, target, text)
    assert answer.status in (200, 202, 400), answer
    assert time.monotonic() - began < 2, "nobody else is served meanwhile"


async def test_a_payload_of_many_attributes_is_delivered_whole(
    target: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    about = f"wide/t{uuid4().hex}"
    await subscribed(http, target, sink.url("wide"), about, dialect="wsn-1.3")
    assert (await say(http, target, envelope(notify(f"<a{ATTRIBUTES}/>", about)))).status == 202
    await wait_until(lambda: sink.at("wide"), "it arrives")
    assert sink.payloads("wide")[0].count(b'=""') == MANY


@pytest.mark.parametrize("block", ["<h/>", '<x:h xmlns:x="u"/>', "<a:MessageID/>"])
async def test_a_header_of_very_many_blocks(block: str, target: BrokerProcess, http: HttpClient) -> None:
    count = min(MANY, 1_000_000 // len(block))
    assert (await say(http, target, envelope(notify("<a/>"), block * count))).status == 202


async def test_ten_thousand_messages_at_once(target: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about, one = f"m{uuid4().hex[:6]}", "<n:NotificationMessage>{}<n:Message><a/></n:Message></n:NotificationMessage>"
    last = one.format(f"<n:Topic>{about}</n:Topic>")
    await subscribed(http, target, sink.url("last"), about)
    content = f"<n:Notify>{one.format('') * 10_000}{last}</n:Notify>"
    assert (await say(http, target, envelope(content))).status == 202
    await wait_until(lambda: sink.at("last"), "the last of them arrives")


async def test_many_messages_within_many_declarations(target: BrokerProcess, http: HttpClient) -> None:
    """Each of them would have to repeat all declarations to stand alone."""
    declared = "".join(f' xmlns:p{number:x}="urn:{number}"' for number in range(15_000))
    one = "<n:NotificationMessage><n:Topic>p1:a</n:Topic><n:Message><p1:a/></n:Message></n:NotificationMessage>"
    parameters = f"<a:ReferenceParameters{declared}>{'<p1:a/>' * 4000}</a:ReferenceParameters>"
    for text in (
        envelope(subscribe(HERE, parameters=parameters)),
        envelope(f"<n:Notify><!-- -->{one * 4000}</n:Notify>", attributes=declared),
        envelope(f"<n:Notify{declared}>{one * 4000}</n:Notify>"),
    ):
        await refused(http, target, text, "prefixes")
    few = "".join(f' xmlns:p{number:x}="urn:{"x" * 60}"' for number in range(100))
    parameters = f"<a:ReferenceParameters{few}>{'<p1:a/>' * 100_000}</a:ReferenceParameters>"
    await refused(http, target, envelope(subscribe(HERE, parameters=parameters)), "reference parameters")
    told = await say(http, target, envelope(f"<n:Notify{few}><!-- -->{one * 8000}</n:Notify>"))
    assert told.status == 202


async def test_doubled_headers_are_taken_and_of_contrary_ones_the_first_counts(
    target: BrokerProcess, http: HttpClient
) -> None:
    first, second = "<a:MessageID>urn:first</a:MessageID>", "<a:MessageID>urn:second</a:MessageID>"
    older = '<o:MessageID xmlns:o="http://schemas.xmlsoap.org/ws/2004/08/addressing">urn:older</o:MessageID>'
    for blocks in (first * 2, first + second, first + older, first + second * 1000):
        to = "<a:To>urn:x</a:To><a:To>urn:y</a:To><a:Action>urn:other</a:Action>"
        answer = await say(http, target, envelope(subscribe(HERE), blocks + to))
        assert answer.status == 200 and text_at(answer.body, "RelatesTo") == "urn:first"


NO_PREFIX = {
    "topic expression": (
        subscribe(
            HERE,
            '<n:Filter><n:TopicExpression Dialect="http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete">'
            "x:a</n:TopicExpression></n:Filter>",
        ),
        "'x'",
    ),
    "topic": (notify("<a/>", "x:a/y:b"), "'x'"),
    "name of a property": (
        f'<r:GetResourceProperty xmlns:r="{WSRF_PROPERTIES}">x:Strange</r:GetResourceProperty>',
        "x:Strange",
    ),
    "reference parameters": (
        subscribe(HERE, parameters="<a:ReferenceParameters><x:a/></a:ReferenceParameters>"),
        "prefix",
    ),
    "payload": (notify("<x:a/>"), "prefix"),
}


@pytest.mark.parametrize("case", NO_PREFIX)
async def test_prefixes_that_are_not_declared(case: str, target: BrokerProcess, http: HttpClient) -> None:
    content, word = NO_PREFIX[case]
    await refused(http, target, envelope(content), word)


BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + each)} "{f"&{chr(97 + each)};" * 10}">' for each in range(9)
)
BAD_XML: dict[str, tuple[str | bytes, str]] = {
    "deep": (envelope(notify("<a>" * 50_000 + "</a>" * 50_000)), "depth"),
    "bomb": (BOMB + "]>" + envelope(notify("<a>&j;</a>")), ""),
    "outside": ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + envelope(notify("<a>&x;</a>")), ""),
    "parameter": ('<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:9/">%x;]>' + envelope(notify("<a/>")), ""),
    "unknown entity": (envelope(notify("<a>&x;</a>")), "x"),
    "zero": (envelope(notify("<a>\0</a>")), ""),
    "zero reference": (envelope(notify("<a>&#0;</a>")), ""),
    "surrogate": (envelope(notify("<a>&#xD800;</a>")), ""),
    "charset": (envelope(notify("<a>\xe9</a>")).encode("latin-1"), ""),
    "odd encoding": (envelope(notify("<a/>"), declaration='<?xml version="1.0" encoding="klingon"?>'), ""),
    "wrong encoding": (
        envelope(notify("<a/>"), declaration='<?xml version="1.0" encoding="utf-16"?>').encode(),
        "",
    ),
    "half a character": ("\ufeff".encode("utf-16-le") + envelope(notify("<a/>")).encode("utf-16-le")[:-1], ""),
    "twice an attribute": (envelope(notify('<a b="" b=""/>')), "b"),
    "two documents": (envelope(notify("<a/>")) * 2, ""),
}


@pytest.mark.parametrize("case", BAD_XML)
async def test_xml_that_is_refused(case: str, target: BrokerProcess, http: HttpClient) -> None:
    text, word = BAD_XML[case]
    await refused(http, target, text, word)


@pytest.mark.parametrize("mark", ["\ufeff", ""], ids=["marked", "not marked"])
@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
async def test_utf_16(order: str, mark: str, target: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about = f"wide/t{uuid4().hex}"
    await subscribed(http, target, sink.url("wide"), about)
    text = mark + envelope(
        notify("<a>\u00e9\u20ac\U0001f514</a>", about), declaration='<?xml version="1.0" encoding="UTF-16"?>'
    )
    assert (await say(http, target, text.encode(order))).status == 202
    await wait_until(lambda: sink.at("wide"), "it arrives")
    assert "\u00e9\u20ac\U0001f514" in sink.payloads("wide")[0].decode()


async def test_cdata_is_text(target: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about = f"cdata/t{uuid4().hex}"
    await subscribed(http, target, sink.url("cdata"), about)
    payload = "<a><![CDATA[</n:Message><!DOCTYPE x><b>&amp;]]></a>"
    assert (await say(http, target, envelope(notify(payload, f"<![CDATA[{about}]]>")))).status == 202
    await wait_until(lambda: sink.at("cdata"), "it arrives")
    assert text_at(sink.payloads("cdata")[0], "a") == "</n:Message><!DOCTYPE x><b>&amp;"


BAD_TIMES = (
    "PT0S",
    "-PT1H",
    "P0Y",
    "PT",
    "P",
    "PT1e3S",
    "PT-1S",
    "P1Y-1M",
    "PT" + "9" * 50_000 + "S",
    "2001-01-01T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "2099-02-30T00:00:00Z",
    "2099-01-01T00:00:00+99:99",
    "2099-01-01T00:00:60Z",
    "12099-01-01T00:00:00Z",
    "2099-01-01",
    "1999999999",
    "\u0662\u0660\u0669\u0669-01-01T00:00:00Z",
)
GOOD_TIMES = (
    "PT1H",
    "P1Y2M3DT4H5M6.789S",
    "PT999999999999S",
    "P999999Y",
    "2099-01-01T00:00:00",
    "2099-01-01T00:00:00+14:00",
    "2099-01-01T00:00:00.123456789123-12:59",
    "9999-12-31T23:59:59Z",
)


@pytest.mark.parametrize("text", BAD_TIMES, ids=[each[:30] for each in BAD_TIMES])
async def test_times_that_are_none_or_past(text: str, target: BrokerProcess, http: HttpClient) -> None:
    asked = envelope(subscribe(HERE, f"<n:InitialTerminationTime>{text}</n:InitialTerminationTime>"))
    await refused(http, target, asked, "")
    answer = await http.request("POST", f"{target.url}/broker", *wse_subscribe(HERE, expires=text))
    assert fault_of(answer.body).subcode == f"{{{WSE}}}InvalidExpirationTime"


@pytest.mark.parametrize("text", GOOD_TIMES)
async def test_odd_times_are_granted_up_to_the_longest(text: str, target: BrokerProcess, http: HttpClient) -> None:
    asked = envelope(subscribe(HERE, f"<n:InitialTerminationTime>{text}</n:InitialTerminationTime>"))
    answer = await say(http, target, asked)
    assert answer.status == 200
    assert text_at(answer.body, "CurrentTime") < text_at(answer.body, "TerminationTime") < "2100"


async def test_in_2011_pt0s_asks_for_no_end(target: BrokerProcess, http: HttpClient) -> None:
    headers, body = wse_subscribe(HERE, expires="PT0S")
    body = body.replace(WSE.encode(), WSE_2011.encode()).replace(b' Mode="', b' x="')
    answer = await http.request("POST", f"{target.url}/broker", headers, body)
    assert answer.status == 200 and text_at(answer.body, "GrantedExpires").startswith("PT")


OWN_NAMES = (
    "localhost",
    "LOCALHOST",
    "LocalHost.",
    "127.0.0.1",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::7f00:1]",
)
NUMBERS = ("2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.", "017700000001")


async def consumer_refused(http: HttpClient, broker: BrokerProcess, address: str, word: str) -> None:
    await refused(http, broker, envelope(subscribe(address)), word)
    answer = await http.request("POST", f"{broker.url}/broker", *wse_subscribe(address))
    assert fault_of(answer.body).subcode == f"{{{WSE}}}InvalidMessage"
    asked = {"consumer": address, "topic": "t"}
    assert (await call(http, "POST", f"{broker.url}/api/subscriptions", asked)).status == 400


@pytest.mark.parametrize("host", OWN_NAMES)
async def test_the_broker_is_no_consumer_of_its_own(host: str, target: BrokerProcess, http: HttpClient) -> None:
    for path in ("/broker", "/events", "/broker/publish/t", ""):
        await refused(http, target, envelope(subscribe(f"http://{host}:{target.port}{path}")), "own address")
    await consumer_refused(http, target, f"http://{host}:{target.port}/broker", "own address")


@pytest.mark.parametrize("host", ["broker.example", "BROKER.example", "broker.example."])
async def test_nor_by_the_name_it_advertises(host: str, target: BrokerProcess, http: HttpClient) -> None:
    await consumer_refused(http, target, f"http://{host}:4321/broker", "own address")


@pytest.mark.parametrize("host", NUMBERS)
async def test_nor_by_a_number(host: str, target: BrokerProcess, http: HttpClient) -> None:
    await consumer_refused(http, target, f"http://{host}:{target.port}/broker", "is a number")


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("http://169.254.169.254/latest/meta-data/", "link-local"),
        ("http://[fe80::1]/", "link-local"),
        ("http://[::ffff:169.254.169.254]/", "link-local"),
        ("http://[64:ff9b::a9fe:a9fe]/", "link-local"),
        ("http://[2002:a9fe:a9fe::1]/", "link-local"),
        ("http://[::1%25lo]:1/", "zone"),
        ("http://0.0.0.0:1/", "unspecified"),
        ("http://0.1.2.3:1/", "unspecified"),
        ("http://[::]:1/", "unspecified"),
        ("http://255.255.255.255/", "reserved"),
        ("http://[ff02::1]/", "multicast"),
        ("http://user:secret@example.com/", "password"),
        ("http://example.com\\@127.0.0.1/", "backslash"),
        ("http://ex\u00e4mple.com/", "ASCII"),
        ("http://example.com:0/", "port 0"),
        ("http://example.com:99999/", "cannot be read"),
        ("file:///etc/passwd", "http://"),
        ("gopher://127.0.0.1:9/", "http://"),
        ("urn:uuid:1", "http://"),
    ],
)
async def test_nothing_is_sent_there(address: str, word: str, target: BrokerProcess, http: HttpClient) -> None:
    await consumer_refused(http, target, address, word)


async def test_a_redirect_to_the_broker_is_not_followed(target: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about = f"round/t{uuid4().hex}"
    name = await subscribed(http, target, sink.url("round"), about, dialect="wsn-1.3")
    back = f"Location: {target.url}/broker\r\n"
    sink.script = lambda received: Say(307, back) if received.path == "/round" else Say()
    await publish(http, target, about, 1)
    (letter,) = await until(lambda: dead_letters(http, target, name), bool)
    assert "307" in letter["reason"]
    assert len(sink.at("round")) == letter["attempts"]
    listed = document((await call(http, "GET", f"{target.url}/api/topics")).body)["items"]
    assert [each["notifications"] for each in listed if each["topic"] == about] == [1]


async def test_large_reference_parameters_are_echoed(target: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about, big = f"big/t{uuid4().hex}", "y" * 500_000
    parameters = f'<a:ReferenceParameters><x:p xmlns:x="urn:x">{big}</x:p></a:ReferenceParameters>'
    topic = f"<n:Filter><n:TopicExpression>{about}</n:TopicExpression></n:Filter>"
    answer = await say(http, target, envelope(subscribe(sink.url("big"), topic, parameters)))
    assert answer.status == 200
    await publish(http, target, about, 1, 2)
    await wait_until(lambda: len(sink.at("big")) == 2, "both arrive")
    assert all(text_at(each.body, "p") == big for each in sink.at("big"))


async def test_reference_parameters_cannot_pose_as_headers_of_ours(
    target: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    """They are marked, so that who receives them knows (WS-Addressing 1.0 SOAP binding s4)."""
    about = f"pose/t{uuid4().hex}"
    parameters = "<a:ReferenceParameters><a:Action>urn:evil</a:Action></a:ReferenceParameters>"
    topic = f"<n:Filter><n:TopicExpression>{about}</n:TopicExpression></n:Filter>"
    assert (await say(http, target, envelope(subscribe(sink.url("pose"), topic, parameters)))).status == 200
    await publish(http, target, about, 1)
    await wait_until(lambda: sink.at("pose"), "it arrives")
    body = sink.at("pose")[0].body
    assert text_at(body, "Action") != "urn:evil" and b"IsReferenceParameter" in body


async def test_names_without_end(target: BrokerProcess, http: HttpClient) -> None:
    long = "x" * 600_000
    before = await offset(http, target)
    for headers, content in [
        (f"<a:MessageID>{long}</a:MessageID>", notify("<a/>")),
        ("", notify("<a/>", long)),
        ("", notify("<a/>", "/".join("x" * 250_000))),
        ("", subscribe(f"http://127.0.0.1:9/{long}")),
        ("", subscribe(HERE, f"<n:Filter><n:TopicExpression>{'a|' * 300_000}a</n:TopicExpression></n:Filter>")),
        ("", subscribe(HERE, f"<n:Filter><n:MessageContent>{'(' * 300_000}</n:MessageContent></n:Filter>")),
        ("", subscribe(HERE, f"<n:Filter><n:MessageContent>{'(' * 4_000}</n:MessageContent></n:Filter>")),
        ("", f'<r:GetResourceProperty xmlns:r="{WSRF_PROPERTIES}">{long}</r:GetResourceProperty>'),
        ("", f"<n:{long}/>"),
    ]:
        answer = await say(http, target, envelope(content, headers))
        assert answer.status in (202, 400, 413) and len(answer.body) < 20_000, content[:80]
    assert await offset(http, target) - before <= 3, "a long topic may be one, no other is"
    megabyte = envelope(notify("<a/>"), f"<a:MessageID>{'x' * (1 << 20)}</a:MessageID>")
    assert (await say(http, target, megabyte)).status == 413


@pytest.mark.parametrize(
    "path", ["/broker/publish/a%00b", "/broker/publish/%2e%2e/x", "/broker/subscriptions/%00", "/%00"]
)
async def test_addresses_that_are_odd(path: str, target: BrokerProcess, http: HttpClient) -> None:
    answer = await http.request("POST", target.url + path, JSON, b"{}")
    assert 400 <= answer.status < 500


async def test_zeroes_in_json(target: BrokerProcess, http: HttpClient) -> None:
    event = b'{"specversion":"1.0","id":"a\\u0000","source":"/","type":"t"}'
    kind = (("Content-Type", "application/cloudevents+json"),)
    assert (await http.request("POST", f"{target.url}/events", kind, event)).status == 400
    assert (await http.request("POST", f"{target.url}/events", kind, b'{"a":\0}')).status == 400


GOOD = envelope(notify("<a/>")).encode()
CHUNKED = b"%x\r\n%b\r\n0\r\n" % (len(GOOD), GOOD)


async def test_http_1_0(target: BrokerProcess) -> None:
    request = by_hand.post(GOOD, version="1.0").replace(b"Host: x\r\n", b"").replace(b"Connection: close\r\n", b"")
    (heard,) = await by_hand.speak(target.port, request)
    assert heard.status == 202, "and it was closed, for nothing else was said"


async def test_chunks_with_trailers(target: BrokerProcess) -> None:
    trailers = b"".join(b"X-%d: y\r\n" % number for number in range(1000))
    head = by_hand.post(b"", "Transfer-Encoding: chunked", framing=False)
    (heard,) = await by_hand.speak(target.port, head, CHUNKED + trailers + b"\r\n")
    assert heard.status == 202


async def test_trailers_do_not_become_headers(target: BrokerProcess) -> None:
    head = by_hand.post(b"", "Transfer-Encoding: chunked", framing=False)
    (heard,) = await by_hand.speak(target.port, head, CHUNKED + b"Content-Encoding: gzip\r\n\r\n")
    assert heard.status == 202


@pytest.mark.parametrize(
    "framing",
    [
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Content-Length: -1",),
        ("Content-Length: 99999999999999999999999",),
        ("Content-Length: 5x",),
        ("Transfer-Encoding: chunked, chunked",),
    ],
    ids=" ".join,
)
async def test_lengths_that_contradict(framing: tuple[str, ...], target: BrokerProcess) -> None:
    """Read in one way here and in another by a proxy, they would smuggle a request past it."""
    request = by_hand.post(b"", *framing, framing=False)
    found = await by_hand.speak(target.port, request, b"0\r\n\r\n" + by_hand.post(GOOD))
    assert [each.status for each in found] in ([400], [413], [501])


async def test_a_length_that_is_too_small_leaves_no_request(target: BrokerProcess) -> None:
    request = (
        by_hand.post(GOOD).replace(b"Connection: close\r\n", b"").replace(b"%d\r\n\r\n" % len(GOOD), b"20\r\n\r\n")
    )
    found = await by_hand.speak(target.port, request)
    assert {each.status for each in found} == {400}


async def test_a_length_that_is_too_large_is_no_message(target: BrokerProcess, http: HttpClient) -> None:
    before = await offset(http, target)
    request = by_hand.post(GOOD).replace(b"Content-Length: %d" % len(GOOD), b"Content-Length: %d" % (len(GOOD) + 9))
    assert await by_hand.speak(target.port, request, end=True) == []
    assert await offset(http, target) == before


STRANGE = '<x:strange xmlns:x="urn:x" x:a="1"><x:deep/>text</x:strange>'


async def test_unknown_elements_are_passed_over_where_there_is_room_for_them(
    target: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    """WSN 1.3 and WSE have xs:any in these places, and attributes of other namespaces everywhere."""
    about = f"room/t{uuid4().hex}"
    topic = f'<n:Filter><n:TopicExpression xmlns:x="urn:x" x:a="1">{about}</n:TopicExpression></n:Filter>'
    asked = envelope(subscribe(sink.url("room"), topic + STRANGE, STRANGE, ' xmlns:x="urn:x" x:a="1"'), STRANGE)
    answer = await say(http, target, asked)
    assert answer.status == 200
    manager = "/broker/subscriptions/" + manager_of(answer.body).rpartition("/")[2]
    told = notify(f"<p>{STRANGE}</p>", about, STRANGE).replace(
        "</n:NotificationMessage>", f"{STRANGE}</n:NotificationMessage>"
    )
    assert (await say(http, target, envelope(told, STRANGE))).status == 202
    await wait_until(lambda: sink.at("room"), "it arrives")
    assert STRANGE.encode() in sink.payloads("room")[0], "what is inside the payload is kept"
    for content in (
        "<n:Renew><n:TerminationTime>PT1H</n:TerminationTime>{}</n:Renew>",
        "<n:Unsubscribe>{}</n:Unsubscribe>",
    ):
        assert (await say(http, target, envelope(content.format(STRANGE)), manager)).status == 200


async def test_and_so_in_ws_eventing(target: BrokerProcess, http: HttpClient) -> None:
    headers, body = wse_subscribe(HERE, expires="PT1H")
    for place in (b"</w:NotifyTo>", b"</w:Delivery>", b"</w:Subscribe>", b"</a:Address>", b"</e:Header>"):
        answer = await http.request(
            "POST",
            f"{target.url}/broker",
            headers,
            body.replace(
                place,
                place.replace(b"</", STRANGE.encode() + b"</")
                if place != b"</a:Address>"
                else place + STRANGE.encode(),
            ),
        )
        assert answer.status == 200, place


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
@pytest.mark.parametrize(
    ("attribute", "understood"),
    [
        ('e:mustUnderstand="1"', False),
        ('e:mustUnderstand="0"', True),
        ('e:mustUnderstand="1" e:{role}="urn:someone-else"', True),
        ("", True),
    ],
)
async def test_unknown_headers(
    attribute: str, understood: bool, soap: str, target: BrokerProcess, http: HttpClient
) -> None:
    block = f'<x:strange xmlns:x="urn:x" {attribute.format(role="actor" if soap == "1.1" else "role")}/>'
    text = envelope(notify("<a/>"), block).replace(SOAP["1.2"], SOAP[soap])
    kind = SOAP_12 if soap == "1.2" else (("Content-Type", "text/xml"),)
    answer = await http.request("POST", f"{target.url}/broker", kind, text.encode())
    assert answer.status == (202 if understood else 500)
    if not understood:
        fault = fault_of(answer.body)
        assert fault.code == f"{{{SOAP[soap]}}}MustUnderstand" and "{urn:x}strange" in fault.reason
