"""WS-Addressing 2005/08 and its drafts: endpoint references and message headers."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError
from tocsin.mediation.soap.entries import uri_of
from tocsin.mediation.soap.namespaces import WSA_2005, WSA_NAMESPACES, WSA_VERSIONS
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
_REFERENCES = tuple(
    f"{{{namespace}}}{local}" for namespace in WSA_VERSIONS for local in ("ReferenceParameters", "ReferenceProperties")
)
LONGEST_REFERENCE = 1 << 20
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
    if not reference or namespace_of(version) != WSA_2005:
        return reference
    holder = xml.parse(b"<holder>" + reference + b"</holder>")
    for part in holder:
        part.set(f"{{{WSA_2005}}}IsReferenceParameter", "true")
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


_WITHOUT_PARAMETERS = ("2003/03", "2004/03")


def namespace_of(version: str | None) -> str:
    return WSA_NAMESPACES[version or "2005/08"]
