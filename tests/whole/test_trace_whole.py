"""Why, asked of a running broker."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from tests.whole.acts import IMPATIENT, JSON, call, subscribe, until
from tests.whole.conftest import Start
from tests.whole.people import about, basic, known
from tests.whole.shell import BrokerProcess, document
from tests.whole.sink import Sink

from tocsin.mediation.ce.filters import TOPIC
from tocsin.model.access import Right
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
CE = "/api/cloudevents/subscriptions"
EVENT = (("Content-Type", "application/cloudevents+json"),)


async def say(http: HttpClient, url: str, name: str, topic: str, who: Any = (), source: str = "urn:t") -> None:
    event = {"specversion": "1.0", "id": name, "source": source, "type": "t", "topic": topic, "data": {"level": 12}}
    answer = await http.request("POST", f"{url}/events", EVENT + who, msgspec.json.encode(event))
    assert answer.status == 202, answer


async def test_a_delivery_is_told_and_so_is_why_another_had_none(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    topic, name = f"t{uuid4().hex}", f"urn:x:{uuid4().hex}/a b?"
    asked = [{"prefix": {"type": "t"}}, {"exact": {"source": "urn:other"}}]
    near = await subscribe(http, broker, sink.url("near"), topic, filters=asked)
    told = await subscribe(http, broker, sink.url("told"), f"{topic}//.")
    await say(http, broker.url, name, topic)
    path = f"{broker.url}/api/subscriptions/{told}/explain?message={name.replace(' ', '%20').replace('?', '%3F')}"

    async def traced() -> Any:
        return document((await call(http, "GET", path)).body)

    found = await until(traced, lambda trace: trace["items"][0]["outcome"] == "delivered")
    assert found["notification"]["id"] == name and found["next"] is None
    await call(http, "DELETE", f"{broker.url}/api/subscriptions/{near}")
    offset = found["notification"]["offset"]
    trace = document((await call(http, "GET", f"{broker.url}/api/trace?offset={offset}&subscription={near}")).body)
    (account,) = trace["items"]
    assert (account["wanted"], account["because"]) == (False, "source exact 'urn:other': source is 'urn:t'")
    assert account["remark"] == "it has ended since: unsubscribed"
    assert [part["decides"] for part in account["parts"]] == [False, False, True]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/api/trace", 400, "by its id or cause"),
        ("/api/trace/none", 404, "no notification with the id or cause 'none'"),
        ("/api/trace/none?offset=1", 400, "not by both"),
        ("/api/trace?offset=x", 400, "offset='x' is not a whole number"),
        ("/api/trace/none?subscription=none", 404, "there never was a subscription 'none'"),
        ("/api/subscriptions/none/explain", 404, "there never was a subscription 'none'"),
        ("/api/subscriptions/none/explain?limit=-1", 400, "not a whole number"),
    ],
)
async def test_what_cannot_be_answered(
    broker: BrokerProcess, http: HttpClient, path: str, status: int, words: str
) -> None:
    answer = await call(http, "GET", broker.url + path)
    assert answer.status == status and words in document(answer.body)["detail"], answer


async def test_with_users_each_sees_its_own(start: Start, tmp_path: Path, http: HttpClient) -> None:
    known(tmp_path / "data", "ann", about("publish", "flood//."), about("subscribe", "flood//."))
    known(tmp_path / "data", "ben", about("subscribe", "flood//."))
    known(tmp_path / "data", "eve", about("subscribe", "fire"))
    known(tmp_path / "data", "max", Right("manage"))
    broker = start(tmp_path / "data", IMPATIENT | {"access-on": "true"})

    async def ask(method: str, path: str, who: str, body: bytes = b"") -> Answer:
        return await http.request(method, broker.url + path, basic(who) if who else (), body)

    made = {
        who: document(
            (
                await ask("POST", "/api/subscriptions", who, b'{"consumer": "http://127.0.0.1:9/", "topic": "flood"}')
            ).body
        )["id"]
        for who in ("ann", "ben")
    }
    await say(http, broker.url, "urn:m", "flood", basic("ann"))
    seen = {who: document((await ask("GET", "/api/trace/urn:m", who)).body)["items"] for who in ("ann", "ben", "max")}
    assert {who: [each["subscription"] for each in items] for who, items in seen.items()} == {
        "ann": [made["ann"]],
        "ben": [made["ben"]],
        "max": sorted(made.values()),
    }
    assert (await ask("GET", "/api/trace/urn:m", "")).status == 401
    assert (await ask("GET", "/api/trace/urn:m", "eve")).status == 404
    assert (await ask("GET", f"/api/trace/urn:m?subscription={made['ben']}", "ann")).status == 403
    assert (await ask("GET", f"/api/subscriptions/{made['ben']}/explain", "ann")).status == 403


async def test_what_a_pull_point_lost_is_not_said_to_be_handed_out(
    start: Start, tmp_path: Path, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", {"limits-pull-queue": "3"})
    made = document((await call(http, "POST", f"{broker.url}/api/pullpoints", {"topic": "t"})).body)["id"]
    for number in range(6):
        await say(http, broker.url, f"urn:{number}", "t")

    async def outcomes() -> list[str]:
        found = document((await call(http, "GET", f"{broker.url}/api/subscriptions/{made}/explain")).body)
        assert found["cut"] is False
        return [each["items"][0]["outcome"] for each in found["items"]]

    assert await outcomes() == ["waiting"] * 3 + ["overflowed"] * 3
    await call(http, "GET", f"{broker.url}/api/pullpoints/{made}/messages?limit=1")
    assert await outcomes() == ["waiting"] * 2 + ["not known"] * 4


async def test_nobody_is_told_of_what_it_may_not_hear(start: Start, tmp_path: Path, http: HttpClient) -> None:
    known(tmp_path / "data", "bob", *(about(does, on) for does in ("publish", "subscribe") for on in ("a//.", "c")))
    known(tmp_path / "data", "ann", about("subscribe", "a//."))
    known(tmp_path / "data", "mia", about("manage", "a//."))
    broker = start(tmp_path / "data", IMPATIENT | {"access-on": "true"})

    async def ask(method: str, path: str, who: str, asked: object = None) -> Answer:
        body = b"" if asked is None else msgspec.json.encode(asked)
        return await http.request(method, broker.url + path, basic(who) + JSON, body)

    sent = {"sink": "http://127.0.0.1:9/", "protocol": "HTTP"}
    on = [[{TOPIC: each}] for each in ("c", "a/b")]
    made = document((await ask("POST", CE, "bob", sent | {"filters": on[0]})).body)["id"]
    await say(http, broker.url, "same", "a/b", basic("bob"))
    await say(http, broker.url, "same", "c", basic("bob"), source="urn:other")
    moved = await ask("PUT", f"{CE}/{made}", "bob", sent | {"id": made, "filters": on[1]})
    assert moved.status == 200, moved

    async def topics(who: str) -> list[str]:
        found = document((await ask("GET", f"/api/subscriptions/{made}/explain", who)).body)["items"]
        return [each["notification"]["topic"] for each in found]

    assert (await topics("bob"), await topics("mia")) == (["c", "a/b"], [])
    own = await ask("GET", "/api/trace/same", "ann")
    assert (own.status, document(own.body)["notification"]["topic"]) == (200, "a/b")
    hidden, missing = await ask("GET", "/api/trace/same", "mia"), await ask("GET", "/api/trace/none", "mia")
    assert (hidden.status, missing.status) == (404, 404)
    assert document(hidden.body)["detail"].replace("same", "none") == document(missing.body)["detail"]
