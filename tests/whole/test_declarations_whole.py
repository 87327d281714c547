"""What is declared to a running broker: in the order of the log, with both engines, refused, and after a kill."""

import asyncio
import base64
import threading
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from tests.whole.acts import call, get
from tests.whole.conftest import Start
from tests.whole.life import ENGINES, EVENT, Engine, Life, living
from tests.whole.people import known
from tests.whole.shell import BrokerProcess, document, records, wait_until
from tests.whole.sink import Sink
from tests.whole.test_direct import Disk, disk

from tocsin.broker import kernels, node
from tocsin.broker.caller import NODE
from tocsin.broker.declarations import checks as declaration_checks
from tocsin.model.access import Right
from tocsin.model.declarations import Hierarchy, Producer, Withdrawn
from tocsin.model.records import Declared
from tocsin.model.refusal import Refusal
from tocsin.model.space import Dimension, InformationSpace
from tocsin.semantics.interest.changes import Changing, RemoveService
from tocsin.store.database import Store
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
__all__ = ["disk"]
WEATHER: dict[str, Any] = {
    "dimensions": [
        {"name": "place", "kind": "string"},
        {"name": "temperature", "kind": "number", "low": -50, "high": 60},
        {"name": "humidity", "kind": "number"},
    ]
}
HOT = "weather:*,NJ/>25/<50"
POINT = "weather:Piscataway,NJ/29/48.9"
TYPED = {"urn:tocsin:dialect:type": "alert"}
SPACE = InformationSpace("weather", (Dimension("t", "number"),))


async def subscribe(life: Life, path: str, **filters: str) -> Answer:
    asked = [{f"urn:tocsin:dialect:{name.replace('_', '-')}": said} for name, said in filters.items()]
    return await life.api("", {"consumer": life.sink.url(path), "filters": asked})


async def declare(http: HttpClient, url: str, path: str, body: object) -> Any:
    answer = await call(http, "PUT", f"{url}/api/{path}", body)
    assert answer.status == 200, answer
    return document(answer.body)


@pytest.mark.parametrize("engine", ENGINES)
async def test_each_notification_meets_what_was_declared_before_it(
    tmp_path: Path, http: HttpClient, sink: Sink, engine: Engine
) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        for name, asked in (("type", "alert"), ("producer", "category:care")):
            assert (await subscribe(life, name, **{name: asked})).status == 201
        await life.publish(1)
        await life.node.declarations.declare(NODE, Hierarchy("types", (("t", ("warning",)), ("warning", ("alert",)))))
        await life.node.declarations.declare(NODE, Producer("/s", ("hospital",)))
        await life.publish(2)
        await life.node.declarations.declare(NODE, Hierarchy("categories", (("hospital", ("care",)),)))
        await life.publish(3)
        await life.node.declarations.declare(NODE, Hierarchy("types", ()))
        await life.publish(4)
        await life.node.declarations.declare(NODE, Withdrawn("producer", "/s"))
        await life.publish(5)
        await wait_until(lambda: life.got("producer") == [3, 4], "those of its category")
        await wait_until(lambda: life.got("type") == [2, 3], "those of its type")
        answer = await life.api("", {"consumer": sink.url("late"), "filters": [TYPED], "from": {"offset": 0}})
        assert answer.status == 201, answer
        life.match()
        await wait_until(lambda: life.got("late") == [2, 3], "the past as it was")


async def test_a_pull_point_is_fed_by_what_was_declared_too(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, "embedded", http, sink) as life:
        await life.publish(1)
        await life.node.declarations.declare(NODE, Hierarchy("types", (("t", ("alert",)),)))
        await life.publish(2)
        asked = {"filters": [TYPED], "from": {"offset": 0}}
        made = document((await call(http, "POST", f"{life.node.base_url}/api/pullpoints", asked)).body)
        await life.publish(3)
        await life.node.declarations.declare(NODE, Hierarchy("types", ()))
        await life.publish(4)
        found = list[int]()
        while len(found) < 2:
            page = await get(http, f"{life.node.base_url}/api/pullpoints/{made['id']}/messages?wait=10s")
            found += [each["event"]["data"] for each in page["items"]]
    assert found == [2, 3]


