"""Our own client, in any dialect."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lxml import etree
from tests.clients.peers.peer import Event

from tocsin import Client, PullPoint
from tocsin.client.requests import dialect_named, operation
from tocsin.markup.xml import qname
from tocsin.model.notification import Notification


class Own:
    def __init__(self, client: Client, heard: list[Notification], point: PullPoint | None = None) -> None:
        self._client, self._heard, self._point = client, heard, point

    async def publish(self, event: Event) -> None:
        kind = qname(str(etree.fromstring(event.payload).tag))
        await self._client.publish(event.payload, topic=event.topic, kind=kind)

    async def heard(self) -> list[Event]:
        if self._point is not None:
            self._heard += await self._client.pull(self._point)
        return [Event.of(str(each.topic), etree.fromstring(each.payload.data)) for each in self._heard]


def pushes(dialect: str) -> bool:
    """Whether a subscription in that dialect can name a consumer; else what it wants waits at a pull point."""
    rules = dialect_named(dialect)
    return not rules.is_soap or operation(rules, "Subscribe", needs="consumer") is not None


@asynccontextmanager
async def publishing(broker: str, dialect: str) -> AsyncIterator[Own]:
    async with Client(broker, dialect) as client:
        yield Own(client, [])


@asynccontextmanager
async def receiving(broker: str, topic: str, dialect: str) -> AsyncIterator[Own]:
    heard = list[Notification]()
    async with Client(broker, dialect) as client:
        if pushes(dialect):
            async with client.listening(heard.append, topic=topic):
                yield Own(client, heard)
        else:
            async with client.pulling(topic=topic) as point:
                yield Own(client, heard, point)
