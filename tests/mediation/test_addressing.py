import pytest
from lxml import etree
from tests.mediation.requests import WSA

from tocsin.markup import xml
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.namespaces import WSA_2005
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint

MARK = f"{{{WSA_2005}}}IsReferenceParameter"
VERSIONS = pytest.mark.parametrize("version", ["2004/08", "2005/08"])


def reference(inner: str, version: str = "2005/08") -> xml.Element:
    return xml.parse(f'<r xmlns:wsa="{WSA[version]}" xmlns:q="urn:q">{inner}</r>'.encode())


@VERSIONS
@pytest.mark.parametrize("holder", ["ReferenceParameters", "ReferenceProperties"])
def test_an_endpoint_keeps_its_reference_parameters_verbatim(version: str, holder: str) -> None:
    parts = f"<wsa:{holder}><q:id k='1'>q:x &amp; y</q:id><z/></wsa:{holder}>"
    element = reference(f"<wsa:Address> http://c/?a=1&amp;b=2 </wsa:Address>{parts}", version)
    endpoint = soap.endpoint(element, "NotifyTo")
    assert endpoint.address == "http://c/?a=1&b=2"
    assert soap.version_of(element) == version
    first, second = xml.parse(b"<holder>" + endpoint.reference + b"</holder>")
    assert (first.tag, first.get("k"), first.text, first.nsmap["q"]) == ("{urn:q}id", "1", "q:x & y", "urn:q")
    assert second.tag == "z"


def test_an_endpoint_without_an_address_is_refused() -> None:
    for inner in ("", "<wsa:Address/>", "<wsa:Address> </wsa:Address>", "<Address>http://c/</Address>"):
        with pytest.raises(Refusal, match="NotifyTo lacks a WS-Addressing Address"):
            soap.endpoint(reference(inner), "NotifyTo")


def test_wsa_1_0_soap_s4_echoed_parameters_are_marked() -> None:
    given = b'<q:id xmlns:q="urn:q" k="1">q:x</q:id><z xmlns="urn:z"><in/></z>'
    parts = xml.parse(b"<holder>" + soap.echoed(given, "2005/08") + b"</holder>")
    assert [part.get(MARK) for part in parts] == ["true", "true"]
    for part in parts:
        del part.attrib[MARK]
        etree.cleanup_namespaces(part, keep_ns_prefixes=["q"])
    before = [etree.tostring(part, method="c14n") for part in xml.parse(b"<holder>" + given + b"</holder>")]
    assert [etree.tostring(part, method="c14n") for part in parts] == before


def test_wsa_2004_08_echoed_parameters_are_untouched() -> None:
    given = b'<q:id xmlns:q="urn:q"/>'
    assert soap.echoed(given, "2004/08") == given
    assert soap.echoed(b"", "2005/08") == b""


def test_an_unknown_version_is_written_and_marked_as_2005_08() -> None:
    assert soap.namespace_of(None) == WSA_2005
    assert b"IsReferenceParameter" in soap.echoed(b"<a/>", None)


@VERSIONS
def test_a_reference_can_be_read_again(version: str) -> None:
    written = soap.reference("r", "http://c/?a=1&b=<2>", b"<id>7</id>")
    read = xml.parse(b'<o xmlns:wsa="%b">%b</o>' % (WSA[version].encode(), written))[0]
    assert soap.endpoint(read, "r") == Endpoint(
        "http://c/?a=1&b=<2>", b'<id xmlns:wsa="%b">7</id>' % WSA[version].encode()
    )
