"""Every operation in every dialect that has it, against a started broker."""

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.client.dialects import having, lacking
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink

from tocsin import Client, ClientError, Lease, Notification, Topic, Unreachable
from tocsin.mediation.dialects import BY_NAME, NAMES
from tocsin.model.names import QName

pytestmark = pytest.mark.broker
ALERT = b'<alert xmlns="urn:test"><river>Inn</river></alert>'
_numbers = itertools.count()


@pytest.fixture
def topic() -> str:
    """The broker is shared, so each test has topics of its own."""
    return f"t{next(_numbers)}/severe"


async def published(broker: BrokerProcess, topic: str, number: int = 0, dialect: str = "cloudevents") -> str:
    async with Client(broker.url, dialect) as client:
        return await client.publish(ALERT, topic=topic, producer="urn:gauge", message_id=f"urn:{topic}:{number}")


async def managed(broker: BrokerProcess, lease: Lease) -> Any:
    async with Client(broker.url) as client:
        return await client.get(f"/api/subscriptions/{lease.id}")


def same(found: Notification, topic: str) -> None:
    """The same whatever the dialect."""
    assert found.payload.data == ALERT
    assert found.payload.media_type == "application/xml"
    assert str(found.topic) == topic


# Subscriptions


@pytest.mark.parametrize("dialect", having("Subscribe"))
async def test_a_subscription_from_its_beginning_to_its_end(
    broker: BrokerProcess, sink: Sink, topic: str, dialect: str
) -> None:
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe(sink.url("own"), topic=topic, expires="PT5M")
        assert lease.seconds == pytest.approx(300, abs=30)
        assert lease.expires.endswith("Z")
        name = await published(broker, topic)
        (found,) = await wait_until(lambda: sink.notifications("own"), "the notification")
        same(found, topic)
        assert (found.id, found.producer) == (name, "urn:gauge")
        renewed = await client.renew(lease, timedelta(minutes=10))
        assert renewed.seconds == pytest.approx(600, abs=30)
        assert renewed.id == lease.id
        await client.unsubscribe(renewed)
        with pytest.raises(ClientError, match="no subscription"):
            await client.unsubscribe(lease.id)


@pytest.mark.parametrize("dialect", NAMES)
async def test_how_a_subscription_stands(broker: BrokerProcess, topic: str, dialect: str) -> None:
    async with Client(broker.url, dialect) as client:
        until = datetime.now(UTC) + timedelta(minutes=30)
        lease = await client.subscribe("http://127.0.0.1:9/x", topic=topic, expires=until)
        status = await client.status(lease)
        assert datetime.fromisoformat(status.expires) - until < timedelta(seconds=30)
        await client.unsubscribe(lease)


@pytest.mark.parametrize("dialect", having("Subscribe"))
async def test_what_was_granted_is_known_though_nothing_was_asked_for(
    broker: BrokerProcess, topic: str, dialect: str
) -> None:
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe("http://127.0.0.1:9/x", topic=topic)
        granted = datetime.fromisoformat((await managed(broker, lease))["expires"])
        assert abs(datetime.fromisoformat(lease.expires) - granted) < timedelta(seconds=30)
        assert lease.seconds
        await client.unsubscribe(lease)


@pytest.mark.parametrize("dialect", having("Pause"))
async def test_what_is_published_in_a_pause_is_not_for_it(
    broker: BrokerProcess, sink: Sink, topic: str, dialect: str
) -> None:
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe(sink.url("own"), topic=topic)
        await client.pause(lease.id)
        assert (await managed(broker, lease))["state"] == "paused"
        await published(broker, topic, 1)
        await client.resume(lease)
        name = await published(broker, topic, 2)
        found = await wait_until(lambda: sink.notifications("own"), "the second")
        assert [each.id for each in found] == [name]
        await client.unsubscribe(lease)


@pytest.mark.parametrize("dialect", having("Subscribe"))
async def test_a_subscription_that_begins_in_the_past(
    broker: BrokerProcess, sink: Sink, topic: str, dialect: str
) -> None:
    async with Client(broker.url) as seer:
        before = await seer.subscribe("http://127.0.0.1:9/x", topic=topic)
    offset = (await managed(broker, before))["since"]
    name = await published(broker, topic)
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe(sink.url("own"), topic=topic, start=offset)
        (found,) = await wait_until(lambda: sink.notifications("own"), "what was before it")
        assert found.id == name
        await client.unsubscribe(lease)


RAW = [each for each in NAMES if BY_NAME[each].raw is not None or each == "cloudevents"]


