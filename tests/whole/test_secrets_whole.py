"""Secrets from the API to the consumer, and nowhere else."""

import base64
import time
from pathlib import Path
from uuid import uuid4

import pytest
from tests.whole.acts import IMPATIENT, call, dead_letters, get, publish, subscribe, until
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, contents, document, wait_until
from tests.whole.sink import Say, Sink

from tocsin import BadSignature
from tocsin.client.signatures import verify
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
KEY = "whsec_" + base64.b64encode(bytes(range(32))).decode()


async def add(http: HttpClient, broker: BrokerProcess, kind: str, value: str, **more: object) -> str:
    name = f"s{uuid4().hex}"
    asked = {"name": name, "kind": kind, "value": value} | more
    answer = await call(http, "POST", f"{broker.url}/api/secrets", asked)
    assert answer.status == 201, answer
    assert value.encode() not in answer.body
    return name


async def test_a_message_is_signed_at_each_attempt_and_known_by_the_same_id(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    about, name = f"signed/t{uuid4().hex}", await add(http, broker, "hmac", KEY)
    sink.script = lambda received: Say(503 if len(sink.received) < 2 else 202)
    await subscribe(http, broker, sink.url("a"), about, secret=name)
    await publish(http, broker, about, 1, 2)
    await wait_until(lambda: len(sink.received) == 4, "one is tried three times, the other once")
    ids = [verify(KEY, each.headers, each.body, time.time()) for each in sink.received]
    assert ids[0] == ids[1] == ids[2] != ids[3]
    with pytest.raises(BadSignature):
        verify(KEY, sink.received[0].headers, sink.received[3].body, time.time())


@pytest.mark.parametrize(
    ("kind", "value", "more", "shown"),
    [
        ("basic", "user:pass", {}, ("authorization", "Basic dXNlcjpwYXNz")),
        ("bearer", "t0ken", {}, ("authorization", "Bearer t0ken")),
        ("header", "v4lue", {"header": "X-Api-Key"}, ("x-api-key", "v4lue")),
    ],
)
async def test_credentials_reach_the_consumer(
    kind: str,
    value: str,
    more: dict[str, str],
    shown: tuple[str, str],
    broker: BrokerProcess,
    sink: Sink,
    http: HttpClient,
) -> None:
    about, name = f"credentials/t{uuid4().hex}", await add(http, broker, kind, value, **more)
    made = await subscribe(http, broker, sink.url("a"), about, secret=name)
    await subscribe(http, broker, sink.url("b"), about)
    assert (await get(http, f"{broker.url}/api/subscriptions/{made}"))["secret"] == name
    await publish(http, broker, about, 1)
    await wait_until(lambda: sink.at("a") and sink.at("b"), "both are told")
    assert shown in sink.at("a")[0].headers
    assert not {"authorization", "x-api-key"} & dict(sink.at("b")[0].headers).keys()


async def test_values_are_never_given_back_and_one_in_use_stays(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    name = await add(http, broker, "bearer", "hunter2-hunter2")
    answer = await call(http, "GET", f"{broker.url}/api/secrets")
    (mine,) = (each for each in document(answer.body)["items"] if each["name"] == name)
    assert mine["kind"] == "bearer" and b"hunter2" not in answer.body
    made = await subscribe(http, broker, sink.url("a"), "unused/topic", secret=name)
    address = f"{broker.url}/api/secrets/{name}"
    refused = await call(http, "DELETE", address)
    assert refused.status == 409 and made in document(refused.body)["detail"]
    again = {"name": name, "kind": "bearer", "value": "other"}
    assert (await call(http, "POST", f"{broker.url}/api/secrets", again)).status == 409
    assert (await call(http, "POST", f"{broker.url}/api/secrets", again | {"replace": True})).status == 201
    other = again | {"kind": "basic", "value": "a:b", "replace": True}
    assert (await call(http, "POST", f"{broker.url}/api/secrets", other)).status == 409
    assert (await call(http, "DELETE", f"{broker.url}/api/subscriptions/{made}")).status == 204
    assert (await call(http, "DELETE", address)).status == 204
    assert (await call(http, "DELETE", address)).status == 404


async def test_who_names_an_unknown_secret_or_one_for_another_place_is_refused(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    theirs = await add(http, broker, "bearer", "t0ken-1", **{"for": "https://hooks.example"})
    mine = await add(http, broker, "bearer", "t0ken-2")
    before = (await get(http, f"{broker.url}/api/status"))["subscriptions"]
    for consumer, name in ((sink.url("a"), "gone"), (sink.url("a"), theirs), ("http://hooks.example/in", mine)):
        asked = {"consumer": consumer, "secret": name}
        answer = await call(http, "POST", f"{broker.url}/api/subscriptions", asked)
        assert answer.status == 400 and document(answer.body)["type"].endswith("bad-consumer"), answer
    assert (await get(http, f"{broker.url}/api/status"))["subscriptions"] == before


async def test_a_secret_is_written_into_its_own_file_only(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT | {"delivery-attempts": "2"})
    token = "hunter2-hunter2-hunter2"
    name = await add(http, broker, "bearer", token)
    sink.script = lambda received: Say(500)
    made = await subscribe(http, broker, sink.url("a"), "t", secret=name)
    await publish(http, broker, "t", 1)
    await until(lambda: dead_letters(http, broker, made), bool)
    assert all(("authorization", f"Bearer {token}") in each.headers for each in sink.received)
    broker.stop()
    broker = start(tmp_path / "data", IMPATIENT)
    sink.script = lambda received: Say()
    await call(http, "POST", f"{broker.url}/api/dead-letters/redrive")
    await until(lambda: dead_letters(http, broker, made), lambda found: not found)
    assert ("authorization", f"Bearer {token}") in sink.received[-1].headers, (
        "it is dressed again when it is tried again"
    )
    broker.stop()
    holding = [path for path, data in contents(tmp_path / "data").items() if token.encode() in data]
    assert holding == ["tocsin.db"] and (tmp_path / "data" / "tocsin.db").stat().st_mode & 0o777 == 0o600
    assert token not in broker.said()
