"""SOAP 1.1 and 1.2 envelopes, opened once and written from byte templates, with WS-Addressing and its drafts."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from urllib.parse import quote

from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError
from tocsin.mediation.operations import Context, Reply
from tocsin.mediation.soap import namespaces as ns
from tocsin.model.identity import Pairs
from tocsin.model.names import QName
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint

# Clark name -> (entry, version of WS-Addressing); the registry adds what the dialects read.
Headers = Mapping[str, tuple[str, str | None]]
HEADERS: Headers = {
    f"{{{namespace}}}{local}": (name, version)
    for namespace, version in ns.WSA_VERSIONS.items()
    for local, name in {
        "Action": "action",
        "MessageID": "message_id",
        "To": "to",
        "From": "from",
        "ReplyTo": "reply_to",
        "FaultTo": "fault_to",
        "RelatesTo": "relates_to",
    }.items()
} | {f"{{{ns.WSSE}}}Security": ("security", None)}
_PARTS = {
    f"{{{namespace}}}Envelope": (f"{{{namespace}}}Header", f"{{{namespace}}}Body", version)
    for namespace, version in ns.SOAP_VERSIONS.items()
}
_REFERENCES = tuple(
    f"{{{namespace}}}{local}"
    for namespace in ns.WSA_VERSIONS
    for local in ("ReferenceParameters", "ReferenceProperties")
)
LONGEST_REFERENCE = 1 << 20
_ADDRESSES = frozenset(f"{{{namespace}}}Address" for namespace in ns.WSA_VERSIONS)
_WITHOUT_PARAMETERS = ("2003/03", "2004/03")
LONGEST_URI = 4096
_PLAIN_URI = re.compile("[!-~]{1,512}")
_URI = re.compile(f"[^\x00-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]{{0,{LONGEST_URI}}}")


class Envelope(Struct):
    """A message taken apart as far as every dialect needs it; the parsed parts never leave this folder's hands.

    `operation` is the Clark name of the first body child, on which we dispatch; empty for an empty body.
    """

    soap: str
    addressing: str | None
    headers: dict[str, Element]
    body: Element
    content: Element | None
    operation: str
    data: bytes

    def header(self, name: str) -> str:
        return uri_of(self.headers.get(name))

    def context(self, dialect: str) -> Context:
        return Context(dialect, self.soap, self.addressing, self.header("message_id"), self.operation)


def open_envelope(body: bytes, known: Headers = HEADERS) -> Envelope:
    """Repeated headers are tolerated, the first counts: real clients send WS-Addressing twice."""
    try:
        root = xml.parse(body)
    except MarkupError as problem:
        raise Refusal("malformed", str(problem)) from None
    if root.tag not in _PARTS:
        raise Refusal("malformed", f"{root.tag} is not a SOAP 1.1 or 1.2 Envelope")
    header_tag, body_tag, soap = _PARTS[root.tag]
    headers: dict[str, Element] = {}
    version: str | None = None
    for part in root:
        if part.tag == body_tag:
            content = next(part.iterchildren("*"), None)
            operation = "" if content is None else str(content.tag)
            return Envelope(soap, version, headers, part, content, operation, body)
        for block in part if part.tag == header_tag else ():
            if block.tag in known:
                name, wsa = known[block.tag]
                version = version or wsa
                headers.setdefault(name, block)
            else:
                _refuse_must_understand(block, soap)
    raise Refusal("malformed", "the SOAP envelope has no Body")


def _refuse_must_understand(block: Element, soap: str) -> None:
    """Unless it is for someone else on the way (SOAP 1.1 s4.2.2, SOAP 1.2 part 1 s2.2)."""
    if not isinstance(block.tag, str) or block.get(_in(soap, "mustUnderstand")) not in ("1", "true"):
        return
    if block.get(_in(soap, "actor" if soap == "1.1" else "role")) in _OUR_ROLES:
        raise Refusal("must-understand", f"the header {block.tag} must be understood, and is not")


def _in(soap: str, local: str) -> str:
    return f"{{{ns.SOAP_NAMESPACES[soap]}}}{local}"


_OUR_ROLES = (None, "", f"{ns.SOAP_11_ACTORS}next", f"{ns.SOAP_12}/role/next", f"{ns.SOAP_12}/role/ultimateReceiver")


def guess_soap(content_type: str) -> str:
    """The version to answer in when the envelope itself cannot be read."""
    return "1.2" if "application/soap+xml" in content_type else "1.1"


@lru_cache(maxsize=16)
def opening(soap: str, wsa: str | None) -> bytes:
    return b'<s:Envelope xmlns:s="%b" xmlns:wsa="%b"><s:Header>' % (
        ns.SOAP_NAMESPACES[soap].encode(),
        namespace_of(wsa).encode(),
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
        headers = block("Action", action)
        if context.message_id:
            headers += block("RelatesTo", context.message_id)
    body = b"".join((opening(context.soap, context.addressing or wsa), headers, BETWEEN, content, CLOSING))
    return Reply(status, http_headers(context.soap, action)[:1], body)


def one_way(
    version: str, wsa: str | None, action: str, to: Endpoint, content: bytes, message_id: str = ""
) -> tuple[Pairs, bytes]:
    """A message of ours to somebody's endpoint, its reference parameters echoed."""
    headers = block("Action", action) + block("To", to.address)
    if message_id:
        headers += block("MessageID", message_id)
    headers += echoed(to.reference, wsa)
    return http_headers(version, action), b"".join((opening(version, wsa), headers, BETWEEN, content, CLOSING))


