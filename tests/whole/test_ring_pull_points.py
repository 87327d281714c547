"""Pull points of a ring whose home is killed, or moves: nothing that waits there is missing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole.acts import call, get, publish, until
from tests.whole.rings import ProcessRing
from tests.whole.shell import document

from tocsin.routing.ring.identifiers import distance, place_of_name
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
MANY = 40


@pytest.fixture
def ring(tmp_path: Path, http: HttpClient) -> Iterator[ProcessRing]:
    made = ProcessRing(tmp_path, http)
    yield made
    made.close()


async def home_of(ring: ProcessRing, name: str) -> int:
    members = (await ring.view(ring.at(0)))["members"]
    owner = min(members, key=lambda each: distance(place_of_name(name), int(each["id"], 16)))
    return next(number for number, node in ring.nodes.items() if node.url == owner["url"])


async def create(http: HttpClient, url: str, **asked: str) -> str:
    made = await call(http, "POST", f"{url}/api/pullpoints", asked)
    assert made.status == 201, made
    return str(document(made.body)["id"])


async def waiting(http: HttpClient, url: str, name: str) -> int:
    answer = await call(http, "GET", f"{url}/api/pullpoints/{name}")
    return int(document(answer.body)["waiting"]) if answer.status == 200 else -1


async def pull_all(http: HttpClient, ring: ProcessRing, name: str, wanted: set[str]) -> list[Any]:
    """In turn at all nodes, until there is nothing missing."""
    found: list[Any] = []
    at = 0
    while wanted - {each["event"]["id"] for each in found}:
        answer = await call(http, "GET", f"{ring.at(at).url}/api/pullpoints/{name}/messages?wait=10s&limit=7")
        found += document(answer.body)["items"] if answer.status == 200 else []
        at += 1
    return found


@pytest.mark.long
async def test_what_waits_survives_its_home(ring: ProcessRing, http: HttpClient) -> None:
    await ring.grow(3)
    name = await create(http, ring.at(0).url)
    wanted = {f"urn:wait{number}:{number}" for number in range(MANY)}
    for number in range(MANY):
        await publish(http, ring.at(number), f"wait{number}", number)
    await until(lambda: waiting(http, ring.at(1).url, name), lambda count: count == MANY)
    first = (await get(http, f"{ring.at(2).url}/api/pullpoints/{name}/messages?limit=10"))["items"]
    ring.kill(await home_of(ring, name))
    await ring.settled()
    rest = wanted - {each["event"]["id"] for each in first}
    found = await pull_all(http, ring, name, rest)
    numbers = [each["number"] for each in (*first, *found)]
    assert numbers == sorted(set(numbers))  # a reader that goes by them reads on
    assert {each["event"]["id"] for each in found} <= wanted
    await publish(http, ring.at(1), "wait0", 1000)
    assert await pull_all(http, ring, name, {"urn:wait0:1000"})


@pytest.mark.long
async def test_what_waits_goes_to_a_new_home(ring: ProcessRing, http: HttpClient) -> None:
    await ring.grow(2)
    names = [await create(http, ring.at(each).url) for each in range(12)]
    wanted = {f"urn:move{number}:{number}" for number in range(MANY)}
    for number in range(MANY):
        await publish(http, ring.at(number), f"move{number}", number)
    for name in names:
        await until(lambda name=name: waiting(http, ring.at(0).url, name), lambda count: count == MANY)  # type: ignore[misc]
    before = [await home_of(ring, name) for name in names]
    for _ in range(3):
        await ring.begin()
    await ring.settled()
    assert [await home_of(ring, name) for name in names] != before
    for name in names:
        found = await pull_all(http, ring, name, wanted)
        assert sorted(each["event"]["id"] for each in found) == sorted(wanted)
    await publish(http, ring.at(4), "move0", 1000)
    for name in names:
        assert await pull_all(http, ring, name, {"urn:move0:1000"})


@pytest.mark.long
async def test_what_waits_comes_back_to_where_it_was(ring: ProcessRing, http: HttpClient) -> None:
    """A node had it, another came to have it, and went: the first takes it again, though it knows it."""
    await ring.grow(2)
    names = [await create(http, ring.at(each).url) for each in range(8)]
    wanted = {f"urn:back{number}:{number}" for number in range(MANY)}
    for number in range(MANY):
        await publish(http, ring.at(number), f"back{number}", number)
    for name in names:
        await until(lambda name=name: waiting(http, ring.at(0).url, name), lambda count: count == MANY)  # type: ignore[misc]
    await ring.begin()
    await ring.settled()
    assert 2 in [await home_of(ring, name) for name in names]
    for name in names:
        await until(lambda name=name: waiting(http, ring.at(0).url, name), lambda count: count == MANY)  # type: ignore[misc]
    ring.kill(2)
    await ring.settled()
    for name in names:
        found = await pull_all(http, ring, name, wanted)
        assert sorted(each["event"]["id"] for each in found) == sorted(wanted)
