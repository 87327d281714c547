"""What clients do with HTTP itself: offers of HTTP/2, packed bodies, other encodings, older versions."""

import asyncio
import gzip
import zlib
from uuid import uuid4

import pytest
from tests.whole.acts import subscribe
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import Said, Tongue, fault_of, message, notify, wse_event

from tocsin.model.identity import Pairs
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker

JAVA = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"
HOST = "Host: broker\r\n"


async def post(port: int, path: str, version: str, more: str, body: bytes, *, parts: int = 1) -> bytes:
    """The answer to a request as it stands on the wire, sent in several parts when asked to."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    kind = f"Content-Type: application/soap+xml\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"POST {path} HTTP/{version}\r\n{more}{kind}\r\n".encode())
    for part in range(parts):
        await writer.drain()
        writer.write(body[part * len(body) // parts : (part + 1) * len(body) // parts])
    try:
        while (head := await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).startswith(b"HTTP/1.1 100"):
            pass
        return head
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("1.1", HOST),
        ("1.0", ""),
        ("1.1", f"{HOST}Expect: 100-continue\r\n"),
        ("1.1", HOST + JAVA),
        ("1.1", HOST + JAVA.lower()),
    ],
    ids=["plain", "1.0", "continue", "java", "java in small letters"],
)
@pytest.mark.parametrize("parts", [1, 3])
async def test_a_notify_however_it_comes(
    version: str, more: str, parts: int, broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    about, payload = f"http/t{uuid4().hex}", "<a>\r\nUpgrade: h2c\r\n\r\n</a>"
    await subscribe(http, broker, sink.url("a"), about)
    _, body = notify(message(payload.replace("\r", "&#13;"), about))
    assert (await post(broker.port, "/broker", version, more, body, parts=parts)).startswith(b"HTTP/1.1 202 ")
    (found,) = await wait_until(lambda: sink.notifications("a"), "it arrives")
    assert b"Upgrade: h2c" in found.payload.data


@pytest.mark.parametrize(
    ("name", "packed"), [("gzip", gzip.compress), ("GZip", gzip.compress), ("deflate", zlib.compress)]
)
async def test_packed_bodies(name: str, packed: object, broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    assert callable(packed)
    about, encoding = f"packed/t{uuid4().hex}", ("Content-Encoding", name)
    await subscribe(http, broker, sink.url("a"), about)
    headers, body = notify(message("<a/>", about))
    answer = await http.request("POST", f"{broker.url}/broker", (*headers, encoding), packed(body))
    assert answer.status == 202
    event = f'{{"specversion":"1.0","id":"{about}","source":"/","type":"t","subject":"{about}"}}'.encode()
    headers = (("Content-Type", "application/cloudevents+json"), encoding)
    assert (await http.request("POST", f"{broker.url}/events", headers, packed(event))).status == 202
    await wait_until(lambda: len(sink.notifications("a")) == 2, "both arrive")


def bomb() -> bytes:
    """64 MiB in 64 KiB."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()


@pytest.mark.parametrize(
    ("name", "body", "status", "word"),
    [
        ("gzip", bomb(), 413, "1048576 bytes"),
        ("gzip", gzip.compress(b"<a/>" * 100)[:-12], 400, "ends before"),
        ("gzip", b"<a/>", 400, "content encoding gzip"),
        ("br", b"<a/>", 400, "gzip is"),
    ],
    ids=["bomb", "cut", "not packed", "unknown"],
)
async def test_bodies_packed_badly(
    name: str, body: bytes, status: int, word: str, broker: BrokerProcess, http: HttpClient
) -> None:
    before = broker.peak_memory()
    headers: Pairs = (("Content-Type", "application/soap+xml"), ("Content-Encoding", name))
    answer = await http.request("POST", f"{broker.url}/broker", headers, body)
    assert answer.status == status and word in fault_of(answer.body).reason
    for path, kind in (("/events", "application/cloudevents+json"), ("/api/subscriptions", "application/json")):
        answer = await http.request("POST", broker.url + path, (("Content-Type", kind), *headers[1:]), body)
        assert answer.status == status and word in document(answer.body)["detail"]
    assert broker.peak_memory() - before < 20 << 20


def in_utf_16(said: Said) -> Said:
    return said[0], said[1].decode().replace('encoding="utf-8"', 'encoding="utf-16"').encode("utf-16")


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
async def test_envelopes_in_utf_16(soap: str, broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about, tongue = f"wide/t{uuid4().hex}", Tongue(soap)
    await subscribe(http, broker, sink.url("a"), about)
    for path, said in (
        ("/broker", notify(message("<a>ü</a>", about), tongue=tongue)),
        ("/broker/publish", wse_event("<a>ü</a>", about, tongue=tongue)),
    ):
        kind = (("Content-Type", said[0][0][1].partition(";")[0]),)
        answer = await http.request("POST", broker.url + path, kind, in_utf_16(said)[1])
        assert answer.status == 202, answer
    await wait_until(lambda: len(sink.notifications("a")) == 2, "both arrive")
    assert all(">ü</a>".encode() in each.payload.data for each in sink.notifications("a"))