@pytest.mark.parametrize("dialect", RAW)
async def test_the_raw_form(broker: BrokerProcess, sink: Sink, topic: str, dialect: str) -> None:
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe(sink.url("own"), topic=topic, mode="raw")
        await published(broker, topic)
        (found,) = await wait_until(lambda: sink.notifications("own"), "the notification")
        same(found, topic)
        body = sink.at("own")[0].body
        assert b":Notify" not in body and not body.startswith(b"{")
        await client.unsubscribe(lease)


@pytest.mark.parametrize("dialect", [each for each in NAMES if BY_NAME[each].wrapped is not None])
async def test_the_wrapped_form(broker: BrokerProcess, sink: Sink, topic: str, dialect: str) -> None:
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe(sink.url("own"), topic=topic, mode="wrapped")
        await published(broker, topic)
        (found,) = await wait_until(lambda: sink.notifications("own"), "the notification")
        same(found, topic)
        assert b":Notify" in sink.at("own")[0].body
        await client.unsubscribe(lease)


async def test_batches(broker: BrokerProcess, sink: Sink, topic: str) -> None:
    async with Client(broker.url) as client:
        lease = await client.subscribe(sink.url("own"), topic=topic, together=10)
        names = [await published(broker, topic, each) for each in range(3)]
        await wait_until(lambda: len(sink.notifications("own")) == 3, "three")
        assert [each.id for each in sink.notifications("own")] == names
        assert "batch" in dict(sink.at("own")[0].headers)["content-type"]
        await client.unsubscribe(lease)


@pytest.mark.parametrize("dialect", having("Subscribe"))
async def test_topics_in_namespaces(broker: BrokerProcess, sink: Sink, topic: str, dialect: str) -> None:
    first = topic.partition("/")[0]
    own = Topic((QName("urn:spaces", first), QName("", "severe")))
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe(sink.url("own"), topic=f"s:{first}//.", namespaces={"s": "urn:spaces"})
        await client.publish(ALERT, topic=topic)
        await client.publish(ALERT, topic=f"{{urn:spaces}}{first}/severe")
        (found,) = await wait_until(lambda: sink.notifications("own"), "the notification")
        assert found.topic == own
        await client.unsubscribe(lease)


# Publishing


@pytest.mark.parametrize("dialect", NAMES)
async def test_what_is_not_xml_arrives_as_it_was(broker: BrokerProcess, sink: Sink, topic: str, dialect: str) -> None:
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe(sink.url("own"), topic=topic)
        await client.publish(b'{"river": "Inn"}', media_type="application/json", topic=topic, kind="level")
        (found,) = await wait_until(lambda: sink.notifications("own"), "the notification")
        assert (found.payload.media_type, found.payload.data) == ("application/json", b'{"river": "Inn"}')
        assert str(found.type) == "level"
        await client.unsubscribe(lease)


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
@pytest.mark.parametrize("dialect", [each for each in NAMES if BY_NAME[each].is_soap])
async def test_either_version_of_soap(broker: BrokerProcess, sink: Sink, topic: str, dialect: str, soap: str) -> None:
    async with Client(broker.url, dialect, soap=soap) as client:
        lease = await client.subscribe(sink.url("own"), topic=topic)
        await client.publish(ALERT, topic=topic)
        await wait_until(lambda: sink.notifications("own"), "the notification")
        kind = dict(sink.at("own")[0].headers)["content-type"]
        assert kind.startswith("text/xml" if soap == "1.1" else "application/soap+xml")
        await client.unsubscribe(lease)


@pytest.mark.parametrize("dialect", having("GetCurrentMessage"))
async def test_the_current_message(broker: BrokerProcess, topic: str, dialect: str) -> None:
    async with Client(broker.url, dialect) as client:
        with pytest.raises(ClientError, match=topic):
            await client.current_message(topic)
        await published(broker, topic)
        same(await client.current_message(topic), topic)


# Pulling


@pytest.mark.parametrize("dialect", having("CreatePullPoint"))
async def test_a_pull_point_from_its_beginning_to_its_end(broker: BrokerProcess, topic: str, dialect: str) -> None:
    async with Client(broker.url, dialect) as client:
        point = await client.create_pull_point(topic=topic, expires="PT10M")
        assert point.seconds == pytest.approx(600, abs=30)
        assert await client.pull(point) == ()
        for number in range(3):
            await published(broker, topic, number)
        first = await client.pull(point, limit=2, wait=10)
        last = await client.pull(point.address, wait=10)
        assert (len(first), len(last)) == (2, 1)
        for each in (*first, *last):
            same(each, topic)
            assert each.producer == "urn:gauge"
        assert (await client.renew(point, "PT20M")).seconds == pytest.approx(1200, abs=30)
        await client.destroy_pull_point(point)
        with pytest.raises(ClientError):
            await client.pull(point)


