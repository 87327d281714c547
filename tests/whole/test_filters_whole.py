"""Filters of every kind, said in every dialect, decide in a started broker who is told."""

import json
from typing import Any
from uuid import uuid4

import pytest
from tests.whole.acts import call
from tests.whole.shell import BrokerProcess, document, wait_until
from tests.whole.sink import Sink

from tocsin import Client, ClientError
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
OURS = "urn:tocsin:dialect:"
SPACE = {"dimensions": [{"name": "place", "kind": "string"}, {"name": "heat", "kind": "number"}]}
NAMESPACES = {"x": "urn:x"}


def alert(stem: str, level: int) -> bytes:
    return f'<x:Alert xmlns:x="urn:x"><x:of>{stem}</x:of><x:level>{level}</x:level></x:Alert>'.encode()


def heard(sink: Sink, path: str) -> list[str]:
    return [each.id for each in sink.notifications(path)]


@pytest.mark.parametrize("dialect", ["wsn-1.3", "wsn-1.2", "wsn-1.0", "wse-2004-08", "wse-2011", "cloudevents"])
async def test_content_and_type(broker: BrokerProcess, sink: Sink, dialect: str) -> None:
    stem = f"t{uuid4().hex}"
    content = f"x:of = '{stem}' and x:level > 3"
    async with Client(broker.url, dialect) as client, Client(broker.url, "wsn-1.3") as publisher:
        lease = await client.subscribe(
            sink.url(stem), content=content, types=["x:Alert", "com.example.alert"], namespaces=NAMESPACES
        )
        for level in (1, 5, 2, 7):
            await publisher.publish(alert(stem, level), topic=stem, message_id=f"urn:{stem}:{level}")
        await publisher.publish(b"{}", media_type="application/json", topic=stem)
        await wait_until(lambda: len(heard(sink, stem)) == 2, "those that match")
        assert heard(sink, stem) == [f"urn:{stem}:5", f"urn:{stem}:7"]
        told: Any = await publisher.get(f"/api/subscriptions/{lease.id}")
        assert {f"{OURS}type": "{urn:x}Alert com.example.alert"} in told["asked"]
        assert {f"{OURS}xpath": {"expression": content, "namespaces": NAMESPACES}} in told["asked"]
        await client.unsubscribe(lease)


async def test_ws_eventing_asks_of_the_envelope(broker: BrokerProcess, sink: Sink) -> None:
    stem = f"t{uuid4().hex}"
    spaces = {"s": "http://www.w3.org/2003/05/soap-envelope", "x": "urn:x"}
    content = f"/s:Envelope/s:Body/x:Alert[x:of = '{stem}']/x:level = 5"
    async with Client(broker.url, "wse-2004-08") as client:
        lease = await client.subscribe(
            sink.url(stem), content=content, content_language="xpath-envelope", namespaces=spaces
        )
        for level in (1, 5):
            await client.publish(alert(stem, level), message_id=f"urn:{stem}:{level}")
        await wait_until(lambda: heard(sink, stem) == [f"urn:{stem}:5"], "the one that matches")
        await client.unsubscribe(lease)


async def test_who_is_sent_no_envelope_cannot_ask_of_it(broker: BrokerProcess, sink: Sink) -> None:
    async with Client(broker.url, "cloudevents") as client:
        with pytest.raises(ClientError, match="only SOAP subscribers are sent an envelope"):
            await client.subscribe(sink.url("none"), content="//x", content_language="xpath-envelope")


