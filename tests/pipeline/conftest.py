import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession

from tocsin.mediation.between_nodes import MEDIA_TYPE, address_of, customise
from tocsin.model.declarations import Declaration
from tocsin.model.delivery import Match, Outcome
from tocsin.model.filters import TopicIs
from tocsin.model.identity import SECOND, Instant, MessageId, Node, SubscriptionId, after
from tocsin.model.names import QName
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed, Declared, Record
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.pipeline.session import SparkSettings, session
from tocsin.store.codec import encode
from tocsin.store.database import Store
from tocsin.store.log.log import Log

BASE_URL = "http://127.0.0.1:8080"
NODE = Node("n")
SOAP = "http://www.w3.org/2003/05/soap-envelope"
WSN = "http://docs.oasis-open.org/wsn/b-2"
CONCRETE = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete"


class Recorder:
    """A data directory as a node leaves it. What is recorded is on disk after `save`."""

    def __init__(
        self, data: Path, engine: Literal["spark", "embedded"] = "spark", node: Node = NODE, base_url: str = BASE_URL
    ) -> None:
        self.data, self.node, self.base_url = data, node, base_url
        self.records: list[Record] = []
        self._saved = 0
        self._outcomes: list[bytes] = []
        with closing(Store.open(data / "tocsin.db")) as store:
            store.set_meta("base_url", base_url)
            store.set_meta("node", node)
            store.claim_engine(engine)

    @property
    def at(self) -> Position:
        return Position(self.node, len(self.records))

    @property
    def now(self) -> Instant:
        return Instant((1_700_000_000 + len(self.records)) * SECOND)

    def subscribe(
        self,
        name: str,
        topic: str,
        dialect: str = "cloudevents",
        lease: float | None = None,
        since: int | None = None,
    ) -> Subscription:
        begin = self.at if since is None else Position(self.node, since)
        expires = None if lease is None else after(self.now, lease)
        consumer, wanted = Endpoint(f"http://127.0.0.1:9/{name}"), TopicIs(((QName("", topic),),))
        soap = None if dialect == "cloudevents" else "1.2"
        form = Form(dialect, soap, None if soap is None else "2005/08")
        made = Subscription(SubscriptionId(name), None, consumer, None, form, (wanted,), begin, expires)
        return self.change(made)

    def change(self, subscription: Subscription) -> Subscription:
        self.records.append(Changed(self.at, self.now, subscription))
        return subscription

    def declare(self, what: Declaration) -> None:
        self.records.append(Declared(self.at, self.now, what))

    def end(self, subscription: Subscription) -> None:
        self.change(replace(subscription, state="ended"))

    def raw(self, topic: str, body: bytes = b"<reading/>", media_type: str = "application/xml") -> None:
        self._accept("raw", f"/broker/publish/{topic}", media_type, body)

    def cloud_event(self, topic: str, door: str = "/events", **attributes: str) -> None:
        """At the door of a notifier it is for its service alone."""
        event = {"specversion": "1.0", "id": f"e{self.at.offset}", "source": "/s", "type": "t", "subject": topic}
        self._accept("cloudevents", door, "application/cloudevents+json", json.dumps(event | attributes).encode())

    def ask(self, topic: str, request: ReplyRequest, door: str = "/events") -> None:
        """A CloudEvent that asks for replies."""
        self.cloud_event(topic, door)
        asking = self.records[-1]
        assert isinstance(asking, Accepted)
        self.records[-1] = replace(asking, reply=request)

    def notify(self, *topics: str) -> None:
        messages = "".join(
            f'<w:NotificationMessage><w:Topic Dialect="{CONCRETE}">{topic}</w:Topic>'
            f"<w:Message><reading>{number}</reading></w:Message></w:NotificationMessage>"
            for number, topic in enumerate(topics)
        )
        self._soap("wsn-1.3", "/broker", f'<w:Notify xmlns:w="{WSN}">{messages}</w:Notify>')

    def receive(self, *passed_on: Notification, by: str) -> None:
        """What another node passes on, as it stands in that one's log."""
        door = address_of("", by)
        frames = (customise(each, _neighbour(door), by)[1] for each in passed_on)
        self._accept("node", door, MEDIA_TYPE, b"".join(frames))

    def event(self, topic: str) -> None:
        self._soap("wse-2004-08", f"/broker/publish/{topic}", "<reading/>")

    def outcome(self, subscription: str, offset: int, *results: Literal["delivered", "retry", "dead"]) -> None:
        match = Match(MessageId(f"e{offset}"), SubscriptionId(subscription))
        told = [
            Outcome(match, Position(self.node, offset), 0, self.now, result, attempt, "because")
            for attempt, result in enumerate(results, 1)
        ]
        self._outcomes.append(msgspec.msgpack.encode(told))

    def tell(self, *outcomes: Outcome) -> None:
        self._outcomes.append(msgspec.msgpack.encode(outcomes))

    def save(self) -> None:
        asyncio.run(self._save())

    def _soap(self, dialect: str, door: str, content: str) -> None:
        body = f'<s:Envelope xmlns:s="{SOAP}"><s:Body>{content}</s:Body></s:Envelope>'
        self._accept(dialect, door, "application/soap+xml", body.encode())

    def _accept(self, dialect: str, door: str, media_type: str, body: bytes) -> None:
        headers, cause = (("content-type", media_type),), f"c{self.at.offset}"
        self.records.append(Accepted(self.at, self.now, door, dialect, headers, None, cause, body))

    async def _save(self) -> None:
        with closing(Store.open(self.data / "tocsin.db")) as store:
            fresh, self._saved = self.records[self._saved :], len(self.records)
            store.apply([each for each in fresh if not isinstance(each, Accepted)])
        told, self._outcomes = self._outcomes, []
        for name, payloads in (("log", [encode(each) for each in fresh]), ("outcomes", told)):
            log = Log.open(self.data / name)
            if payloads:
                await log.append_all(payloads)
            await log.close()


def _neighbour(address: str) -> Subscription:
    consumer, form = Endpoint(address, node=address), Form("node")
    return Subscription(SubscriptionId("neighbour"), None, consumer, None, form, (), Position(NODE, 0), None)


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "data")


@pytest.fixture
def embedded(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "data", "embedded")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    place = tmp_path_factory.mktemp("spark")
    with session(place / "spark.log", place / "scratch", SparkSettings("local[2]")) as opened:
        yield opened
