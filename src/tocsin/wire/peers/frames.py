"""Frames between the nodes of a ring: the length of the body, the kind, the number of a stream, the body."""

import re
from collections.abc import Iterator
from struct import Struct

from tocsin.model.refusal import Reason, Refusal

HELLO, PROOF, REQUEST, ANSWER, REFUSAL, NOTE, PING, PONG, BYE = range(1, 10)
KINDS = dict(enumerate(("hello", "proof", "request", "answer", "refusal", "note", "ping", "pong", "bye"), start=1))
CONNECTION = 0  # the stream of what is about the connection itself; requests have the others
LAST_STREAM = 0xFFFFFFFF
MOST_BYTES = 16 << 20

Frame = tuple[int, int, bytes]  # kind, stream, body

_HEAD = Struct("!IBI")
_LONGEST_HEAD = _HEAD.size
_HTTP = re.compile(rb"[A-Z]{3,8} |[A-Z]{9}")
_TLS = b"\x16\x03"


class BadFrame(Refusal):
    """After it no beginning of a frame can be found any more; `head` is what should have been one."""

    def __init__(self, reason: Reason, text: str, head: bytes = b"") -> None:
        super().__init__(reason, text)
        self.head = head

    @property
    def is_http(self) -> bool:
        return _HTTP.match(self.head) is not None

    @property
    def is_tls(self) -> bool:
        return self.head.startswith(_TLS)


def head(kind: int, stream: int, length: int) -> bytes:
    return _HEAD.pack(length, kind, stream)


def frame(kind: int, stream: int, body: bytes = b"") -> bytes:
    return _HEAD.pack(len(body), kind, stream) + body


class FrameReader:
    """Frames of what comes in pieces. One that announces more than `most` bytes is refused by its head alone."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held, self._need = bytearray(), _LONGEST_HEAD

    @property
    def is_amid(self) -> bool:
        """Whether a frame has come in part."""
        return bool(self._held)

    def frames(self, data: bytes) -> Iterator[Frame]:
        """To be taken to its end, or never again after BadFrame; `most` may change between two frames."""
        if self._held:
            self._held += data
            if len(self._held) < self._need:
                return
            data = bytes(self._held)
            self._held.clear()
        at, end, self._need = 0, len(data), _LONGEST_HEAD
        while end - at >= _LONGEST_HEAD:
            length, kind, stream = _HEAD.unpack_from(data, at)
            if length > self.most or kind not in KINDS:
                raise self._bad(length, kind, data[at : at + _LONGEST_HEAD])
            begin, stop = at + _LONGEST_HEAD, at + _LONGEST_HEAD + length
            if stop > end:
                self._need = stop - at
                break
            at = stop
            yield kind, stream, data[begin:stop]
        if at < end:
            self._held += data[at:]

    def _bad(self, length: int, kind: int, told: bytes) -> BadFrame:
        if kind not in KINDS:
            return BadFrame("malformed", f"there are no frames of kind {kind} between the nodes of a ring", told)
        text = f"a frame of {length} bytes was announced; {self.most} are the most that are taken here"
        return BadFrame("too-large", text, told)
