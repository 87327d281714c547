"""DIME frames: messages of typed records on a stream of bytes (draft-nielsen-dime-02), as SOAP over TCP uses them.

A message here is one payload, in one record or in a chain of chunks. SOAP stands in a record whose type is the URI of
its envelope's namespace; the media types of SOAP are understood as well.
"""

import struct
from typing import Literal

from msgspec import Struct

from tocsin.mediation.soap.namespaces import SOAP_11, SOAP_12

Format = Literal["media type", "uri", "unknown", "none"]

VERSION = 1
BEGIN, END, CHUNK = 4, 2, 1  # MB, ME and CF, below the five bits of the version
UNCHANGED = 0  # TYPE_T of all chunks but the first
_FORMATS: dict[int, Format] = {1: "media type", 2: "uri", 3: "unknown", 4: "none"}
_NUMBERS = {name: number for number, name in _FORMATS.items()}
_HEADER = struct.Struct(">BBHHHI")
_SLACK = 256 << 10  # what types, ids, options and the headers of chunks may take besides the data

_CONTENT_TYPES = {SOAP_11: "text/xml; charset=utf-8", SOAP_12: "application/soap+xml; charset=utf-8"}


class DimeError(ValueError):
    """What was sent cannot be read as a message; nothing after it on the same stream can be either."""


class TooLong(DimeError):
    """More data than is accepted in one message."""


class Message(Struct, frozen=True):
    """`type` is a media type or a URI, as `format` says."""

    data: bytes
    type: str = ""
    format: Format = "unknown"
    id: str = ""


class Header(Struct, frozen=True):
    """The first twelve octets of a record; lengths are without padding."""

    version: int
    flags: int
    format: int
    reserved: int
    options: int
    id: int
    type: int
    data: int

    @classmethod
    def read(cls, octets: bytes | bytearray) -> "Header":
        first, second, options, name, kind, data = _HEADER.unpack_from(octets)
        return cls(first >> 3, first & 7, second >> 4, second & 15, options, name, kind, data)

    @property
    def size(self) -> int:
        return _HEADER.size + sum(map(_padded, (self.options, self.id, self.type, self.data)))


def write(message: Message, *, chunk: int | None = None) -> bytes:
    """One record, or with `chunk` records with at most so many octets of data each."""
    data, step = message.data, chunk or len(message.data) or 1
    starts = range(0, len(data) or 1, step)
    records = []
    for start in starts:
        first, last = start == 0, start == starts[-1]
        flags = (BEGIN if first else 0) | (END if last else CHUNK)
        number, kind, name = (_NUMBERS[message.format], message.type, message.id) if first else (UNCHANGED, "", "")
        records.append(_record(flags, number, name.encode(), kind.encode(), data[start : start + step]))
    return b"".join(records)


def _record(flags: int, number: int, name: bytes, kind: bytes, data: bytes) -> bytes:
    header = _HEADER.pack(VERSION << 3 | flags, number << 4, 0, len(name), len(kind), len(data))
    return b"".join((header, _pad(name), _pad(kind), _pad(data)))


def _pad(octets: bytes) -> bytes:
    return octets + bytes(-len(octets) % 4)


def _padded(length: int) -> int:
    return length + -length % 4


class Reader:
    """Takes octets as they come, gives messages as they are whole, and holds no more than `limit` and a little."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._first: Message | None = None  # of a chain of chunks: its type and id
        self._parts: list[bytes] = []
        self._length = self._taken = 0

    @property
    def under_way(self) -> bool:
        return bool(self._buffer) or self._first is not None

    def feed(self, octets: bytes) -> list[Message]:
        """A DimeError says what is wrong; the messages before it are in its `args[1]`, for they were whole."""
        self._buffer += octets
        found: list[Message] = []
        try:
            while (message := self._next()) is not None:
                if isinstance(message, Message):
                    found.append(message)
        except DimeError as problem:
            raise type(problem)(str(problem), found) from None
        return found

    def _next(self) -> Message | bool | None:
        """A whole message, True for a chunk of one, None when more octets are needed."""
        if len(self._buffer) < _HEADER.size:
            return None
        header = Header.read(self._buffer)
        self._check(header)
        if self._length + header.data > self._limit:
            raise TooLong(f"the message has more than the {self._limit} bytes that are accepted here")
        if self._taken + header.size > self._limit + _SLACK:
            raise TooLong("the message is made of too many small chunks, or its types and options are too long")
        if len(self._buffer) < header.size:
            return None
        record = self._record(header)
        del self._buffer[: header.size]
        first = self._first or record
        self._parts.append(record.data)
        self._length += header.data
        self._taken += header.size
        if not header.flags & END:
            self._first = first
            return True
        data = b"".join(self._parts)
        self._first, self._parts, self._length, self._taken = None, [], 0, 0
        return Message(data, first.type, first.format, first.id)

    def _check(self, header: Header) -> None:
        if header.version != VERSION:
            text = f"this is not DIME of version {VERSION}, the only frames taken here (its version would be"
            raise DimeError(f"{text} {header.version}); HTTP is served at another port")
        if header.reserved:
            raise DimeError("the reserved bits of a record are not zero")
        begins, ends, goes_on = (bool(header.flags & flag) for flag in (BEGIN, END, CHUNK))
        if ends and goes_on:
            raise DimeError("a record cannot both end the message and be followed by another chunk")
        if self._first is not None:
            self._check_chunk(header, begins=begins)
        elif not begins:
            raise DimeError("the first record of a message must say so (MB)")
        else:
            name = _FORMATS.get(header.format)
            if name is None:
                raise DimeError(f"the type format {header.format} is not known in a first record; 1 to 4 are")
            if name in ("unknown", "none") and header.type:
                raise DimeError(f"a record with the type format {header.format} must not name a type")
            if name == "none" and header.data:
                raise DimeError("a record of no type must not hold data")
        if not ends and not goes_on:
            raise DimeError("a message with several records has attachments, which are not supported; send one record")

    def _check_chunk(self, header: Header, *, begins: bool) -> None:
        if begins:
            raise DimeError("a message begins (MB) before the one before it has ended (ME)")
        if header.format != UNCHANGED or header.id or header.type:
            raise DimeError("a further chunk has the type and id of the first, and must not give its own")

    def _record(self, header: Header) -> Message:
        """Options are passed over (draft s3.2.7: who does not know one ignores it)."""
        at = _HEADER.size + _padded(header.options)
        name = self._text(at, header.id)
        at += _padded(header.id)
        kind = self._text(at, header.type)
        at += _padded(header.type)
        data = bytes(memoryview(self._buffer)[at : at + header.data])
        return Message(data, kind, _FORMATS.get(header.format, "unknown"), name)

    def _text(self, at: int, length: int) -> str:
        try:
            return self._buffer[at : at + length].decode("ascii")
        except UnicodeDecodeError:
            raise DimeError("the type or id of a record is not in ASCII") from None


def content_type(message: Message) -> str:
    """As HTTP would name it; empty when the message does not tell."""
    if message.format == "media type":
        return message.type
    return _CONTENT_TYPES.get(message.type, "")


def of_soap(body: bytes, media_type: str) -> Message:
    """An envelope in a record of the type that belongs to its media type; anything else as what it is."""
    kind = media_type.partition(";")[0].strip().lower()
    if kind == "application/soap+xml":
        return Message(body, SOAP_12, "uri")
    if kind == "text/xml":
        return Message(body, SOAP_11, "uri")
    return Message(body, media_type, "media type") if media_type else Message(body)