@pytest.mark.parametrize("dialect", having("CreatePullPoint"))
async def test_a_reader_waits_for_the_first_message(broker: BrokerProcess, topic: str, dialect: str) -> None:
    async with Client(broker.url, dialect) as client, client.pulling(topic=topic) as point:
        reading = asyncio.create_task(client.pull(point, wait=60))
        await published(broker, topic)
        (found,) = await reading
        same(found, topic)
    async with Client(broker.url) as other:
        with pytest.raises(ClientError, match="no subscription"):
            await other.status(point.id)


async def test_a_pulled_cloudevent_has_its_id(broker: BrokerProcess, topic: str) -> None:
    async with Client(broker.url) as client, client.pulling(topic=topic) as point:
        name = await published(broker, topic)
        (found,) = await client.pull(point, wait=10)
        assert (found.id, found.producer) == (name, "urn:gauge")


# Publishers


@pytest.mark.parametrize("dialect", having("RegisterPublisher"))
async def test_a_publisher_registers(broker: BrokerProcess, topic: str, dialect: str) -> None:
    async with Client(broker.url, dialect) as client, Client(broker.url) as other:
        made = await client.register_publisher("http://127.0.0.1:9/me", topics=[topic], expires="PT1H")
        shown: Any = await other.get(f"/api/registrations/{made.id}")
        assert (shown["topics"], shown["demand"]) == ([topic], False)
        if dialect in having("DestroyRegistration"):
            await client.destroy_registration(made)
            with pytest.raises(ClientError):
                await client.destroy_registration(made.id)
        else:
            await other.destroy_registration(made.id)


@pytest.mark.parametrize("dialect", having("RegisterPublisher"))
async def test_a_publisher_on_demand_is_subscribed_to(
    broker: BrokerProcess, sink: Sink, topic: str, dialect: str
) -> None:
    async with Client(broker.url, dialect) as client, Client(broker.url) as other:
        made = await client.register_publisher(sink.url("me"), topics=[topic], demand=True)
        lease = await other.subscribe("http://127.0.0.1:9/x", topic=topic)
        await wait_until(lambda: any(b"Subscribe" in each.body for each in sink.at("me")), "the broker asks for it")
        await other.unsubscribe(lease)
        await other.destroy_registration(made.id)


# What cannot be


@pytest.mark.parametrize("dialect", lacking("Pause"))
async def test_what_a_dialect_lacks_is_told_with_those_that_have_it(broker: BrokerProcess, dialect: str) -> None:
    async with Client(broker.url, dialect) as client:
        with pytest.raises(ClientError, match=r"has no Pause; these have: wsn-1\.3.*cloudevents"):
            await client.pause("x")
        with pytest.raises(ClientError, match=r"has no CreatePullPoint; these have: .*onvif"):
            await client.create_pull_point()


async def test_what_is_wrong_is_told_before_anything_is_sent() -> None:
    with pytest.raises(ClientError, match=r"choose one of wsn-1\.3"):
        Client("http://127.0.0.1:9", "smtp")
    with pytest.raises(ClientError, match="digest"):
        Client("http://127.0.0.1:9", user="ann", password="x", digest=True)
    with pytest.raises(ClientError, match="cannot be used"):
        Client("https://127.0.0.1:9", ca_file="missing.pem")
    async with Client("http://127.0.0.1:9", "wsn-1.3") as client:
        with pytest.raises(ClientError, match="topic dialect 'xpath'"):
            await client.subscribe("http://x", topic="a", topic_dialect="xpath")
        with pytest.raises(ClientError, match="mode 'loud'"):
            await client.subscribe("http://x", mode="loud")  # type: ignore[arg-type]
        with pytest.raises(ClientError, match="not a topic"):
            await client.publish(b"<a/>", topic="a//b")
        with pytest.raises(ClientError, match="end_to"):
            await client.subscribe("http://x", end_to="http://y")
        with pytest.raises(Unreachable, match="could not be reached"):
            await client.publish(b"<a/>")
    async with Client("http://127.0.0.1:9", "wse-2004-08") as client:
        with pytest.raises(ClientError, match="no mode 'wrapped'; choose one of raw"):
            await client.subscribe("http://x", mode="wrapped")
        with pytest.raises(ClientError, match="no batches; cloudevents has"):
            await client.subscribe("http://x", together=2)
    async with Client("http://127.0.0.1:9", "webhook") as client:
        with pytest.raises(ClientError, match="one form only"):
            await client.subscribe("http://x", mode="raw")
