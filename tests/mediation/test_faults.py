import json
import re
from typing import get_args

import pytest
from lxml import etree
from tests.mediation.requests import NOW, SOAP, envelope

from tocsin.markup import xml
from tocsin.mediation.dialects import fault, hear
from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Context, Reply
from tocsin.mediation.soap.namespaces import WSE, WSE_PUSH, WSN, WSRF_FAULTS, WSRF_RESOURCE, WSSE
from tocsin.mediation.soap.soap import open_envelope
from tocsin.mediation.ws import wse_2004_08, wsn_1_3
from tocsin.model.names import QName
from tocsin.model.refusal import OUR_FAULT, Reason, Refusal

REASONS: tuple[Reason, ...] = get_args(Reason)
TEXT = "what is <wrong> & why: 100%b \x01"
SAID = "what is <wrong> & why: 100%b \ufffd"
# WS-Security s12 has the code for SOAP 1.1 as well.
SECURITY: dict[Reason, str] = {
    "not-authenticated": f"{{{WSSE}}}FailedAuthentication",
    "not-allowed": f"{{{WSSE}}}FailedCheck",
}
EVERY = [
    (dialect, soap, wsa)
    for dialect in ("wsn-1.3", "wse-2004-08")
    for soap in ("1.1", "1.2")
    for wsa in ("2004/08", "2005/08", None)
]


def made(
    reason: Reason, dialect: str = "wsn-1.3", soap: str = "1.2", operation: str = "", about: QName | None = None
) -> Reply:
    return fault(
        Context(dialect, soap, "2005/08", "urn:q", operation and f"{{{WSN}}}{operation}"),
        Refusal(reason, TEXT, about),
        NOW,
    )


def fault_in(reply: Reply) -> etree._Element:
    content = open_envelope(reply.body).content
    assert content is not None
    return content


def qname_of(element: etree._Element | None) -> str:
    assert element is not None
    prefix, _, local = str(element.text).partition(":")
    return f"{{{element.nsmap[prefix]}}}{local}"


def code_in(reply: Reply, soap: str) -> str:
    names = {"s": SOAP[soap]}
    return qname_of(fault_in(reply).find("faultcode" if soap == "1.1" else "s:Code/s:Value", names))


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize(("dialect", "soap", "wsa"), EVERY)
def test_every_fault_is_an_envelope_with_all_prefixes_declared(
    reason: Reason, dialect: str, soap: str, wsa: str | None
) -> None:
    reply = fault(Context(dialect, soap, wsa, "urn:q"), Refusal(reason, TEXT), NOW)
    opened = open_envelope(reply.body)
    assert (opened.soap, opened.addressing, opened.operation) == (soap, wsa, f"{{{SOAP[soap]}}}Fault")
    for element in fault_in(reply).iter():
        found = re.fullmatch(r"([A-Za-z]+):[A-Za-z]+", element.text or "")
        assert found is None or found[1] in element.nsmap
    names = {"s": SOAP[soap]}
    said = fault_in(reply).findtext("faultstring" if soap == "1.1" else "s:Reason/s:Text", namespaces=names)
    assert said == SAID


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("dialect", ["wsn-1.3", "wse-2004-08"])
def test_soap_1_1_s6_2_is_500_and_soap_1_2_part_2_s7_5_2_splits(reason: Reason, dialect: str) -> None:
    expected = {
        "too-large": 413,
        "too-slow": 408,
        "overloaded": 503,
        "cannot-store": 503,
        "not-authenticated": 401,
        "not-allowed": 403,
        "not-proven": 403,
    }
    assert made(reason, dialect, "1.1").status == expected.get(reason, 500)
    not_the_senders = reason in OUR_FAULT or reason == "must-understand"
    assert made(reason, dialect, "1.2").status == expected.get(reason, 500 if not_the_senders else 400)


@pytest.mark.parametrize("reason", REASONS)
def test_whose_fault_it_is(reason: Reason) -> None:
    ours = reason in OUR_FAULT
    code = "MustUnderstand" if reason == "must-understand" else "Receiver" if ours else "Sender"
    assert code_in(made(reason, "wse-2004-08", "1.2"), "1.2") == f"{{{SOAP['1.2']}}}{code}"
    code = "MustUnderstand" if reason == "must-understand" else "Server" if ours else "Client"
    expected = SECURITY.get(reason, f"{{{SOAP['1.1']}}}{code}")
    assert code_in(made(reason, "wsn-1.3", "1.1"), "1.1") == expected


@pytest.mark.parametrize("reason", sorted(wse_2004_08.FAULTS.named))
def test_wse_s4_the_subcode_is_the_faultcode_in_soap_1_1(reason: Reason) -> None:
    name = wse_2004_08.FAULTS.named[reason].clark
    assert code_in(made(reason, "wse-2004-08", "1.1"), "1.1") == name
    subcode = fault_in(made(reason, "wse-2004-08", "1.2")).find("{*}Code/{*}Subcode/{*}Value")
    assert qname_of(subcode) == name


