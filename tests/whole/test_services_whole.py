"""What reaches a notifier is told to its service, by the ordinary way, and to nobody else."""

from pathlib import Path

import pytest
from tests.whole.acts import call
from tests.whole.shell import document, wait_until
from tests.whole.sink import Sink
from tests.whole.test_node_whole import running, subscribed

from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.mediation.operations import Subscribe
from tocsin.model.identity import Instant, MessageId
from tocsin.model.names import Topic, topic
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form
from tocsin.routing.implicit.messages import Copy, Message
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
QUAKES = topic("Disaster-Info") or Topic(())


def copy(to: str, number: int) -> Copy:
    data = Payload("application/xml", b"<quake>7.1</quake>")
    message = Message(MessageId(f"urn:quake:{number}"), "din", "IDER", "Disaster Info", data, Instant(10**18))
    return Copy(f"copy-{number}", message, "IDER", to, 1)


async def tell(node: Node, to: str, number: int) -> None:
    await node.publishing.tell_service(copy(to, number), QUAKES, "http://n/notifiers/IDER")


async def test_each_service_is_told_in_its_own_dialect_and_others_are_not(
    tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with running(tmp_path) as node:
        await subscribed(http, node, sink.url("other"), "Disaster-Info")
        await node.subscriptions.subscribe_service(
            "CARE", Endpoint(sink.url("care")), Form("wsn-1.3", "1.2", "2005/08")
        )
        await node.subscriptions.subscribe_service("USGS", Endpoint(sink.url("usgs")), Form("cloudevents"))
        for number, to in enumerate(("CARE", "USGS", "CARE")):
            await tell(node, to, number)
        await wait_until(lambda: len(sink.at("care")) == 2 and len(sink.at("usgs")) == 1, "services told")
        assert b"NotificationMessage" in sink.at("care")[0].body and b"Disaster-Info" in sink.at("care")[0].body
        event = document(sink.at("usgs")[0].body)
        assert (event["root"], event["subject"], event["data"]) == ("IDER", "Disaster-Info", "<quake>7.1</quake>")
        assert sink.at("other") == []
        assert node.topics.counts(NODE) == []  # nobody published it here
        missing = await call(http, "GET", f"{node.base_url}/api/topics/current?topic=Disaster-Info")
        assert missing.status == 404


async def test_what_a_service_is_told_by_cannot_ask_for_something_else(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        box = await node.subscriptions.subscribe_service("CARE", None, Form("cloudevents"))
        with pytest.raises(Refusal, match="change the notifier instead"):
            await node.subscriptions.replace(NODE, box.id, Subscribe(None, None, Form("cloudevents"), (), None))
        assert node.standing.get(box.id) == box


async def test_a_service_without_an_address_fetches_also_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        box = await node.subscriptions.subscribe_service("CARE", None, Form("cloudevents"))
        await tell(node, "CARE", 1)
        await tell(node, "CARE", 1)  # the same message by another way
        await tell(node, "USGS", 2)
    async with running(tmp_path) as node:
        await tell(node, "CARE", 3)
        pulled = await node.pull_points.pull(NODE, box.id, None)
        assert [each.notification.id for each in pulled.held] == ["urn:quake:1", "urn:quake:3"]
