"""Secrets: what is taken, where they go, and what a request shows."""

import base64
from pathlib import Path

import pytest

from tocsin.broker.consumers.secrets import Secrets, message_id
from tocsin.client.signatures import verify
from tocsin.delivery.courier import CannotDress
from tocsin.model.access import Secret, SecretKind
from tocsin.model.delivery import Delivery, Match
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Position
from tocsin.store.database import Store

KEY = "whsec_" + base64.b64encode(bytes(range(32))).decode()
HTTPS = "https://hooks.example/in"


def secret(kind: SecretKind, value: str, header: str = "", address: str = "", name: str = "s") -> Secret:
    return Secret(name, kind, value, Instant(1), header, address)


def opened(tmp_path: Path, now: float = 1000.0, *, over_http: bool = False) -> Secrets:
    store = Store.open(tmp_path / "tocsin.db")
    return Secrets(store.secrets, credentials_over_http=over_http, seconds=lambda: now)


def delivery(address: str = HTTPS, name: str | None = "s", offset: int = 7, body: bytes = b"x") -> Delivery:
    match = Match(MessageId("urn:m.1"), SubscriptionId("sub"))
    return Delivery(match, Position(Node("n"), offset), 0, Endpoint(address, secret=name), (("A", "b"),), body)


async def test_a_signature_is_believed_by_who_knows_the_secret(tmp_path: Path) -> None:
    secrets = opened(tmp_path, 1234.9)
    await secrets.add(secret("hmac", KEY), replace=False)
    shown = secrets.headers_for(delivery())
    assert verify(KEY, shown, b"x", 1234) == message_id(delivery())
    assert dict(shown)["webhook-timestamp"] == "1234"


def test_the_id_is_the_same_for_the_same_and_another_for_another() -> None:
    assert message_id(delivery()) == message_id(delivery("http://elsewhere/", None))
    others = {message_id(each) for each in (delivery(), delivery(offset=8), delivery(body=b"y"))}
    assert len(others) == 3 and all(each.replace("_", "").isalnum() for each in others)


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        (secret("basic", "Aladdin:open sesame"), ("Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")),
        (secret("basic", "ü:ö:x"), ("Authorization", "Basic " + base64.b64encode("ü:ö:x".encode()).decode())),
        (secret("bearer", "mF_9.B5f-4.1JqM"), ("Authorization", "Bearer mF_9.B5f-4.1JqM")),
        (secret("header", "a key", "X-Api-Key"), ("X-Api-Key", "a key")),
    ],
)
async def test_credentials(tmp_path: Path, kept: Secret, shown: tuple[str, str]) -> None:
    secrets = opened(tmp_path)
    await secrets.add(kept, replace=False)
    assert secrets.headers_for(delivery()) == (shown,)
    assert secrets.headers_for(delivery(name=None)) == ()
    assert opened(tmp_path).headers_for(delivery()) == (shown,), "after a restart too"


@pytest.mark.parametrize(
    "bad",
    [
        secret("hmac", "password"),
        secret("hmac", KEY, "X-Key"),
        secret("basic", "no colon"),
        secret("basic", "a:b\r\nX: y"),
        secret("bearer", ""),
        secret("bearer", "two words"),
        secret("bearer", "a\nb"),
        secret("header", "v"),
        secret("header", "v\r\nX: y", "X-Key"),
        secret("header", "é", "X-Key"),
        secret("header", "v", "X Key"),
        secret("header", "v", "Content-Length"),
        secret("header", "v", "host"),
        secret("header", "v", "webhook-id"),
        secret("header", "v", "ce-id"),
        secret("bearer", "t", name=""),
        secret("bearer", "t", name="a/b"),
        secret("bearer", "t", name="a" * 65),
        secret("bearer", "t", address="ftp://a"),
    ],
)
async def test_what_is_no_secret_is_refused_without_showing_it(tmp_path: Path, bad: Secret) -> None:
    secrets = opened(tmp_path)
    with pytest.raises(Refusal) as caught:
        await secrets.add(bad, replace=False)
    assert caught.value.reason == "malformed"
    assert len(bad.value) < 3 or bad.value not in caught.value.text
    assert secrets.all() == []


async def test_another_value_is_given_only_when_that_is_asked_for(tmp_path: Path) -> None:
    secrets = opened(tmp_path)
    await secrets.add(secret("bearer", "one"), replace=False)
    with pytest.raises(Refusal, match="already") as caught:
        await secrets.add(secret("bearer", "two"), replace=False)
    assert caught.value.reason == "in-use"
    await secrets.add(secret("bearer", "two"), replace=True)
    assert secrets.headers_for(delivery()) == (("Authorization", "Bearer two"),)