async def test_a_box_lies_in_a_space_that_stays_as_it_is(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, "embedded", http, sink) as life:
        url = life.node.base_url
        unknown = await subscribe(life, "a", content_topic=HOT)
        assert unknown.status == 400 and "tocsin spaces declare" in document(unknown.body)["detail"]
        assert (await life.post(0, contenttopic=POINT)).status == 400
        await declare(http, url, "spaces/weather", WEATHER)
        made = await subscribe(life, "a", content_topic=HOT)
        assert made.status == 201, made
        name = document(made.body)["id"]
        await life.publish(1, contenttopic=POINT)
        await life.publish(2, contenttopic="weather:Piscataway,NJ/9/48.9")
        wrong = await life.post(3, contenttopic="weather:Piscataway,NJ/warm/48.9")
        assert wrong.status == 400 and "position 22" in document(wrong.body)["detail"]
        await life.publish(4, contenttopic="weather:Trenton,NJ/26/1")
        await wait_until(lambda: life.got("a") == [1, 4], "those in the box")
        before = len(records(tmp_path))
        await declare(http, url, "spaces/weather", WEATHER)
        assert len(records(tmp_path)) == before, "the same again is no change"
        changed = await call(http, "PUT", f"{url}/api/spaces/weather", {"dimensions": WEATHER["dimensions"][:2]})
        gone = await call(http, "DELETE", f"{url}/api/spaces/weather")
        for answer in (changed, gone):
            assert answer.status == 409 and name in document(answer.body)["detail"]
        assert (await life.api(f"/{name}", method="DELETE")).status == 204
        assert (await call(http, "DELETE", f"{url}/api/spaces/weather")).status == 204
        assert (await get(http, f"{url}/api/spaces"))["items"] == []


async def test_what_waits_for_the_disk_counts_for_those_who_come_after(
    tmp_path: Path, http: HttpClient, sink: Sink, disk: Disk
) -> None:
    async with living(tmp_path, "embedded", http, sink, mode="direct") as life:
        with disk.busy():
            declaring = asyncio.create_task(life.node.declarations.declare(NODE, SPACE))
            await wait_until(lambda: life.node.journal.waiting, "it waits")
            assert not life.node.declarations.known.spaces
            subscribing = asyncio.create_task(subscribe(life, "a", content_topic="weather:>3"))
            await wait_until(lambda: life.node.standing.changing, "a box in it waits as well")
            with pytest.raises(Refusal, match="cannot be withdrawn"):
                await life.node.declarations.declare(NODE, Withdrawn("space", "weather"))
            publishing = asyncio.create_task(life.post(1, contenttopic="weather:4"))
            await wait_until(lambda: len(life.node.journal.waiting) == 3, "and what lies in it")
        await declaring
        assert ((await subscribing).status, (await publishing).status) == (201, 202)
        await wait_until(lambda: life.got("a") == [1], "in the order of the log")


async def test_what_did_not_get_to_the_disk_is_not_known(
    tmp_path: Path, http: HttpClient, sink: Sink, disk: Disk
) -> None:
    async with living(tmp_path, "embedded", http, sink) as life:
        disk.full = True
        with pytest.raises(Refusal) as refusal:
            await life.node.declarations.declare(NODE, SPACE)
        assert refusal.value.reason == "cannot-store" and not life.node.declarations.known.spaces
        disk.full = False
        assert (await subscribe(life, "a", content_topic="weather:>3")).status == 400
        await life.node.declarations.declare(NODE, SPACE)
        assert life.node.declarations.known.spaces == {"weather": SPACE}
    declared = [each.what for each in records(tmp_path) if isinstance(each, Declared)]
    assert declared == [SPACE]


async def test_the_same_said_at_once_is_on_disk_for_all_who_said_it(
    tmp_path: Path, http: HttpClient, sink: Sink, disk: Disk
) -> None:
    async with living(tmp_path, "embedded", http, sink) as life:
        path = f"{life.node.base_url}/api/spaces/weather"
        with disk.busy():
            asked = [asyncio.create_task(call(http, "PUT", path, WEATHER)) for _ in range(8)]
            await wait_until(lambda: life.node.journal.waiting, "one of them waits")
            again = [
                asyncio.create_task(
                    life.node.declarations.declare(NODE, life.node.declarations.ahead.spaces["weather"])
                )
                for _ in range(3)
            ]
            await asyncio.sleep(0)
            assert not any(each.done() for each in again), "nothing is on disk yet"
        await asyncio.gather(*again)
        assert [(await each).status for each in asked] == [200] * 8
    assert len([each for each in records(tmp_path) if isinstance(each, Declared)]) == 1


