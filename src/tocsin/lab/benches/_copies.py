"""Copies of notifications as nodes send them to each other, each message with its own id."""

import msgspec

from tocsin.lab.benches._messages import ID, ID_DIGITS
from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Copy, Message, Payload

ROOT, TOPIC = "observer", "Alarm"
DATA = "x" * 1000


class Copies:
    """`of(number)` is a copy of the message of that number."""

    def __init__(self, sender: str, to: str) -> None:
        name = MessageId(ID.decode() + "0" * ID_DIGITS)
        payload = Payload("text/plain", DATA.encode())
        message = Message(name, "din", ROOT, TOPIC, payload, Instant(0), "http://127.0.0.1:8080")
        written = msgspec.msgpack.encode(Copy("0" * 24, message, sender, to, 2))
        self._head, self._tail = written.split(name.encode())

    def of(self, number: int) -> bytes:
        return b"%b%b%0*d%b" % (self._head, ID, ID_DIGITS, number, self._tail)
