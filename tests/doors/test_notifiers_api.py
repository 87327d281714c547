"""Notifiers and what became of messages, in JSON."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.broker.test_pull_points import running
from tests.doors.fake_implicit import WORLD, FakeImplicit, ask, gate, guarded, small_world

from tocsin.broker.caller import NODE
from tocsin.doors.application import doors
from tocsin.model.access import Principal, Right
from tocsin.model.filters import TopicIs
from tocsin.model.names import QName
from tocsin.model.notification import Payload
from tocsin.semantics.interest.changes import PutService
from tocsin.wire.asgi import Application

FEW = Principal("few", (Right("publish", TopicIs(((QName("", "Disaster-Info"), QName("", "Earthquake")),))),))
ALL = Principal("all", (Right("publish"), Right("manage")))


@pytest.fixture
def port() -> FakeImplicit:
    return FakeImplicit(small_world())


def opened(port: FakeImplicit) -> Application:
    return doors(gate(port))


async def call(
    door: Application, method: str, target: str, value: object = None, who: str = ""
) -> tuple[int, dict[str, str], Any]:
    body = b"" if value is None else json.dumps(value).encode()
    name = base64.b64encode(f"{who}:{who}".encode()).decode()
    status, headers, told = await ask(door, method, target, body, {"Authorization": f"Basic {name}"} if who else {})
    return status, headers, json.loads(told) if told else None


async def test_a_notifier_comes_and_goes(port: FakeImplicit) -> None:
    door = opened(port)
    asked = {
        "name": "Detroit TV",
        "categories": ["Global"],
        "address": "http://tv:1/",
        "dialect": "wsn-1.3",
        "qualities": {"price": 1.5},
        "policies": ["fast"],
        "tells": {"Earthquake": "CARE"},
        "by": "desk",
        "owner": "tv",
    }
    status, headers, told = await call(door, "POST", "/api/notifiers", asked)
    assert (status, headers["location"]) == (201, "http://here:1/api/notifiers/Detroit%20TV")
    expected = asked | {
        "notifier": "http://here:1/notifiers/Detroit%20TV",
        "wsdl": "http://here:1/notifiers/Detroit%20TV?wsdl",
        "subscription": "subscription-of-Detroit TV",
        "handled": 0,
        "remembered": 0,
    }
    del expected["by"], expected["owner"]
    assert told == expected and (port.asked_by, port.owners) == (["desk"], ["tv"])
    assert (await call(door, "GET", "/api/notifiers/Detroit TV"))[2] == expected
    _, _, page = await call(door, "GET", "/api/notifiers")
    assert [each["name"] for each in page["items"]] == ["CARE", "Detroit TV", "IDER", 'Rè & "Co"']
    assert (await call(door, "DELETE", "/api/notifiers/Detroit TV?by=desk"))[0] == 204
    assert (await call(door, "GET", "/api/notifiers/Detroit TV"))[0] == 404
    assert port.asked_by == ["desk", "desk"]


@pytest.mark.parametrize(
    ("asked", "status", "why"),
    [
        ({}, 400, "name"),
        ({"name": "A"}, 400, "categories"),
        ({"name": "A", "categories": []}, 409, "no category"),
        ({"name": "A", "categories": ["Nowhere"]}, 404, "Nowhere"),
        ({"name": "A/B", "categories": ["Global"]}, 409, "slash"),
        ({"name": "A", "categories": ["Global"], "dialect": "morse"}, 400, "choose one of "),
        ({"name": "A", "categories": ["Global"], "colour": "red"}, 400, "colour"),
    ],
)
async def test_a_notifier_that_cannot_be(asked: object, status: int, why: str, port: FakeImplicit) -> None:
    before = list(port.the_world.services)
    got, _, told = await call(opened(port), "POST", "/api/notifiers", asked)
    assert got == status and why in told["detail"]
    assert list(port.the_world.services) == before


async def test_a_service_that_has_an_address_and_no_dialect_speaks_cloud_events(port: FakeImplicit) -> None:
    asked = {"name": "A", "categories": ["Global"], "address": "http://a:1/"}
    assert (await call(opened(port), "POST", "/api/notifiers", asked))[2]["dialect"] == "cloudevents"
    assert (await call(opened(port), "POST", "/api/notifiers", asked | {"address": ""}))[2]["dialect"] == ""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"data": {"a": [1, 2.0]}}, Payload("application/json", b'{"a": [1, 2.0]}')),
        ({"data": None}, Payload("application/json", b"null")),
        ({"data": "a", "media_type": "application/ld+json"}, Payload("application/ld+json", b'"a"')),
        ({"data": "<a>é</a>", "media_type": "application/xml"}, Payload("application/xml", "<a>é</a>".encode())),
        ({"data_base64": "AP8=", "media_type": "image/png"}, Payload("image/png", b"\0\xff")),
    ],
)
async def test_publish(asked: dict[str, object], expected: Payload, port: FakeImplicit) -> None:
    more = {"topic": "Earthquake", "protocol": "direct", "limit": 3, "only": ["CARE", "CARE"]}
    status, headers, told = await call(opened(port), "POST", "/api/notifiers/IDER/publish", asked | more)
    assert (status, headers["location"]) == (202, "http://here:1/api/disseminations/m1")
    assert told == {"id": "m1", "result": "http://here:1/api/disseminations/m1"}
    ((notifier, published),) = port.published
    assert (notifier, published.topic, published.data) == ("IDER", "Earthquake", expected)
    assert (published.protocol, published.limit, published.only) == ("direct", 3, ("CARE",))


@pytest.mark.parametrize(
    ("name", "asked", "status", "why"),
    [
        ("Nobody", {}, 404, "Nobody"),
        ("IDER", {"data": 1}, 400, "topic"),
        ("IDER", {"topic": "Earthquake"}, 400, "neither data nor"),
        ("IDER", {"topic": "Earthquake", "data": 1, "media_type": "text/plain"}, 400, "data_base64"),
        ("IDER", {"topic": "Earthquake", "data_base64": "ü"}, 400, "decoded"),
        ("IDER", {"topic": "Earthquake", "data": 1, "media_type": "a\nb"}, 400, "media type"),
        ("IDER", {"topic": "Earthquake", "data": 1, "protocol": "gossip"}, 400, "there are: bin"),
        ("IDER", {"topic": "Earthquake", "data": 1, "limit": 0}, 400, "limit"),
        ("IDER", {"topic": "Weather", "data": 1}, 404, "Weather"),
    ],
)
async def test_what_cannot_be_published(
    name: str, asked: dict[str, object], status: int, why: str, port: FakeImplicit
) -> None:
    got, _, told = await call(opened(port), "POST", f"/api/notifiers/{name}/publish", asked)
    assert got == status and why in told["detail"] and not port.published


async def test_what_became_of_it(port: FakeImplicit) -> None:
    door = opened(port)
    await call(door, "POST", "/api/notifiers/IDER/publish", {"topic": "Earthquake", "data": 1, "protocol": "din"})
    row = {"id": "m1", "root": "IDER", "topic": "Earthquake", "protocol": "din"}
    assert (await call(door, "GET", "/api/disseminations"))[2] == {"items": [row], "next": None}
    status, _, told = await call(door, "GET", "/api/disseminations/m1?wait=1s")
    assert status == 200 and told == row | {
        "notifications": 1,
        "repetitions": 0,
        "receivers": ["CARE"],
        "trace": [{"from": "IDER", "to": "CARE", "hop": 1, "repeated": False, "ms": 0.0}],
        "stopped": None,
        "suppressed": [],
        "withheld": 0,
        "waiting": [],
        "gone": [],
        "hops": 1,
        "ms": 0.0,
        "complete": True,
    }
    assert (await call(door, "GET", "/api/disseminations/m2"))[0] == 404
    assert (await call(door, "GET", "/api/disseminations/m1?wait=soon"))[0] == 400


async def test_who_may(tmp_path: Path) -> None:
    """Notifiers are for who manages everything; to publish, and to know what came of it, the topic decides."""
    made = {"name": "A", "categories": ["Global"], "by": "somebody else"}
    quake, info = ({"topic": each, "data": 1} for each in ("Earthquake", "Disaster Info"))
    async with running(tmp_path) as node:
        await node.implicit.change_world(NODE, [each for each in WORLD if not isinstance(each, PutService)], "")
        door = doors(guarded(node, FEW, ALL))
        assert (await call(door, "GET", "/api/notifiers"))[0] == 401
        assert (await call(door, "POST", "/api/notifiers", made, "few"))[0] == 403
        assert (await call(door, "POST", "/api/notifiers", made, "all"))[0] == 201
        assert (await call(door, "DELETE", "/api/notifiers/A", who="few"))[0] == 403
        assert (await call(door, "DELETE", "/api/notifiers/A?by=x", who="all"))[0] == 204
        history = await node.implicit.world_history(NODE, 4, 100)
        assert history and {each.by for each in history} == {"all"}
        await call(door, "POST", "/api/notifiers", made | {"name": "IDER"}, "all")
        first = await call(door, "POST", "/api/notifiers/IDER/publish", quake, "few")
        assert (await call(door, "POST", "/api/notifiers/IDER/publish", info, "few"))[0] == 403
        second = await call(door, "POST", "/api/notifiers/IDER/publish", info, "all")
        assert (first[0], second[0]) == (202, 202)
        one, other = first[2]["id"], second[2]["id"]
        seen = {who: (await call(door, "GET", "/api/disseminations", who=who))[2]["items"] for who in ("few", "all")}
        assert {who: {row["id"] for row in rows} for who, rows in seen.items()} == {"few": {one}, "all": {one, other}}
        assert (await call(door, "GET", f"/api/disseminations/{one}", who="few"))[0] == 200
        assert (await call(door, "GET", f"/api/disseminations/{other}", who="few"))[0] == 403
