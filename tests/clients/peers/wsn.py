"""zeep, with the WSDL that the broker serves: WS-Notification 1.3."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import requests
from lxml import etree
from tests.clients.peers.peer import CONCRETE, FULL, Event
from zeep import Client, Transport

_WSN = "http://docs.oasis-open.org/wsn/b-2"


class Zeep:
    def __init__(self, broker: str, soap: str) -> None:
        self._session, self._suffix = requests.Session(), "Soap" + soap.replace(".", "")
        self._session.trust_env = False
        self._client = Client(f"{broker}/broker?wsdl", transport=Transport(session=self._session))
        self._pull_point: Any = None
        self._heard: list[Event] = []

    async def publish(self, event: Event) -> None:
        about = {"_value_1": event.topic, "Dialect": CONCRETE}
        message = {"Topic": about, "Message": {"_value_1": etree.fromstring(event.payload)}}
        await asyncio.to_thread(self._port("NotificationConsumer").Notify, NotificationMessage=[message])

    def subscribe(self, topic: str) -> None:
        """What it wants is fed to a pull point: it has no server of its own."""
        address = self._port("CreatePullPoint").CreatePullPoint().PullPoint.Address._value_1
        wanted = etree.Element(f"{{{_WSN}}}TopicExpression", Dialect=FULL)
        wanted.text = topic
        asked = {"ConsumerReference": {"Address": address}, "Filter": {"_value_1": [wanted]}}
        self._port("NotificationProducer").Subscribe(**asked)
        self._pull_point = self._client.create_service(f"{{urn:tocsin:broker}}PullPoint{self._suffix}", address)

    async def heard(self) -> list[Event]:
        answer = await asyncio.to_thread(self._pull_point.GetMessages, MaximumNumber=100)
        self._heard += [Event.of(each.Topic._value_1, each.Message._value_1) for each in answer.NotificationMessage]
        return self._heard

    def close(self) -> None:
        self._session.close()

    def _port(self, port_type: str) -> Any:
        return self._client.bind("NotificationBroker", port_type + self._suffix)


@asynccontextmanager
async def publishing(broker: str, soap: str = "1.2") -> AsyncIterator[Zeep]:
    made = await asyncio.to_thread(Zeep, broker, soap)
    yield made
    made.close()


@asynccontextmanager
async def receiving(broker: str, topic: str, soap: str = "1.2") -> AsyncIterator[Zeep]:
    async with publishing(broker, soap) as made:
        await asyncio.to_thread(made.subscribe, topic)
        yield made