@pytest.mark.parametrize("reason", sorted(wsn_1_3.FAULTS.named))
@pytest.mark.parametrize("soap", ["1.1", "1.2"])
def test_wsrf_base_faults_a_timestamp_comes_first(reason: Reason, soap: str) -> None:
    detail = fault_in(made(reason, soap=soap)).find("detail" if soap == "1.1" else "{*}Detail")
    assert detail is not None
    (base,) = detail
    assert base.tag == wsn_1_3.FAULTS.named[reason].clark
    assert [child.tag for child in base][:2] == [f"{{{WSRF_FAULTS}}}Timestamp", f"{{{WSRF_FAULTS}}}Description"]
    assert (base[0].text, base[1].text) == ("2023-11-14T22:13:20Z", SAID)


@pytest.mark.parametrize(
    ("operation", "reason", "name"),
    [
        ("Subscribe", "bad-expiry", "UnacceptableInitialTerminationTimeFault"),
        ("Renew", "bad-expiry", "UnacceptableTerminationTimeFault"),
        ("Subscribe", "malformed", "SubscribeCreationFailedFault"),
        ("Unsubscribe", "cannot-store", "UnableToDestroySubscriptionFault"),
    ],
)
def test_wsn_1_3_faults_of_one_operation(operation: str, reason: Reason, name: str) -> None:
    reply = made(reason, operation=operation)
    assert fault_in(reply).find(f".//{{{WSN}}}{name}") is not None
    least = fault_in(reply).findtext(f".//{{{WSN}}}MinimumTime")
    assert least == ("2023-11-14T22:13:20Z" if reason == "bad-expiry" else None)


def test_a_malformed_notify_is_no_failed_subscription() -> None:
    assert fault_in(made("malformed", operation="Notify")).find("{*}Detail") is None


def test_wsn_1_3_s4_1_an_invalid_filter_fault_names_the_filter() -> None:
    content = (
        "<wsnt:Subscribe><wsnt:ConsumerReference><wsa:Address>http://c/</wsa:Address></wsnt:ConsumerReference>"
        "<wsnt:Filter><t:strange/></wsnt:Filter></wsnt:Subscribe>"
    )
    opened = open_envelope(envelope(content, "<wsa:MessageID>urn:q</wsa:MessageID>"))
    with pytest.raises(Refusal) as caught:
        hear(opened, "", NOW)
    reply = fault(opened.context("wsn-1.3"), caught.value, NOW)
    assert qname_of(fault_in(reply).find(f".//{{{WSN}}}UnknownFilter")) == "{urn:t}strange"
    assert open_envelope(reply.body).header("relates_to") == "urn:q"


def test_a_name_without_a_namespace_can_be_at_fault_too() -> None:
    xml.parse(made("unsupported-filter", about=QName("", "strange")).body)


def test_an_unknown_subscription_is_400_for_clients_that_then_subscribe_again() -> None:
    reply = made("unknown-subscription")
    assert reply.status == 400
    assert fault_in(reply).find(f".//{{{WSRF_RESOURCE}}}ResourceUnknownFault") is not None


def test_wse_s4_details_say_what_is_supported() -> None:
    modes = fault_in(made("unsupported-delivery", "wse-2004-08")).iter(f"{{{WSE}}}SupportedDeliveryMode")
    assert [element.text for element in modes] == [WSE_PUSH]
    dialects = fault_in(made("unsupported-filter", "wse-2004-08")).iter(f"{{{WSE}}}SupportedDialect")
    assert [str(element.text).rpartition("/")[2] for element in dialects] == [
        "REC-xpath-19991116",
        "Simple",
        "Concrete",
        "Full",
        "ConcreteSet",
        "Action",
        "wsn",
        "urn:tocsin:dialect:content-topic",
        "urn:tocsin:dialect:type",
        "urn:tocsin:dialect:producer",
        "urn:tocsin:dialect:jsonpath",
        "urn:tocsin:dialect:cesql",
        "urn:tocsin:dialect:graph-pattern",
        "urn:tocsin:dialect:sparql",
        "urn:tocsin:dialect:sparql-plain",
    ]


@pytest.mark.parametrize(
    ("dialect", "wsa", "action"),
    [
        ("wsn-1.3", "2005/08", "http://docs.oasis-open.org/wsn/fault"),
        ("wse-2004-08", "2005/08", "http://www.w3.org/2005/08/addressing/fault"),
        ("wse-2004-08", "2004/08", "http://schemas.xmlsoap.org/ws/2004/08/addressing/fault"),
    ],
)
def test_the_action_of_a_fault(dialect: str, wsa: str, action: str) -> None:
    reply = fault(Context(dialect, "1.2", wsa), Refusal("malformed", "x"), NOW)
    assert open_envelope(reply.body).header("action") == action


@pytest.mark.parametrize("reason", ["overloaded", "cannot-store"])
def test_pressure_says_when_to_try_again(reason: Reason) -> None:
    for reply in (made(reason), problem(Refusal(reason, TEXT))):
        assert (reply.status, dict(reply.headers)["Retry-After"]) == (503, "1")


@pytest.mark.parametrize("reason", REASONS)
def test_rfc_9457_problem_details(reason: Reason) -> None:
    reply = problem(Refusal(reason, TEXT))
    said = json.loads(reply.body)
    assert (said["status"], said["detail"]) == (reply.status, TEXT)
    assert said["type"] == f"urn:tocsin:refusal:{reason}"
    assert dict(reply.headers)["Content-Type"] == "application/problem+json"
    assert 400 <= reply.status < 600
