"""Replies in SOAP: the header by which a notification says how it may be replied to, and the operation that does it."""

from functools import lru_cache

from tocsin.markup import xml
from tocsin.markup.xml import Element
from tocsin.mediation.operations import Context, Reply
from tocsin.mediation.registry import REPLIES
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.soap import Envelope
from tocsin.model.refusal import Refusal

NAMESPACE = REPLIES
OPERATION = f"{{{NAMESPACE}}}Reply"  # with one Value
_NS = NAMESPACE.encode()


def reply_header(address: str, token: str, reply_type: str, wsa: str | None) -> tuple[bytes, ...]:
    """What a notification says to one receiver (paper 001 s2.2 step 4), in parts; the token ends the address."""
    before, between, after = _block(address, reply_type, wsa)
    said = token.encode()
    return before, said, between, said, after


@lru_cache(maxsize=1024)
def _block(address: str, reply_type: str, wsa: str | None) -> tuple[bytes, bytes, bytes]:
    """The header, but for its two tokens: all receivers of a publication are told it alike."""
    echo = b'<r:Token xmlns:r="%b">@</r:Token>' % _NS
    said = soap.reference_content(f"{address}@", echo, wsa)
    block = b'<r:ReplyTo xmlns:r="%b"><r:ReplyType>%b</r:ReplyType><r:Endpoint>%b</r:Endpoint></r:ReplyTo>' % (
        _NS,
        xml.text(reply_type).replace(b"@", b"&#64;"),
        said,
    )
    before, between, after = block.rsplit(b"@", 2)
    return before, between, after


def token_and_value(envelope: Envelope, name: str) -> tuple[str, str]:
    """`name` is the token in the address, empty where it is echoed in a header alone."""
    assert envelope.content is not None
    values: list[Element] = list(envelope.content.iterchildren(f"{{{NAMESPACE}}}Value"))
    if len(values) != 1:
        raise Refusal("malformed", f"a Reply has one Value of {NAMESPACE}, not {len(values)}")
    echoed = envelope.headers.get("reply_token")
    token = name or ("" if echoed is None else (echoed.text or "").strip())
    if not token:
        raise Refusal("malformed", "whom to reply to says the address of the notification's ReplyTo, or its Token")
    return token, "".join(map(str, values[0].itertext()))


def counted(context: Context) -> Reply:
    content = b'<r:ReplyResponse xmlns:r="%b"/>' % _NS
    return soap.reply(context, f"{NAMESPACE}:ReplyResponse", content)
