"""The consumer server: what it calls, and what it answers."""

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.client.dialects import having
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink

from tocsin import Client, ClientError, Consumer, Ended, Notification, Received
from tocsin.client import requests
from tocsin.client.signatures import key_of, signature
from tocsin.mediation.dialects import BY_NAME
from tocsin.model.identity import Instant, MessageId, Pairs
from tocsin.model.names import NO_TOPIC
from tocsin.model.notification import Payload
from tocsin.wire.http_client import HttpClient

ALERT = b"<alert>Inn</alert>"
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
JSON_EVENT = b'{"specversion": "1.0", "id": "1", "source": "urn:x", "type": "t", "subject": "a/b", "data": 1}'
STRUCTURED: Pairs = (("Content-Type", "application/cloudevents+json"),)
ENDING = [name for name in having("Subscribe") if BY_NAME[name].end is not None]


async def post(http: HttpClient, url: str, headers: Pairs = STRUCTURED, body: bytes = JSON_EVENT) -> int:
    return (await http.request("POST", url, headers, body)).status


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("dialect", having("Subscribe"))
@pytest.mark.broker
async def test_listening_in_any_dialect(broker: BrokerProcess, dialect: str) -> None:
    heard: list[Notification] = []
    topic = f"listen-{dialect.replace('.', '-')}/severe"
    async with Client(broker.url, dialect) as client:
        async with client.listening(heard.append, topic=topic) as lease:
            name = await client.publish(ALERT, topic=topic)
            await wait_until(lambda: heard, "the notification")
        assert [(each.id, each.payload.data, str(each.topic)) for each in heard] == [(name, ALERT, topic)]
        assert heard[0].when > 0
        with pytest.raises(ClientError, match="no subscription"):
            await client.renew(lease)


@pytest.mark.parametrize("dialect", ENDING)
@pytest.mark.broker
async def test_an_end_that_nobody_asked_for_is_told(broker: BrokerProcess, http: HttpClient, dialect: str) -> None:
    ended: list[Ended] = []
    heard: list[Notification] = []
    async with (
        Client(broker.url, dialect) as client,
        client.listening(heard.append, topic="cancelled", ended=ended.append) as lease,
    ):
        answer = await http.request("DELETE", f"{broker.url}/api/subscriptions/{lease.id}?cancel=true")
        assert answer.status == 204
        (end,) = await wait_until(lambda: ended, "the notice")
    assert end.subscription in ("", lease.address)
    assert end.status or end.reason
    assert not heard


@pytest.mark.parametrize("dialect", ["wsn-1.0", "wsn-1.2", "wsn-1.3", "cloudevents"])
@pytest.mark.broker
async def test_what_is_cancelled_stays_ended_and_is_told_once(
    broker: BrokerProcess, http: HttpClient, dialect: str
) -> None:
    """Also where a dialect has no notice for it: then the next renewal tells."""
    ended: list[Ended] = []
    async with (
        Client(broker.url, dialect) as client,
        client.listening(lambda _: None, topic="stays-ended", expires="PT4S", ended=ended.append) as lease,
    ):
        await http.request("DELETE", f"{broker.url}/api/subscriptions/{lease.id}?cancel=true")
        (end,) = await wait_until(lambda: ended, "the end")
        assert end.reason
        answer = await http.request("GET", f"{broker.url}/api/subscriptions")
        assert b"stays-ended" not in answer.body


@pytest.mark.parametrize("dialect", ["wsn-1.0", "wsn-1.2"])
@pytest.mark.broker
async def test_a_listener_outlives_its_first_lease(broker: BrokerProcess, http: HttpClient, dialect: str) -> None:
    async with (
        Client(broker.url, dialect) as client,
        client.listening(lambda _: None, topic="outlives", expires="PT4S") as lease,
    ):

        async def later() -> bool:
            shown: Any = await Client(broker.url, http=http).get(f"/api/subscriptions/{lease.id}")
            return bool(shown["expires"] > lease.expires)

        await until(later)


