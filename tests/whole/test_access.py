"""Rights at every door: who one is (401), and what one may (403)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.whole.acts import IMPATIENT, JSON, until
from tests.whole.people import WSSE, about, basic, bearer, digest_header, known, text_header, users, with_header, zulu
from tests.whole.shell import BrokerProcess, accepted, command, document, run_to_end, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import (
    Said,
    Tongue,
    fault_of,
    manager_of,
    message,
    notify,
    wse_event,
    wse_manage,
    wse_subscribe,
    wsn_manage,
    wsn_subscribe,
)
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tocsin.model.access import Right
from tocsin.model.identity import Pairs
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
ON = IMPATIENT | {"access-on": "true"}
CLOUD_EVENT = (("Content-Type", "application/cloudevents+json"),)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Ann publishes and subscribes under `flood`, Ben under `fire`; Max manages everything; Eve may nothing.

    Sue publishes under both.
    """
    data = tmp_path_factory.mktemp("guarded") / "data"
    for name, topics in (("ann", "flood//."), ("ben", "fire//.")):
        known(data, name, about("publish", topics), about("subscribe", topics))
    known(data, "max", Right("manage"))
    known(data, "sue", about("publish", "flood//."), about("publish", "fire//."))
    known(data, "eve")
    process = BrokerProcess.start(data, ON)
    yield process
    process.kill()


async def call(http: HttpClient, method: str, url: str, who: Pairs = (), body: object = None) -> Answer:
    return await http.request(method, url, JSON + who, b"" if body is None else msgspec.json.encode(body))


async def say(http: HttpClient, url: str, said: Said, who: Pairs = ()) -> Answer:
    return await http.request("POST", url, said[0] + who, said[1])


async def subscribed(http: HttpClient, broker: BrokerProcess, who: Pairs, topic: str = "flood") -> str:
    asked = {"consumer": "http://127.0.0.1:9/", "topic": topic}
    answer = await call(http, "POST", f"{broker.url}/api/subscriptions", who, asked)
    assert answer.status == 201, answer
    return str(document(answer.body)["id"])


def event(topic: str, number: str = "1") -> bytes:
    return msgspec.json.encode(
        {"specversion": "1.0", "id": number, "source": "urn:test", "type": "t", "topic": topic, "data": {}}
    )


def check_problem(answer: Answer, status: int, words: str = "") -> None:
    assert answer.status == status, answer
    assert words in document(answer.body)["detail"]
    challenges = [value for name, value in answer.headers if name.lower() == "www-authenticate"]
    assert [each.split()[0] for each in challenges] == (["Basic", "Bearer"] if status == 401 else [])


async def test_what_everybody_may_read(guarded: BrokerProcess, http: HttpClient) -> None:
    for path in ("/healthz", "/api/openapi.json"):
        assert (await call(http, "GET", guarded.url + path)).status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/subscriptions"),
        ("POST", "/api/subscriptions"),
        ("GET", "/api/subscriptions/x"),
        ("DELETE", "/api/subscriptions/x"),
        ("POST", "/api/subscriptions/x/renew"),
        ("GET", "/api/dead-letters"),
        ("POST", "/api/dead-letters/redrive"),
        ("GET", "/api/topics"),
        ("GET", "/api/status"),
        ("POST", "/events"),
    ],
)
async def test_nobody_passes_without_a_name(method: str, path: str, guarded: BrokerProcess, http: HttpClient) -> None:
    check_problem(await call(http, method, guarded.url + path), 401, "who are you")
    check_problem(await call(http, method, guarded.url + path, basic(f"nobody at {path}")), 401)


async def test_every_path_of_the_description_asks_for_a_name(guarded: BrokerProcess, http: HttpClient) -> None:
    described = document((await call(http, "GET", f"{guarded.url}/api/openapi.json")).body)
    for path, item in described["paths"].items():
        for method in item.keys() & {"get", "post", "put", "delete"}:
            answer = await call(http, method.upper(), guarded.url + path.replace("{id}", "x"), (), {})
            elsewhere = path.startswith(("/api/consents/", "/api/replies/")) or path.endswith("/socket")  # by a token
            assert answer.status == 401 or elsewhere, (method, path, answer)