async def test_cloudevents_subscriptions(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    stem, at = f"t{uuid4().hex}", f"{broker.url}/api/cloudevents/subscriptions"
    filters = [{"sql": f"type = '{stem}' AND subject LIKE 'a%'"}, {f"{OURS}jsonpath": "$.level > 3"}]
    made = await call(http, "POST", at, {"protocol": "HTTP", "sink": sink.url(stem), "filters": filters})
    assert made.status == 201 and document(made.body)["filters"] == filters
    for number, (subject, level) in enumerate([("a", 1), ("ab", 5), ("b", 5), ("a", 4)]):
        event = {"specversion": "1.0", "id": str(number), "source": "/s", "type": stem, "subject": subject}
        body = json.dumps(event | {"data": {"level": level}}).encode()
        kind = (("Content-Type", "application/cloudevents+json"),)
        assert (await http.request("POST", f"{broker.url}/events", kind, body)).status == 202
    await wait_until(lambda: heard(sink, stem) == ["1", "3"], "those that match")
    options = await http.request("OPTIONS", at)
    assert {"sql", f"{OURS}content-topic", f"{OURS}sparql"} <= set(document(options.body)["filters"])
    assert (await call(http, "DELETE", f"{at}/{document(made.body)['id']}")).status == 200


@pytest.mark.parametrize("dialect", ["wsn-1.3", "wse-2004-08", "cloudevents"])
async def test_content_topics(broker: BrokerProcess, sink: Sink, http: HttpClient, dialect: str) -> None:
    space = f"w{uuid4().hex}"
    assert (await call(http, "PUT", f"{broker.url}/api/spaces/{space}", SPACE)).status in (200, 201, 204)
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe(sink.url(space), box=f"{space}:*,NJ/>25")
        for number, point in enumerate(["Troy,NY/29", "Piscataway,NJ/29", "Piscataway,NJ/25"]):
            await client.publish(b"<x/>", content_topic=f"{space}:{point}", message_id=f"urn:{space}:{number}")
        (found,) = await wait_until(lambda: sink.notifications(space), "the one inside")
        assert found.id == f"urn:{space}:1"
        assert found.attribute("contenttopic") == f"{space}:Piscataway,NJ/29"
        told: Any = await client.get(f"/api/subscriptions/{lease.id}")
        assert told["asked"] == [{f"{OURS}content-topic": f"{space}:*,NJ/>25"}]
        await client.unsubscribe(lease)
        with pytest.raises(ClientError, match="no information space 'nowhere'"):
            await client.subscribe(sink.url(space), box="nowhere:*")
        with pytest.raises(ClientError, match="a dimension is missing"):
            await client.subscribe(sink.url(space), box=f"{space}:*")


@pytest.mark.parametrize("dialect", ["wsn-1.3", "wse-2004-08", "cloudevents"])
async def test_spans_and_several(broker: BrokerProcess, sink: Sink, http: HttpClient, dialect: str) -> None:
    space = f"w{uuid4().hex}"
    assert (await call(http, "PUT", f"{broker.url}/api/spaces/{space}", SPACE)).status in (200, 201, 204)
    async with Client(broker.url, dialect) as client:
        lease = await client.subscribe(sink.url(space), box=f"{space}:*,NJ/>25")
        said = [f"{space}:*,NY/*", f"{space}:Pis*/20..30", f"{space}:*/<25", [f"{space}:Troy,NY/29", f"{space}:*,NJ/*"]]
        said.append([f"{space}:Newark,NJ/26", f"{space}:Newark,NJ/27"])
        for number, content_topic in enumerate(said):
            await client.publish(b"<x/>", content_topic=content_topic, message_id=f"urn:{space}:{number}")
        await wait_until(lambda: len(heard(sink, space)) >= 3, "those that meet the box")
        assert heard(sink, space) == [f"urn:{space}:{number}" for number in (1, 3, 4)]
        told = [each.attribute("contenttopic") for each in sink.notifications(space)]
        assert told[:2] == [f"{space}:Pis*/20..30", f"{space}:Troy,NY/29 || {space}:*,NJ/*"]
        await client.unsubscribe(lease)
        for wrong, why in {"*/30..20": "smaller end first", "*/1/2": "no such dimension", "*/x": "is a number"}.items():
            with pytest.raises(ClientError, match=why):
                await client.publish(b"<x/>", content_topic=[f"{space}:A/1", f"{space}:{wrong}"])
        with pytest.raises(ClientError, match="no information space 'nowhere'"):
            await client.publish(b"<x/>", content_topic=f"{space}:A/1 || nowhere:1")


@pytest.mark.parametrize("dialect", ["wsn-1.3", "onvif", "cloudevents"])
async def test_pull_points_take_them_too(broker: BrokerProcess, dialect: str) -> None:
    stem = f"t{uuid4().hex}"
    client = Client(broker.url, dialect)
    async with client, client.pulling(content=f"x:of = '{stem}'", namespaces=NAMESPACES) as point:
        for other in ("no", stem):
            await client.publish(alert(other, 1))
        assert [each.payload.data for each in await client.pull(point, wait=5)] == [alert(stem, 1)]


async def test_producers(broker: BrokerProcess, sink: Sink) -> None:
    stem = f"t{uuid4().hex}"
    async with Client(broker.url, "wsn-1.3") as client:
        lease = await client.subscribe(sink.url(stem), producers=[f"urn:{stem}", "category:none"])
        for producer in ("urn:other", f"urn:{stem}"):
            await client.publish(b"<x/>", producer=producer, message_id=f"urn:{stem}:{producer}")
        await wait_until(lambda: heard(sink, stem) == [f"urn:{stem}:urn:{stem}"], "what that producer sent")
        await client.unsubscribe(lease)