def uri_of(element: Element | None) -> str:
    """An xs:anyURI, whose white space is collapsed; what goes into headers and caches is short and printable."""
    if element is None:
        return ""
    text = element.text or ""
    if _PLAIN_URI.fullmatch(text) and not len(element):
        return text
    return uri_in(xml.text_in(element), element.tag.rpartition("}")[2])


def uri_in(text: str, what: str) -> str:
    text = " ".join(text.split())
    if not is_uri(text):
        raise Refusal("malformed", f"{what} is longer than {LONGEST_URI} characters or holds control characters")
    return text


def is_uri(text: str) -> bool:
    return _URI.fullmatch(text) is not None


def address_of(reference: Element | None) -> str:
    """The address alone, empty when there is none."""
    for child in reference if reference is not None else ():
        if child.tag in _ADDRESSES:
            return uri_of(child)
    return ""


def version_of(reference: Element) -> str | None:
    return next((ns.WSA_VERSIONS[child.tag[1:].split("}")[0]] for child in reference if child.tag in _ADDRESSES), None)


def endpoint(reference: Element, what: str) -> Endpoint:
    address = address_of(reference)
    if not address:
        raise Refusal("bad-consumer", f"{what} lacks a WS-Addressing Address")
    return Endpoint(address, b"".join(_parameters(reference, what)))


def _parameters(reference: Element, what: str) -> Iterator[bytes]:
    """Each repeats what is declared around it, so that together they may be far longer than they were."""
    size = 0
    try:
        for part in chain.from_iterable(xml.serialise_inner(each) for each in reference if each.tag in _REFERENCES):
            yield part
            size += len(part)
            if size > LONGEST_REFERENCE:
                raise MarkupError(f"its reference parameters come to more than {LONGEST_REFERENCE} bytes")
    except MarkupError as problem:
        raise Refusal("bad-consumer", f"{what}: {problem}") from None


def echoed(reference: bytes, version: str | None) -> bytes:
    """Reference parameters as the headers of a message to their endpoint (WS-Addressing 1.0 SOAP binding s4)."""
    if not reference or namespace_of(version) != ns.WSA_2005:
        return reference
    holder = xml.parse(b"<holder>" + reference + b"</holder>")
    for part in holder:
        part.set(f"{{{ns.WSA_2005}}}IsReferenceParameter", "true")
    return b"".join(map(xml.serialise, holder))


def block(name: str, value: str) -> bytes:
    return b"<wsa:%b>%b</wsa:%b>" % (name.encode(), xml.text(value), name.encode())


@lru_cache(maxsize=4096)
def reference_content(address: str, parameters: bytes = b"", version: str | None = None) -> bytes:
    """What stands inside an endpoint reference; the drafts before 2004/08 know properties only."""
    if not parameters:
        return block("Address", address)
    holder = b"ReferenceProperties" if version in _WITHOUT_PARAMETERS else b"ReferenceParameters"
    return b"%b<wsa:%b>%b</wsa:%b>" % (block("Address", address), holder, parameters, holder)


def reference(name: str, address: str, parameters: bytes = b"", version: str | None = None) -> bytes:
    """An endpoint reference inside an element of that (prefixed) name."""
    return b"<%b>%b</%b>" % (name.encode(), reference_content(address, parameters, version), name.encode())


def namespace_of(version: str | None) -> str:
    return ns.WSA_NAMESPACES[version or "2005/08"]


_SOAP = ("wse", "wsn", "onvif")
DEFAULT_ACTION = "urn:tocsin:notification"


def action_of(notification: Notification) -> str:
    if notification.attributes and notification.dialect.startswith(_SOAP):
        return notification.attribute("action") or action_for(notification.type)
    return action_for(notification.type)


@lru_cache(maxsize=1024)
def action_for(kind: QName | str | None) -> str:
    """The action of an event of that type, when its publisher gave none."""
    match kind:
        case QName(namespace, local) if namespace:
            return f"{namespace}{'' if namespace[-1] in '/#:' else '/'}{local}"
        case QName(_, local):
            return f"urn:{local}"
        case str(name):
            return " ".join(name.split()) or DEFAULT_ACTION
    return DEFAULT_ACTION


@lru_cache(maxsize=1024)
def attributes_for(action: str, kind: QName | str | None) -> Pairs:
    """An action that only repeats the type is not kept: any dialect can tell it from the type."""
    return (("action", action),) if action and action != action_for(kind) else ()
