"""With the Spark engine a node only sees who it sends to: outstanding is a lower bound until the batch is whole."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.whole.acts import call, until
from tests.whole.shell import wait_until
from tests.whole.sink import Sink
from tests.whole.test_outbox_whole import Matcher, running, subscribed

from tocsin.broker.caller import NODE
from tocsin.store.outbox import Outbox
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
EVENT = (("Content-Type", "application/cloudevents+json"),)
ASKS = {"specversion": "1.0", "id": "1", "source": "/x", "type": "t", "subject": "t", "replytype": "int"}


async def test_who_passes_is_counted_and_all_are_known_when_the_batch_is_published(
    tmp_path: Path, sink: Sink, http: HttpClient
) -> None:
    with closing(Outbox.open(tmp_path / "outbox.db")) as outbox:
        matcher = Matcher(tmp_path, outbox)
        async with running(tmp_path) as node:
            for name in ("a", "b"):
                await subscribed(http, node, sink.url(name))
            answer = await http.request("POST", f"{node.base_url}/events", EVENT, json.dumps(ASKS).encode())
            view = dict(answer.headers)["location"].rpartition("/")[2]
            found = await node.views.get(NODE, view)
            assert (found.receivers, found.exact) == (0, False)
            assert matcher.work() == 2
            await wait_until(lambda: len(sink.received) == 2, "both are told")
            found = await until(lambda: node.views.get(NODE, view), lambda seen: seen.exact)
            assert (found.receivers, found.outstanding) == (2, 2)
            addresses = [json.loads(each.body)["replyto"] for each in sink.received]
            for number, address in enumerate(addresses):
                said = await call(http, "POST", address.replace("http://nowhere", node.base_url), {"value": number})
                assert said.status == 204, said
            found = await node.views.get(NODE, view)
            assert found.complete and found.histogram.counts == {"0": 1, "1": 1}