async def test_the_same_said_at_once_fails_for_all_who_said_it(
    tmp_path: Path, http: HttpClient, sink: Sink, disk: Disk
) -> None:
    async with living(tmp_path, "embedded", http, sink) as life:
        with disk.busy():
            asked = [asyncio.create_task(life.node.declarations.declare(NODE, SPACE)) for _ in range(3)]
            await wait_until(lambda: life.node.journal.waiting, "one of them waits")
            disk.full = True
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [each.reason for each in found if isinstance(each, Refusal)] == ["cannot-store"] * 3
        disk.full = False
        await life.node.declarations.declare(NODE, SPACE)
        assert life.node.declarations.known.spaces == {"weather": SPACE}


@pytest.mark.parametrize("name", ["a%ff", "a%00", "a%0A", "a%7F", "%C2%80"])
async def test_a_path_names_what_it_says_or_nothing(tmp_path: Path, http: HttpClient, sink: Sink, name: str) -> None:
    async with living(tmp_path, "embedded", http, sink) as life:
        for path, body in ((f"spaces/{name}", WEATHER), (f"producers/{name}", dict[str, Any]())):
            answer = await call(http, "PUT", f"{life.node.base_url}/api/{path}", body)
            assert answer.status == 400 and "the path" in document(answer.body)["detail"]
        exact = f"urn:x{quote('/a//b/?é%20', safe='')}"
        found = await declare(http, life.node.base_url, f"producers/{exact}", {})
        assert found["address"] == "urn:x/a//b/?é%20" and list(life.node.declarations.known.producers) == [
            found["address"]
        ]


async def test_a_large_hierarchy_lets_others_go_on(
    tmp_path: Path, http: HttpClient, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path, "embedded", http, sink) as life:
        parents = tuple((f"{{urn:x}}type-{at}", (f"{{urn:x}}type-{at // 2}",)) for at in range(2, 45_000))
        checked = threading.Event()
        monkeypatch.setattr(declaration_checks, "cycle_in", lambda _: checked.wait(10) and None)
        declaring = asyncio.create_task(life.node.declarations.declare(NODE, Hierarchy("types", parents)))
        assert (await call(http, "GET", f"{life.node.base_url}/api/spaces")).status == 200
        assert not declaring.done()
        checked.set()
        await declaring
        assert len(life.node.declarations.known.types) == len(parents)


