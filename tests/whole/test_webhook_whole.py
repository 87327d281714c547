"""A dialect that is one module of its own is served at every door, without a word of it elsewhere."""

import json

import pytest
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink

from tocsin import Client
from tocsin.mediation.ce import webhook

pytestmark = pytest.mark.broker


async def test_what_a_soap_publisher_says_reaches_a_web_hook(broker: BrokerProcess, sink: Sink) -> None:
    async with Client(broker.url, webhook.NAME) as hook, Client(broker.url, "wsn-1.3") as publisher:
        lease = await hook.subscribe(sink.url("hook"), topic="webhook/in")
        name = await publisher.publish(b"<flood>Inn</flood>", topic="webhook/in", producer="urn:gauge")
        (came,) = await wait_until(lambda: sink.at("hook"), "the notification in JSON")
        await hook.unsubscribe(lease)
    assert dict(came.headers)["content-type"] == webhook.MEDIA_TYPE
    said = json.loads(came.body)
    assert (said["id"], said["topic"], said["producer"]) == (name, "webhook/in", "urn:gauge")
    assert said["payload"] == "<flood>Inn</flood>"


async def test_what_a_web_hook_says_reaches_a_soap_consumer(broker: BrokerProcess, sink: Sink) -> None:
    async with Client(broker.url, webhook.NAME) as hook, Client(broker.url, "wse-2004-08") as consumer:
        lease = await consumer.subscribe(sink.url("soap"), topic="webhook/out")
        name = await hook.publish(b'{"river": "Inn"}', media_type="application/json", topic="webhook/out")
        (told,) = await wait_until(lambda: sink.notifications("soap"), "the notification in SOAP")
        await consumer.unsubscribe(lease)
    assert (told.id, told.payload.media_type, told.payload.data) == (name, "application/json", b'{"river": "Inn"}')
