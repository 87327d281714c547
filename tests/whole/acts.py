"""What tests do to a broker again and again."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from tests.whole.shell import LOOK, PATIENCE, BrokerProcess, document
from tests.whole.sink import Sink
from tests.whole.speech import message, notify

from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

JSON = (("Content-Type", "application/json"),)
IMPATIENT = {
    "delivery-first-backoff": "5ms",
    "delivery-longest-backoff": "40ms",
    "delivery-breaker-cooldown": "50ms",
}
Found = TypeVar("Found")


async def call(http: HttpClient, method: str, url: str, body: object = None) -> Answer:
    return await http.request(method, url, JSON, b"" if body is None else msgspec.json.encode(body))


async def subscribe(http: HttpClient, broker: BrokerProcess, consumer: str, topic: str, **more: object) -> str:
    """The id of a new subscription to CloudEvents."""
    answer = await call(http, "POST", f"{broker.url}/api/subscriptions", {"consumer": consumer, "topic": topic} | more)
    assert answer.status == 201, answer
    return str(document(answer.body)["id"])


async def publish(http: HttpClient, broker: BrokerProcess, topic: str, *numbers: int) -> None:
    """One after the other, as WS-Notification: the payload of number n is <n>n</n>."""
    for number in numbers:
        said = notify(message(f'<n xmlns="">{number}</n>', topic), message_id=f"urn:{topic}:{number}")
        answer = await http.request("POST", f"{broker.url}/broker", *said)
        assert answer.status == 202, answer


def numbers(sink: Sink, path: str) -> list[int]:
    return [int(payload.partition(b">")[2].partition(b"<")[0]) for payload in sink.payloads(path)]


async def get(http: HttpClient, url: str) -> Any:
    answer = await call(http, "GET", url)
    assert answer.status == 200, answer
    return document(answer.body)


async def dead_letters(http: HttpClient, broker: BrokerProcess, subscription: str = "") -> list[Any]:
    of = f"&subscription={subscription}" if subscription else ""
    return list((await get(http, f"{broker.url}/api/dead-letters?limit=1000{of}"))["items"])


async def until(ask: Callable[[], Awaitable[Found]], good: Callable[[Found], bool], seconds: float = PATIENCE) -> Found:
    """What is asked, as soon as it is good."""
    deadline = time.monotonic() + seconds
    while not good(found := await ask()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s; the last was {found!r:.2000}")
        await asyncio.sleep(LOOK)
    return found
