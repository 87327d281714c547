"""Replies over rings of processes: one node has the view of a publication, and all of them are asked for it."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lxml import etree
from tests.whole.acts import call, get, subscribe, until
from tests.whole.rings import ProcessRing
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import HANG_UP, Say, Sink
from tests.whole.test_replies_whole import REPLY, SOAP_12, WSA, R, ask, histogram, say, where

from tocsin import Received
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


@pytest.fixture
def ring(tmp_path: Path, http: HttpClient) -> Iterator[ProcessRing]:
    made = ProcessRing(tmp_path, http)
    yield made
    made.close()


def at(node: BrokerProcess, view: str) -> str:
    """The same view, seen from another node."""
    return f"{node.url}/api/views/{view.rpartition('/')[2]}"


def elsewhere(node: BrokerProcess, address: str) -> str:
    """The same address of a receiver, at another node."""
    return node.url + address[address.index("/", len("http://")) :]


async def pull_point(http: HttpClient, node: BrokerProcess, topic: str) -> str:
    """Its id, whatever else is said of it."""
    answer = await call(http, "POST", f"{node.url}/api/pullpoints", {"topic": topic})
    return str(re.findall(r"[0-9a-f]{16}-[0-9a-f]{32}", answer.body.decode())[0])


async def pulled(http: HttpClient, node: BrokerProcess, point: str) -> dict[str, Any]:
    """The one event that a pull point has, asked for at any node."""
    (held,) = (await get(http, f"{node.url}/api/pullpoints/{point}/messages?wait=20s"))["items"]
    return dict(held["event"])


async def test_each_receiver_replies_in_its_own_way_at_any_node(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    def script(received: Received) -> Say:
        return Say(200, body=b'{"reply": "yes"}') if received.path.startswith("/answers") else Say()

    sink.script = script
    await ring.grow(3)
    for each in range(3):
        topic = f"t{each}"
        await subscribe(http, ring.at(0), sink.url(f"answers{each}"), topic)
        await subscribe(http, ring.at(1), sink.url(f"posts{each}"), topic)
        await subscribe(http, ring.at(2), sink.url(f"soap{each}"), topic, dialect="wsn-1.3")
    points = [await pull_point(http, node, f"t{each}") for each in range(3) for node in ring.each]
    views = [await ask(http, ring.at(each + 1), f"t{each}", replytype="enum:yes,no") for each in range(3)]
    await wait_until(lambda: len(sink.received) == 9, "all are told")
    for number, view in enumerate(views):
        assert view.startswith(ring.at(number + 1).url), "where it was asked"
        waiting = asyncio.create_task(get(http, f"{at(ring.at(number + 2), view)}?wait=60s"))
        found = await until(lambda: get(http, at(ring.at(number), view)), lambda seen: seen["replied"] == 1)  # noqa: B023
        assert (found["receivers"], found["outstanding"], found["exact"]) == (6, 5, True)
        told = json.loads(sink.at(f"posts{number}")[0].body)["replyto"]
        asked = await get(http, elsewhere(ring.at(number + 1), told))
        assert (asked["reply_type"], asked["topic"]) == ("enum:yes,no", f"t{number}")
        answer = await call(http, "POST", elsewhere(ring.at(number), told), {"value": "perhaps"})
        assert answer.status == 400 and b"reply with" in answer.body, answer
        assert (await call(http, "POST", elsewhere(ring.at(number), told), {"value": "no"})).status == 204
        assert (await call(http, "POST", elsewhere(ring.at(number + 1), told), {"value": "yes"})).status == 409
        header = etree.fromstring(sink.at(f"soap{number}")[0].body).find(f".//{R}ReplyTo")
        assert header is not None
        address, token = header.findtext(f"{R}Endpoint/{WSA}Address") or "", header.findtext(f".//{R}Token")
        echo = f'<r:Token xmlns:r="urn:tocsin:reply">{token}</r:Token>'
        to = elsewhere(ring.at(number), address) if number else f"{ring.at(2).url}/broker"
        answer = await http.request("POST", to, SOAP_12, REPLY.format(header=echo, value="yes").encode())
        assert answer.status == 200 and b"ReplyResponse" in answer.body, answer
        for point in points[3 * number : 3 * number + 3]:
            event = await pulled(http, ring.at(number), point)
            assert event["replytype"] == "enum:yes,no"
            assert (await call(http, "POST", event["replyto"], {"value": "no"})).status == 204
        found = await waiting
        assert found["met"] == "all" and histogram(found) == {"yes": 2, "no": 4}
        assert found["complete"] and found["receivers"] == 6
    for node in ring.each:
        listed = (await get(http, f"{node.url}/api/views"))["items"]
        assert {each["id"] for each in listed} == {each.rpartition("/")[2] for each in views}
    ended = document((await call(http, "DELETE", at(ring.at(0), views[0]))).body)
    assert ended["ended"] == "terminated"
    for node in ring.each:
        assert (await get(http, f"{at(node, views[0])}?wait=5s"))["met"] == "ended"
        unknown = await call(http, "GET", at(node, "/" + "0" * 16 + "-" + "0" * 32))
        assert unknown.status == 404


@pytest.mark.long
async def test_the_same_said_again_has_the_same_view(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(3)
    await subscribe(http, ring.at(0), sink.url("a"), "t")
    views = {where(await say(http, node, "t", id="once", replytype="int")).rpartition("/")[2] for node in ring.each}
    assert len(views) == 1
    found = await until(lambda: get(http, at(ring.at(0), "/" + views.copy().pop())), lambda seen: seen["exact"])
    assert found["receivers"] == 1


@pytest.mark.long
async def test_a_view_is_streamed_from_any_node(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(3)
    await subscribe(http, ring.at(0), sink.url("a"), "t")
    view = await ask(http, ring.at(0), "t", replytype="int")
    await wait_until(lambda: sink.received, "it is told")
    streams = [asyncio.create_task(_streamed(at(node, view))) for node in ring.each]
    assert (await call(http, "POST", json.loads(sink.received[0].body)["replyto"], {"value": 7})).status == 204
    await until(lambda: get(http, view), lambda seen: seen["complete"])
    assert (await call(http, "DELETE", at(ring.at(1), view))).status == 200
    for events in await asyncio.gather(*streams):
        assert events[-1]["ended"] == "terminated" and histogram(events[-1]) == {"7": 1}


async def _streamed(view: str) -> list[dict[str, Any]]:
    """All events, until the stream ends."""
    host, port = view.removeprefix("http://").partition("/")[0].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    path = view[view.index("/", len("http://")) :]
    writer.write(f"GET {path}/stream HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    found = []
    while line := await asyncio.wait_for(reader.readline(), 60):
        if line.startswith(b"data: "):
            found.append(json.loads(line[6:]))
            if found[-1]["ended"]:
                break
    writer.close()
    return found


@pytest.mark.long
async def test_receivers_by_topic_and_by_content_are_counted_at_one_view(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    await ring.grow(3)
    space = {"dimensions": [{"name": "free", "kind": "number", "low": 0, "high": 100}]}
    answer = await call(http, "PUT", f"{ring.at(0).url}/api/spaces/beds", space)
    assert answer.status == 200, answer
    sink.script = lambda received: Say(200, body=b'{"reply": 1}') if received.path == "/box" else Say()
    for number in range(4):
        await subscribe(http, ring.at(number), sink.url(f"topic{number}"), f"t{number}")
    asked = {"consumer": sink.url("box"), "filters": [{"urn:tocsin:dialect:content-topic": "beds:*"}]}
    answer = await call(http, "POST", f"{ring.at(1).url}/api/subscriptions", asked)
    assert answer.status == 201, answer
    for number in range(4):
        view = await ask(http, ring.at(number), f"t{number}", replytype="int", contenttopic=f"beds:{20 * number + 10}")
        found = await until(lambda: get(http, view), lambda seen: seen["replied"] == 1)  # noqa: B023
        found = await until(lambda: get(http, view), lambda seen: seen["exact"])  # noqa: B023
        assert (found["receivers"], found["outstanding"]) == (2, 1)
        await wait_until(lambda: sink.at(f"topic{number}"), "by its topic")  # noqa: B023
        to = json.loads(sink.at(f"topic{number}")[0].body)["replyto"]
        assert (await call(http, "POST", elsewhere(ring.at(number + 1), to), {"value": 2})).status == 204
        found = await until(lambda: get(http, view), lambda seen: seen["complete"])  # noqa: B023
        assert histogram(found) == {"1": 1, "2": 1}


async def home_of(ring: ProcessRing, http: HttpClient, view: str) -> int:
    """The number of the node that has it: the one at whose place of the circle it was made."""
    for number, node in ring.nodes.items():
        seen = await ring.view(node)
        mine = next(each for each in seen["members"] if each["node"] == seen["node"])
        if f"{int(mine['id'], 16):016x}" == view.rpartition("/")[2][:16]:
            return number
    raise AssertionError(view)


async def replied(http: HttpClient, ring: ProcessRing, address: str, value: str) -> None:
    """At any node that stands, as often as it takes."""
    for attempt in range(400):
        answer = await call(http, "POST", elsewhere(ring.at(attempt), address), {"value": value})
        if answer.status == 204 or (attempt and answer.status == 409):  # the answer to the first was lost
            return
        assert answer.status in (0, 503), answer
        await asyncio.sleep(0.1)
    raise AssertionError(answer)


@pytest.mark.long
async def test_a_view_goes_on_when_its_node_is_killed(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    sink.script = lambda received: HANG_UP if received.path == "/late" and not ring.gone else Say()
    await ring.grow(4)
    for number in range(6):
        await subscribe(http, ring.at(number), sink.url(f"r{number}"), "t")
    await subscribe(http, ring.at(0), sink.url("late"), "t")
    views = [await ask(http, ring.at(number), "t", replytype="enum:yes,no") for number in range(3)]
    await wait_until(lambda: len([each for each in sink.received if each.path != "/late"]) == 18, "most are told")
    first: dict[str, list[str]] = {}
    for received in sink.received:
        if received.path != "/late":
            said = json.loads(received.body)
            first.setdefault(said["replyto"].rpartition("/")[2].partition(".")[0], []).append(said["replyto"])
    for view in views:
        for address in sorted(set(first[view.rpartition("/")[2]]))[:2]:
            await replied(http, ring, address, "yes")
    ring.kill(await home_of(ring, http, views[0]))
    await ring.settled()
    for view in views:
        name = view.rpartition("/")[2]
        for node in ring.each:
            found = await get(http, at(node, view))
            assert (found["receivers"], found["exact"], histogram(found)) == (7, True, {"yes": 2})
        for address in sorted(set(first[name]))[2:]:
            await replied(http, ring, address, "no")
        await wait_until(lambda name=name: any(name.encode() in each.body for each in sink.at("late")), "it is told")  # type: ignore[misc]
        late = next(each for each in reversed(sink.at("late")) if name.encode() in each.body)
        await replied(http, ring, json.loads(late.body)["replyto"], "no")
        found = await get(http, f"{at(ring.at(1), view)}?wait=30s")
        assert found["met"] == "all" and histogram(found) == {"yes": 2, "no": 5}
    await ring.begin()  # which may come between the node that was killed and the one that goes on for it
    await ring.settled()
    for node in ring.each:
        assert histogram(await get(http, at(node, views[0]))) == {"yes": 2, "no": 5}


@pytest.mark.long
async def test_a_node_that_comes_back_has_no_view_that_others_went_on_with(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    await ring.grow(4)
    for number in range(2):
        await subscribe(http, ring.at(number), sink.url(f"r{number}"), "t")
    view = await ask(http, ring.at(0), "t", replytype="int")
    await wait_until(lambda: len(sink.received) == 2, "both are told")
    addresses = [json.loads(each.body)["replyto"] for each in sink.received]
    await replied(http, ring, addresses[0], "1")
    home = await home_of(ring, http, view)
    ring.kill(home)
    await ring.settled()
    await replied(http, ring, addresses[1], "2")
    await ring.again(home)
    await ring.settled()
    for node in ring.each:
        found = await get(http, at(node, view))
        assert found["complete"] and histogram(found) == {"1": 1, "2": 1}


@pytest.mark.long
async def test_five_hundred_receivers_of_seven_nodes(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    await ring.grow(7)
    topics, random = 7, Random(1)
    for number in range(500):
        await subscribe(http, ring.at(number), sink.url(f"r{number}"), f"t{random.randrange(topics)}")
    everybody = [await subscribe(http, ring.at(number), sink.url(f"all{number}"), "*//.") for number in range(7)]
    views = [
        await ask(http, ring.at(number), f"t{number}", replytype="enum:yes,no,unknown") for number in range(topics)
    ]
    assert len(everybody) == 7
    await wait_until(lambda: len(sink.received) == 500 + 49, "all are told")
    by_view: dict[str, list[str]] = {}
    for received in sink.received:
        to = json.loads(received.body)["replyto"]
        by_view.setdefault(to.rpartition("/")[2].partition(".")[0], []).append(to)
    for number, view in enumerate(views):
        told, said = by_view[view.rpartition("/")[2]], Counter[str]()
        waiting = asyncio.create_task(get(http, f"{at(ring.at(number + 3), view)}?wait=60s"))
        random.shuffle(told)
        for at_, address in enumerate(told[5:]):
            value = random.choice(("yes", "no", "unknown"))
            await replied(http, ring, elsewhere(ring.at(at_), address), value)
            said[value] += 1
        for node in ring.each:
            found = await get(http, at(node, view))
            assert (found["receivers"], found["outstanding"], found["exact"]) == (len(told), 5, True)
            assert histogram(found) == said
        for address in told[:5] if number % 2 else ():
            await replied(http, ring, address, "no")
            said["no"] += 1
        if not number % 2:
            ended = document((await call(http, "DELETE", at(ring.at(number + 1), view))).body)
            assert (ended["ended"], ended["outstanding"]) == ("terminated", 5)
        found = await waiting
        assert found["met"] == ("all" if number % 2 else "ended") and histogram(found) == said
