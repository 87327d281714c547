"""The resources of the JSON API by typed calls, against a started broker; each test uses names of its own."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.client.documented import run_example
from tests.whole.acts import IMPATIENT
from tests.whole.shell import BrokerProcess

from tocsin import Client, ClientError
from tocsin.documents.declarations import CategoriesRequest, DimensionDocument, SpaceRequest, TypesDocument
from tocsin.documents.pull_points import PullPointRequest
from tocsin.documents.registrations import RegisterRequest
from tocsin.documents.subscriptions import SubscribeRequest
from tocsin.mediation.ws.topic_documents import T1

pytestmark = pytest.mark.broker
NOWHERE = "http://127.0.0.1:9/closed"
TOPICS = f'<w:TopicNamespace xmlns:w="{T1}" targetNamespace="urn:resources"><w:Topic name="flood"/></w:TopicNamespace>'
ONTOLOGY = "@prefix owl: <http://www.w3.org/2002/07/owl#> . <urn:resources#Alarm> a owl:Class ."
LIFTING = {"syntax": "json", "types": ["resources"], "class": "urn:resources#Alarm"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Of this module alone: where others have loaded a world, its categories are the only ones."""
    process = BrokerProcess.start(tmp_path_factory.mktemp("resources"), IMPATIENT | {"delivery-attempts": "3"})
    yield process
    process.kill()


async def test_subscriptions_and_what_became_of_a_notification(broker: BrokerProcess) -> None:
    async with Client(broker.url) as client:
        made = await client.subscriptions.create(SubscribeRequest(NOWHERE, topic="resources"))
        assert made in [each for each in await client.subscriptions.list() if each.id == made.id]
        assert (await client.subscriptions.renew(made.id, "PT2H")).expires != made.expires
        assert (await client.subscriptions.pause(made.id)).state == "paused"
        assert (await client.subscriptions.resume(made.id)).state == "active"
        message = await client.publish(b"{}", media_type="application/json", topic="resources")
        trace = await client.traces.get(message, every=True)
        assert trace.notification.topic == "resources"
        (account,) = (await client.traces.get(offset=trace.notification.offset, subscription=made.id)).items
        assert account.wanted and account.consumer == NOWHERE
        (newest,) = (await client.subscriptions.explain(made.id, limit=1)).items
        assert newest.notification.id == message
        while not (dead := (await client.dead_letters.list(subscription=made.id, limit=1)).items):
            await asyncio.sleep(0.05)
        (letter,) = dead
        assert letter.notification == message
        assert await client.dead_letters.redrive([letter.id]) == 1
        await client.subscriptions.cancel(made.id)
        with pytest.raises(ClientError, match="no subscription"):
            await client.subscriptions.get(made.id)


async def test_the_data_pipeline(broker: BrokerProcess) -> None:
    async with Client(broker.url) as client:
        found = await client.pipeline.figures()
        assert (found.batches, found.state, found.error, set(found.lag)) == (0, None, None, {"log", "outcomes"})


async def test_pull_points(broker: BrokerProcess) -> None:
    async with Client(broker.url) as client:
        point = await client.pull_points.create(PullPointRequest(topic="pulled-resources"))
        await client.publish(b"<a/>", topic="pulled-resources")
        read = await client.pull_points.messages(point.id, wait=20.0, after=0)
        handed = await client.pull_points.messages(point.id, wait=20.0)
        assert [each.number for each in read.items] == [each.number for each in handed.items] == [1]
        assert (await client.pull_points.get(point.id)).handed_to == 1
        await client.pull_points.remove(point.id)


async def test_topics_and_registrations(broker: BrokerProcess) -> None:
    async with Client(broker.url) as client:
        assert (await client.topics.declare(TOPICS)).topics == ["{urn:resources}flood"]
        assert "urn:resources" in [each.namespace for each in await client.topics.namespaces()]
        assert "{urn:resources}flood" in [each.topic for each in await client.topics.list() if each.declared]
        await client.topics.withdraw("urn:resources")
        await client.publish(b"<now/>", topic="current-resources")
        assert b"current-resources" in bytes((await client.topics.current("current-resources")).event)
        made = await client.registrations.create(RegisterRequest(topics=["registered-resources"]))
        assert made in await client.registrations.list()
        assert await client.registrations.get(made.id) == made
        await client.registrations.remove(made.id)


async def test_secrets_and_consents(broker: BrokerProcess) -> None:
    async with Client(broker.url) as client:
        made = await client.secrets.add("resources", "bearer", "t", address="https://consumer.example/")
        assert made in await client.secrets.list() and made.address == "https://consumer.example/"
        await client.secrets.remove("resources")
        assert "resources" not in [each.name for each in await client.secrets.list()]
        assert await client.consents.list() == []


async def test_what_filters_refer_to(broker: BrokerProcess) -> None:
    async with Client(broker.url) as client:
        space = await client.spaces.put("resources", SpaceRequest([DimensionDocument("x", "number", 0.0)]))
        assert await client.spaces.get("resources") == space and space in await client.spaces.list()
        await client.spaces.remove("resources")
        before = (await client.types.get()).parents
        assert (await client.types.put(TypesDocument(before | {"resource": ["thing"]}))).parents["resource"] == [
            "thing"
        ]
        await client.types.put({"parents": before})
        assert (await client.categories.put(CategoriesRequest({"clinic": ["care"]}))).parents == {"clinic": ["care"]}
        assert not (await client.categories.get()).of_world
        await client.categories.put('{"parents": {}}')
        producer = await client.producers.put("http://p.example/a/b", ["clinic"], properties="<can/>")
        assert await client.producers.get(producer.address) == producer in await client.producers.list(limit=1000)
        await client.producers.remove(producer.address)


async def test_ontologies_and_liftings(broker: BrokerProcess) -> None:
    async with Client(broker.url) as client:
        assert (await client.ontologies.put("resources", ONTOLOGY, dry_run=True)).dry_run
        assert (await client.ontologies.put("resources", ONTOLOGY)).classes == 1
        assert "resources" in [each.name for each in await client.ontologies.list()]
        assert "urn:resources#Alarm" in (await client.ontologies.get("resources")).classes
        assert b"urn:resources#Alarm" in await client.ontologies.turtle("resources")
        assert (await client.liftings.put("resources", LIFTING, dry_run=True)).dry_run
        assert (await client.liftings.put("resources", LIFTING)).name == "resources"
        assert [each.types for each in await client.liftings.list() if each.name == "resources"] == [["resources"]]
        assert (await client.liftings.get("resources"))["syntax"] == "json"
        assert (await client.liftings.remove("resources")).suspended == []
        assert (await client.ontologies.remove("resources")).suspended == []


async def test_what_the_broker_counts(broker: BrokerProcess) -> None:
    async with Client(broker.url) as client:
        assert (await client.figures())["node"]


async def test_the_documented_example(broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    await run_example("Everything else that a broker has", broker.url)
    assert "weather ['temperature']\n" in capsys.readouterr().out
    async with Client(broker.url) as client:
        await client.spaces.remove("weather")