async def test_one_in_use_stays_and_says_by_whom(tmp_path: Path) -> None:
    secrets = opened(tmp_path)
    await secrets.add(secret("bearer", "t"), replace=False)
    with pytest.raises(Refusal, match=r"used by a1, b2:") as caught:
        await secrets.remove("s", ["b2", "a1"])
    assert caught.value.reason == "in-use"
    with pytest.raises(Refusal, match="and others"):
        await secrets.remove("s", map(str, range(100)))
    await secrets.remove("s", [])
    with pytest.raises(Refusal) as caught:
        await secrets.remove("s", [])
    assert caught.value.reason == "unknown-secret"
    with pytest.raises(CannotDress, match="there is no secret 's'"):
        secrets.headers_for(delivery())


@pytest.mark.parametrize(
    "address", ["https://a.example", "http://127.0.0.1:9/x", "http://[::1]/", "http://localhost:1/"]
)
async def test_where_credentials_go(tmp_path: Path, address: str) -> None:
    secrets = opened(tmp_path)
    await secrets.add(secret("bearer", "t"), replace=False)
    secrets.check(Endpoint(address, secret="s"))


@pytest.mark.parametrize("address", ["http://a.example", "http://10.0.0.1/", "http://localhost.example/"])
async def test_credentials_are_not_sent_in_the_clear(tmp_path: Path, address: str) -> None:
    secrets = opened(tmp_path)
    for name, kind, value in (("s", "bearer", "t"), ("b", "basic", "u:p")):
        await secrets.add(Secret(name, kind, value, Instant(1)), replace=False)  # type: ignore[arg-type]
        with pytest.raises(Refusal, match="credentials_over_http") as caught:
            secrets.check(Endpoint(address, secret=name))
        assert caught.value.reason == "bad-consumer"
        with pytest.raises(CannotDress, match="in the clear"):
            secrets.headers_for(delivery(address, name))
    await secrets.add(secret("hmac", KEY, name="h"), replace=False)
    secrets.check(Endpoint(address, secret="h"))
    opened(tmp_path, over_http=True).check(Endpoint(address, secret="s"))


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("https://hooks.example/a", True),
        ("https://HOOKS.example:443/a/b?c", True),
        ("https://hooks.example/ab", False),
        ("https://hooks.example/", False),
        ("https://hooks.example.evil/a", False),
        ("https://hooks.example:8443/a", False),
        ("http://hooks.example/a", False),
    ],
)
async def test_a_secret_for_one_address_goes_there_and_below_only(tmp_path: Path, address: str, good: bool) -> None:
    secrets = opened(tmp_path, over_http=True)
    await secrets.add(secret("bearer", "t", address="https://hooks.example/a/"), replace=False)
    if good:
        secrets.check(Endpoint(address, secret="s"))
    else:
        with pytest.raises(Refusal, match=r"is for 'https://hooks\.example/a/'"):
            secrets.check(Endpoint(address, secret="s"))


def test_an_unknown_secret_is_told_of_when_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="tocsin secrets add") as caught:
        opened(tmp_path).check(Endpoint(HTTPS, secret="s"))
    assert caught.value.reason == "bad-consumer"


@pytest.mark.parametrize(
    "path",
    [
        "a/../evil",
        "a/%2e%2E/evil",
        "a/.%2e/evil",
        "a/./b",
        "a/b/..",
        "a/..;x/evil",
        "a/..%3b/evil",
        "a/..%2fevil",
        "a/%5c..",
    ],
)
async def test_a_path_that_may_be_read_as_another_gets_no_secret(tmp_path: Path, path: str) -> None:
    secrets = opened(tmp_path)
    await secrets.add(secret("bearer", "t", address="https://hooks.example/a"), replace=False)
    await secrets.add(secret("hmac", KEY, name="free"), replace=False)
    address = f"https://hooks.example/{path}"
    for name in ("s", "free"):
        with pytest.raises(Refusal, match="dot segments") as caught:
            secrets.check(Endpoint(address, secret=name))
        assert caught.value.reason == "bad-consumer"
        with pytest.raises(CannotDress):
            secrets.headers_for(delivery(address, name))
    with pytest.raises(Refusal, match="dot segments"):
        await secrets.add(secret("bearer", "t", address=address, name="bad"), replace=False)


@pytest.mark.parametrize("path", ["a/..b", "a/...", "a/b?to=../c%2f", "a/.well-known/x"])
async def test_dots_elsewhere_are_harmless(tmp_path: Path, path: str) -> None:
    secrets = opened(tmp_path)
    await secrets.add(secret("bearer", "t", address="https://hooks.example/a"), replace=False)
    secrets.check(Endpoint(f"https://hooks.example/{path}", secret="s"))
