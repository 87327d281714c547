"""The publications of the broker's benchmark: WS-Notification 1.3, all of one length, each with an id of its own."""

from random import Random

import msgspec

from tocsin.client.requests import NOWHERE, notice
from tocsin.mediation.ws import wsn_1_3
from tocsin.model.identity import Instant, MessageId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Copy, Message, Notification, Payload

LENGTH = 1475
TOPIC = Topic((QName("http://example.org/topics", "hazards"), QName("", "earthquakes")))
ID = b"urn:bench:"
ID_DIGITS = 16


ASKING = b'<r:ReplyType xmlns:r="urn:tocsin:reply" for="10m">enum:yes,no</r:ReplyType>'


class Messages:
    """`of(number)` is the HTTP request that publishes the message of that number at a URL. Those that are `asking` for
    replies are longer by that."""

    def __init__(self, seed: int, host: str, path: str, *, asking: bool = False, topic: Topic = TOPIC) -> None:
        headers, body = notice(wsn_1_3.DIALECT, _notification(Random(seed), topic), f"http://{host}{path}")
        begin, length = body.index(b"Header>") + len(b"Header>"), LENGTH + asking * len(ASKING)
        body = body[:begin] + asking * ASKING + body[begin:]
        head, self._tail = body.split(ID + b"0" * ID_DIGITS)
        self._tail = self._tail.replace(b"@", b"x" * (length - len(body) + 1))
        lines = [f"POST {path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers)]
        self._head = "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode() + head + ID

    def of(self, number: int) -> bytes:
        return b"%b%0*d%b" % (self._head, ID_DIGITS, number, self._tail)


def number_of(body: bytes) -> int:
    """The number of a message, whichever dialect it came in."""
    at = body.index(ID) + len(ID)
    return int(body[at : at + ID_DIGITS])


def _notification(random: Random, topic: Topic) -> Notification:
    readings = "".join(_reading(station, random) for station in range(4))
    event = f'<q:Quake xmlns:q="http://example.org/quakes">{readings}<q:remark>@</q:remark></q:Quake>'
    return Notification(
        MessageId(ID.decode() + "0" * ID_DIGITS),
        NOWHERE,
        0,
        Instant(0),
        "wsn-1.3",
        "",
        "http://example.org/seismologist",
        topic,
        QName("http://example.org/quakes", "Quake"),
        (),
        Payload("application/xml", event.encode()),
    )


def _reading(station: int, random: Random) -> str:
    magnitude = f"<q:magnitude>{random.uniform(3, 8):.3f}</q:magnitude>"
    depth = f"<q:depth>{random.uniform(1, 90):05.1f}</q:depth>"
    return f'<q:station id="{station}">{magnitude}{depth}</q:station>'


ROOT, ALARM = "observer", "Alarm"
DATA = "x" * 1000


class Copies:
    """`of(number)` is a copy of the message of that number."""

    def __init__(self, sender: str, to: str) -> None:
        name = MessageId(ID.decode() + "0" * ID_DIGITS)
        payload = Payload("text/plain", DATA.encode())
        message = Message(name, "din", ROOT, ALARM, payload, Instant(0), "http://127.0.0.1:8080")
        written = msgspec.msgpack.encode(Copy("0" * 24, message, sender, to, 2))
        self._head, self._tail = written.split(name.encode())

    def of(self, number: int) -> bytes:
        return b"%b%b%0*d%b" % (self._head, ID, ID_DIGITS, number, self._tail)
