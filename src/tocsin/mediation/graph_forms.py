"""Delivery as an event graph: the syntaxes it can be had in, and how they are asked for."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tocsin.markup import xml
from tocsin.mediation.soap.namespaces import POLICY
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form

SYNTAXES: Mapping[str, str] = {
    "turtle": "text/turtle",
    "n-quads": "application/n-quads",
    "json-ld": "application/ld+json",
    "rdf-xml": "application/rdf+xml",
}
BINDINGS = "bindings"  # the attribute of a notification that holds them, an extension attribute in CloudEvents


def with_graph(form: Form, syntax: str | None, bindings: bool) -> Form:
    """As published without a syntax."""
    if syntax and syntax not in SYNTAXES:
        known = ", ".join(SYNTAXES)
        raise Refusal("unsupported-delivery", f"event graphs are not delivered as {syntax[:80]!r}; choose {known}")
    if form.thin and (syntax or bindings):
        text = "a thin notice tells where the data is, not the data; leave it out for event graphs or bindings"
        raise Refusal("unsupported-delivery", text)
    return replace(form, graph=syntax or "", bindings=bindings) if syntax or bindings else form


def bindings_block(told: str) -> bytes:
    """The header of SOAP that has them: variables with what they stand for, as N-Triples has it."""
    try:
        found = _decode(told or "{}")
    except msgspec.MsgspecError:  # a publisher's own attribute of that name
        found = {}
    if not found:
        return b""
    each = b"<t:Binding name=%b>%b</t:Binding>"
    inner = b"".join(each % (xml.attribute(name), xml.text(term)) for name, term in found.items())
    return b'<t:Bindings xmlns:t="%b">%b</t:Bindings>' % (POLICY.encode(), inner)


_decode = msgspec.json.Decoder(dict[str, str]).decode
