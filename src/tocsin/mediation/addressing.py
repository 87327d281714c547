"""WS-Addressing 2005/08 and 2004/08: endpoint references and message headers."""

from functools import lru_cache

from tocsin.markup import xml
from tocsin.markup.xml import Element
from tocsin.mediation.entries import uri_of
from tocsin.mediation.namespaces import WSA_2004, WSA_2005, WSA_NAMESPACES, WSA_VERSIONS
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint

# One table for the headers of both versions: Clark name -> (entry, version).
HEADERS = {
    f"{{{namespace}}}{local}": (name, version)
    for namespace, version in WSA_VERSIONS.items()
    for local, name in {
        "Action": "action",
        "MessageID": "message_id",
        "To": "to",
        "From": "from",
        "ReplyTo": "reply_to",
        "FaultTo": "fault_to",
        "RelatesTo": "relates_to",
    }.items()
}
ANONYMOUS = {WSA_2005: f"{WSA_2005}/anonymous", WSA_2004: f"{WSA_2004}/role/anonymous"}
_REFERENCES = tuple(
    f"{{{namespace}}}{local}" for namespace in WSA_VERSIONS for local in ("ReferenceParameters", "ReferenceProperties")
)
_ADDRESSES = frozenset(f"{{{namespace}}}Address" for namespace in WSA_VERSIONS)


def address_of(reference: Element | None) -> str:
    """The address alone, empty when there is none."""
    for child in reference if reference is not None else ():
        if child.tag in _ADDRESSES:
            return uri_of(child)
    return ""


def version_of(reference: Element) -> str | None:
    return next((WSA_VERSIONS[child.tag[1:].split("}")[0]] for child in reference if child.tag in _ADDRESSES), None)


def endpoint(reference: Element, what: str) -> Endpoint:
    address = address_of(reference)
    if not address:
        raise Refusal("malformed", f"{what} lacks a WS-Addressing Address")
    parts = [part for child in reference if child.tag in _REFERENCES for part in child if isinstance(part.tag, str)]
    return Endpoint(address, b"".join(map(xml.serialise, parts)))


def echoed(reference: bytes, version: str | None) -> bytes:
    """Reference parameters as the headers of a message to their endpoint (WS-Addressing 1.0 SOAP binding s4)."""
    if not reference or namespace_of(version) != WSA_2005:
        return reference
    holder = xml.parse(b"<holder>" + reference + b"</holder>")
    for part in holder:
        part.set(f"{{{WSA_2005}}}IsReferenceParameter", "true")
    return b"".join(map(xml.serialise, holder))


def block(name: str, value: str) -> bytes:
    return b"<wsa:%b>%b</wsa:%b>" % (name.encode(), xml.text(value), name.encode())


@lru_cache(maxsize=4096)
def reference(name: str, address: str, parameters: bytes = b"") -> bytes:
    """An endpoint reference inside an element of that (prefixed) name."""
    if parameters:
        parameters = b"<wsa:ReferenceParameters>%b</wsa:ReferenceParameters>" % parameters
    return b"<%b>%b%b</%b>" % (name.encode(), block("Address", address), parameters, name.encode())


def namespace_of(version: str | None) -> str:
    return WSA_NAMESPACES[version or "2005/08"]
