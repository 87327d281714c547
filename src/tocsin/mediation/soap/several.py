"""Several notifications in one Notify of WS-Notification (1.3 s3.2, and its drafts): messages that were written one by
one are joined without being read again.

A NotificationMessage has no place for a message id. Ids travel in a header of ours, so that who reads it can tell a
repeated notification however it is grouped the next time; others are given one id for all of them. That one is made of
the ids: another group is another message, also where it begins with the same notification.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from tocsin.markup.xml import Element
from tocsin.mediation.registry import DIALECTS, IDS
from tocsin.mediation.rules import Message
from tocsin.mediation.soap import soap
from tocsin.model.identity import Pairs

_ID, _ID_END = b"<wsa:MessageID>", b"</wsa:MessageID>"
_IDS, _ID_OF_ONE, _IDS_END = b"<%b%b>" % (IDS.tag, IDS.declaration), b"<t:Id>%b</t:Id>", b"</%b>" % IDS.tag


class Part(Struct, frozen=True):
    """A message that holds one notification, cut: messages can be joined that are equal but for `id` and `holder`."""

    before: bytes
    id: bytes
    middle: bytes
    holder: bytes
    tail: bytes

    def fits(self, other: "Part") -> bool:
        return self.middle == other.middle and self.before == other.before and self.tail == other.tail


def cut(headers: Pairs, body: bytes) -> Part | None:
    """None where it is no Notify as we write it."""
    ends = _ends().get(headers)
    if ends is None:
        return None
    opening, tail = ends
    id_start = body.find(_ID) + len(_ID)
    id_end = body.find(_ID_END, id_start)
    start = body.find(opening, id_end) + len(opening)
    if id_start < len(_ID) or id_end < 0 or start < len(opening) or not body.endswith(tail):
        return None
    end = len(body) - len(tail)
    return Part(body[:id_start], body[id_start:id_end], body[id_end:start], body[start:end], tail)


def combine(parts: Sequence[Part]) -> bytes:
    """Of two and more that fit, in their order."""
    first = parts[0]
    ids = [each.id for each in parts]
    name = b"urn:tocsin:group:" + hashlib.blake2b(b" ".join(ids), digest_size=16).hexdigest().encode()
    told = b"%b%b%b%b" % (_ID_END, _IDS, b"".join(_ID_OF_ONE % each for each in ids), _IDS_END)
    middle = first.middle.removeprefix(_ID_END)
    return b"".join((first.before, name, told, middle, *(each.holder for each in parts), first.tail))


def ids_in(header: Element | None, count: int) -> list[str] | None:
    """None where it does not tell one of its own for each."""
    if header is None:
        return None
    found = [soap.uri_of(each) for each in header.iterchildren("*")]
    return found if len(set(found)) == count == len(found) and all(found) else None


@cache
def _ends() -> Mapping[Pairs, tuple[bytes, bytes]]:
    """By the headers of HTTP, which name the action: how what is around the holders ends and goes on."""
    return {
        soap.http_headers(version, message.action): _around(message)
        for message in _messages()
        for version in ("1.1", "1.2")
    }


def _messages() -> Iterable[Message]:
    return (each.wrapped for each in DIALECTS if each.wrapped is not None and each.wrapped.holder is not None)


def _around(message: Message) -> tuple[bytes, bytes]:
    assert message.element is not None
    tag, declaration = message.element.tag, message.element.declaration
    return b"%b<%b%b>" % (soap.BETWEEN, tag, declaration), b"</%b>%b" % (tag, soap.CLOSING)
