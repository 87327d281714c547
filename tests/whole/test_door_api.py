"""The JSON API: subscriptions, dead letters, topics, its own description, and how it refuses."""

import re
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from tests.whole.acts import JSON, call, until
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Say, Sink
from tests.whole.speech import message, notify

from tocsin import Client
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


async def subscribe(http: HttpClient, broker: BrokerProcess, **asked: object) -> dict[str, Any]:
    answer = await call(http, "POST", f"{broker.url}/api/subscriptions", asked)
    assert answer.status == 201, answer
    made: dict[str, Any] = document(answer.body)
    assert dict(answer.headers)["location"] == f"{broker.url}/api/subscriptions/{made['id']}"
    return made


def check_problem(answer: Answer, status: int, *words: str) -> None:
    assert answer.status == status, answer
    assert dict(answer.headers)["content-type"] == "application/problem+json"
    told = document(answer.body)
    assert told["status"] == status and told["title"] and told["type"].startswith("urn:tocsin:")
    assert all(word in told["detail"] for word in words), told


async def test_a_subscription_from_birth_to_end(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    made = await subscribe(http, broker, consumer=sink.url("a"), topic="x:api//.", namespaces={"x": "urn:x"})
    address = f"{broker.url}/api/subscriptions/{made['id']}"
    assert made["topics"] == ["{urn:x}api//."] and made["state"] == "active" and made["dialect"] == "cloudevents"
    assert document((await call(http, "GET", address)).body) == made
    renewed = document((await call(http, "POST", f"{address}/renew", {"expires": "PT5H"})).body)
    assert renewed["expires"] > made["expires"] and renewed["since"] == made["since"]
    gone = await call(http, "DELETE", address)
    assert (gone.status, gone.body) == (204, b"")
    for method, url in [("GET", address), ("DELETE", address), ("POST", f"{address}/renew")]:
        check_problem(await call(http, method, url), 404, made["id"])


async def test_pages_have_every_subscription_once(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    made = {(await subscribe(http, broker, consumer=sink.url("p"), topic="pages"))["id"] for _ in range(7)}
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = document((await call(http, "GET", f"{broker.url}/api/subscriptions?limit=3&after={after}")).body)
        assert len(page["items"]) <= 3
        seen += [each["id"] for each in page["items"]]
        after = page["next"]
    assert len(seen) == len(set(seen)) and made <= set(seen)
    for each in made:
        await call(http, "DELETE", f"{broker.url}/api/subscriptions/{each}")


async def test_our_client_reads_long_answers(broker: BrokerProcess, sink: Sink) -> None:
    """A page of subscriptions with long addresses is more than a consumer's answer may ever be."""
    client = Client(broker.url)
    leases = [await client.subscribe(f"{sink.url('long')}?{'x' * 1900}{n}", topic="long") for n in range(60)]
    page = await client.get("/api/subscriptions?limit=1000")
    assert isinstance(page, dict) and {each["id"] for each in page["items"]} >= {lease.id for lease in leases}
    for lease in leases:
        await client.unsubscribe(lease.address)
    await client.close()


async def test_dead_letters_are_listed_and_tried_again(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about = f"dead/t{uuid4().hex}"
    made = await subscribe(http, broker, consumer=sink.url("d"), topic=about)
    sink.script = lambda received: Say(404, body=b"no such desk")
    letters = f"{broker.url}/api/dead-letters?subscription={made['id']}"
    for n in range(3):
        await http.request("POST", f"{broker.url}/broker", *notify(message(f"<n>{n}</n>", about)))

    async def listed(query: str = "") -> Any:
        return document((await call(http, "GET", letters + query)).body)

    await wait_until(lambda: len(sink.at("d")) == 3, "all were refused")
    found = await until(listed, lambda page: len(page["items"]) == 3)
    first = found["items"][0]
    assert first["consumer"] == sink.url("d") and first["attempts"] == 1 and first["state"] == "dead"
    assert first["reason"] == "HTTP 404: no such desk"
    paged = await listed("&limit=2")
    rest = await listed(f"&limit=2&after={paged['next']}")
    assert [each["id"] for each in (*paged["items"], *rest["items"])] == [each["id"] for each in found["items"]]
    sink.script = lambda received: Say()
    answer = await call(http, "POST", f"{broker.url}/api/dead-letters/redrive", {"ids": [first["id"]]})
    assert document(answer.body) == {"redriven": 1}
    await until(listed, lambda page: [each["id"] for each in page["items"]] == [each["id"] for each in rest_of(found)])
    assert len(sink.at("d")) == 4
    await call(http, "DELETE", f"{broker.url}/api/subscriptions/{made['id']}")


def rest_of(page: Any) -> Any:
    return page["items"][1:]


async def test_topics_are_counted(broker: BrokerProcess, http: HttpClient) -> None:
    about = f"counted/t{uuid4().hex}"
    for n in range(3):
        await http.request("POST", f"{broker.url}/broker", *notify(message(f"<n>{n}</n>", about)))
    page = document((await call(http, "GET", f"{broker.url}/api/topics")).body)
    assert [each["notifications"] for each in page["items"] if each["topic"] == about] == [3]


async def test_the_description_is_whole(broker: BrokerProcess, http: HttpClient) -> None:
    described = document((await call(http, "GET", f"{broker.url}/api/openapi.json")).body)
    assert described["openapi"].startswith("3.1")
    for reference in re.findall(r'"\$ref":"#/([^"]+)"', msgspec.json.encode(described).decode()):
        place = described
        for step in reference.split("/"):
            place = place[step]
        assert place
    for path, item in described["paths"].items():
        for method in item.keys() & {"get", "post", "delete"}:
            if path == "/api/stream":  # has no end
                continue
            place = re.sub(r"\{\w+\}", "99999", path)
            answer = await call(http, method.upper(), broker.url + place, {"consumer": "ftp://x"})
            named = "{" in path and ("requestBody" not in item[method] or "/notifiers/" in path)
            needy = any(each.get("required") for each in item[method]["parameters"])
            asked = 426 if "101" in item[method]["responses"] else 400 if needy or method != "get" else 200
            expected = 404 if named else asked
            assert answer.status == expected, (method, path, answer)
            assert _described(item[method], answer.status), (method, path, answer)


def _described(operation: Any, status: int) -> bool:
    return str(status) in operation["responses"] or f"{status // 100}XX" in operation["responses"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (b"{", "truncated"),
        (b'{"consumer": 5}', "consumer"),
        (b'{"consumer": "http://127.0.0.1:1/", "colour": "red"}', "colour"),
        (b'{"consumer": "ftp://127.0.0.1/"}', "http://"),
        (b'{"consumer": "http://u:p@127.0.0.1/"}', "password"),
        (b'{"consumer": "http://127.0.0.1:1/", "topic": "a//"}', "position"),
        (b'{"consumer": "http://127.0.0.1:1/", "topic": "x:a"}', "'x' is not declared"),
        (b'{"consumer": "http://127.0.0.1:1/", "topic_dialect": "xpath"}', "topic_dialect"),
        (b'{"consumer": "http://127.0.0.1:1/", "expires": "tomorrow"}', "'tomorrow'"),
        (b'{"consumer": "http://127.0.0.1:1/", "expires": "2001-01-01T00:00:00Z"}', "not in the future"),
        (b"\xff\xfe", ""),
    ],
)
async def test_what_cannot_be_subscribed(asked: bytes, words: str, broker: BrokerProcess, http: HttpClient) -> None:
    answer = await http.request("POST", f"{broker.url}/api/subscriptions", JSON, asked)
    check_problem(answer, 400, words)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/nothing", 404),
        ("GET", "/", 404),
        ("DELETE", "/api/subscriptions", 405),
        ("POST", "/api/topics", 405),
        ("GET", "/events", 405),
        ("GET", "/brokers", 404),
        ("GET", "/api/dead-letters?after=x", 400),
        ("GET", "/api/dead-letters?limit=-1", 400),
        ("GET", "/api/dead-letters?after=999999999999999999999", 400),
    ],
)
async def test_what_is_not_there(method: str, path: str, status: int, broker: BrokerProcess, http: HttpClient) -> None:
    check_problem(await call(http, method, broker.url + path), status)


