"""HTTP that contradicts itself, and elements and headers that nobody here knows."""

from uuid import uuid4

import pytest
from tests.whole import hostility as by_hand
from tests.whole.hostile_target import HERE, SOAP_12, in_time_and_room, offset, say, target
from tests.whole.hostility import envelope, notify, subscribe
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import SOAP, fault_of, manager_of, wse_subscribe

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
__all__ = ["in_time_and_room", "target"]


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
