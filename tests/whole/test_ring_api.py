"""Through any node of a ring the API, SOAP and the command line see one broker."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole.acts import call, dead_letters, get, numbers, publish, subscribe, until
from tests.whole.rings import ProcessRing
from tests.whole.shell import BrokerProcess, document, run_to_end, wait_until
from tests.whole.sink import Say, Sink
from tests.whole.streams import listening
from websockets.asyncio.client import connect

from tocsin.client.client import Client
from tocsin.model.access import Right
from tocsin.model.names import QName, Topic
from tocsin.routing.ring.identifiers import distance
from tocsin.routing.ring.topic_keys import key_of_topic
from tocsin.store.database import Store
from tocsin.store.places import Places
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = [pytest.mark.broker]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessRing]:
    """One ring for all tests that leave it as it was; each has topics and consumers of its own."""
    folder = tmp_path_factory.mktemp("ring")

    async def begin() -> ProcessRing:
        http = HttpClient()
        made = ProcessRing(folder, http, {"delivery-attempts": "2"})
        try:
            await made.grow(3)
        finally:
            await http.close()
        return made

    made = asyncio.run(begin())
    yield made
    made.close()


@pytest.fixture
async def ring(started: ProcessRing, http: HttpClient) -> AsyncIterator[ProcessRing]:
    started.http = http
    yield started


async def spread_topics(ring: ProcessRing, prefix: str, each: int = 4) -> list[str]:
    """So many topics of which each node has the keys."""
    members = (await ring.view(ring.at(0)))["members"]
    places = {int(member["id"], 16): list[str]() for member in members}
    number = 0
    while any(len(found) < each for found in places.values()):
        name, number = f"{prefix}{number}", number + 1
        key = key_of_topic(Topic((QName("", name),)))
        owner = min(places, key=lambda place: distance(key, place))
        if len(places[owner]) < each:
            places[owner].append(name)
    return [name for found in places.values() for name in found]


def any_of(topics: list[str]) -> str:
    return "|".join(topics)


async def test_subscriptions_are_listed_once_with_sums(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    topics = await spread_topics(ring, "list")
    every = await subscribe(http, ring.at(0), sink.url("list"), any_of(topics))
    names = [await subscribe(http, ring.at(each), sink.url(name), name) for each, name in enumerate(topics)]
    for number, topic in enumerate(topics):
        await publish(http, ring.at(number), topic, number)
    await wait_until(lambda: len(numbers(sink, "list")) == len(topics), "all are told")
    for node in ring.each:
        found = await _pages(http, f"{node.url}/api/subscriptions", 5)
        mine = [each for each in found if each["id"] in (every, *names)]
        assert sorted(each["id"] for each in mine) == sorted((every, *names))
        shown = await until(
            lambda node=node: get(http, f"{node.url}/api/subscriptions/{every}"),  # type: ignore[misc]
            lambda one: one["delivered"] == len(topics),
        )
        assert shown["waiting"] == 0 and "missing" not in shown
    for each in (every, *names):
        await call(http, "DELETE", f"{ring.at(1).url}/api/subscriptions/{each}")
    for node in ring.each:
        left = {each["id"] for each in await _pages(http, f"{node.url}/api/subscriptions", 5)}
        assert not left & {every, *names}


async def _pages(http: HttpClient, url: str, limit: int) -> list[Any]:
    found: list[Any] = []
    after = ""
    while True:
        page = await get(http, f"{url}?limit={limit}&after={after}")
        assert len(page["items"]) <= limit
        found += page["items"]
        if page["next"] is None:
            return found
        assert page["next"] > after
        after = page["next"]


async def test_dead_letters_are_where_they_died_and_tried_again_from_anywhere(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    sink.script = lambda received: Say(400)
    topics = await spread_topics(ring, "dead")
    many = len(topics)
    name = await subscribe(http, ring.at(0), sink.url("dead"), any_of(topics))
    for number, topic in enumerate(topics):
        await publish(http, ring.at(number), topic, number)
    found = await until(lambda: dead_letters(http, ring.at(2), name), lambda letters: len(letters) == many)
    places = {str(each["id"]).partition("@")[2] for each in found}
    assert len(places) == 3 and len({each["id"] for each in found}) == many
    for node in ring.each:
        paged = await _letters(http, node.url, name)
        assert [each["id"] for each in paged] == [each["id"] for each in found]
    vague = await call(http, "POST", f"{ring.at(1).url}/api/dead-letters/redrive", {"ids": [1]})
    assert vague.status == 400
    sink.script = lambda received: Say()
    one = await call(http, "POST", f"{ring.at(1).url}/api/dead-letters/redrive", {"ids": [found[0]["id"]]})
    assert document(one.body) == {"redriven": 1}
    await until(lambda: dead_letters(http, ring.at(0), name), lambda letters: len(letters) == many - 1)
    rest = await call(http, "POST", f"{ring.at(2).url}/api/dead-letters/redrive", {})
    assert document(rest.body)["redriven"] >= many - 1
    await until(lambda: dead_letters(http, ring.at(1), name), lambda letters: not letters)
    await call(http, "DELETE", f"{ring.at(1).url}/api/subscriptions/{name}")


async def _letters(http: HttpClient, url: str, subscription: str) -> list[Any]:
    found: list[Any] = []
    after = "0"
    while True:
        page = await get(http, f"{url}/api/dead-letters?limit=5&after={after}&subscription={subscription}")
        found += page["items"]
        if page["next"] is None:
            return found
        after = page["next"]


async def test_topics_and_figures_are_those_of_all(ring: ProcessRing, http: HttpClient, sink: Sink) -> None:
    topics = await spread_topics(ring, "seen")
    name = await subscribe(http, ring.at(1), sink.url("topics"), any_of(topics))
    for number, topic in enumerate(topics):
        await publish(http, ring.at(number), topic, number, 100 + number)
    for node in ring.each:
        found = (await get(http, f"{node.url}/api/topics"))["items"]
        mine = {each["topic"]: each for each in found if each["topic"] in topics}
        assert len(mine) == len(topics)
        assert {each["notifications"] for each in mine.values()} == {2}
        assert {each["subscriptions"] for each in mine.values()} == {1}
        answer = await http.request("GET", f"{node.url}/broker/topics")
        assert all(topic.encode() in answer.body for topic in topics)
        status = await get(http, f"{node.url}/api/status")
        assert len(status["nodes"]) == 3
        assert status["subscriptions"] == len(await _pages(http, f"{node.url}/api/subscriptions", 100))
    await call(http, "DELETE", f"{ring.at(1).url}/api/subscriptions/{name}")


async def test_a_notification_is_traced_wherever_it_was_matched(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    topics = await spread_topics(ring, "trace", 1)
    name = await subscribe(http, ring.at(1), sink.url("trace"), any_of(topics))
    names = {str(each["node"]) for each in (await ring.view(ring.at(0)))["members"]}
    matched = set()
    for number, topic in enumerate(topics):
        await publish(http, ring.at(0), topic, number)
        await wait_until(lambda: len(numbers(sink, "trace")) == number + 1, "it is told")  # noqa: B023
        for node in ring.each:
            url = f"{node.url}/api/trace/urn:{topic}:{number}"
            found = await until(lambda url=url: get(http, url), lambda one: one["items"][0]["outcome"] == "delivered")  # type: ignore[misc]
            assert [each["subscription"] for each in found["items"]] == [name]
            assert found["notification"]["origin"] in names
            assert found["items"][0]["node"] == found["notification"]["node"]
        matched.add(found["notification"]["node"])
        assert len({found["notification"]["origin"], *found["notification"]["path"]}) == 1
        newest = await get(http, f"{ring.at(2).url}/api/subscriptions/{name}/explain?limit=5")
        assert newest["items"][0]["notification"]["topic"] == topic
    assert matched == names
    assert (await call(http, "GET", f"{ring.at(0).url}/api/trace/urn:never")).status == 404
    await call(http, "DELETE", f"{ring.at(1).url}/api/subscriptions/{name}")


async def test_the_current_message_is_found_from_anywhere(ring: ProcessRing, http: HttpClient) -> None:
    for number, topic in enumerate(await spread_topics(ring, "current", 2)):
        await publish(http, ring.at(number), topic, 7, 8)
        for node in ring.each:
            found = await get(http, f"{node.url}/api/topics/current?topic={topic}")
            assert ">8<" in found["event"]["data"]
        async with Client(ring.at(number + 1).url, "wsn-1.3") as client:
            current = await client.current_message(topic)
            assert b">8<" in current.payload.data
    answer = await call(http, "GET", f"{ring.at(0).url}/api/topics/current?topic=never")
    assert answer.status == 404


async def test_a_pull_point_is_used_through_any_node(ring: ProcessRing, http: HttpClient) -> None:
    topics = await spread_topics(ring, "pull", 2)
    for start in range(3):
        made = await call(http, "POST", f"{ring.at(start).url}/api/pullpoints", {"topic": any_of(topics)})
        assert made.status == 201, made
        name = document(made.body)["id"]
        wanted = {f"urn:{topic}:{start}" for topic in topics}
        waiting = [
            asyncio.create_task(call(http, "GET", f"{node.url}/api/pullpoints/{name}/messages?wait=30s&limit=1"))
            for node in ring.each
        ]
        for number, topic in enumerate(topics):
            await publish(http, ring.at(number), topic, start)
        pulled = [each["event"]["id"] for answer in await asyncio.gather(*waiting) for each in _items(answer)]
        assert len(pulled) == 3
        at = 0
        while len(pulled) < len(wanted):
            answer = await call(http, "GET", f"{ring.at(at).url}/api/pullpoints/{name}/messages?wait=5s&limit=2")
            pulled += [each["event"]["id"] for each in _items(answer)]
            at += 1
        assert sorted(pulled) == sorted(wanted)
        for node in ring.each:
            again = await get(http, f"{node.url}/api/pullpoints/{name}/messages?after=2")
            assert [each["number"] for each in again["items"]] == [3, 4, 5, 6]
        assert (await call(http, "DELETE", f"{ring.at(start + 1).url}/api/pullpoints/{name}")).status == 204


def _items(answer: Answer) -> list[Any]:
    assert answer.status == 200, answer
    return list(document(answer.body)["items"])


async def test_subscriptions_feed_a_pull_point_of_another_node(ring: ProcessRing, http: HttpClient) -> None:
    """Created at one node, fed by subscriptions that were made at a second, pulled at a third."""
    topics = await spread_topics(ring, "feed", 2)
    for start in range(3):
        one, other, third = (ring.at(start + each).url for each in range(3))
        async with (
            Client(one, "wsn-1.3") as client,
            Client(other, "wsn-1.3") as second,
            Client(third, "wsn-1.3") as last,
        ):
            point = await client.create_pull_point(topic=any_of(topics[:3]))
            twice = await second.subscribe(point.address, topic=any_of(topics))
            for number, topic in enumerate(topics):
                await publish(http, ring.at(number), topic, start)
            found: list[str] = []
            while len(found) < 9:
                found += [
                    each.topic.steps[0].local for each in await last.pull(point.address.replace(one, third), wait=5)
                ]
            assert Counter(found) == Counter((*topics, *topics[:3]))
            await second.unsubscribe(twice)
            await last.destroy_pull_point(point.address.replace(one, third))


async def test_streams_are_read_at_any_node(ring: ProcessRing, http: HttpClient) -> None:
    topics = await spread_topics(ring, "stream", 1)
    for start in range(3):
        made = await call(http, "POST", f"{ring.at(start).url}/api/pullpoints", {"topic": any_of(topics)})
        name = document(made.body)["id"]
        last = ""
        for number, node in enumerate(ring.each):
            async with listening(f"{node.url}/api/pullpoints/{name}/stream") as heard:
                for topic in topics:
                    await publish(http, ring.at(0), topic, 10 * start + number)
                said = [await heard.next() for _ in topics]
            assert sorted(each.json()["id"] for each in said) == sorted(
                f"urn:{each}:{10 * start + number}" for each in topics
            )
            last = said[-1].id
        assert last == "9"
        async with listening(f"{ring.at(start).url}/api/pullpoints/{name}/stream", "Last-Event-ID: 3") as heard:
            assert [(await heard.next()).id for _ in range(6)] == ["4", "5", "6", "7", "8", "9"]
        await call(http, "DELETE", f"{ring.at(start).url}/api/pullpoints/{name}")


@pytest.mark.long
async def test_a_stream_of_its_own_ends_with_its_reader(ring: ProcessRing, http: HttpClient) -> None:
    topics = await spread_topics(ring, "own", 1)
    for number, node in enumerate(ring.each):
        async with listening(f"{node.url}/api/stream?topic={any_of(topics)}") as heard:
            for topic in topics:
                await publish(http, ring.at(0), topic, number)
            assert len([await heard.next() for _ in topics]) == len(topics)
    await until(
        lambda: _pages(http, f"{ring.at(0).url}/api/subscriptions", 100),
        lambda found: not any(set(each["topics"]) & {any_of(topics)} for each in found),
    )


@pytest.mark.long
async def test_a_web_socket_acknowledges_at_any_node(ring: ProcessRing, http: HttpClient) -> None:
    topics = await spread_topics(ring, "socket", 1)
    made = await call(http, "POST", f"{ring.at(0).url}/api/pullpoints", {"topic": any_of(topics)})
    name = document(made.body)["id"]
    for number, node in enumerate(ring.each):
        address = f"{node.url.replace('http', 'ws', 1)}/api/pullpoints/{name}/socket?ack=true"
        for topic in topics:
            await publish(http, ring.at(1), topic, number)
        async with connect(address) as socket:
            heard = [document((await socket.recv()).encode())["number"] for _ in topics]  # type: ignore[union-attr]
            assert heard == list(range(3 * number + 1, 3 * number + 4))
            await socket.send(f'{{"ack": {heard[-1]}}}')
            await until(lambda: get(http, f"{ring.at(2).url}/api/pullpoints/{name}"), lambda one: not one["waiting"])
    await call(http, "DELETE", f"{ring.at(1).url}/api/pullpoints/{name}")


@pytest.mark.long
async def test_the_command_line_sees_one_broker(
    ring: ProcessRing, http: HttpClient, sink: Sink, tmp_path: Path
) -> None:
    topics = await spread_topics(ring, "command", 1)
    name = await subscribe(http, ring.at(0), sink.url("command"), any_of(topics))
    for number, topic in enumerate(topics):
        await publish(http, ring.at(number), topic, number)
    await wait_until(lambda: len(sink.at("command")) == 3, "all are told")

    async def tocsin(node: BrokerProcess, *words: str) -> Any:
        whole = [sys.executable, "-m", "tocsin", *words, "--json", "--broker", node.url]
        done = await asyncio.to_thread(run_to_end, whole, tmp_path)
        assert done.returncode == 0, done.stderr
        return document(done.stdout.encode())

    for number, node in enumerate(ring.each):
        traced = await tocsin(node, "trace", f"urn:{topics[0]}:0")
        assert [each["subscription"] for each in traced["items"]] == [name]
        listed = await tocsin(ring.at(number + 1), "subscriptions", "list")
        assert [each["delivered"] for each in listed["items"] if each["id"] == name] == [3]
    await call(http, "DELETE", f"{ring.at(1).url}/api/subscriptions/{name}")


NAMESPACE = b"""<TopicNamespace xmlns="http://docs.oasis-open.org/wsn/t-1" name="rivers" targetNamespace="urn:rivers">
<Topic name="flood"/></TopicNamespace>"""


async def _secrets(http: HttpClient, url: str) -> list[str]:
    return [each["name"] for each in (await get(http, f"{url}/api/secrets"))["items"]]


async def test_secrets_and_topic_namespaces_are_those_of_all_nodes(
    ring: ProcessRing, http: HttpClient, sink: Sink
) -> None:
    secret = {"name": "siren", "kind": "bearer", "value": "f00d"}
    assert (await call(http, "POST", f"{ring.at(0).url}/api/secrets", secret)).status == 201
    assert [await _secrets(http, node.url) for node in ring.each] == [["siren"]] * 3
    topics = await spread_topics(ring, "secret", 1)
    names = [await subscribe(http, ring.at(0), sink.url("secret"), each, secret="siren") for each in topics]
    for number, topic in enumerate(topics):
        await publish(http, ring.at(number), topic, number)
    await wait_until(lambda: len(sink.at("secret")) == 3, "each is told, by another node")
    assert {dict(each.headers).get("authorization") for each in sink.at("secret")} == {"Bearer f00d"}
    for node in ring.each:
        assert (await call(http, "DELETE", f"{node.url}/api/secrets/siren")).status == 409
    assert [await _secrets(http, node.url) for node in ring.each] == [["siren"]] * 3
    for each in names:
        await call(http, "DELETE", f"{ring.at(1).url}/api/subscriptions/{each}")
    assert (await call(http, "DELETE", f"{ring.at(2).url}/api/secrets/siren")).status == 204
    assert [await _secrets(http, node.url) for node in ring.each] == [[]] * 3
    answer = await http.request("PUT", f"{ring.at(1).url}/api/topics/namespaces", (), NAMESPACE)
    assert answer.status == 200, answer
    for node in ring.each:
        found = await get(http, f"{node.url}/api/topics/namespaces")
        assert [each["namespace"] for each in found["items"]] == ["urn:rivers"]
    gone = await call(http, "DELETE", f"{ring.at(2).url}/api/topics/namespaces?namespace=urn:rivers")
    assert gone.status == 204
    assert not (await get(http, f"{ring.at(0).url}/api/topics/namespaces"))["items"]


def _users(data: Path) -> list[str]:
    store = Store.open(Places(data).database)
    try:
        return [each.principal.name for each in store.users.all()]
    finally:
        store.close()


@pytest.mark.long
async def test_users_of_one_node_are_soon_those_of_all(ring: ProcessRing) -> None:
    for number, node in enumerate(ring.each):
        store = Store.open(Places(node.data).database)
        store.users.add(f"user{number}", "secret", (Right("publish"),))
        store.close()
        wanted = [f"user{each}" for each in range(number + 1)]
        for each in ring.each:
            await wait_until(lambda each=each, wanted=wanted: _users(each.data) == wanted, "all know them")  # type: ignore[misc]
    store = Store.open(Places(ring.at(1).data).database)
    for number in range(3):
        store.users.remove(f"user{number}")
    store.close()
    for each in ring.each:
        await wait_until(lambda each=each: not _users(each.data), "nobody knows them")  # type: ignore[misc]


@pytest.mark.long
async def test_a_node_that_comes_has_what_all_have_and_one_that_does_not_answer_is_named(
    tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    ring = ProcessRing(tmp_path, http)
    try:
        await ring.grow(1)
        first = ring.at(0)
        store = Store.open(Places(first.data).database)
        store.users.add("desk", "secret", (Right("manage"),))
        store.close()
        await call(http, "POST", f"{first.url}/api/secrets", {"name": "siren", "kind": "bearer", "value": "f00d"})
        await http.request("PUT", f"{first.url}/api/topics/namespaces", (), NAMESPACE)
        await ring.grow(1)
        second = ring.at(1)
        assert await _secrets(http, second.url) == ["siren"]
        assert (await get(http, f"{second.url}/api/topics/namespaces"))["items"]
        await wait_until(lambda: _users(second.data) == ["desk"], "the users are there too")
        names = [await subscribe(http, first, sink.url("x"), f"miss{each}") for each in range(20)]
        ring.kill(1)  # one of two: nobody can put it out
        gone = {each["node"] for each in (await ring.view(first))["members"] if each["url"] != first.url}
        for path in ("subscriptions", "topics", "dead-letters", "status", "registrations"):
            found = await get(http, f"{first.url}/api/{path}")
            assert set(found["missing"]) == gone, path
        shown = await get(http, f"{first.url}/api/subscriptions")
        assert {each["id"] for each in shown["items"]} < set(names)
        async with Client(first.url) as client:
            await client.subscriptions.list()
            assert set(client.missing) == gone
    finally:
        ring.close()
