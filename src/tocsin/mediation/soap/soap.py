"""SOAP 1.1 and 1.2 envelopes: opened once at the door, written from byte templates."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote

from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError
from tocsin.mediation.operations import Context, Reply
from tocsin.mediation.soap import addressing
from tocsin.mediation.soap.entries import Found, first_child, uri_of
from tocsin.mediation.soap.namespaces import SOAP_11_ACTORS, SOAP_12, SOAP_NAMESPACES, SOAP_VERSIONS, WSSE
from tocsin.model.identity import Pairs
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint

# Clark name -> (entry, version of WS-Addressing); the registry adds what the dialects read.
Headers = Mapping[str, tuple[str, str | None]]
HEADERS: Headers = addressing.HEADERS | {f"{{{WSSE}}}Security": ("security", None)}
_PARTS = {
    f"{{{namespace}}}Envelope": (f"{{{namespace}}}Header", f"{{{namespace}}}Body", version)
    for namespace, version in SOAP_VERSIONS.items()
}


class Envelope(Struct):
    """A message taken apart as far as every dialect needs it; the parsed parts never leave this folder's hands."""

    soap: str
    addressing: str | None
    headers: Found
    body: Element
    content: Element | None
    data: bytes

    @property
    def operation(self) -> str:
        """The Clark name of the first body child, on which we dispatch; empty for an empty body."""
        return "" if self.content is None else str(self.content.tag)

    def header(self, name: str) -> str:
        return uri_of(self.headers.get(name))

    def context(self, dialect: str) -> Context:
        return Context(dialect, self.soap, self.addressing, self.header("message_id"), self.operation)


def open_envelope(body: bytes, known: Headers = HEADERS) -> Envelope:
    try:
        root = xml.parse(body)
    except MarkupError as problem:
        raise Refusal("malformed", str(problem)) from None
    if root.tag not in _PARTS:
        raise Refusal("malformed", f"{root.tag} is not a SOAP 1.1 or 1.2 Envelope")
    header_tag, body_tag, soap = _PARTS[root.tag]
    headers: Found = {}
    version: str | None = None
    for part in root:
        tag = part.tag
        if tag == body_tag:
            return Envelope(soap, version, headers, part, first_child(part), body)
        if tag == header_tag:
            version = _read_headers(part, headers, soap, known) or version
    raise Refusal("malformed", "the SOAP envelope has no Body")


def _read_headers(header: Element, found: Found, soap: str, known_headers: Headers) -> str | None:
    """Repeated headers are tolerated, the first counts: real clients send WS-Addressing twice."""
    version: str | None = None
    for block in header:
        known = known_headers.get(block.tag)
        if known is None:
            _refuse_must_understand(block, soap)
            continue
        name, of = known
        version = version or of
        if name not in found:
            found[name] = block
    return version


def _refuse_must_understand(block: Element, soap: str) -> None:
    """Unless it is for someone else on the way (SOAP 1.1 s4.2.2, SOAP 1.2 part 1 s2.2)."""
    if not isinstance(block.tag, str) or block.get(_in(soap, "mustUnderstand")) not in ("1", "true"):
        return
    if block.get(_in(soap, "actor" if soap == "1.1" else "role")) in _OUR_ROLES:
        raise Refusal("must-understand", f"the header {block.tag} must be understood, and is not")


def _in(soap: str, local: str) -> str:
    return f"{{{SOAP_NAMESPACES[soap]}}}{local}"


_OUR_ROLES = (None, "", f"{SOAP_11_ACTORS}next", f"{SOAP_12}/role/next", f"{SOAP_12}/role/ultimateReceiver")


def guess_soap(content_type: str) -> str:
    """The version to answer in when the envelope itself cannot be read."""
    return "1.2" if "application/soap+xml" in content_type else "1.1"


@lru_cache(maxsize=16)
def opening(soap: str, wsa: str | None) -> bytes:
    return b'<s:Envelope xmlns:s="%b" xmlns:wsa="%b"><s:Header>' % (
        SOAP_NAMESPACES[soap].encode(),
        addressing.namespace_of(wsa).encode(),
    )


_SAFE_IN_HEADER = "".join(map(chr, range(0x21, 0x7F))).replace('"', "").replace("\\", "")
BETWEEN = b"</s:Header><s:Body>"
CLOSING = b"</s:Body></s:Envelope>"


def http_headers(soap: str, action: str) -> Pairs:
    """The action is the publisher's text: what would end the header or its quotes is percent-encoded."""
    action = quote(action, safe=_SAFE_IN_HEADER)
    if soap == "1.2":
        return (("Content-Type", f'application/soap+xml; charset=utf-8; action="{action}"'),)
    return (("Content-Type", "text/xml; charset=utf-8"), ("SOAPAction", f'"{action}"'))


def reply(context: Context, action: str, content: bytes, *, status: int = 200, wsa: str | None = None) -> Reply:
    """An answer in the requester's own SOAP and WS-Addressing; without its headers when it sent none.

    `wsa` is the version of references inside the content for a requester whose headers do not tell.
    """
    headers = b""
    if context.addressing is not None:
        headers = addressing.block("Action", action)
        if context.message_id:
            headers += addressing.block("RelatesTo", context.message_id)
    body = b"".join((opening(context.soap, context.addressing or wsa), headers, BETWEEN, content, CLOSING))
    return Reply(status, http_headers(context.soap, action)[:1], body)


def one_way(
    version: str, wsa: str | None, action: str, to: Endpoint, content: bytes, message_id: str = ""
) -> tuple[Pairs, bytes]:
    """A message of ours to somebody's endpoint, its reference parameters echoed."""
    headers = addressing.block("Action", action) + addressing.block("To", to.address)
    if message_id:
        headers += addressing.block("MessageID", message_id)
    headers += addressing.echoed(to.reference, wsa)
    return http_headers(version, action), b"".join((opening(version, wsa), headers, BETWEEN, content, CLOSING))