@pytest.mark.parametrize(("path", "methods"), [("/api/subscriptions", "GET, POST"), ("/events", "POST")])
async def test_who_asks_in_vain_is_told_what_is_served(
    path: str, methods: str, broker: BrokerProcess, http: HttpClient
) -> None:
    answer = await call(http, "PUT", broker.url + path, {})
    assert dict(answer.headers)["allow"] == methods
    check_problem(answer, 405, methods)


@pytest.mark.parametrize("ids", [[2**70], [-1], ["x"], "all"])
async def test_ids_that_cannot_be(ids: object, broker: BrokerProcess, http: HttpClient) -> None:
    check_problem(await call(http, "POST", f"{broker.url}/api/dead-letters/redrive", {"ids": ids}), 400, "ids")


async def test_a_body_too_long_for_the_api(broker: BrokerProcess, http: HttpClient) -> None:
    answer = await http.request("POST", f"{broker.url}/api/subscriptions", JSON, b" " * (1 << 20) + b"{}")
    check_problem(answer, 413)


async def test_status_and_health(broker: BrokerProcess, http: HttpClient) -> None:
    assert document((await call(http, "GET", f"{broker.url}/healthz")).body)["status"] == "ok"
    status = document((await call(http, "GET", f"{broker.url}/api/status")).body)
    assert status["engine"] == "embedded" and status["offset"] >= 0 and "delivered" in status["delivery"]
