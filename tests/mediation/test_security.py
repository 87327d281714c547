"""UsernameToken of the WSS Username Token Profile 1.0."""

import base64
import subprocess

import pytest
from lxml import etree

from tocsin.mediation.soap import security
from tocsin.mediation.soap.security import (
    Replays,
    UsernameToken,
    created_of,
    digest,
    proves,
    security_header,
    username_token,
)
from tocsin.mediation.soap.soap import open_envelope
from tocsin.model.identity import SECOND, Instant, after
from tocsin.model.refusal import Refusal

WSSE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
PROFILE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0"
CREATED = "2026-01-31T12:00:00Z"
NOW = Instant(1_769_860_800 * SECOND)  # that moment
START = after(NOW, -3600)
SOAP = "http://www.w3.org/2003/05/soap-envelope"


def header(inside: str) -> "etree._Element":
    return etree.fromstring(f'<w:Security xmlns:w="{WSSE}" xmlns:u="{WSU}">{inside}</w:Security>')


def token_xml(
    kind: str = "#PasswordDigest", password: str = "x", nonce: str = "bm9uY2U=", created: str = CREATED
) -> str:
    return (
        f"<w:UsernameToken><w:Username> ann </w:Username><w:Password Type='{PROFILE}{kind}'>{password}</w:Password>"
        f"<w:Nonce>{nonce}</w:Nonce><u:Created>{created}</u:Created></w:UsernameToken>"
    )


def token(nonce: bytes = b"nonce", created: str = CREATED, password: str = "secret") -> UsernameToken:
    return UsernameToken("ann", "digest", digest(nonce, created, password), nonce, created)


@pytest.mark.parametrize(
    ("nonce", "created", "password"),
    [
        (b"nonce", CREATED, "secret"),
        (bytes(range(16)), "2026-01-31T12:00:00.123Z", "pässwörd"),
        (b"\xff\x00", CREATED, ""),
    ],
)
def test_the_digest_is_what_openssl_makes_of_it(nonce: bytes, created: str, password: str) -> None:
    said = nonce + created.encode() + password.encode()
    made = subprocess.run(("openssl", "dgst", "-sha1", "-binary"), input=said, capture_output=True, check=True).stdout
    assert digest(nonce, created, password) == base64.b64encode(made).decode()


def test_the_worked_example_of_a_client() -> None:
    """Nonce, time, password and digest as onvif documentation for programmers has them."""
    nonce = base64.b64decode("LKqI6G/AikKCQrN0zqZFlg==")
    assert digest(nonce, "2010-09-16T07:50:45Z", "userpassword") == "tuOSpGlFlIXsozq4HFNeeGeFLEI="


def test_a_token_is_read() -> None:
    found = username_token(header(f"<u:Timestamp/>{token_xml(password=' abc= ')}"))
    assert found == UsernameToken("ann", "digest", "abc=", b"nonce", CREATED)
    assert username_token(header("<u:Timestamp/>")) is None


def test_a_text_password_keeps_its_spaces_and_needs_no_type() -> None:
    inside = "<w:UsernameToken><w:Username>ann</w:Username><w:Password> a b </w:Password></w:UsernameToken>"
    found = username_token(header(inside))
    assert found == UsernameToken("ann", "text", " a b ")
    assert proves(found, " a b ") and not proves(found, "a b")


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (token_xml() + token_xml(), "more than one"),
        ("<w:UsernameToken><w:Username>ann</w:Username></w:UsernameToken>", "lacks"),
        ("<w:UsernameToken><w:Password>p</w:Password></w:UsernameToken>", "lacks"),
        (token_xml(kind="#PasswordHash"), "#PasswordHash"),
        (token_xml(nonce="%%"), "not Base64"),
        (token_xml(password="p" * 1025), "1024"),
    ],
)
def test_tokens_that_cannot_be_read(inside: str, words: str) -> None:
    with pytest.raises(Refusal, match=words) as refused:
        username_token(header(inside))
    assert refused.value.reason == "not-authenticated"