async def test_kernels_are_ready_before_a_space_is_known_and_others_go_on_meanwhile(
    tmp_path: Path, http: HttpClient, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, compiled = list[str](), threading.Event()
    monkeypatch.setattr(kernels, "_ready", [])
    monkeypatch.setattr(kernels, "warm", lambda _: {"boxes": 2.0} if compiled.wait(10) else {})
    async with living(tmp_path, "embedded", http, sink, told) as life:
        await life.node.declarations.declare(NODE, Hierarchy("types", (("t", ("alert",)),)))
        declaring = asyncio.create_task(life.node.declarations.declare(NODE, SPACE))
        assert (await call(http, "GET", f"{life.node.base_url}/api/spaces")).status == 200
        assert not declaring.done() and not life.node.declarations.known.spaces
        compiled.set()
        await declaring
        assert life.node.declarations.known.spaces and len(told) == 1
    kernels._ready.clear()
    async with living(tmp_path, "embedded", http, sink, told):
        assert told == ["compiled for this machine, in 2.0 s: the kernels for boxes"] * 2


async def test_kernels_are_ready_before_subscriptions_are_many(
    tmp_path: Path, http: HttpClient, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[str]()
    monkeypatch.setattr(kernels, "_ready", [])
    monkeypatch.setattr(kernels, "warm", lambda _: {"combining": 2.0})
    monkeypatch.setattr(node, "MANY_TERMS", 4)
    async with living(tmp_path, "embedded", http, sink, told) as life:
        await life.subscribe("/a")
        assert not life.node.needs_kernels()
        await life.subscribe("/b")
        assert life.node.needs_kernels()
        await wait_until(lambda: told, "kernels are warmed")


async def test_a_broker_that_was_killed_knows_all_it_acknowledged(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    first = start(tmp_path / "d")
    await declare(http, first.url, "spaces/weather", WEATHER)
    await declare(http, first.url, "types", {"parents": {"t": ["warning"], "warning": ["alert"]}})
    address = quote("http://p.example/a?b=c#d", safe="")
    await declare(http, first.url, f"producers/{address}", {"categories": ["x"], "properties": "<p/>"})
    asked = {"consumer": sink.url("k"), "filters": [TYPED, {"urn:tocsin:dialect:content-topic": HOT}]}
    assert (await call(http, "POST", f"{first.url}/api/subscriptions", asked)).status == 201
    before = await shown(http, first)
    first.kill()
    (tmp_path / "d" / "tocsin.db-wal").unlink(missing_ok=True)  # a power cut takes what was not synced
    again = start(tmp_path / "d")
    assert await shown(http, again) == before
    event = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": 7, "contenttopic": POINT}
    answer = await http.request("POST", f"{again.url}/events", EVENT, msgspec.json.encode(event))
    assert answer.status == 202, answer
    await wait_until(lambda: sink.at("k"), "it is told by what stands and is known again")
    taken = await call(http, "DELETE", f"{again.url}/api/spaces/weather")
    assert taken.status == 409, taken


async def shown(http: HttpClient, broker: BrokerProcess) -> list[Any]:
    return [await get(http, f"{broker.url}/api/{path}") for path in ("spaces", "types", "categories", "producers")]


async def test_only_who_manages_everything_declares(tmp_path: Path, start: Start, http: HttpClient) -> None:
    known(tmp_path / "d", "max", Right("manage"))
    known(tmp_path / "d", "eve", Right("publish"), Right("subscribe"))
    broker = start(tmp_path / "d", {"access-on": "true"})

    async def asked(who: str, method: str, path: str, body: object = None) -> int:
        shown = base64.b64encode(f"{who}:{who * 2}".encode()).decode()
        headers = (("Content-Type", "application/json"), ("Authorization", f"Basic {shown}"))
        data = b"" if body is None else msgspec.json.encode(body)
        return (await http.request(method, f"{broker.url}/api/{path}", headers, data)).status

    parents = {"parents": {"a": ["b"]}}
    for path, body in (("spaces/w", WEATHER), ("types", parents), ("categories", parents), ("producers/p", {})):
        assert [await asked(who, "PUT", path, body) for who in ("eve", "max")] == [403, 200], path
        assert await asked("eve", "GET", path) == 200
    for path in ("spaces/w", "producers/p"):
        assert [await asked(who, "DELETE", path) for who in ("eve", "max")] == [403, 204], path


async def test_services_of_the_world_are_producers(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, "embedded", http, sink) as life:
        url = life.node.base_url
        await declare(http, url, "world/categories/care", {})
        await declare(http, url, "world/categories/hospital", {"parent": "care"})
        await declare(http, url, "world/services/CARE", {"categories": ["hospital"], "address": "http://care"})
        (listed,) = (await get(http, f"{url}/api/producers"))["items"]
        assert (listed["address"], listed["of_world"]) == ("http://care", True)
        found = await get(http, f"{url}/api/categories")
        assert found == {"parents": {"hospital": ["care"]}, "of_world": True}
        refused = await call(http, "PUT", f"{url}/api/categories", {"parents": {}})
        assert refused.status == 409 and "tocsin ino" in document(refused.body)["detail"]
        assert (await subscribe(life, "a", producer="category:care")).status == 201
        await life.publish(1, source="http://care")
        await life.publish(2)
        own = {"categories": ["other"]}
        await declare(http, url, f"producers/{quote('http://care', safe='')}", own)
        await life.publish(3, source="http://care")
        place = f"{url}/api/producers/{quote('http://care', safe='')}"
        assert (await call(http, "DELETE", place)).status == 204, "then it is what the world says again"
        await life.publish(4, source="http://care")
        assert (await call(http, "DELETE", place)).status == 409
        before = len(records(tmp_path))
        await declare(http, url, "world/topics/flood", {})
        assert len(records(tmp_path)) == before, "nothing that concerns producers"
        assert (await call(http, "DELETE", f"{url}/api/world/services/CARE")).status == 204
        await life.publish(5, source="http://care")
        assert (await get(http, f"{url}/api/producers"))["items"] == []
        await wait_until(lambda: life.got("a") == [1, 4], "while it is a service")


async def test_a_service_that_left_and_was_not_told_of_is_withdrawn_at_the_next_start(
    tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, "embedded", http, sink) as life:
        await declare(http, life.node.base_url, "world/categories/care", {})
        for name in ("CARE", "USGS"):
            service = {"categories": ["care"], "address": f"http://{name}"}
            await declare(http, life.node.base_url, f"world/services/{name}", service)
        left = Changing(life.node.implicit.world(NODE).version + 1, life.node.now(), "", RemoveService("CARE"))
    before = len(records(tmp_path))
    with closing(Store.open(tmp_path / "tocsin.db")) as store:
        store.implicit.add_changes([left])
    for _ in range(2):
        async with living(tmp_path, "embedded", http, sink) as life:
            assert list(life.node.declarations.known.producers) == ["http://USGS"]
        assert len(records(tmp_path)) == before + 1, "once, and nothing else"
