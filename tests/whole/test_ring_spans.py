"""What is about a span, or about several content topics, lies at several nodes of a ring: each subscription is told of
it once, by whichever node, whatever happens to some."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole.acts import call, until
from tests.whole.rings import ProcessRing
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import HANG_UP, Say, Sink

from tocsin.client.client import Client
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
OURS = "urn:tocsin:dialect:content-topic"
SPACE = {
    "dimensions": [
        {"name": "place", "kind": "string"},
        {"name": "degrees", "kind": "number", "low": 0, "high": 100},
        {"name": "sky", "kind": "enumeration", "values": ["clear", "rain", "snow"]},
    ]
}
BOXES = [
    "weather:*/*/*",
    "weather:*/>=50/*",
    "weather:*,NJ/*/rain|snow",
    "weather:A*/0..40/*",
    "weather:*/30..70/clear",
    "weather:Akron,OH/*/*",
    "weather:*/99/*",
]
SPANS = [  # with the boxes that they meet
    ("weather:*/*/*", (0, 1, 2, 3, 4, 5, 6)),
    ("weather:*,NJ/20..60/*", (0, 1, 2, 3, 4)),
    ("weather:A*/35/*", (0, 2, 3, 4, 5)),
    ("weather:*/<30/clear", (0, 3, 5)),
    ("weather:Akron,OH/99/rain || weather:Boston,MA/1/snow", (0, 1, 5, 6)),
    ("weather:Akron,OH/2/rain || weather:*,MA/35/clear || weather:Akron,OH/2/rain", (0, 3, 4, 5)),
    ("weather:Boston,MA/1/snow", (0,)),
]


@pytest.fixture
def ring(tmp_path: Path, http: HttpClient) -> Iterator[ProcessRing]:
    made = ProcessRing(tmp_path, http)
    yield made
    made.close()


async def stand(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    answer = await call(http, "PUT", f"{ring.at(0).url}/api/spaces/weather", SPACE)
    assert answer.status == 200, answer
    for number, box in enumerate(BOXES):
        asked = {"consumer": sink.url(f"box{number}"), "filters": [{OURS: box}]}
        answer = await call(http, "POST", f"{ring.at(number).url}/api/subscriptions", asked)
        assert answer.status == 201, answer


async def say(http: HttpClient, node: BrokerProcess, name: str, content_topic: str, **more: str) -> Any:
    event = {"specversion": "1.0", "id": name, "source": "/s", "type": "t", "data": 7, "contenttopic": content_topic}
    kind = (("Content-Type", "application/cloudevents+json"),)
    return await http.request("POST", f"{node.url}/events", kind, json.dumps(event | more).encode())


def told(sink: Sink) -> Counter[tuple[str, str]]:
    return Counter((each.path.strip("/"), str(found.id)) for each in sink.received for found in each.notifications())


def wanted(rounds: int) -> set[tuple[str, str]]:
    return {(f"box{box}", f"{turn}-{n}") for turn in range(rounds) for n, (_, met) in enumerate(SPANS) for box in met}


async def test_each_subscription_is_told_once(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(3)
    await stand(ring, http, sink)
    for turn in range(3):  # at each node once
        for number, (text, _) in enumerate(SPANS):
            assert (await say(http, ring.at(turn), f"{turn}-{number}", text)).status == 202
    for number, (text, _) in enumerate(SPANS):  # by who heard no answer, at another
        assert (await say(http, ring.at(1), f"0-{number}", text)).status == 202
    await wait_until(lambda: wanted(3) <= told(sink).keys(), "all who ask for some of it are told")
    assert (await say(http, ring.at(0), "last", "weather:*/*/*")).status == 202
    await wait_until(lambda: all((f"box{n}", "last") in told(sink) for n in range(len(BOXES))), "and of the last")
    assert told(sink) == Counter(wanted(3) | {(f"box{n}", "last") for n in range(len(BOXES))})
    for node in ring.each:
        traced = document((await call(http, "GET", f"{node.url}/api/trace/0-1")).body)["items"]
        assert sorted(each["consumer"].rpartition("/")[2] for each in traced) == [f"box{n}" for n in SPANS[1][1]]
    members = (await ring.view(ring.at(0)))["members"]
    assert all(each["accepted"] for each in members), "each has some of it"


@pytest.mark.parametrize("dialect", ["wsn-1.3", "wse-2004-08", "cloudevents"])
async def test_a_pull_point_has_it_once_in_every_dialect(ring: ProcessRing, http: HttpClient, dialect: str) -> None:
    await ring.grow(3)
    assert (await call(http, "PUT", f"{ring.at(0).url}/api/spaces/weather", SPACE)).status == 200
    reader, writer, found = Client(ring.at(1).url, "cloudevents"), Client(ring.at(2).url, dialect), list[Any]()
    async with reader, writer, reader.pulling(box="weather:*/>20/*") as point:

        async def pulled() -> list[str]:
            found.extend(await reader.pull(point, wait=5))
            return sorted(each.id for each in found)

        said = ["weather:*,NJ/20..60/*", "weather:A*/35/rain"]
        name = await writer.publish(b"<x/>", content_topic=said)
        last = await writer.publish(b"<x/>", content_topic="weather:Akron,OH/21/rain")
        assert await until(pulled, lambda ids: len(ids) >= 2) == sorted([name, last])
        assert {each.id: each.attribute("contenttopic") for each in found}[name] == " || ".join(said)


async def test_what_asks_for_replies_lies_at_one_node(ring: ProcessRing, http: HttpClient) -> None:
    await ring.grow(3)
    assert (await call(http, "PUT", f"{ring.at(0).url}/api/spaces/weather", SPACE)).status == 200
    answer = await say(http, ring.at(1), "r", "weather:*/*/*", replytype="int", replyfor="1m")
    assert answer.status == 400 and b"belongs to several nodes" in answer.body, answer
    assert (await say(http, ring.at(1), "s", "weather:A/1/rain", replytype="int", replyfor="1m")).status in (201, 202)


@pytest.mark.long
async def test_a_node_is_killed_that_has_some_of_it(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    """What it had accepted and not delivered is told by who goes on for it, and to those alone whom it was to tell."""
    sink.script = lambda received: Say() if ring.gone else HANG_UP
    await ring.grow(4)
    await stand(ring, http, sink)
    for number, (text, _) in enumerate(SPANS):
        assert (await say(http, ring.at(number), f"0-{number}", text)).status == 202
    ring.kill(1)
    await asyncio.gather(*(_again(http, ring, f"1-{n}", text) for n, (text, _) in enumerate(SPANS)))
    await wait_until(lambda: wanted(2) <= told(sink).keys(), "all is told")
    assert told(sink).keys() == wanted(2)


async def _again(http: HttpClient, ring: ProcessRing, name: str, text: str) -> None:
    """Until it is taken: for a while what belongs to the node that is gone is refused."""
    await until(lambda: say(http, ring.at(0), name, text), lambda answer: answer.status == 202)