def test_what_is_written_is_read_and_proves_itself() -> None:
    written = security_header("a<n&n", "p&w", b"0123", CREATED, must_understand='mustUnderstand="1"')
    found = username_token(etree.fromstring(written))
    assert found is not None and found.name == "a<n&n" and found.nonce == b"0123"
    assert proves(found, "p&w") and not proves(found, "p&W")


def test_the_header_is_understood_when_it_must_be() -> None:
    block = f'<w:Security xmlns:w="{WSSE}" e:mustUnderstand="1"/>'
    body = f'<e:Envelope xmlns:e="{SOAP}"><e:Header>{block}</e:Header><e:Body/></e:Envelope>'.encode()
    assert open_envelope(body).headers["security"].tag == security.SECURITY


@pytest.mark.parametrize(
    ("before", "headers"),
    [("", "{block}<t>x</t>"), ("<!-- -->", "{block}<t>x</t>"), ("", "{block}<t>x</t>{block}")],
    ids=["by its bytes", "written again", "two"],
)
def test_no_proof_stays_in_a_message(before: str, headers: str) -> None:
    blocks = headers.format(block=security_header("ann", "secret", b"0123", CREATED).decode())
    inside = f"<e:Header>{blocks}</e:Header><e:Body><n> 1 </n></e:Body>"
    data = f'{before}<e:Envelope xmlns:e="{SOAP}">{inside}</e:Envelope>'.encode()
    opened = open_envelope(data)
    left = security.without_security(data, opened.headers["security"])
    assert b"Security" not in left and b"ann" not in left and b"<t>x</t>" in left and b"<n> 1 </n>" in left
    assert "security" not in open_envelope(left).headers


def test_a_token_is_taken_once() -> None:
    replays = Replays(START, 300.0)
    replays.check(token(), NOW)
    replays.check(token(), NOW)  # was not right yet, hence not remembered
    replays.remember(token(), NOW)
    with pytest.raises(Refusal, match="used before"):
        replays.check(token(), NOW)
    with pytest.raises(Refusal, match="used before"):
        replays.check(token(), after(NOW, 299))
    replays.check(token(b"other"), NOW)


def test_moving_bytes_from_the_time_to_the_nonce_makes_no_other_token() -> None:
    one = token(b"nonce2", "026-01-31T12:00:00Z")
    assert one.password == token().password
    with pytest.raises(Refusal, match="is not a time"):
        created_of(one)


@pytest.mark.parametrize("seconds", [-301, 301])
def test_a_token_must_be_of_now(seconds: int) -> None:
    with pytest.raises(Refusal, match="set the clock"):
        Replays(START, 300.0).check(token(), after(NOW, seconds))


@pytest.mark.parametrize("seconds", [-300, 300])
def test_clocks_may_differ_a_little(seconds: int) -> None:
    Replays(START, 300.0).check(token(), after(NOW, seconds))


@pytest.mark.parametrize("bad", [token(b""), token(created=""), token(created="yesterday")])
def test_a_digest_needs_a_nonce_and_a_time(bad: UsernameToken) -> None:
    with pytest.raises(Refusal) as refused:
        Replays(START, 300.0).check(bad, NOW)
    assert refused.value.reason == "not-authenticated"


def test_what_was_created_before_the_start_may_have_been_used_before_it() -> None:
    with pytest.raises(Refusal, match="nobody here remembers"):
        Replays(after(NOW, 3), 300.0).check(token(), after(NOW, 4))
    Replays(after(NOW, 2.9), 300.0).check(token(), after(NOW, 4))  # by a clock that was read in whole seconds


def test_the_memory_is_bounded_and_forgets_nothing_that_could_come_again() -> None:
    replays = Replays(START, 300.0, most=3)
    tokens = [token(b"%d" % number, f"2026-01-31T12:00:0{number}Z") for number in range(6)]
    for each in tokens:
        replays.check(each, NOW)
        replays.remember(each, NOW)
    assert len(replays) == 3
    for each in tokens:
        with pytest.raises(Refusal, match=r"used before|remembers"):
            replays.check(each, NOW)
    replays.remember(token(b"later", "2026-01-31T13:00:00Z"), after(NOW, 3600))
    assert len(replays) == 1
