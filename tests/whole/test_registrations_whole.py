"""Publishers that register: a real broker, a real producer, real HTTP between them."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole.acts import call, get, publish, subscribe, until
from tests.whole.conftest import Start
from tests.whole.producer import Producer
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import CONCRETE, FULL

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Of this module alone: a subscription to everything, left by any other test, would want all that is registered."""
    process = BrokerProcess.start(tmp_path_factory.mktemp("registrations"))
    yield process
    process.kill()


@pytest.fixture
async def producer() -> AsyncIterator[Producer]:
    async with Producer().open() as opened:
        yield opened


async def register(http: HttpClient, broker: BrokerProcess, **asked: object) -> dict[str, Any]:
    answer = await call(http, "POST", f"{broker.url}/api/registrations", asked)
    assert answer.status == 201, answer
    made: dict[str, Any] = document(answer.body)
    assert dict(answer.headers)["location"] == f"{broker.url}/api/registrations/{made['id']}"
    return made


async def destroy(http: HttpClient, broker: BrokerProcess, made: dict[str, Any]) -> None:
    assert (await call(http, "DELETE", f"{broker.url}/api/registrations/{made['id']}")).status == 204


async def test_a_registration_from_birth_to_end(broker: BrokerProcess, http: HttpClient) -> None:
    made = await register(http, broker, publisher="http://192.0.2.1/p", topics=["{urn:x}a/b", "c", "c"])
    assert (made["topics"], made["demand"], made["expires"]) == (["{urn:x}a/b", "c"], False, None)
    assert made["upstream"] is None
    address = f"{broker.url}/api/registrations/{made['id']}"
    assert await get(http, address) == made
    assert made in (await get(http, f"{broker.url}/api/registrations"))["items"]
    await destroy(http, broker, made)
    for method in ("GET", "DELETE"):
        assert (await call(http, method, address)).status == 404
    assert made not in (await get(http, f"{broker.url}/api/registrations"))["items"]


