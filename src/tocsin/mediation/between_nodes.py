"""Between the nodes of a tree or a ring: notifications whole, as MessagePack, so that nothing of them is lost.

Each stands in a frame of its own, and a message is one frame or more: frames are joined without being read again.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlencode

import msgspec
from msgspec.structs import replace

from tocsin.mediation.rules import Dialect
from tocsin.model.identity import Pairs
from tocsin.model.notification import EVERY_PLANE, Notification, Way
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import Subscription, neighbour_of

NAME = "node"
MEDIA_TYPE = "application/vnd.tocsin.notifications"
DOOR = "/peer/tree/notifications"
RING_DOOR = "/peer/ring/notifications"
MOST_DOORS = 1_024  # that are remembered: one for each node and plane, and each pull point
MOST_HOPS = 64  # of a tree; what came further goes in a circle
_HEADERS: Pairs = (("Content-Type", MEDIA_TYPE),)
_LENGTH = 4  # bytes
Arcs = tuple[tuple[int, int], ...]  # of the circle of keys
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Notification).decode


def address_of(node: str, by: str) -> str:
    """Where a neighbour takes what is passed on by the node that it calls so."""
    return f"{node}{DOOR}?by={quote(by, safe='')}"


def neighbour_at(door: str) -> str:
    """Who passed it on, by the door it came to."""
    return parse_qs(door.partition("?")[2]).get("by", [""])[-1]


def ring_door(
    by: str,
    plane: str = EVERY_PLANE,
    only: Iterable[str] = (),
    door: str = RING_DOOR,
    arcs: Arcs = (),
    moved: str = "",
) -> str:
    """Where what a node of the ring passes on comes in, with for whom it is."""
    spelt = ",".join(f"{first:x}-{last:x}" for first, last in arcs)
    said = {"by": by, "plane": plane, "only": ",".join(only), "arcs": spelt, "moved": moved}
    return f"{door}?{urlencode({name: value for name, value in said.items() if value})}"


def notifications(record: Accepted) -> tuple[Notification, ...]:
    """Place and time are this node's own; everything else is as it was published."""
    passed = _passed_by(record.door)
    return tuple(_received(each, record, index, passed) for index, each in enumerate(_read(record.body)))


class _Passed(NamedTuple):
    """Who passed it on, for the subscriptions of which plane, for which alone, of which arcs, and by which move."""

    by: str
    plane: str
    only: tuple[str, ...]
    arcs: Arcs
    moved: str


@lru_cache(MOST_DOORS)
def _passed_by(door: str) -> _Passed:
    asked = parse_qs(door.partition("?")[2])
    by, plane, moved = (asked.get(name, [""])[-1] for name in ("by", "plane", "moved"))
    only = tuple(asked["only"][-1].split(",")) if "only" in asked else ()
    arcs = asked["arcs"][-1].split(",") if "arcs" in asked else ()
    return _Passed(by, plane, only, tuple(map(_arc, arcs)), moved)


def _arc(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first, 16), int(last, 16)


def _received(told: Notification, record: Accepted, index: int, passed: _Passed) -> Notification:
    way, by = told.way or Way("", told.at.node, 0), passed.by
    way = Way(by, way.origin, way.hops + 1, (*way.path, by), *passed[1:])
    return replace(told, at=record.at, index=index, when=record.when, way=way)


def frame_of(notification: Notification) -> bytes:
    return _encode(notification)


def _read(body: bytes) -> Iterator[Notification]:
    try:
        yield from map(_decode, frames(body))
    except (msgspec.MsgspecError, ValueError) as problem:
        raise Refusal("malformed", f"not what a node passes on: {problem}") from None


def frames(body: bytes) -> Iterator[memoryview]:
    rest = memoryview(body)
    while rest:
        end = _LENGTH + int.from_bytes(rest[:_LENGTH])
        if end > len(rest):
            raise ValueError("it ends before it says it does")
        yield rest[_LENGTH:end]
        rest = rest[end:]


def framed(parts: Iterable[bytes | memoryview]) -> bytes:
    return b"".join(part for each in parts for part in (len(each).to_bytes(_LENGTH), each))


def with_reply(frame: bytes | memoryview, request: ReplyRequest) -> bytes:
    """What was passed on, with what this node makes of its request for replies."""
    return _encode(replace(_decode(frame), reply=request))


def customise(notification: Notification, subscription: Subscription, base_url: str) -> tuple[Pairs, bytes]:
    """What it says of replies is what another node may know. A pull point that has its home at another node of the
    ring is told where to reply by who tells it, as any receiver."""
    del base_url
    if notification.reply is not None:
        is_neighbour = neighbour_of(subscription) is not None
        notification = replace(notification, reply=notification.reply.for_neighbour() if is_neighbour else None)
    return _HEADERS, framed((_encode(notification),))


def combinable(headers: Pairs) -> bool:
    return headers == _HEADERS


DIALECT = Dialect(NAME, "between the nodes of a tree", read=notifications, write=customise, door=DOOR)
