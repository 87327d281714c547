"""What is sent to harm, or by somebody who cannot do better, is answered soon and costs little."""

from uuid import uuid4

import pytest
from tests.whole.acts import JSON, publish
from tests.whole.acts import subscribe as subscribed
from tests.whole.hostile_target import HERE, MANY, in_time_and_room, offset, refused, say, target
from tests.whole.hostility import envelope, notify, subscribe
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import text_at

from tocsin.mediation.soap.namespaces import WSRF_PROPERTIES
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
__all__ = ["in_time_and_room", "target"]


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
    began = target.processor_seconds()
    answer = await say(http, target, text)
    assert answer.status in (200, 202, 400), answer
    assert target.processor_seconds() - began < 2, "nobody else is served meanwhile"


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
        ("", notify("<a/>", "x:a").replace("<n:Topic>", f'<n:Topic xmlns:x="urn:{long}">')),
        ("", subscribe(f"http://127.0.0.1:9/{long}")),
        ("", subscribe(HERE, f"<n:Filter><n:TopicExpression>{'a|' * 300_000}a</n:TopicExpression></n:Filter>")),
        ("", subscribe(HERE, f"<n:Filter><n:MessageContent>{'(' * 300_000}</n:MessageContent></n:Filter>")),
        ("", subscribe(HERE, f"<n:Filter><n:MessageContent>{'(' * 4_000}</n:MessageContent></n:Filter>")),
        ("", f'<r:GetResourceProperty xmlns:r="{WSRF_PROPERTIES}">{long}</r:GetResourceProperty>'),
        ("", f"<n:{long}/>"),
    ]:
        answer = await say(http, target, envelope(content, headers))
        assert answer.status == 400 and len(answer.body) < 20_000, (answer, content[:80])
    assert await offset(http, target) == before
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


@pytest.mark.parametrize("charset", ["punycode", "idna", "zip", "unicode_escape", "x" * 10_000, ".."])
async def test_charsets_that_are_none(charset: str, target: BrokerProcess, http: HttpClient) -> None:
    kind = (("Content-Type", f"application/cloudevents+json; charset={charset}"),)
    answer = await http.request("POST", f"{target.url}/events", kind, b"a-" + b"b9" * 500_000)
    assert answer.status == 400 and "charset" in document(answer.body)["detail"]
