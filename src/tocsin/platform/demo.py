"""The demo: a stream of disaster notifications, in three dialects in and whatever each consumer chose out."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from tocsin.client.client import Client
from tocsin.client.consumer import Consumer, Received
from tocsin.client.errors import ClientError
from tocsin.client.values import Lease, Mode
from tocsin.model.names import QName, Topic
from tocsin.wire.http_client import HttpClient

NAMESPACE = "urn:tocsin:demo:disaster"
PER_SECOND = 10.0
LEASE, RENEW_SECONDS = "PT10M", 240.0


@dataclass
class Producer:
    name: str
    dialect: str
    disaster: str
    places: tuple[str, ...]
    levels: tuple[str, ...] = ("minor", "severe")
    published: int = 0

    def event(self, chance: random.Random) -> tuple[Topic, bytes]:
        level, place = chance.choice(self.levels), chance.choice(self.places)
        topic = Topic((QName(NAMESPACE, self.disaster), QName("", level)))
        payload = (
            f'<alert xmlns="{NAMESPACE}"><event>{self.disaster}</event><severity>{level}</severity>'
            f"<area>{escape(place)}</area><people>{chance.randrange(10, 100_000)}</people></alert>"
        )
        return topic, payload.encode()


@dataclass
class Listener:
    name: str
    dialect: str
    topic: str
    mode: Mode = ""
    received: int = 0


def producers() -> list[Producer]:
    return [
        Producer("seismology institute", "wsn-1.3", "earthquake", ("L'Aquila", "Kobe", "Concepción")),
        Producer("river gauges", "wse-2004-08", "flood", ("Passau", "Piscataway", "Dhaka")),
        Producer("fire watch", "cloudevents", "wildfire", ("Evia", "Paradise", "Kangaroo Island")),
    ]


def listeners() -> list[Listener]:
    return [
        Listener("crisis desk", "wsn-1.3", "d:*//."),
        Listener("hospital", "wse-2004-08", "d:earthquake//."),
        Listener("news room", "cloudevents", "d:earthquake/severe|d:wildfire//."),
        Listener("water authority", "cloudevents", "d:flood//.", mode="binary"),
        Listener("archive", "cloudevents", ""),
    ]


@dataclass
class Demo:
    broker: str
    producers: list[Producer] = field(default_factory=producers)
    listeners: list[Listener] = field(default_factory=listeners)
    refused: Counter[str] = field(default_factory=Counter)

    def heard(self, received: Received) -> None:
        self.listeners[int(received.path.rpartition("/")[2])].received += 1

    async def feed(self, producer: Producer, client: Client, seed: int) -> None:
        chance = random.Random(seed)
        while True:
            topic, payload = producer.event(chance)
            try:
                await client.publish(payload, topic=topic, producer=f"urn:demo:{producer.disaster}")
                producer.published += 1
            except ClientError as problem:
                self.refused[str(problem)] += 1
            await asyncio.sleep(chance.expovariate(PER_SECOND))

    async def subscribe(self, consumer: Consumer, http: HttpClient) -> list[tuple[Client, Lease]]:
        leases = []
        for number, each in enumerate(self.listeners):
            client = Client(self.broker, each.dialect, http)
            lease = await client.subscribe(
                f"{consumer.url}/{number}",
                topic=each.topic or None,
                namespaces=(("d", NAMESPACE),),
                expires=LEASE,
                mode=each.mode,
            )
            leases.append((client, lease))
        return leases


@contextlib.asynccontextmanager
async def demo(broker: str) -> AsyncIterator[tuple[Demo, "asyncio.Event"]]:
    """Runs until the event is set; then nothing more is published, and consumers stay until the end."""
    world, enough = Demo(broker), asyncio.Event()
    http = HttpClient()
    try:
        async with Consumer(received=world.heard).listening() as consumer:
            leases = await world.subscribe(consumer, http)
            tasks = [asyncio.create_task(_keep(leases))]
            tasks.append(asyncio.create_task(_feed_all(world, http, enough)))
            try:
                yield world, enough
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                for client, lease in leases:
                    with contextlib.suppress(ClientError):
                        await client.unsubscribe(lease.address)
    finally:
        await http.close()


async def _feed_all(world: Demo, http: HttpClient, enough: asyncio.Event) -> None:
    feeds = [
        asyncio.create_task(world.feed(each, Client(world.broker, each.dialect, http), seed))
        for seed, each in enumerate(world.producers)
    ]
    try:
        await enough.wait()
    finally:
        for feed in feeds:
            feed.cancel()
        await asyncio.gather(*feeds, return_exceptions=True)


async def _keep(leases: list[tuple[Client, Lease]]) -> None:
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        for client, lease in leases:
            with contextlib.suppress(ClientError):
                await client.renew(lease.address, LEASE)
