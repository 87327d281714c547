import pytest
from tests.mediation.requests import accepted, envelope

from tocsin.markup import xml
from tocsin.mediation.dialects import normalise
from tocsin.mediation.soap.namespaces import TOCSIN
from tocsin.mediation.soap.templates import as_element
from tocsin.model.names import QName
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal


def read(attributes: str, content: str) -> Notification:
    data = f'<d:Data xmlns:d="{TOCSIN}" {attributes}>{content}</d:Data>'
    (found,) = normalise(accepted(envelope(data), "wse-2004-08", "/broker/publish"))
    return found


@pytest.mark.parametrize(
    ("attributes", "content", "payload", "kind"),
    [
        ('MediaType="application/json" Type="k"', '{"a":1}', Payload("application/json", b'{"a":1}'), "k"),
        ('MediaType="text/plain"', " a<!-- c -->b ", Payload("text/plain", b" ab "), None),
        ('MediaType="image/png" Encoding="base64"', "/w\n\tA=", Payload("image/png", b"\xff\0"), None),
        ('Type="{urn:x}y"', "", Payload("", b""), QName("urn:x", "y")),
        (
            'MediaType="application/xml" Type="{urn:x}y"',
            "&lt;broken",
            Payload("application/xml", b"<broken"),
            "{urn:x}y",
        ),
    ],
)
def test_what_is_not_xml_comes_in_a_wrapper(attributes: str, content: str, payload: Payload, kind: object) -> None:
    event = read(attributes, content)
    assert (event.payload, event.type) == (payload, kind)


@pytest.mark.parametrize(
    ("attributes", "content"),
    [
        ('MediaType="a&#13;&#10;b"', ""),
        ('Encoding="base64"', "?"),
        ('Type="a&#10;b"', ""),
    ],
)
def test_a_wrapper_that_is_refused(attributes: str, content: str) -> None:
    with pytest.raises(Refusal) as caught:
        read(attributes, content)
    assert caught.value.reason == "malformed"


@pytest.mark.parametrize("kind", ["", ' Type="{urn:x}y"'])
@pytest.mark.parametrize("content", ["&lt;/s:Body>", "&lt;a/>&lt;b/>", "no markup", "&lt;!DOCTYPE a>&lt;a/>"])
def test_text_that_claims_to_be_xml_never_becomes_markup(kind: str, content: str) -> None:
    event = read(f'MediaType="application/xml"{kind}', content)
    again = xml.parse(as_element(event))
    assert again.tag == f"{{{TOCSIN}}}Data"
    assert again.text == event.payload.data.decode()
