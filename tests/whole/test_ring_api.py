"""Through any node of a ring the API, SOAP and the command line see one broker."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.whole.acts import call, dead_letters, get, numbers, publish, subscribe, until
from tests.whole.rings import ProcessRing
from tests.whole.shell import document, wait_until
from tests.whole.sink import Say, Sink

from tocsin.model.names import QName, Topic
from tocsin.routing.ring.identifiers import distance
from tocsin.routing.ring.topic_keys import key_of_topic
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
