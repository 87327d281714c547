"""A broker that is killed again and again while it is used, and all that must hold of what it leaves behind."""

import asyncio
import random
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.whole.acts import IMPATIENT, get, until
from tests.whole.shell import BrokerProcess, Flags, command, environment, records, wait_until
from tests.whole.sink import Say, Sink

from tocsin import Client, ClientError, Received
from tocsin.flow.flow import Flow, normalise
from tocsin.model.names import topic
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed
from tocsin.model.subscription import Subscription
from tocsin.wire.http_client import HttpClient

DIALECTS = ("wsn-1.3", "wse-2004-08", "cloudevents")
TOPICS = ("load/a", "load/b", "load/c")
WANTED = ("load//.", "load/a", "load/b|load/c", "*/c")
SETTINGS = IMPATIENT | {"delivery-attempts": "1000", "delivery-queue": "20", "log-segment-bytes": "256KiB"}
Pair = tuple[str, str]


@dataclass
class Left:
    """What the clients know at the end, and the data directory."""

    data: Path
    published: dict[str, list[str]] = field(default_factory=dict)  # by producer: ids acknowledged, in order
    received: dict[str, list[str]] = field(default_factory=dict)  # by path: ids, in order, repeats included
    subscribed: dict[str, str] = field(default_factory=dict)  # acknowledged: id -> path
    ended: set[str] = field(default_factory=set)  # acknowledged: id
    kills: int = 0

    def notifications(self) -> Iterator[tuple[Notification, list[Subscription]]]:
        """The log from its beginning, each notification with those that want it, by nothing but a loop."""
        flow = Flow("http://nowhere")
        for record in records(self.data):
            if isinstance(record, Changed):
                flow.apply(record.subscription)
            elif isinstance(record, Accepted):
                for notification in normalise(record):
                    yield notification, flow.match(notification).wanted

    def pairs(self) -> set[Pair]:
        """(notification, path of the consumer)."""
        return {(found.id, path_of(each)) for found, wanted in self.notifications() for each in wanted}

    def latest(self) -> dict[str, Subscription]:
        """Each subscription as its last record has it."""
        return {
            str(each.subscription.id): each.subscription for each in records(self.data) if isinstance(each, Changed)
        }


def path_of(subscription: Subscription) -> str:
    assert subscription.consumer is not None
    return subscription.consumer.address.rpartition("/")[2]


def first_receipts(received: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(received))


