"""The table `harvests` says what the node says of the same publications, with either engine."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.stage import catch_up
from tests.whole.acts import IMPATIENT, call, dead_letters, get, subscribe, until
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Say, Sink

from tocsin.pipeline.run import RunSettings
from tocsin.spark import read_table
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.spark
EVENT = (("Content-Type", "application/cloudevents+json"),)
WORLD = {
    "topics": {"Beds": None},
    "categories": {"Desks": None, "Hospitals": None, "Clinics": None},
    "edges": [["Desks", "Beds", "Hospitals"], ["Desks", "Beds", "Clinics"], ["Hospitals", "Beds", "Clinics"]],
}


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with Sink().open() as opened:
        opened.script = lambda received: Say(410 if received.path == "/gone" else 202)
        yield opened


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient(max_body=8 << 20)
    yield client
    await client.close()


class Stage:
    """A node, and the job on its directory as far as there is something to read."""

    def __init__(self, broker: BrokerProcess, http: HttpClient, sink: Sink, spark: SparkSession) -> None:
        self.broker, self.http, self.sink, self._spark = broker, http, sink, spark

    async def ask(self, topic: str, reply_type: str) -> None:
        event = {"specversion": "1.0", "id": topic, "source": "/s", "type": "t", "subject": topic}
        body = json.dumps(event | {"replytype": reply_type}).encode()
        answer = await self.http.request("POST", f"{self.broker.url}/events", EVENT, body)
        assert answer.status == 202, answer

    async def reply(self, to: str, value: object) -> None:
        answer = await call(self.http, "POST", to, {"value": value})
        assert answer.status == 204, answer

    async def told(self, *paths: str) -> dict[str, str]:
        """Where those who were told may reply, by their paths."""
        await wait_until(lambda: all(map(self.sink.at, paths)), "all are told")
        return {each.path[1:]: json.loads(each.body)["replyto"] for each in self.sink.received}

    async def catch_up(self) -> None:
        await asyncio.to_thread(catch_up, self._spark, RunSettings(self.broker.data, once=True))

    async def views(self) -> dict[str, Any]:
        return {each["id"]: each for each in (await get(self.http, f"{self.broker.url}/api/views"))["items"]}

    def harvests(self) -> dict[str, Any]:
        """As views, as far as the table has it."""
        found: dict[str, Any] = {}
        rows = read_table(self._spark, "harvests", self.broker.data / "tables")
        for row in rows.orderBy("view", "value").collect():
            names = ("topic", "reply_type", "receivers", "replied", "not_reached", "outstanding")
            view = found.setdefault(row["view"], {name: row[name] for name in names} | {"histogram": {}})
            if row["value"] is None:
                view["rest"] = row["count"]
            else:
                view["histogram"][row["value"]] = row["count"]
        return found


async def make_world(stage: Stage) -> None:
    """A desk and those that it tells, one of them through its pull point."""
    url = stage.broker.url
    assert (await call(stage.http, "PUT", f"{url}/api/world", WORLD)).status < 300
    for name, category in (("desk", "Desks"), ("north", "Hospitals"), ("south", "Clinics"), ("mute", "Clinics")):
        made = {"name": name, "categories": [category]}
        made |= {} if name == "mute" else {"address": stage.sink.url(name)}
        assert (await call(stage.http, "POST", f"{url}/api/notifiers", made)).status == 201


async def live(stage: Stage) -> None:
    """Three publications: to all by topic, to one alone, and through notifiers."""
    http, url = stage.http, stage.broker.url
    for name in ("yes", "no", "mum", "gone"):
        await subscribe(http, stage.broker, stage.sink.url(name), "vote")
    pulled = document((await call(http, "POST", f"{url}/api/pullpoints", {"topic": "vote"})).body)
    await subscribe(http, stage.broker, stage.sink.url("poet"), "text")
    await make_world(stage)
    await stage.ask("vote", "enum:yes,no")
    await stage.ask("text", "text:200")
    asked = {"topic": "Beds", "data": "?", "protocol": "din", "reply_type": "int:0.."}
    assert (await call(http, "POST", f"{url}/api/notifiers/desk/publish", asked)).status == 202
    messages = await until(lambda: get(http, pulled["messages"]), lambda found: bool(found["items"]))
    await stage.reply(messages["items"][0]["event"]["replyto"], "no")


@pytest.mark.parametrize("engine", ["embedded", "spark"])
async def test_the_table_says_what_the_node_says(
    tmp_path: Path, spark: SparkSession, sink: Sink, http: HttpClient, engine: Literal["embedded", "spark"]
) -> None:
    settings = IMPATIENT | {"engine": engine}
    stage = Stage(BrokerProcess.start(tmp_path / "data", settings), http, sink, spark)
    try:
        await live(stage)
        if engine == "spark":
            await stage.catch_up()
        to = await stage.told("yes", "no", "mum", "gone", "poet", "north", "south")
        for name, value in (("yes", "yes"), ("no", "no"), ("poet", "it's 'so'"), ("north", 12)):
            await stage.reply(to[name], value)
        good = {"vote": (5, 3, 1), "text": (1, 1, 0), "Beds": (3, 1, 0)}
        await until(stage.views, lambda found: {each["topic"]: sums(each) for each in found.values()} == good)
        stage.broker.kill()  # what was replied is told once more
        stage.broker = BrokerProcess.start(stage.broker.data, settings, stage.broker.port)
        await until(lambda: dead_letters(http, stage.broker), lambda found: len(found) == 1)
        views = await stage.views()
        stage.broker.stop()
        await stage.catch_up()
        found = stage.harvests()
        assert len(found) == 3
        for name, row in found.items():
            values = {each["value"]: each["count"] for each in views[name]["histogram"]}
            assert row == {key: views[name][key] for key in row} | {"histogram": values}
        told = read_table(spark, "replies", stage.broker.data / "tables")
        assert told.count() >= 5 and told.dropDuplicates(["notification", "receiver"]).count() == 5
    finally:
        stage.broker.kill()


def sums(view: dict[str, Any]) -> tuple[int, int, int]:
    return view["receivers"], view["replied"], view["not_reached"]
