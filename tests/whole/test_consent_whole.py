"""HTTP 1.1 Web Hooks for Event Delivery 1.0.2 s4, from both sides."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from tests.whole.acts import IMPATIENT, call, dead_letters, get, numbers, publish, subscribe, until
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import NEVER, Answering, Say, Sink

from tocsin import Received
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
CALLBACK = "webhook-request-callback"
YES = "WebHook-Allowed-Origin: *\r\nWebHook-Allowed-Rate: *\r\n"


def questions(sink: Sink) -> list[dict[str, str]]:
    return [found for each in sink.received if CALLBACK in (found := dict(each.headers))]


def answering(question: Say) -> Answering:
    return lambda received: question if CALLBACK in dict(received.headers) else Say()


def told(sink: Sink) -> list[int]:
    return [n for each in sink.received if CALLBACK not in dict(each.headers) for n in _numbers(each)]


def _numbers(received: Received) -> list[int]:
    return [int(each.payload.data.partition(b">")[2].partition(b"<")[0]) for each in received.notifications()]


async def test_s4_2_who_consents_is_sent_to_and_told_who_sends(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    about = f"consent/t{uuid4().hex}"
    sink.script = answering(Say(200, YES))
    name = await subscribe(http, broker, sink.url("a"), about, consent=True)
    await publish(http, broker, about, 1, 2)
    await wait_until(lambda: told(sink) == [1, 2], "both are delivered")
    (asked,) = questions(sink)
    assert asked["webhook-request-origin"] == "127.0.0.1" and int(asked["webhook-request-rate"]) > 0
    assert asked[CALLBACK].startswith(f"{broker.url}/api/consents/")
    assert all(dict(each.headers)["webhook-request-origin"] == "127.0.0.1" for each in sink.received)
    assert (await get(http, f"{broker.url}/api/subscriptions/{name}"))["consent"] is True


async def test_nothing_is_sent_before_and_all_of_it_after_the_call(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    about = f"consent/t{uuid4().hex}"
    sink.script = answering(Say(200))
    name = await subscribe(http, broker, sink.url("a"), about, consent=True)
    await publish(http, broker, about, 1, 2)
    await wait_until(lambda: questions(sink), "it is asked")
    address = questions(sink)[0][CALLBACK]

    async def waiting() -> dict[str, str]:
        return {
            each["subscription"]: each["state"] for each in (await get(http, f"{broker.url}/api/consents"))["items"]
        }

    await until(waiting, lambda found: found.get(name) == "waiting")
    assert (await http.request("HEAD", address)).status == 405, "a look is no consent"
    assert told(sink) == [] and name in await waiting()
    assert (await call(http, "GET", f"{broker.url}/api/consents/{'x' * 43}")).status == 404
    answer = await call(http, "GET", address)
    assert (answer.status, document(answer.body)) == (200, {"subscription": name})
    await wait_until(lambda: told(sink) == [1, 2], "what was held is delivered")
    assert (await call(http, "POST", address)).status == 200, "once more is as once"
    assert name not in await waiting()


async def test_a_call_counts_while_the_answer_is_still_outstanding(
    broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    about = f"consent/t{uuid4().hex}"
    sink.script = answering(NEVER)
    await subscribe(http, broker, sink.url("a"), about, consent=True)
    await publish(http, broker, about, 1)
    await wait_until(lambda: questions(sink), "it is asked")
    assert (await call(http, "POST", questions(sink)[0][CALLBACK])).status == 200
    await wait_until(lambda: told(sink) == [1], "it is delivered")


@pytest.mark.parametrize("said", [Say(405), Say(200, "WebHook-Allowed-Origin: other.example\r\n")])
async def test_who_refuses_ends_the_subscription_with_the_reason(
    said: Say, broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    about = f"consent/t{uuid4().hex}"
    sink.script = answering(said)
    name = await subscribe(http, broker, sink.url("a"), about, consent=True)

    async def status() -> int:
        return (await call(http, "GET", f"{broker.url}/api/subscriptions/{name}")).status

    await until(status, lambda found: found == 404)
    await publish(http, broker, about, 1)
    assert told(sink) == []
    assert (await call(http, "GET", questions(sink)[0][CALLBACK])).status == 404


async def test_consent_and_questions_survive_a_restart(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    settings = IMPATIENT | {"delivery-consent": "ask"}
    broker = start(tmp_path / "data", settings)
    sink.script = lambda received: Say(200, YES) if received.path == "/yes" else Say(200)
    await subscribe(http, broker, sink.url("yes"), "t")
    await subscribe(http, broker, sink.url("later"), "t")
    await publish(http, broker, "t", 1)
    await wait_until(lambda: numbers(sink, "yes") == [1] and len(questions(sink)) == 2, "both are asked")
    broker.kill()
    broker = start(tmp_path / "data", settings)
    await publish(http, broker, "t", 2)
    await wait_until(lambda: numbers(sink, "yes")[-1:] == [2], "who consented is not asked again")
    await wait_until(lambda: len(questions(sink)) == 3, "who did not is")
    assert len([each for each in sink.at("yes") if CALLBACK in dict(each.headers)]) == 1
    first, again = (dict(each.headers)[CALLBACK] for each in sink.at("later"))
    assert first.rpartition("/")[2] == again.rpartition("/")[2], "by the same token"
    assert (await call(http, "GET", again)).status == 200
    await wait_until(lambda: numbers(sink, "later") == [1, 2], "what was held before the restart is delivered")


async def test_s4_2_2_the_rate_that_is_allowed_is_kept(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT)
    sink.script = answering(Say(200, "WebHook-Allowed-Origin: *\r\nWebHook-Allowed-Rate: 600\r\n"))
    await subscribe(http, broker, sink.url("a"), "t", consent=True)
    began = asyncio.get_running_loop().time()
    await publish(http, broker, "t", *range(5))
    await wait_until(lambda: told(sink) == list(range(5)), "all are delivered")
    assert asyncio.get_running_loop().time() - began >= 0.39


@pytest.mark.parametrize("path", ["/events", "/broker/publish", "/broker/publish/a/b"])
async def test_s4_2_as_a_receiver(path: str, broker: BrokerProcess, http: HttpClient) -> None:
    answer = await http.request("OPTIONS", broker.url + path, (("WebHook-Request-Origin", "emitter.example"),))
    said = dict(answer.headers)
    assert (answer.status, said["webhook-allowed-origin"], said["webhook-allowed-rate"]) == (200, "*", "*")
    assert "POST" in said["allow"]
    silent = dict((await http.request("OPTIONS", broker.url + path)).headers)
    assert "webhook-allowed-origin" not in silent and "POST" in silent["allow"]


async def test_only_the_origins_that_are_named_may_send(tmp_path: Path, start: Start, http: HttpClient) -> None:
    broker = start(tmp_path / "data", {"access-webhook-origins": "one.example,two.example"})

    async def allowed(origin: str) -> str | None:
        answer = await http.request("OPTIONS", f"{broker.url}/events", (("WebHook-Request-Origin", origin),))
        return dict(answer.headers).get("webhook-allowed-origin")

    assert await allowed("Two.example") == "Two.example"
    assert await allowed("three.example") is None
    assert await allowed("*") is None


CE = "/api/cloudevents/subscriptions"


async def replaced(http: HttpClient, broker: BrokerProcess, name: str, sink: str) -> None:
    answer = await call(http, "PUT", f"{broker.url}{CE}/{name}", {"sink": sink, "protocol": "HTTP"})
    assert answer.status == 200, answer


async def test_consent_is_for_one_address_and_another_is_asked(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    settings = IMPATIENT | {"delivery-consent": "ask"}
    broker = start(tmp_path / "data", settings)
    sink.script = lambda received: Say(200, YES) if received.path == "/yes" else Say(200)
    name = await subscribe(http, broker, sink.url("yes"), "t")
    await publish(http, broker, "t", 1)
    await wait_until(lambda: numbers(sink, "yes") == [1], "who consented is sent to")
    old = dict(sink.at("yes")[0].headers)[CALLBACK]
    await replaced(http, broker, name, sink.url("other"))
    await publish(http, broker, "t", 2)
    await wait_until(lambda: sink.at("other"), "the other is asked")
    assert (await call(http, "GET", old)).status == 200, "that of before speaks for itself only"
    broker.kill()
    broker = start(tmp_path / "data", settings)
    await wait_until(lambda: len(sink.at("other")) == 2, "and asked again")
    first, again = (dict(each.headers)[CALLBACK] for each in sink.at("other"))
    assert first.rpartition("/")[2] == again.rpartition("/")[2]
    assert numbers(sink, "other") == []
    assert (await call(http, "GET", again)).status == 200
    await wait_until(lambda: numbers(sink, "other") == [2], "what was held is delivered")
    assert set(numbers(sink, "yes")) == {1}


async def test_what_waits_for_who_consented_goes_there_after_the_address_is_another(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT | {"delivery-consent": "ask"})
    sink.script = answering(Say(200, YES))
    name = await subscribe(http, broker, sink.url("a"), "t")
    await wait_until(lambda: questions(sink), "it is asked")
    await until(lambda: get(http, f"{broker.url}/api/consents"), lambda found: not found["items"])
    sink.script = lambda received: Say(200, YES) if CALLBACK in dict(received.headers) else Say(503 if busy else 202)
    busy = [True]
    await publish(http, broker, "t", 1)
    await replaced(http, broker, name, sink.url("b"))
    await publish(http, broker, "t", 2)
    busy.clear()
    await wait_until(lambda: numbers(sink, "b")[-1:] == [2], "the new one is sent to")
    assert set(numbers(sink, "a")) == {1} and await dead_letters(http, broker) == []


async def test_who_need_not_be_asked_any_more_is_sent_to(
    tmp_path: Path, start: Start, sink: Sink, http: HttpClient
) -> None:
    broker = start(tmp_path / "data", IMPATIENT)
    sink.script = answering(Say(200))
    name = await subscribe(http, broker, sink.url("a"), "t", consent=True)
    await publish(http, broker, "t", 1)
    await wait_until(lambda: questions(sink), "it is asked")
    await replaced(http, broker, name, sink.url("b"))
    await publish(http, broker, "t", 2)
    await wait_until(lambda: numbers(sink, "b") == [2], "nobody is waited for")
    assert (await get(http, f"{broker.url}/api/consents"))["items"] == []
    assert told(sink) == [2], "who never consented got nothing"
    await until(lambda: dead_letters(http, broker, name), lambda found: len(found) == 1)


async def test_all_but_soap_is_asked_where_all_are(tmp_path: Path, start: Start, sink: Sink, http: HttpClient) -> None:
    broker = start(tmp_path / "data", IMPATIENT | {"delivery-consent": "ask"})
    sink.script = answering(Say(200))
    name = await subscribe(http, broker, sink.url("hook"), "t", dialect="webhook")
    assert (await get(http, f"{broker.url}/api/subscriptions/{name}"))["consent"] is True
    await subscribe(http, broker, sink.url("soap"), "t", dialect="wsn-1.3")
    await publish(http, broker, "t", 1)
    await wait_until(lambda: sink.at("hook") and sink.at("soap"), "one is asked and the other is sent to")
    assert [CALLBACK in dict(each.headers) for each in (*sink.at("hook"), *sink.at("soap"))] == [True, False]