@pytest.mark.parametrize(
    "authorization",
    ["Basic", "Basic %%%", "Basic YW5u", "Basic /////w==", "Bearer", "Bearer x", "Digest a=b", "Negotiate", "x" * 5000],
)
async def test_what_proves_nothing(authorization: str, guarded: BrokerProcess, http: HttpClient) -> None:
    who = (("Authorization", authorization),)
    check_problem(await call(http, "GET", f"{guarded.url}/api/status", who), 401)


async def test_cloudevents_are_published_under_ones_own_topics(guarded: BrokerProcess, http: HttpClient) -> None:
    url = f"{guarded.url}/events"
    before = len(accepted(guarded.data))
    for who, topic, status in (("ann", "flood/severe", 202), ("ann", "fire", 403), ("eve", "flood", 403)):
        answer = await http.request("POST", url, CLOUD_EVENT + basic(who), event(topic, f"{who}{topic}"))
        assert answer.status == status, answer
    kept = accepted(guarded.data)[before:]
    assert [each.principal for each in kept] == ["ann"]


async def test_one_notification_without_right_and_none_of_them_is_kept(
    guarded: BrokerProcess, http: HttpClient
) -> None:
    before = len(accepted(guarded.data))
    said = notify(message("<n/>", "flood"), message("<n/>", "fire"))
    answer = await say(http, f"{guarded.url}/broker", said, basic("ann"))
    assert answer.status == 403 and "topic fire" in fault_of(answer.body).reason
    assert len(accepted(guarded.data)) == before


@pytest.mark.parametrize("path", ["/broker", "/broker/publish", "/broker/publish/flood"])
@pytest.mark.parametrize("tongue", [Tongue("1.1"), Tongue("1.2")], ids=["soap-1.1", "soap-1.2"])
async def test_soap_messages_without_a_name(
    path: str, tongue: Tongue, guarded: BrokerProcess, http: HttpClient
) -> None:
    answer = await say(http, guarded.url + path, notify(message("<n/>", "flood"), tongue=tongue))
    assert answer.status == 401, answer
    fault = fault_of(answer.body)
    assert tongue.soap == "1.1" or fault.subcode == f"{{{WSSE}}}FailedAuthentication"
    assert "who are you" in fault.reason
    assert dict(answer.headers)["www-authenticate"]


async def test_a_digest_opens_every_soap_door_once(guarded: BrokerProcess, http: HttpClient) -> None:
    for path, said in (
        ("/broker", notify(message("<n/>", "flood"), message_id="urn:digest:1")),
        ("/broker/publish", wse_event("<n/>", "flood", "urn:digest:2")),
    ):
        signed = with_header(said, digest_header("ann", must='e:mustUnderstand="1"'))
        assert (await say(http, guarded.url + path, signed)).status == 202
        again = await say(http, guarded.url + path, signed)
        assert again.status == 401 and "used before" in fault_of(again.body).reason
    kept = accepted(guarded.data)[-2:]
    assert [each.principal for each in kept] == ["ann", "ann"]
    assert not any(b"Security" in each.body or b"Nonce" in each.body for each in kept), "the proof is not kept"


