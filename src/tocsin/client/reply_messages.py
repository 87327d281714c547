"""Replies as a client says them in SOAP, and what a notification in any dialect tells of them.

Whatever the dialect, a notification that asks for a reply has the attributes of CloudEvents; in SOAP one more is the
token that its endpoint wants to be shown again.
"""

import uuid

from msgspec import Struct
from msgspec.structs import replace

from tocsin.client.requests import Written
from tocsin.markup import xml
from tocsin.markup.xml import text_of
from tocsin.mediation.dialects import BY_NAME
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.soap import Envelope
from tocsin.mediation.ws.reply_messages import NAMESPACE
from tocsin.model.identity import Pairs
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.replies import REPLY_FOR, REPLY_TO, REPLY_TYPE
from tocsin.model.reply_types import canonical, reply_type
from tocsin.model.subscription import Endpoint

ECHOED = "replytoken"
_NS = NAMESPACE.encode()


class Asked(Struct, frozen=True):
    """What a publisher asks of those who get it; `within` is how long replies count, empty as the broker has it."""

    type: str
    within: str = ""

    def attributes(self) -> Pairs:
        return ((REPLY_TYPE, self.type), *(((REPLY_FOR, self.within),) if self.within else ()))

    def header(self) -> bytes:
        within = b" for=%b" % xml.attribute(self.within) if self.within else b""
        return b'<r:ReplyType xmlns:r="%b"%b>%b</r:ReplyType>' % (_NS, within, xml.text(self.type))


def asking(body: bytes, asked: Asked) -> bytes:
    """A notification in SOAP as it is published, with one more header."""
    return body.replace(soap.BETWEEN, asked.header() + soap.BETWEEN, 1)


def told(found: tuple[Notification, ...], envelope: Envelope) -> tuple[Notification, ...]:
    """With what the header of the message tells of replies."""
    header = next(envelope.body.itersiblings(preceding=True), None)
    block = None if header is None else next(header.iterchildren(f"{{{NAMESPACE}}}ReplyTo"), None)
    place = None if block is None else block.find(f"{{{NAMESPACE}}}Endpoint")
    if block is None or place is None:
        return found
    said = {
        REPLY_TYPE: text_of(block.find(f"{{{NAMESPACE}}}ReplyType")),
        REPLY_TO: soap.address_of(place),
        ECHOED: text_of(next(place.iter(f"{{{NAMESPACE}}}Token"), None)),
    }
    return tuple(replace(each, attributes=tuple(sorted((dict(each.attributes) | said).items()))) for each in found)


def is_told(body: bytes) -> bool:
    """Whether it is worth looking; most messages ask for nothing."""
    return _NS in body


def spelled(type_: str, value: object) -> str:
    """The text of a value; refused where it is not of that type. One that is not known here the broker judges."""
    try:
        asked = reply_type(type_)
    except Refusal:
        return value if isinstance(value, str) else canonical(value)
    return asked.value_of(value)


def reply_in_soap(asked: Notification, value: object) -> Written:
    """To the endpoint that a notification announced, its token echoed."""
    content = b'<r:Reply xmlns:r="%b"><r:Value>%b</r:Value></r:Reply>' % (
        _NS,
        xml.text(spelled(asked.reply_type, value)),
    )
    token = asked.attribute(ECHOED)
    echo = b'<r:Token xmlns:r="%b">%b</r:Token>' % (_NS, xml.text(token)) if token else b""
    to, name = Endpoint(asked.attribute(REPLY_TO) or "", echo), f"urn:uuid:{uuid.uuid4()}"
    return soap.one_way("1.2", BY_NAME[asked.dialect].addressing, f"{NAMESPACE}:Reply", to, content, name)


def speaks_soap(asked: Notification) -> bool:
    return asked.attribute(ECHOED) is not None and BY_NAME[asked.dialect].is_soap
