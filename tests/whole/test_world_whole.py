"""The world of a node: on disk when it is answered, the same after a crash, and each acts in the own name."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.whole.acts import JSON
from tests.whole.conftest import Start
from tests.whole.people import about, basic, known
from tests.whole.shell import BrokerProcess

from tocsin.model.access import Right
from tocsin.model.identity import Pairs
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
WORLD = {
    "topics": {"Disaster Info": None, "Earthquake": "Disaster Info"},
    "categories": {"Orgs": None, "Research": {"parent": "Orgs", "owner": "ann"}, "Media": "Orgs"},
    "edges": [["Research", "Disaster Info", "Media"]],
}
EDGE = {"source": "Media", "topic": "Earthquake", "target": "Research"}
BAD: list[tuple[str, str, object, int]] = [
    ("PUT", "/edges", EDGE | {"target": "Zoo"}, 404),
    ("PUT", "", {"edges": [["Media", "Earthquake", "Zoo"]]}, 409),
    ("PUT", "/categories/Orgs", {"parent": "Media"}, 409),
    ("PUT", "", {"topics": {"A": "B", "B": "A"}}, 409),
    ("PUT", "/services/X", {"categories": []}, 409),
    ("PUT", "", {"services": {"X": []}}, 409),
    ("GET", "/neighbours?service=Nobody&topic=Earthquake", None, 404),
]


class Caller:
    def __init__(self, http: HttpClient, broker: BrokerProcess, who: Pairs = ()) -> None:
        self._http, self._url, self._who = http, broker.url, who

    async def __call__(self, method: str, path: str, body: object = None, headers: Pairs = ()) -> Answer:
        sent = b"" if body is None else msgspec.json.encode(body)
        return await self._http.request(method, f"{self._url}/api{path}", (*JSON, *self._who, *headers), sent)

    async def told(self, method: str, path: str, body: object = None) -> Any:
        answer = await self(method, path, body)
        assert 200 <= answer.status < 300, answer.body
        return msgspec.json.decode(answer.body) if answer.body else None


async def test_what_was_answered_is_there_after_a_crash(tmp_path: Path, start: Start, http: HttpClient) -> None:
    first = start(tmp_path / "data")
    ask = Caller(http, first)
    await ask.told("PUT", "/world?by=desk", WORLD)
    await ask.told("PUT", "/world/edges", EDGE | {"by": "bob"})
    voted = await ask.told("POST", "/world/edges/votes", EDGE | {"agrees": True, "by": "cleo"})
    await ask.told("POST", "/notifiers", {"name": "IDER", "categories": ["Research"]})
    whole, history = (await ask("GET", "/world")).body, await ask.told("GET", "/world/history")
    version = dict((await ask("GET", "/world")).headers)["etag"]
    first.kill()
    again = Caller(http, start(tmp_path / "data", {"port": str(first.port)}))
    assert (await again("GET", "/world")).body == whole
    assert await again.told("GET", "/world/history") == history
    assert (await again.told("GET", "/world/edges?source=Media"))["items"] == [voted]
    assert dict((await again("GET", "/world")).headers)["etag"] == version
    assert [each["by"] for each in history["items"]] == ["desk"] * 6 + ["bob", "cleo", ""]


async def test_bad_input_changes_nothing(tmp_path: Path, start: Start, http: HttpClient) -> None:
    ask = Caller(http, start(tmp_path / "data"))
    await ask.told("PUT", "/world", WORLD)
    before, history = (await ask("GET", "/world")).body, await ask.told("GET", "/world/history")
    for method, path, body, status in BAD:
        answer = await ask(method, f"/world{path}", body)
        problem = msgspec.json.decode(answer.body)
        assert (answer.status, problem["status"]) == (status, status) and problem["detail"], (path, problem)
    unknown = await ask("POST", "/notifiers/Nobody/publish", {"topic": "Earthquake", "data": 1})
    assert unknown.status == 404 and b"Nobody" in unknown.body
    assert (await ask("GET", "/world")).body == before
    assert await ask.told("GET", "/world/history") == history


async def test_of_many_editors_one_wins_each_version(tmp_path: Path, start: Start, http: HttpClient) -> None:
    ask = Caller(http, start(tmp_path / "data"))
    await ask.told("PUT", "/world", WORLD)
    tag = dict((await ask("GET", "/world/rules")).headers)["etag"]
    asked = (ask("PUT", f"/world/topics/T{number}", {}, (("If-Match", tag),)) for number in range(8))
    assert sorted(each.status for each in await asyncio.gather(*asked)) == [200] + [412] * 7


async def test_each_acts_in_the_own_name(tmp_path: Path, start: Start, http: HttpClient) -> None:
    data = tmp_path / "data"
    data.mkdir()
    known(data, "desk", Right("manage"))
    known(data, "ann", about("publish", "Disaster-Info//."))
    known(data, "bob", about("subscribe", "x"))
    broker = start(data, {"access-on": "true"})
    desk, ann, bob = (Caller(http, broker, basic(name)) for name in ("desk", "ann", "bob"))
    assert (await Caller(http, broker)("GET", "/world")).status == 401
    assert (await bob("PUT", "/world", WORLD)).status == 403
    await desk.told("PUT", "/world?by=somebody", WORLD)
    proposed = await bob.told("PUT", "/world/edges", EDGE | {"by": "desk", "support": 0.9})
    assert (proposed["proposed_by"], proposed["support"]) == ("bob", None)
    voted = await bob.told("POST", "/world/edges/votes", EDGE | {"agrees": True, "by": "ann"})
    assert [each["by"] for each in voted["votes"]] == ["bob"]
    owned = await ann.told("PUT", "/world/edges", {"source": "Research", "topic": "Earthquake", "target": "Research"})
    assert owned["counts"] and owned["why"].startswith("ann, who owns Research, proposed it")
    for method, path, body in (
        ("PUT", "/world/topics/New", {}),
        ("DELETE", "/world/edges?source=Research&topic=Disaster%20Info&target=Media", None),
        ("PUT", "/world/rules", {"quorum": 1}),
        ("POST", "/notifiers", {"name": "X", "categories": ["Media"]}),
    ):
        refused = await bob(method, path, body)
        assert refused.status == 403 and b"bob may not" in refused.body, path
    for name, category in (("IDER", "Research"), ("TV", "Media")):
        await desk.told("POST", "/notifiers", {"name": name, "categories": [category]})
    said = {"topic": "Disaster Info", "data": "x", "media_type": "text/plain"}
    assert (await bob("POST", "/notifiers/IDER/publish", said)).status == 403
    made = await ann.told("POST", "/notifiers/IDER/publish", said)
    told = await ann.told("GET", f"/disseminations/{made['id']}?wait=30s")
    assert told["receivers"] == ["TV"]
    history = (await bob.told("GET", "/world/history"))["items"]
    assert {each["by"] for each in history} == {"desk", "bob", "ann"}
