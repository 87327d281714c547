"""The WSDL says what the tables say, in both versions of SOAP, and all that it refers to is served."""

import re

import pytest
from lxml import etree

from tocsin.doors.wsdl import SCHEMAS, description
from tocsin.mediation.operations import Reply
from tocsin.mediation.rules import Message
from tocsin.mediation.ws import wsn_1_3

WSDL = "http://schemas.xmlsoap.org/wsdl/"
WSAW = "http://www.w3.org/2006/05/addressing/wsdl"
SOAP = {"Soap11": "http://schemas.xmlsoap.org/wsdl/soap/", "Soap12": "http://schemas.xmlsoap.org/wsdl/soap12/"}
BASE = "https://events.example:8443"


def asked(query: str) -> Reply | None:
    return description({"query_string": query.encode()}, BASE)


def document(query: str) -> "etree._Element":
    reply = asked(query)
    assert reply is not None and reply.status == 200
    return etree.fromstring(reply.body)


def _element(wsdl: "etree._Element", message: str) -> str:
    """The Clark name of what a message holds."""
    part = wsdl.find(f"{{{WSDL}}}message[@name='{message.partition(':')[2]}']/{{{WSDL}}}part")
    assert part is not None
    prefix, _, local = part.get("element", "").partition(":")
    return f"{{{part.nsmap[prefix]}}}{local}"


def _actions(wsdl: "etree._Element", way: str) -> dict[str, str]:
    found = wsdl.iterfind(f"{{{WSDL}}}portType/{{{WSDL}}}operation/{{{WSDL}}}{way}")
    return {_element(wsdl, str(each.get("message"))): str(each.get(f"{{{WSAW}}}Action")) for each in found}


def _said(message: Message | None) -> dict[str, str]:
    return {} if message is None or message.element is None else {message.element.clark: message.action}


def test_actions() -> None:
    wsdl, requests = document("wsdl"), wsn_1_3.DIALECT.requests
    assert _actions(wsdl, "input") == {name: action for each in requests for name, action in _said(each).items()}
    assert _actions(wsdl, "output") == {name: act for each in requests for name, act in _said(each.answer).items()}


@pytest.mark.parametrize("suffix", SOAP)
def test_bindings(suffix: str) -> None:
    """Every operation of every port type, with its action; at the address that was advertised."""
    wsdl, soap = document("WSDL"), SOAP[suffix]
    for port_type in wsdl.iterfind(f"{{{WSDL}}}portType"):
        name = f"{port_type.get('name')}{suffix}"
        binding = wsdl.find(f"{{{WSDL}}}binding[@name='{name}']")
        address = wsdl.find(f"{{{WSDL}}}service/{{{WSDL}}}port[@name='{name}']/{{{soap}}}address")
        assert binding is not None and address is not None and address.get("location") == f"{BASE}/broker"
        for operation in port_type.iterfind(f"{{{WSDL}}}operation"):
            bound = binding.find(f"{{{WSDL}}}operation[@name='{operation.get('name')}']")
            told = operation.find(f"{{{WSDL}}}input")
            assert bound is not None and told is not None
            how = bound.find(f"{{{soap}}}operation")
            assert how is not None and how.get("soapAction") == told.get(f"{{{WSAW}}}Action")
            assert [each.get("name") for each in bound.iterfind(f"{{{WSDL}}}fault")] == [
                each.get("name") for each in operation.iterfind(f"{{{WSDL}}}fault")
            ]


def test_all_that_is_referred_to_is_served() -> None:
    referred = set[str]()
    for query in ("wsdl", *(f"xsd={name}" for name in SCHEMAS)):
        text = etree.tostring(document(query)).decode()
        assert "localhost" not in text
        referred |= set(re.findall(r'schemaLocation="([^"]*)"', text))
    assert referred <= {f"{BASE}/broker?xsd={name}" for name in SCHEMAS}


def test_what_is_not_there() -> None:
    assert asked("") is None and asked("x=1") is None
    missing = asked("xsd=../../secret")
    assert missing is not None and missing.status == 404 and b"b-2" in missing.body
