"""Times and addresses that are odd, past, or point back at the broker."""

from uuid import uuid4

import pytest
from tests.whole.acts import call, dead_letters, publish, until
from tests.whole.acts import subscribe as subscribed
from tests.whole.hostile_target import HERE, in_time_and_room, refused, say, target
from tests.whole.hostility import envelope, subscribe
from tests.whole.shell import BrokerProcess, document
from tests.whole.sink import Say, Sink
from tests.whole.speech import WSE, fault_of, text_at, wse_subscribe

from tocsin.mediation.soap.namespaces import WSE_2011
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
__all__ = ["in_time_and_room", "target"]


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