async def test_many_alike_are_each_held_against_their_own_proof(guarded: BrokerProcess, http: HttpClient) -> None:
    """Envelopes seen before are not read again: a known one must not pass for somebody."""
    url = f"{guarded.url}/broker"
    for number in range(5):
        said = notify(message(f"<n>{number}</n>", "flood"), message_id=f"urn:alike:{number}")
        assert (await say(http, url, with_header(said, digest_header("ann")))).status == 202
    for number in range(5, 8):
        said = notify(message(f"<n>{number}</n>", "flood"), message_id=f"urn:alike:{number}")
        assert (await say(http, url, said)).status == 401
        assert (await say(http, url, said, basic("ben"))).status == 403
        assert (await say(http, url, said, basic("ann"))).status == 202


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (lambda: digest_header("ann", "wrong"), "wrong"),
        (lambda: digest_header("nobody"), "wrong"),
        (lambda: digest_header("ann", created=zulu(-600)), "set the clock"),
        (lambda: digest_header("ann", created=zulu(600)), "set the clock"),
        (lambda: digest_header("ann", created="now"), "not a time"),
        (lambda: text_header("ann"), "TLS only"),
    ],
)
async def test_tokens_that_are_not_taken(
    block: Callable[[], str], words: str, guarded: BrokerProcess, http: HttpClient
) -> None:
    said = with_header(notify(message("<n/>", "flood")), block())
    answer = await say(http, f"{guarded.url}/broker", said)
    assert answer.status == 401 and words in fault_of(answer.body).reason


async def test_owners_manage_and_others_do_not_in_json(guarded: BrokerProcess, http: HttpClient) -> None:
    name = await subscribed(http, guarded, basic("ann"))
    url = f"{guarded.url}/api/subscriptions/{name}"
    for method, path in (("GET", ""), ("POST", "/renew"), ("POST", "/pause"), ("POST", "/resume"), ("DELETE", "")):
        check_problem(await call(http, method, url + path, basic("ben"), {}), 403, "another's")
    for method, path in (("GET", ""), ("POST", "/renew"), ("POST", "/pause")):
        assert (await call(http, method, url + path, basic("ann"), {})).status == 200
    assert (await call(http, "POST", f"{url}/resume", basic("max"), {})).status == 200
    listed = [
        document((await call(http, "GET", f"{guarded.url}/api/subscriptions", basic(who))).body)
        for who in ("ann", "ben")
    ]
    assert name in str(listed[0]) and name not in str(listed[1])
    assert (await call(http, "DELETE", url, basic("max"))).status == 204


@pytest.mark.parametrize("family", ["wsn", "wse"])
async def test_owners_manage_and_others_do_not_in_soap(family: str, guarded: BrokerProcess, http: HttpClient) -> None:
    subscribe, manage = (wsn_subscribe, wsn_manage) if family == "wsn" else (wse_subscribe, wse_manage)
    url = f"{guarded.url}/broker"
    said = subscribe("http://127.0.0.1:9/", "flood//.")
    assert (await say(http, url, said)).status == 401
    assert (await say(http, url, with_header(said, digest_header("ben")))).status == 403
    made = await say(http, url, with_header(said, digest_header("ann")))
    assert made.status == 200, made
    manager = manager_of(made.body)
    ending = manage("Unsubscribe")
    assert (await say(http, manager, ending)).status == 401
    refused = await say(http, manager, with_header(ending, digest_header("ben")))
    assert refused.status == 403 and "another's" in fault_of(refused.body).reason
    assert (await say(http, manager, with_header(ending, digest_header("ann")))).status == 200


@pytest.mark.parametrize("topic", [None, "*", "flood|fire", "//flood"])
async def test_a_subscription_that_could_hear_more(topic: str | None, guarded: BrokerProcess, http: HttpClient) -> None:
    asked = {"consumer": "http://127.0.0.1:9/", "topic": topic}
    check_problem(await call(http, "POST", f"{guarded.url}/api/subscriptions", basic("ann"), asked), 403, "subscribe")


