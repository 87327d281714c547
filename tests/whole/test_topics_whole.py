"""Topics declared to a running broker, and the documents it serves."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.whole.acts import call, get, publish, subscribe
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, document
from tests.whole.sink import Sink
from tests.whole.speech import fault_of, message, notify, wsn_subscribe

from tocsin.mediation.ws.topic_documents import T1, read_topic_namespace, read_topic_set
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
XML = (("Content-Type", "application/xml"),)


def space(namespace: str, *roots: str) -> bytes:
    topics = "".join(f'<w:Topic name="{each}"><w:Topic name="below"/></w:Topic>' for each in roots)
    return f'<w:TopicNamespace xmlns:w="{T1}" targetNamespace="{namespace}">{topics}</w:TopicNamespace>'.encode()


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess.start(tmp_path_factory.mktemp("fixed"), {"topics-fixed": "true"})
    yield process
    process.kill()


async def declare(http: HttpClient, broker: BrokerProcess, body: bytes) -> None:
    answer = await http.request("PUT", f"{broker.url}/api/topics/namespaces", XML, body)
    assert answer.status == 200, answer


async def test_declared_topics_are_served_as_documents(broker: BrokerProcess, http: HttpClient) -> None:
    uri = "http://example.org/topics?a=1&b=2"
    await declare(http, broker, space(uri.replace("&", "&amp;"), "quake", "flood"))
    listed = (await get(http, f"{broker.url}/api/topics/namespaces"))["items"]
    (mine,) = (each for each in listed if each["namespace"] == uri)
    assert mine["topics"] == [f"{{{uri}}}{each}" for each in ("quake", "quake/below", "flood", "flood/below")]
    asked = "http%3A%2F%2Fexample.org%2Ftopics%3Fa%3D1%26b%3D2"
    answer = await call(http, "GET", f"{broker.url}/broker/topics?namespace={asked}")
    assert dict(answer.headers)["content-type"].startswith("application/xml")
    assert [each.name for each in read_topic_namespace(answer.body).topics] == ["quake", "flood"]
    gone = await call(http, "DELETE", f"{broker.url}/api/topics/namespaces?namespace={asked}")
    assert gone.status == 204
    assert 400 <= (await call(http, "GET", f"{broker.url}/broker/topics?namespace={asked}")).status < 500


async def test_the_topic_set_has_what_was_declared_and_what_was_seen(broker: BrokerProcess, http: HttpClient) -> None:
    await declare(http, broker, space("urn:set", "declared"))
    await publish(http, broker, "seen/there", 1)
    found = read_topic_set((await call(http, "GET", f"{broker.url}/broker/topics")).body)
    assert {"{urn:set}declared", "{urn:set}declared/below", "seen/there"} <= {str(each) for each in found.topics}


async def test_the_list_of_topics_says_who_wants_them(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    await declare(http, broker, space("urn:count", "counted"))
    namespaces = {"c": "urn:count"}
    made = [await subscribe(http, broker, sink.url("c"), "c:counted//.", namespaces=namespaces) for _ in range(2)]
    made.append(await subscribe(http, broker, sink.url("c"), "c:counted", namespaces=namespaces))
    rows = {each["topic"]: each for each in (await get(http, f"{broker.url}/api/topics"))["items"]}
    root, below = rows["{urn:count}counted"], rows["{urn:count}counted/below"]
    assert (root["subscriptions"] - below["subscriptions"], root["notifications"], root["last"]) == (1, 0, None)
    assert below["subscriptions"] >= 2 and below["declared"]
    for each in made:
        await call(http, "DELETE", f"{broker.url}/api/subscriptions/{each}")


@pytest.mark.parametrize(
    "body", [b"", b"<x/>", b"<", space("no uri", "a"), space("urn:x", "a", "a"), space("urn:x", "a b")]
)
async def test_a_bad_document_is_refused_and_changes_nothing(
    broker: BrokerProcess, http: HttpClient, body: bytes
) -> None:
    before = await get(http, f"{broker.url}/api/topics/namespaces")
    answer = await http.request("PUT", f"{broker.url}/api/topics/namespaces", XML, body)
    assert answer.status == 400 and document(answer.body)["detail"], answer
    assert await get(http, f"{broker.url}/api/topics/namespaces") == before


async def test_a_withdrawal_names_a_namespace(broker: BrokerProcess, http: HttpClient) -> None:
    for query in ("", "?namespace=urn:never"):
        answer = await call(http, "DELETE", f"{broker.url}/api/topics/namespaces{query}")
        assert 400 <= answer.status < 500, answer


async def test_a_fixed_set_refuses_what_was_not_declared(fixed: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    await declare(http, fixed, space("urn:f", "known"))
    topic = (
        '<n:Topic xmlns:f="urn:f" Dialect="http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete">{}</n:Topic>'
    )
    for path, status in (("f:known/below", 202), ("f:known/other", 400), ("f:new", 400)):
        said = f"<n:NotificationMessage>{topic.format(path)}<n:Message><x/></n:Message></n:NotificationMessage>"
        answer = await http.request("POST", f"{fixed.url}/broker", *notify(said))
        assert answer.status == status, (path, answer)
    refused = await http.request("POST", f"{fixed.url}/broker", *notify(message("<x/>", "stranger")))
    assert "not declared" in fault_of(refused.body).reason
    body = {"consumer": sink.url("f"), "topic": "f:other", "namespaces": {"f": "urn:f"}}
    assert 400 <= (await call(http, "POST", f"{fixed.url}/api/subscriptions", body)).status < 500
    answer = await http.request("POST", f"{fixed.url}/broker", *wsn_subscribe(sink.url("f"), "stranger"))
    assert fault_of(answer.body).subcode.endswith("}TopicNotSupportedFault")
    body["topic"] = "f:*//."
    assert (await call(http, "POST", f"{fixed.url}/api/subscriptions", body)).status == 201


async def test_what_comes_without_a_topic_is_taken_also_by_a_fixed_set(fixed: BrokerProcess, http: HttpClient) -> None:
    answer = await http.request("POST", f"{fixed.url}/broker/publish", (("Content-Type", "text/plain"),), b"hello")
    assert answer.status == 202, answer


async def test_declarations_survive_a_kill(tmp_path: Path, start: Start, http: HttpClient) -> None:
    first = start(tmp_path / "d")
    await declare(http, first, space("urn:k", "kept"))
    first.kill()
    again = start(tmp_path / "d")
    (kept,) = (await get(http, f"{again.url}/api/topics/namespaces"))["items"]
    assert kept["namespace"] == "urn:k"
