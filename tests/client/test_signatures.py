"""The Standard Webhooks convention, against its published example and against ourselves."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin import BadSignature, ClientError
from tocsin.client.signatures import key_of, signature, verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NAME, TIME, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
PUBLISHED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def headers(name: str = NAME, time: str = str(TIME), signed: str = PUBLISHED) -> dict[str, str]:
    return {"webhook-id": name, "webhook-timestamp": time, "webhook-signature": signed}


def test_the_published_example() -> None:
    assert signature(key_of(SECRET), NAME, TIME, BODY) == PUBLISHED
    assert verify(SECRET, headers(), BODY, TIME) == NAME
    assert verify(SECRET.removeprefix("whsec_"), headers(), BODY, TIME) == NAME


def test_headers_in_any_case_and_one_of_several_signatures() -> None:
    several = f"v1a,AAAA v1,{base64.b64encode(bytes(32)).decode()} {PUBLISHED}"
    pairs = tuple((name.title(), value) for name, value in headers(signed=several).items())
    assert verify(SECRET, pairs, BODY, TIME) == NAME


@given(st.binary(min_size=24, max_size=64), st.text("abc_-019", min_size=1), st.integers(0, 2**40), st.binary())
def test_what_is_signed_is_believed(key: bytes, name: str, time: int, body: bytes) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    said = headers(name, str(time), signature(key_of(secret), name, time, body))
    assert verify(secret, said, body, time) == name
    with pytest.raises(BadSignature, match="no signature"):
        verify(secret, said, body + b"x", time)


@pytest.mark.parametrize(
    ("said", "body", "now", "words"),
    [
        (headers(), BODY + b" ", TIME, "no signature"),
        (headers(name="msg_other"), BODY, TIME, "no signature"),
        (headers(time=str(TIME + 1)), BODY, TIME, "no signature"),
        (headers(signed="v1,"), BODY, TIME, "no signature"),
        (headers(signed="v2" + PUBLISHED[2:]), BODY, TIME, "no signature"),
        (headers(signed="v1,\udcff\u20ac"), BODY, TIME, "no signature"),
        (headers(), BODY, TIME + 301, "301 s ago"),
        (headers(), BODY, TIME - 301, "300 s are tolerated"),
        (headers(time="soon"), BODY, TIME, "not a number"),
        (headers(time="٣"), BODY, TIME, "not a number"),
        (headers(time="9" * 5000), BODY, TIME, "not a number"),
        (headers(name=""), BODY, TIME, "are needed"),
        ({}, BODY, TIME, "are needed"),
    ],
)
def test_what_is_not_believed(said: dict[str, str], body: bytes, now: float, words: str) -> None:
    with pytest.raises(BadSignature, match=words):
        verify(SECRET, said, body, now)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "whsec_",
        "whsec_!!!",
        "password",
        "whsec_" + base64.b64encode(bytes(23)).decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
    ],
)
def test_what_is_no_secret(bad: str) -> None:
    with pytest.raises(ClientError, match="the secret"):
        key_of(bad)
