"""What went over the connections between nodes of this machine, as its kernel counted it."""

import socket
from collections.abc import Collection, Iterator
from pathlib import Path
from struct import Struct as Layout

from msgspec import Struct

from tocsin.mediation import between_nodes
from tocsin.model.records import Accepted, Record
from tocsin.store.codec import decode
from tocsin.store.log.reader import LogReader

# linux/sock_diag.h, inet_diag.h and tcp.h; a request for all established TCP connections of IPv4, with what is counted
_SOCK_DIAG, _BY_FAMILY, _DUMP, _TCP, _ESTABLISHED, _INFO = 4, 20, 0x301, 6, 1 << 1, 2
_HEAD, _ASKED, _PORTS, _ATTRIBUTE = Layout("=IHHII"), Layout("=BBBxI48x"), Layout("!HH"), Layout("=HH")
_SOCKET_BYTES, _PORTS_AT = 72, 4
_RECEIVED, _RECEIVED_AT, _SEGMENTS, _SEGMENTS_AT = Layout("=Q"), 128, Layout("=I"), 152


class Carried(Struct, frozen=True):
    bytes: int
    segments: int  # with anything in them

    def __sub__(self, before: "Carried") -> "Carried":
        return Carried(self.bytes - before.bytes, self.segments - before.segments)


def carried(ports: Collection[int]) -> Carried:
    """By the connections to these ports so far, in both directions: both ends tell what they received."""
    found = [counted for local, remote, counted in _connections() if local in ports or remote in ports]
    return Carried(sum(each.bytes for each in found), sum(each.segments for each in found))


def _connections() -> Iterator[tuple[int, int, Carried]]:
    for message in _dumped():
        local, remote = _PORTS.unpack_from(message, _PORTS_AT)
        for kind, body in _attributes(message[_SOCKET_BYTES:]):
            if kind == _INFO:
                received = _RECEIVED.unpack_from(body, _RECEIVED_AT)[0]
                yield local, remote, Carried(received, _SEGMENTS.unpack_from(body, _SEGMENTS_AT)[0])


def _dumped() -> Iterator[bytes]:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        asked = _ASKED.pack(socket.AF_INET, _TCP, 1 << _INFO - 1, _ESTABLISHED)
        kernel.send(_HEAD.pack(_HEAD.size + len(asked), _BY_FAMILY, _DUMP, 1, 0) + asked)
        while True:
            rest = kernel.recv(1 << 20)
            while rest:
                length, kind, *_ = _HEAD.unpack_from(rest)
                if kind != _BY_FAMILY:  # the end, or that it is not told
                    return
                yield rest[_HEAD.size : length]
                rest = rest[_aligned(length) :]


def _attributes(rest: bytes) -> Iterator[tuple[int, bytes]]:
    while len(rest) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(rest)
        yield kind, rest[_ATTRIBUTE.size : length]
        rest = rest[_aligned(length) :]


def _aligned(length: int) -> int:
    return length + 3 & ~3


class Relayed(Struct, frozen=True):
    requests: int
    notifications: int


def relayed(folder: Path, me: str) -> Relayed:
    """Of what that node has in its log, that which others passed on to it: each request is a record."""
    reader, requests, notifications = LogReader(folder / "log"), 0, 0
    try:
        for _, payload in reader.frames(reader.start(), reader.end()):
            if (record := _passed_on(decode(payload), me)) is not None:
                requests += 1
                notifications += sum(1 for _ in between_nodes.frames(record.body))
    finally:
        reader.close()
    return Relayed(requests, notifications)


def _passed_on(record: Record, me: str) -> Accepted | None:
    if not isinstance(record, Accepted) or record.dialect != between_nodes.NAME:
        return None
    return record if between_nodes.neighbour_at(record.door) != me else None