class Run:
    """Publishers, subscribers and consumers in this process; the broker in another, which dies."""

    def __init__(self, data: Path, seed: int, settings: Flags) -> None:
        self._dice, self._settings = random.Random(seed), settings
        self._sink = Sink(script=self._answer)
        self._http = HttpClient()
        self._enough, self._there = asyncio.Event(), asyncio.Event()
        self._url = ""
        self.left = Left(data)

    async def kill_again_and_again(self, kills: int) -> Left:
        broker = await asyncio.to_thread(BrokerProcess.start, self.left.data, self._settings)
        self._url = broker.url
        self._there.set()
        try:
            async with self._sink.open(), self._clients():
                for number in range(kills):
                    broker = await self._kill(broker, number)
                self._enough.set()
            await self._settled(broker)
            await asyncio.to_thread(broker.stop)
        finally:
            await self._http.close()
            broker.kill()
        for received in self._sink.received:
            names = self.left.received.setdefault(received.path[1:], [])
            names += [each.id for each in received.notifications()]
        return self.left

    async def _kill(self, broker: BrokerProcess, number: int) -> BrokerProcess:
        enough = {name: len(taken) + 3 for name, taken in self.left.published.items()}
        await wait_until(lambda: all(len(self.left.published[name]) >= enough[name] for name in enough), "all publish")
        await asyncio.sleep(self._dice.uniform(0.0, 0.7))  # the moment is what is random here
        self._there.clear()
        broker.kill()
        if number % 5 == 4:
            await asyncio.to_thread(die_at_start, broker, self._settings, self._dice.uniform(0.2, 1.0))
        self.left.kills += 1
        broker = await asyncio.to_thread(BrokerProcess.start, self.left.data, self._settings, broker.port)
        self._there.set()
        return broker

    def _answer(self, received: Received) -> Say:
        return Say(503) if self._dice.random() < 0.02 else Say()

    @asynccontextmanager
    async def _clients(self) -> AsyncIterator[None]:
        """At the end publishers and subscribers finish what they began; consumers stay."""
        for number, wanted in enumerate(WANTED):
            for dialect in DIALECTS:
                await self._subscribe(dialect, wanted, f"stays-{number}-{dialect}")
        works = [self._publish(dialect, number) for dialect in DIALECTS for number in range(2)]
        works += [self._come_and_go(dialect) for dialect in DIALECTS]
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
            yield

    async def _publish(self, dialect: str, number: int) -> None:
        producer, client = f"urn:producer:{dialect}:{number}", Client(self._url, dialect, self._http)
        dice = random.Random(producer)
        taken = self.left.published.setdefault(producer, [])
        while not self._enough.is_set():
            about, name = topic(dice.choice(TOPICS)), f"{producer}:{len(taken)}"
            assert about is not None
            payload = b"<n>%d %b</n>" % (len(taken), b"x" * dice.randrange(2000))
            while True:
                try:
                    await client.publish(payload, topic=about, producer=producer, message_id=name)
                    break
                except ClientError:
                    await self._there.wait()
            taken.append(name)

    async def _come_and_go(self, dialect: str) -> None:
        dice, mine, number = random.Random(dialect), list[tuple[str, str]](), 0
        while not self._enough.is_set():
            number += 1
            if mine and dice.random() < 0.5:
                name, address = mine.pop(dice.randrange(len(mine)))
                await self._unsubscribe(dialect, address)
                self.left.ended.add(name)
            else:
                mine.append(await self._subscribe(dialect, dice.choice(WANTED), f"comes-{number}-{dialect}"))
            await asyncio.sleep(dice.uniform(0.0, 0.2))

    async def _subscribe(self, dialect: str, wanted: str, path: str) -> tuple[str, str]:
        """An unanswered one may stand all the same, so each try has a path of its own."""
        tries = 0
        while True:
            tries += 1
            own = f"{path}-{tries}"
            try:
                lease = await Client(self._url, dialect, self._http).subscribe(self._sink.url(own), topic=wanted)
            except ClientError:
                await self._there.wait()
            else:
                self.left.subscribed[lease.id] = own
                return lease.id, lease.address

    async def _unsubscribe(self, dialect: str, address: str) -> None:
        """Unknown is as good: then an unanswered try before has ended it."""
        while True:
            try:
                await Client(self._url, dialect, self._http).unsubscribe(address)
                return
            except ClientError as error:
                if "there is no subscription" in str(error):
                    return
                await self._there.wait()

    async def _settled(self, broker: BrokerProcess) -> None:
        await self._sink.up()
        try:
            await until(
                lambda: get(self._http, f"{broker.url}/api/status"),
                lambda found: not any(found["delivery"][each] for each in ("waiting", "in_flight", "behind")),
                30.0,
            )
        finally:
            await self._sink.down()


def die_at_start(broker: BrokerProcess, settings: Flags, seconds: float) -> None:
    """Killed while it starts, perhaps in the middle of its recovery."""
    with subprocess.Popen(
        command(broker.data, settings, broker.port),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        cwd=broker.data.parent,
    ) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()


def killed_run(data: Path, seed: int, kills: int = 20, settings: Flags = SETTINGS) -> Left:
    """The same load for the same seed; the moments of the kills are the seed's, what they hit is not."""

    async def run() -> Left:
        return await Run(data, seed, settings).kill_again_and_again(kills)

    return asyncio.run(run())