async def test_a_registration_ends_with_its_lease(broker: BrokerProcess, http: HttpClient) -> None:
    made = await register(http, broker, expires="PT0.3S")
    assert made["expires"] is not None

    async def listed() -> Any:
        return (await get(http, f"{broker.url}/api/registrations"))["items"]

    await until(listed, lambda items: made["id"] not in [each["id"] for each in items])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"demand": True}, "PublisherReference"),
        ({"demand": True, "publisher": "ftp://x"}, "http://"),
        ({"demand": True, "publisher": "http://224.0.0.1/"}, "multicast"),
        ({"demand": True, "publisher": "OWN"}, "own address"),
        ({"topics": ["a//b"]}, "not a topic"),
        ({"expires": "2001-01-01T00:00:00Z"}, "future"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_bad_registration_is_refused(
    broker: BrokerProcess, http: HttpClient, asked: dict[str, Any], words: str
) -> None:
    before = await get(http, f"{broker.url}/api/registrations")
    told = {name: broker.url if value == "OWN" else value for name, value in asked.items()}
    answer = await call(http, "POST", f"{broker.url}/api/registrations", told)
    assert answer.status == 400, answer
    assert words in document(answer.body)["detail"]
    assert await get(http, f"{broker.url}/api/registrations") == before


async def test_on_demand_the_broker_subscribes_pauses_and_resumes(
    broker: BrokerProcess, http: HttpClient, sink: Sink, producer: Producer
) -> None:
    made = await register(http, broker, publisher=producer.url, topics=["{urn:d}wanted/one"], demand=True)
    await wait_until(lambda: producer.states() == ["paused"], "nobody wants it: paused")
    asked = producer.asked[0]
    assert asked.text("Address") == f"{broker.url}/broker"
    assert asked.text("To") == producer.url
    (expression,) = asked.envelope.iter("{*}TopicExpression")
    assert expression.get("Dialect") == CONCRETE
    assert (expression.text or "").endswith(":wanted/one")
    other = await subscribe(http, broker, sink.url("o"), "unwanted")
    wants = await subscribe(http, broker, sink.url("w"), "d:wanted//.", namespaces={"d": "urn:d"})
    await wait_until(lambda: producer.states() == ["active"], "somebody wants it: resumed")
    address = f"{broker.url}/api/registrations/{made['id']}"
    await until(lambda: get(http, address), lambda state: state["upstream"] == "active")
    await call(http, "DELETE", f"{broker.url}/api/subscriptions/{wants}")
    await wait_until(lambda: producer.states() == ["paused"], "nobody wants it any more: paused")
    await call(http, "DELETE", f"{broker.url}/api/subscriptions/{other}")
    await destroy(http, broker, made)
    await wait_until(lambda: producer.states() == [], "unsubscribed")
    names = ["Subscribe", "PauseSubscription", "ResumeSubscription", "PauseSubscription", "Unsubscribe"]
    assert producer.operations() == names


async def test_several_topics_are_one_expression_and_none_is_no_filter(
    broker: BrokerProcess, http: HttpClient, producer: Producer
) -> None:
    two = await register(http, broker, publisher=producer.url, topics=["ta", "{urn:d}tb/c"], demand=True)
    every = await register(http, broker, publisher=producer.url, demand=True)
    await wait_until(lambda: producer.operations().count("Subscribe") == 2, "both subscribed")
    first, second = (each.envelope for each in producer.asked if each.operation == "Subscribe")
    if next(first.iter("{*}Filter"), None) is None:
        first, second = second, first
    (expression,) = first.iter("{*}TopicExpression")
    assert expression.get("Dialect") == FULL and "|" in (expression.text or "")
    assert next(second.iter("{*}Filter"), None) is None
    for each in (two, every):
        await destroy(http, broker, each)
    await wait_until(lambda: producer.states() == [], "unsubscribed from both")


async def test_a_publisher_that_is_down_is_tried_again(
    broker: BrokerProcess, http: HttpClient, producer: Producer
) -> None:
    producer.down = True
    made = await register(http, broker, publisher=producer.url, topics=["late"], demand=True)

    async def state() -> Any:
        return (await get(http, f"{broker.url}/api/registrations/{made['id']}"))["upstream"]

    await until(state, lambda found: found == "failing")
    producer.down = False
    await wait_until(lambda: producer.states() == ["paused"], "subscribed when it came up")
    await destroy(http, broker, made)
    await wait_until(lambda: producer.states() == [], "unsubscribed")


async def test_a_publisher_that_cannot_pause_is_left_and_joined(
    broker: BrokerProcess, http: HttpClient, sink: Sink, producer: Producer
) -> None:
    producer.pausable = False
    made = await register(http, broker, publisher=producer.url, topics=["rigid"], demand=True)
    await wait_until(lambda: producer.operations()[-1:] == ["Unsubscribe"], "left while nobody wants it")
    wants = await subscribe(http, broker, sink.url("r"), "rigid")
    await wait_until(lambda: producer.states() == ["active"], "joined when somebody does")
    await call(http, "DELETE", f"{broker.url}/api/subscriptions/{wants}")
    await wait_until(lambda: producer.states() == [], "left again")
    await destroy(http, broker, made)


async def test_a_lease_at_the_publisher_is_renewed_by_its_own_clock(
    broker: BrokerProcess, http: HttpClient, producer: Producer
) -> None:
    """The shortest lease counts ten seconds; half of that is waited for."""
    producer.lease = 1
    made = await register(http, broker, publisher=producer.url, topics=["short"], demand=True)
    await wait_until(lambda: "Renew" in producer.operations(), "renewed", seconds=30)
    assert producer.operations().count("Subscribe") == 1
    await destroy(http, broker, made)
    await wait_until(lambda: producer.states() == [], "unsubscribed")


async def test_a_pause_of_the_only_one_who_wants_it_reaches_the_publisher(
    broker: BrokerProcess, http: HttpClient, sink: Sink, producer: Producer
) -> None:
    wants = await subscribe(http, broker, sink.url("p"), "held")
    made = await register(http, broker, publisher=producer.url, topics=["held"], demand=True)
    await wait_until(lambda: producer.states() == ["active"], "wanted already when it registered")
    for step, state in (("pause", "paused"), ("resume", "active")):
        answer = await call(http, "POST", f"{broker.url}/api/subscriptions/{wants}/{step}")
        assert answer.status == 200, answer
        await wait_until(lambda state=state: producer.states() == [state], state)  # type: ignore[misc]
    await call(http, "DELETE", f"{broker.url}/api/subscriptions/{wants}")
    await destroy(http, broker, made)
    await wait_until(lambda: producer.states() == [], "unsubscribed")


async def test_what_the_publisher_sends_reaches_those_who_want_it(
    broker: BrokerProcess, http: HttpClient, sink: Sink, producer: Producer
) -> None:
    wants = await subscribe(http, broker, sink.url("e"), "flowing")
    made = await register(http, broker, publisher=producer.url, topics=["flowing"], demand=True)
    await wait_until(lambda: producer.states() == ["active"], "wanted")
    assert producer.asked[0].text("Address") == f"{broker.url}/broker"
    await publish(http, broker, "flowing", 1)
    await wait_until(lambda: len(sink.at("e")) == 1, "told")
    await call(http, "DELETE", f"{broker.url}/api/subscriptions/{wants}")
    await destroy(http, broker, made)


async def test_after_a_kill_the_broker_goes_on_where_it_was(
    tmp_path: Path, start: Start, http: HttpClient, sink: Sink, producer: Producer
) -> None:
    first = start(tmp_path / "d")
    made = await register(http, first, publisher=producer.url, topics=["kept"], demand=True)
    plain = await register(http, first, topics=["plain"])
    await wait_until(lambda: producer.states() == ["paused"], "paused")

    async def state() -> Any:
        return (await get(http, f"{first.url}/api/registrations/{made['id']}"))["upstream"]

    await until(state, lambda found: found == "paused")
    first.kill()
    again = BrokerProcess.start(tmp_path / "d", port=first.port)
    try:
        assert await get(http, f"{again.url}/api/registrations/{plain['id']}") == plain
        await subscribe(http, again, sink.url("k"), "kept")
        await wait_until(lambda: producer.states() == ["active"], "resumed")
        assert producer.operations().count("Subscribe") == 1
    finally:
        again.kill()
    producer.down = True
    third = BrokerProcess.start(tmp_path / "d", port=first.port)
    await destroy(http, third, made)
    third.kill()
    producer.down = False
    fourth = start(tmp_path / "d")
    assert (await call(http, "GET", f"{fourth.url}/api/registrations/{made['id']}")).status == 404
    await wait_until(lambda: producer.states() == [], "unsubscribed, though destroyed before the kill")


async def test_at_another_address_it_subscribes_anew(
    tmp_path: Path, start: Start, http: HttpClient, producer: Producer
) -> None:
    first = start(tmp_path / "d")
    await register(http, first, publisher=producer.url, topics=["moved"], demand=True)
    await wait_until(lambda: producer.states() == ["paused"], "paused")
    first.stop()
    second = start(tmp_path / "d", {"advertise": "http://elsewhere.example:1"})
    await wait_until(lambda: producer.operations().count("PauseSubscription") == 2, "anew")
    assert producer.states() == ["paused"]
    assert producer.operations()[2] == "Unsubscribe"
    assert producer.asked[3].text("Address") == "http://elsewhere.example:1/broker"
    second.stop()
