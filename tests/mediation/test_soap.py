import pytest
from tests.mediation.requests import SOAP, WSA, envelope

from tocsin.mediation.operations import Context
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.namespaces import SOAP_11, SOAP_12, WSN
from tocsin.mediation.soap.soap import open_envelope
from tocsin.model.refusal import Refusal

BOTH = pytest.mark.parametrize("version", ["1.1", "1.2"])


@BOTH
@pytest.mark.parametrize("wsa", ["2004/08", "2005/08"])
def test_an_envelope_is_taken_apart(version: str, wsa: str) -> None:
    headers = "<wsa:Action>urn:act</wsa:Action><wsa:MessageID> urn:1 </wsa:MessageID><wsa:To>http://b/</wsa:To>"
    opened = open_envelope(envelope("<t:event/><second/>", headers, version, wsa))
    assert (opened.soap, opened.addressing, opened.operation) == (version, wsa, "{urn:t}event")
    assert [opened.header(name) for name in ("action", "message_id", "to", "from")] == [
        "urn:act",
        "urn:1",
        "http://b/",
        "",
    ]
    assert opened.context("d") == Context("d", version, wsa, "urn:1", "{urn:t}event")


@BOTH
def test_no_ws_addressing_at_all(version: str) -> None:
    opened = open_envelope(envelope("<wsnt:Unsubscribe/>", "", version))
    assert (opened.addressing, opened.header("message_id"), opened.operation) == (None, "", f"{{{WSN}}}Unsubscribe")


@BOTH
def test_an_empty_body_is_an_envelope(version: str) -> None:
    assert open_envelope(envelope("<!-- nothing -->", "", version)).operation == ""


def test_headers_that_come_twice_are_tolerated_and_the_first_counts() -> None:
    headers = "<wsa:MessageID>urn:1</wsa:MessageID><wsa:Action>urn:a</wsa:Action>" * 2
    opened = open_envelope(envelope("<a/>", headers + "<wsa:MessageID>urn:2</wsa:MessageID>"))
    assert (opened.header("message_id"), opened.header("action")) == ("urn:1", "urn:a")


def test_text_goes_on_after_a_comment() -> None:
    assert (
        open_envelope(envelope("<a/>", "<wsa:Action>urn:<!-- x -->a<?p?>b</wsa:Action>")).header("action") == "urn:ab"
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not well-formed"),
        (b"<soap/>", "soap is not a SOAP 1.1 or 1.2 Envelope"),
        (b"<e:Envelope xmlns:e='urn:other'><e:Body/></e:Envelope>", "urn:other.* is not a SOAP 1.1 or 1.2 Envelope"),
        (f"<e:Envelope xmlns:e='{SOAP_12}'><e:Header/></e:Envelope>".encode(), "has no Body"),
        (f"<e:Envelope xmlns:e='{SOAP_12}' xmlns:f='{SOAP_11}'><f:Body/></e:Envelope>".encode(), "has no Body"),
        (f"<!DOCTYPE x><e:Envelope xmlns:e='{SOAP_12}'><e:Body/></e:Envelope>".encode(), "DOCTYPE is not allowed"),
        (envelope("<a/>", "<wsa:MessageID>" + "x" * 5000 + "</wsa:MessageID>"), "MessageID is longer than 4096"),
        (envelope("<a/>", "<wsa:MessageID>a\x85b\x9fc</wsa:MessageID>"), "control characters"),
    ],
)
def test_what_is_no_envelope_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        open_envelope(body).header("message_id")
    assert caught.value.reason == "malformed"


@BOTH
@pytest.mark.parametrize("value", ["1", "true"])
def test_soap_s4_2_3_a_header_that_must_be_understood_and_is_not(version: str, value: str) -> None:
    with pytest.raises(Refusal, match=r"the header \{urn:t\}h must be understood") as caught:
        open_envelope(envelope("<a/>", f'<t:h soap:mustUnderstand="{value}"/>', version))
    assert caught.value.reason == "must-understand"


@BOTH
def test_headers_that_need_not_be_understood(version: str) -> None:
    role = "actor" if version == "1.1" else "role"
    for block in (
        "<t:h/>",
        '<t:h soap:mustUnderstand="0"/>',
        '<t:h mustUnderstand="1"/>',
        f'<t:h soap:mustUnderstand="1" soap:{role}="urn:someone-else"/>',
        '<wsa:Action soap:mustUnderstand="1">urn:a</wsa:Action>',
        "<!-- c --><?pi?>",
    ):
        open_envelope(envelope("<a/>", block, version))


def test_a_header_for_the_next_node_is_for_us() -> None:
    block = f'<t:h soap:mustUnderstand="1" soap:role="{SOAP_12}/role/next"/>'
    with pytest.raises(Refusal, match="must be understood"):
        open_envelope(envelope("<a/>", block))


@BOTH
@pytest.mark.parametrize("wsa", ["2004/08", "2005/08"])
def test_a_reply_is_in_the_requesters_own_versions(version: str, wsa: str) -> None:
    answer = soap.reply(Context("d", version, wsa, "urn:<1>"), "urn:done", b"<ok/>")
    opened = open_envelope(answer.body)
    assert (opened.soap, opened.addressing, opened.operation) == (version, wsa, "ok")
    assert (opened.header("action"), opened.header("relates_to")) == ("urn:done", "urn:<1>")
    kind = "text/xml" if version == "1.1" else "application/soap+xml"
    assert dict(answer.headers)["Content-Type"].startswith(kind)
    assert SOAP[version].encode() in answer.body
    assert WSA[wsa].encode() in answer.body


def test_a_reply_to_one_without_ws_addressing_has_none() -> None:
    opened = open_envelope(soap.reply(Context("d", "1.1", None), "urn:done", b"").body)
    assert (opened.addressing, opened.headers) == (None, {})


@BOTH
@pytest.mark.parametrize("action", ['urn:"x', "urn:x\r\nEvil: 1", "urn:\\", "urn:ü", "a b"])
def test_an_action_cannot_break_out_of_its_http_header(version: str, action: str) -> None:
    for _, value in soap.http_headers(version, action):
        assert value.isascii()
        assert value.isprintable()
        assert value.count('"') in (0, 2)
        assert "\\" not in value


def test_the_version_to_answer_in_when_nothing_could_be_read() -> None:
    assert soap.guess_soap("application/soap+xml; charset=utf-8") == "1.2"
    assert soap.guess_soap("text/xml") == "1.1"