async def test_a_handler_may_be_async_and_what_it_raises_is_asked_for_again(http: HttpClient) -> None:
    taken: list[str] = []

    async def handler(notification: Notification) -> None:
        await asyncio.sleep(0)
        if not taken:
            taken.append("first")
            raise ValueError("not yet")
        taken.append(notification.id)

    async with Consumer(handler).listening() as consumer:
        assert [await post(http, consumer.url) for _ in range(2)] == [500, 202]
    assert taken == ["first", "1"]


async def test_what_is_no_notification_is_refused(http: HttpClient) -> None:
    heard: list[Notification] = []
    whole: list[Received] = []
    async with Consumer(heard.append, received=whole.append).listening() as consumer:
        assert await post(http, consumer.url, STRUCTURED, b"{}") == 400
        assert await post(http, consumer.url, (("Content-Type", "text/plain"),), b"hello") == 400
        assert await post(http, consumer.url, (("Content-Type", "application/soap+xml"),), b"<a/>") == 400
        assert (await http.request("GET", consumer.url)).status == 405
    assert len(whole) == 3
    assert not heard


async def test_only_what_is_signed_is_taken(http: HttpClient) -> None:
    heard: list[Notification] = []
    now = int(time.time())
    signed = signature(key_of(SECRET), "m1", now, JSON_EVENT)
    good: Pairs = (("webhook-id", "m1"), ("webhook-timestamp", str(now)), ("webhook-signature", signed))
    async with Consumer(heard.append, signed_with=SECRET).listening() as consumer:
        assert await post(http, consumer.url) == 401
        assert await post(http, consumer.url, STRUCTURED + good, JSON_EVENT + b" ") == 401
        assert await post(http, consumer.url, STRUCTURED + good) == 202
    assert len(heard) == 1
    with pytest.raises(ClientError, match="the secret"):
        Consumer(heard.append, signed_with="password")


@pytest.mark.broker
async def test_a_broker_that_asks_is_given_consent_and_signs(broker: BrokerProcess) -> None:
    heard: list[Notification] = []
    async with Client(broker.url) as client:
        await client.post("/api/secrets", {"name": "shared", "kind": "hmac", "value": SECRET, "replace": True})
        async with client.listening(
            heard.append, topic="consented", consent=True, secret="shared", signed_with=SECRET
        ) as lease:
            shown: Any = await client.get(f"/api/subscriptions/{lease.id}")
            assert shown["consent"] and shown["secret"] == "shared"
            await client.publish(ALERT, topic="consented")
            await wait_until(lambda: heard, "what is signed and consented to")


async def test_consent_is_for_the_origins_that_were_named(http: HttpClient) -> None:
    async def asked(url: str, origin: str) -> str:
        answer = await http.request("OPTIONS", url, (("WebHook-Request-Origin", origin),))
        return dict(answer.headers).get("webhook-allowed-origin", "")

    async with Consumer(lambda _: None, origins=("Good.example",)).listening() as consumer:
        assert await asked(consumer.url, "good.example") == "good.example"
        assert await asked(consumer.url, "bad.example") == ""


def test_a_word_in_a_payload_is_no_end() -> None:
    text = b"<x xmlns='urn:x'><TerminationNotification/>SubscriptionEnd</x>"
    said = notified(text, "wsn-1.3")
    assert said.end() is None
    (found,) = said.notifications()
    assert found.payload.data == text


def notified(payload: bytes, dialect: str) -> Received:
    """What a consumer gets, written by the same tables."""
    one = Notification(
        MessageId("urn:1"),
        requests.NOWHERE,
        0,
        Instant(1),
        "raw",
        "",
        "",
        NO_TOPIC,
        None,
        (),
        Payload("application/xml", payload),
    )
    headers, body = requests.notice(BY_NAME[dialect], one, "http://x")
    return Received("/", tuple((name.lower(), value) for name, value in headers), body)


@pytest.mark.broker
async def test_a_path_of_its_own(broker: BrokerProcess, sink: Sink) -> None:
    """Behind a proxy the address that is subscribed is another than the one that is listened at."""
    async with (
        Client(broker.url) as client,
        client.listening(lambda _: None, address=sink.url("proxy"), topic="proxied"),
    ):
        await client.publish(ALERT, topic="proxied")
        await wait_until(lambda: sink.at("proxy"), "what goes to the proxy")