async def test_what_only_a_manager_of_everything_may(guarded: BrokerProcess, http: HttpClient) -> None:
    letters, again = f"{guarded.url}/api/dead-letters", f"{guarded.url}/api/dead-letters/redrive"
    own = await subscribed(http, guarded, basic("ann"))
    check_problem(await call(http, "GET", letters, basic("ann")), 403, "name a subscription")
    assert (await call(http, "GET", f"{letters}?subscription={own}", basic("ann"))).status == 200
    check_problem(await call(http, "GET", f"{letters}?subscription={own}", basic("ben")), 403)
    check_problem(await call(http, "POST", again, basic("ann"), {"ids": []}), 403)
    assert (await call(http, "GET", letters, basic("max"))).status == 200
    assert (await call(http, "POST", again, basic("max"), {"ids": []})).status == 200


async def test_topics_are_shown_to_whom_they_concern(guarded: BrokerProcess, http: HttpClient) -> None:
    await http.request("POST", f"{guarded.url}/events", CLOUD_EVENT + basic("ann"), event("flood/shown", "shown"))

    async def seen(who: str) -> list[Any]:
        return list(document((await call(http, "GET", f"{guarded.url}/api/topics", basic(who))).body)["items"])

    assert await until(lambda: seen("ann"), lambda items: any(each["topic"] == "flood/shown" for each in items))
    assert await seen("ben") == [] and await seen("eve") == []


async def test_what_is_allowed_arrives(guarded: BrokerProcess, http: HttpClient, sink: Sink) -> None:
    asked = {"consumer": sink.url("mine"), "topic": "flood/told"}
    made = await call(http, "POST", f"{guarded.url}/api/subscriptions", basic("ann"), asked)
    assert made.status == 201
    await say(http, f"{guarded.url}/broker", notify(message("<n>7</n>", "flood/told")), basic("ann"))
    await wait_until(lambda: sink.payloads("mine"), "the notification")


async def test_pull_points_are_their_owners(guarded: BrokerProcess, http: HttpClient) -> None:
    url = f"{guarded.url}/api/pullpoints"
    check_problem(await call(http, "POST", url, basic("eve"), {"topic": "flood"}), 403)
    check_problem(await call(http, "POST", url, basic("ann"), {"topic": "fire"}), 403)
    made = await call(http, "POST", url, basic("ann"), {"topic": "flood"})
    assert made.status == 201, made
    messages = f"{url}/{document(made.body)['id']}/messages"
    check_problem(await call(http, "GET", messages, basic("ben")), 403, "another's")
    assert (await call(http, "GET", messages, basic("ann"))).status == 200
    feeding = {"consumer": document(made.body)["address"], "topic": "fire"}
    check_problem(await call(http, "POST", f"{guarded.url}/api/subscriptions", basic("ben"), feeding), 403, "another's")


async def test_the_pull_point_of_another_takes_what_its_owner_may_hear(
    guarded: BrokerProcess, http: HttpClient
) -> None:
    made = document((await call(http, "POST", f"{guarded.url}/api/pullpoints", basic("ann"), {"topic": "flood"})).body)
    address, messages = made["address"], f"{guarded.url}/api/pullpoints/{made['id']}/messages"
    for who, topic in (("ben", "fire"), ("ben", "flood"), ("eve", "flood")):
        answer = await say(http, address, notify(message("<n>1</n>", topic)), basic(who))
        assert answer.status == 403, answer
    assert document((await call(http, "GET", messages, basic("ann"))).body)["items"] == []
    for who in ("ann", "sue"):
        answer = await say(http, address, notify(message("<n>2</n>", "flood")), basic(who))
        assert answer.status == 202, answer
    assert (await say(http, address, notify(message("<n>3</n>", "fire")), basic("sue"))).status == 403

    async def held() -> int:
        return len(document((await call(http, "GET", messages, basic("ann"))).body)["items"])

    await until(held, lambda found: found == 2)


async def test_nobody_uses_up_the_ids_of_another(guarded: BrokerProcess, http: HttpClient) -> None:
    before = len(accepted(guarded.data))
    for who, topic in (("ann", "flood"), ("ben", "fire"), ("ben", "fire")):
        answer = await http.request("POST", f"{guarded.url}/events", CLOUD_EVENT + basic(who), event(topic, "taken"))
        assert answer.status == 202, answer
    assert [each.principal for each in accepted(guarded.data)[before:]] == ["ann", "ben"]


