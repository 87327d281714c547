"""A node in this process with either engine; what Spark would do is done by its own hop, on command."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path
from typing import Any, Literal

import msgspec
from tests.pipeline.stage import standing
from tests.whole.acts import call
from tests.whole.shell import document
from tests.whole.sink import Sink

from tocsin.broker.engines.outbox import OutboxEngine
from tocsin.broker.engines.retention import Retention
from tocsin.broker.node import Node
from tocsin.broker.settings import DeliverySettings, Limits, Listen, LogSettings, Settings
from tocsin.model.delivery import Delivery
from tocsin.pipeline.hop import hop
from tocsin.platform.serving import serving
from tocsin.store.blocks import in_blocks
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

Engine = Literal["embedded", "spark"]
ENGINES: tuple[Engine, ...] = ("embedded", "spark")
EVENT = (("Content-Type", "application/cloudevents+json"),)


class Life:
    """A running node, its consumer, and the calls that tests make."""

    def __init__(self, node: Node, http: HttpClient, sink: Sink) -> None:
        self.node, self.http, self.sink = node, http, sink

    async def subscribe(self, path: str, start: dict[str, Any] | None = None) -> str:
        """To the topic t; `start` is from where in the log."""
        more = {} if start is None else {"from": start}
        answer = await self.api("", {"consumer": self.sink.url(path), "topic": "t"} | more)
        assert answer.status == 201, answer
        return str(document(answer.body)["id"])

    async def api(self, path: str, body: object = None, method: str = "POST") -> Answer:
        return await call(self.http, method, f"{self.node.base_url}/api/subscriptions{path}", body)

    async def publish(self, *numbers: int, topic: str = "t", **attributes: str) -> None:
        for number in numbers:
            answer = await self.post(number, topic, **attributes)
            assert answer.status == 202, answer
        self.match()

    async def post(self, number: int, topic: str = "t", **attributes: str) -> Answer:
        event = {"specversion": "1.0", "source": "/s", "type": "t", "subject": topic, "data": number} | attributes
        body = msgspec.json.encode(event | {"id": f"{topic}-{number}"})
        return await self.http.request("POST", f"{self.node.base_url}/events", EVENT, body)

    def got(self, path: str) -> list[int]:
        return [document(each.body)["data"] for each in self.sink.at(path)]

    def match(self) -> None:
        """With the Spark engine, one batch of all that is new in the log."""
        if isinstance(self.node.engine, OutboxEngine):
            work(self.node.settings.data)


def work(data: Path) -> None:
    with closing(Outbox.open(data / "outbox.db")) as outbox, closing(LogReader(data / "log")) as log:
        last = outbox.last()
        start, end = (0 if last is None else msgspec.json.decode(last.end)["log"]), log.end()
        done = msgspec.json.encode({"log": end, "outcomes": 0}).decode()
        number = next(count(0 if last is None else last.id + 1))
        assert outbox.publish(number, list(in_blocks(_deliveries(data, log, start, end))), rows=end - start, end=done)


def _deliveries(data: Path, log: LogReader, start: int, end: int) -> Iterator[Delivery]:
    with standing(data) as met:
        for seen in hop(log.frames(start, end), met, customise=True, log=log):
            for told in seen.told:
                yield from told.deliveries


async def retain(node: Node) -> None:
    """Now, not when it is due."""
    await Retention(node.journal.log, node.engine, node.settlement, node.settings, node.now).retain()


@asynccontextmanager
async def living(
    data: Path, engine: Engine, http: HttpClient, sink: Sink, told: list[str] | None = None, **more: Any
) -> AsyncIterator[Life]:
    """`more` are settings of delivery, of the limits (`limits=`) and of the log (`log=`)."""
    limits, log = Limits(**more.pop("limits", {})), LogSettings(**more.pop("log", {}))
    patience = {"attempts": 3, "first_backoff": 0.005, "longest_backoff": 0.02, "breaker_cooldown": 0.05}
    delivery = DeliverySettings(**(patience | more))
    said = list[str]() if told is None else told
    settings = Settings(data, engine, None, Listen(port=0), limits=limits, log=log, delivery=delivery)
    async with serving(settings, said.append) as node:
        yield Life(node, http, sink)
    assert told is not None or all("kernels" in each for each in said), said
