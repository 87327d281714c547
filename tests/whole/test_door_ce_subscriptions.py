"""The CloudEvents Subscriptions API and batches, through a started broker."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.whole.acts import IMPATIENT, call, until
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink

from tocsin.model.access import Secret
from tocsin.model.identity import Instant
from tocsin.store.database import Store
from tocsin.wire.http_client import HttpClient

PATH = "/api/cloudevents/subscriptions"
BATCH = (("Content-Type", "application/cloudevents-batch+json"),)


def event(kind: str, number: int, **more: object) -> dict[str, Any]:
    return {"specversion": "1.0", "id": f"{kind}-{number}", "source": "/s", "type": kind, "data": number} | more


async def publish(http: HttpClient, broker: BrokerProcess, *events: dict[str, Any]) -> int:
    return (await http.request("POST", f"{broker.url}/events", BATCH, json.dumps(events).encode())).status


def told(sink: Sink, path: str) -> list[int]:
    return [json.loads(each.body)["data"] for each in sink.at(path)]


async def test_create_retrieve_update_query_and_delete(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    kind, path = f"t{uuid4().hex}", uuid4().hex
    asked = {
        "source": "/s",
        "types": [kind],
        "filters": [{"not": {"exact": {"subject": "secret"}}}, {"prefix": {"id": kind}}],
        "protocol": "HTTP",
        "protocolsettings": {"headers": {"X-Team": "desk 7"}, "method": "POST"},
        "sink": sink.url(path),
        "sinkCredential": {"credentialType": "PLAIN", "identifier": "me", "secret": "pa ss"},
    }
    answer = await call(http, "POST", broker.url + PATH, asked)
    made = document(answer.body)
    at = dict(answer.headers)["location"]
    assert answer.status == 201 and at == f"{broker.url}{PATH}/{made['id']}"
    assert {name: made[name] for name in ("source", "types", "filters", "sink", "protocol", "protocolsettings")} == {
        name: asked[name] for name in ("source", "types", "filters", "sink", "protocol", "protocolsettings")
    }
    assert made["sinkcredential"] == {"credentialtype": "PLAIN"} and made["config"]["mode"] == "structured"
    assert document((await call(http, "GET", at)).body) == made
    assert made in document((await call(http, "GET", broker.url + PATH)).body)
    events = [event(kind, 1), event(kind, 2, subject="secret"), event(kind, 3, source="/other"), event("x", 4)]
    assert await publish(http, broker, *events, event(kind, 5)) == 202
    await wait_until(lambda: told(sink, path) == [1, 5], "what matches comes")
    headers = dict(sink.at(path)[0].headers)
    assert headers["x-team"] == "desk 7" and headers["authorization"] == "Basic bWU6cGEgc3M="
    changed = made | {"filters": [{"suffix": {"id": "-7"}}]}
    replaced = document((await call(http, "PUT", at, changed)).body)
    assert replaced["filters"] == changed["filters"] and replaced["sinkcredential"] == made["sinkcredential"]
    await publish(http, broker, event(kind, 6), event(kind, 7))
    await wait_until(lambda: told(sink, path) == [1, 5, 7], "the new filter holds, with the credential of before")
    assert dict(sink.at(path)[2].headers)["authorization"] == "Basic bWU6cGEgc3M="
    assert (await call(http, "DELETE", at)).status == 200
    assert (await call(http, "GET", at)).status == (await call(http, "PUT", at, made)).status == 404
    secrets = document((await call(http, "GET", f"{broker.url}/api/secrets")).body)
    assert not [each for each in secrets["items"] if each["for"] == sink.url(path)]


async def test_batches_come_as_batches(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    kind, path = f"t{uuid4().hex}", uuid4().hex
    asked = {"protocol": "HTTP", "sink": sink.url(path), "types": [kind], "config": {"mode": "batched"}}
    made = document((await call(http, "POST", broker.url + PATH, asked)).body)
    assert made["config"]["together"] == "100"
    await publish(http, broker, *(event(kind, number) for number in range(20)))
    await wait_until(
        lambda: [e["data"] for each in sink.at(path) for e in json.loads(each.body)] == list(range(20)), "all in order"
    )
    assert all(dict(each.headers)["content-type"].startswith(BATCH[0][1]) for each in sink.at(path))
    await call(http, "DELETE", f"{broker.url}{PATH}/{made['id']}")


async def test_an_empty_batch_is_accepted_and_a_bad_one_is_not(broker: BrokerProcess, http: HttpClient) -> None:
    before = document((await call(http, "GET", f"{broker.url}/api/status")).body)["offset"]
    assert await publish(http, broker) == 202
    assert await publish(http, broker, event("t", 1), {"id": "x"}) == 400
    assert document((await call(http, "GET", f"{broker.url}/api/status")).body)["offset"] == before


async def test_a_batch_with_an_event_of_before_is_not_taken_for_it(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    kind, path = f"t{uuid4().hex}", uuid4().hex
    made = document(
        (
            await call(http, "POST", broker.url + PATH, {"protocol": "HTTP", "sink": sink.url(path), "types": [kind]})
        ).body
    )
    await publish(http, broker, event(kind, 1))
    await publish(http, broker, event(kind, 1), event(kind, 2))
    await publish(http, broker, event(kind, 1), event(kind, 2))
    await wait_until(lambda: told(sink, path) == [1, 1, 2], "the new one comes, the same batch but once")
    await call(http, "DELETE", f"{broker.url}{PATH}/{made['id']}")


async def test_options_say_what_is_supported(broker: BrokerProcess, http: HttpClient) -> None:
    answer = await call(http, "OPTIONS", broker.url + PATH)
    assert answer.status == 200 and dict(answer.headers)["allow"] == "GET, POST, OPTIONS"
    assert {"exact", "prefix", "suffix", "all", "any", "not"} <= set(document(answer.body)["filters"])


GOOD: dict[str, Any] = {"protocol": "HTTP", "sink": "http://127.0.0.1:9/"}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "protocol is missing"),
        (GOOD | {"protocol": "MQTT5"}, "'MQTT5' is not supported; HTTP is"),
        ({"protocol": "HTTP"}, "sink is missing"),
        (GOOD | {"sink": "tcp://127.0.0.1:9/"}, "http://"),
        (GOOD | {"colour": "red"}, "'colour' is not a member"),
        (GOOD | {"sinkCredential": {}, "sinkcredential": {}}, "twice"),
        (GOOD | {"filters": [{"sql": "TRUE AND"}]}, "position 8"),
        (GOOD | {"filters": [{"cel": "true"}]}, "'cel' is not supported"),
        (GOOD | {"filters": [{"exact": {}}]}, "exact needs"),
        (GOOD | {"types": [""]}, "each of types"),
        (GOOD | {"source": ""}, "the source"),
        (GOOD | {"config": {"interval": "5"}}, "'interval' is not known"),
        (GOOD | {"config": {"mode": "batched", "together": "1"}}, "from 2 to 1000"),
        (GOOD | {"config": {"expires": "soon"}}, "'soon'"),
        (GOOD | {"protocolsettings": {"method": "PUT"}}, "POST is"),
        (GOOD | {"protocolsettings": {"headers": {"Authorization": "x"}}}, "sinkcredential"),
        (GOOD | {"protocolsettings": {"headers": {"X-A": "a\r\nb"}}}, "printable ASCII"),
        (GOOD | {"sinkcredential": {"credentialtype": "REFRESHTOKEN"}}, "PLAIN and ACCESSTOKEN are"),
        (GOOD | {"sinkcredential": {"credentialtype": "ACCESSTOKEN"}}, "needs accesstoken"),
    ],
)
async def test_what_cannot_be_asked_for(
    asked: dict[str, Any], words: str, broker: BrokerProcess, http: HttpClient
) -> None:
    answer = await call(http, "POST", broker.url + PATH, asked)
    assert answer.status == 400 and words in document(answer.body)["detail"], answer


async def test_one_that_fed_a_pull_point_can_be_sent_to_and_the_other_way_round(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    kind, path = f"t{uuid4().hex}", uuid4().hex
    box = document((await call(http, "POST", f"{broker.url}/api/pullpoints", {"topic": kind})).body)

    async def pulled() -> list[int]:
        found = document((await call(http, "GET", f"{broker.url}/api/pullpoints/{box['id']}/messages")).body)
        return [each["event"]["data"] for each in found["items"]]

    asked = {"protocol": "HTTP", "sink": box["address"], "types": [kind]}
    made = document((await call(http, "POST", broker.url + PATH, asked)).body)
    at = f"{broker.url}{PATH}/{made['id']}"
    assert made["sink"] == box["address"]
    await publish(http, broker, event(kind, 1))
    assert document((await call(http, "PUT", at, made)).body) == made
    assert (await call(http, "PUT", at, made | {"sink": sink.url(path)})).status == 200
    await publish(http, broker, event(kind, 2))
    await wait_until(lambda: told(sink, path) == [2], "what came since is sent")
    assert await pulled() == [1]
    assert (await call(http, "PUT", at, made)).status == 200
    await publish(http, broker, event(kind, 3))
    assert await pulled() == [3]
    assert (await call(http, "DELETE", at)).status == 200
    await publish(http, broker, event(kind, 4))
    assert (await pulled(), told(sink, path)) == ([], [2])
    dead = document((await call(http, "GET", f"{broker.url}/api/dead-letters?subscription={made['id']}")).body)
    assert dead["items"] == []


async def test_a_credential_goes_with_its_subscription_however_that_ends(
    tmp_path: Path, start: Start, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT)

    async def made(config: dict[str, str]) -> str:
        token = {"credentialtype": "ACCESSTOKEN", "accesstoken": "t"}
        asked = {"sink": "http://127.0.0.1:9/", "protocol": "HTTP", "config": config, "sinkcredential": token}
        return str(document((await call(http, "POST", broker.url + PATH, asked)).body)["id"])

    async def secrets() -> list[str]:
        return [each["name"] for each in document((await call(http, "GET", f"{broker.url}/api/secrets")).body)["items"]]

    name = await made({})
    assert len(await secrets()) == 1
    assert (await call(http, "DELETE", f"{broker.url}/api/subscriptions/{name}")).status < 300
    assert await secrets() == []
    await made({"expires": "PT0.5S"})
    await until(secrets, lambda found: not found)
    stays = await made({})
    (kept,) = await secrets()
    broker.stop()
    left = [f"sink-{uuid4().hex}", "sink-of-the-operator"]
    store = Store.open(broker.data / "tocsin.db")
    for each in left:
        store.secrets.put(Secret(each, "bearer", "t", Instant(1)))
    store.close()
    broker = start(tmp_path / "data", IMPATIENT)
    assert await secrets() == sorted([kept, "sink-of-the-operator"])
    replacing = {"sink": "http://127.0.0.1:9/other", "protocol": "HTTP"}
    assert (await call(http, "PUT", f"{broker.url}{PATH}/{stays}", replacing)).status == 200
    assert await secrets() == ["sink-of-the-operator"]