@pytest.mark.parametrize("path", ["/api/socket", "/api/pullpoints/x/socket"])
async def test_sockets_ask_for_a_name(path: str, guarded: BrokerProcess) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(guarded.url.replace("http", "ws") + path)
    assert refused.value.response.status_code == 401


async def test_the_clock_is_told_to_everybody_and_nothing_else(guarded: BrokerProcess, http: HttpClient) -> None:
    said = Tongue().say("", '<d:GetSystemDateAndTime xmlns:d="http://www.onvif.org/ver10/device/wsdl"/>')
    assert (await say(http, f"{guarded.url}/onvif/device_service", said)).status not in (401, 403)
    assert (await say(http, f"{guarded.url}/broker/publish/flood", said)).status == 403


async def test_guessing_is_slowed_down(guarded: BrokerProcess, http: HttpClient) -> None:
    url = f"{guarded.url}/api/status"
    answers = [await call(http, "GET", url, basic("max", f"guess{number}")) for number in range(6)]
    assert [each.status for each in answers] == [401] * 6
    assert "too many failed attempts" in document(answers[-1].body)["detail"]
    check_problem(await call(http, "GET", url, basic("max")), 401, "try again")
    assert (await call(http, "GET", url, basic("ann"))).status == 200
    await until(lambda: call(http, "GET", url, basic("max")), lambda answer: answer.status == 200)


async def test_changes_are_seen_by_a_running_broker(tmp_path: Path, start: Any, http: HttpClient, sink: Sink) -> None:
    data = tmp_path / "data"
    known(data, "first")
    broker = start(data, ON)
    url = f"{broker.url}/api/subscriptions"
    users(data, "add", "zoe", "--no-password")
    token = users(data, "token", "zoe").strip()
    await until(lambda: call(http, "GET", url, bearer(token)), lambda answer: answer.status == 200)
    asked = {"consumer": sink.url("zoe"), "topic": "flood"}
    check_problem(await call(http, "POST", url, bearer(token), asked), 403)
    users(data, "grant", "zoe", "subscribe", "--topic", "flood")
    made = await until(lambda: call(http, "POST", url, bearer(token), asked), lambda answer: answer.status == 201)
    name = document(made.body)["id"]
    users(data, "revoke", "zoe", "subscribe", "--topic", "flood")
    await until(lambda: call(http, "GET", f"{url}/{name}", bearer(token)), lambda answer: answer.status == 404)
    users(data, "token", "zoe", "--revoke")
    await until(lambda: call(http, "GET", url, bearer(token)), lambda answer: answer.status == 401)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_it_does_not_listen_to_strangers_unless_told(host: str, tmp_path: Path) -> None:
    done = run_to_end(command(tmp_path / "data", {"listen-host": host}), tmp_path)
    assert done.returncode == 1 and "tocsin users add" in done.stderr and "access-open=true" in done.stderr
    assert not (tmp_path / "data").exists()


def test_access_for_nobody_is_refused(tmp_path: Path) -> None:
    done = run_to_end(command(tmp_path / "data", {"access-on": "true"}), tmp_path)
    assert done.returncode == 1 and "knows no users" in done.stderr


@pytest.mark.parametrize("told", [{"access-open": "true"}, {}], ids=["told so", "with a user"])
async def test_it_listens_elsewhere_when_it_may(
    told: dict[str, str], tmp_path: Path, start: Any, http: HttpClient
) -> None:
    if not told:
        known(tmp_path / "data", "ann")
    broker = start(tmp_path / "data", {"listen-host": "0.0.0.0"} | told)
    url = f"http://127.0.0.1:{broker.port}/api/status"
    assert (await call(http, "GET", url)).status == (200 if told else 401)
    assert (await call(http, "GET", url, basic("ann"))).status == 200
