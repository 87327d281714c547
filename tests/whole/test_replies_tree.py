"""Replies over a tree of nodes: they go back the way the publication came, and none counts twice or is made up."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from tests.whole.acts import call, get, subscribe, until
from tests.whole.shell import wait_until
from tests.whole.sink import Sink
from tests.whole.test_replies_whole import ask, histogram
from tests.whole.test_tree_processes import Grove, grove
from tests.whole.trees import heard, tree_node
from tests.whole.trees import subscribe as subscribe_at
from tests.whole.worlds import KEY, QUICK, key_file

from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.settings import ImplicitSettings, Listen, ReplySettings, Settings, TreeSettings
from tocsin.platform.serving import serving
from tocsin.routing.reply.messages import View
from tocsin.wire.http_client import HttpClient

__all__ = ["grove"]
pytestmark = pytest.mark.broker
EVENT = (("Content-Type", "application/cloudevents+json"),)


async def asked(http: HttpClient, node: Node, topic: str) -> str:
    event = {"specversion": "1.0", "id": "1", "source": "/x", "type": "t", "subject": topic, "replytype": "enum:yes,no"}
    answer = await http.request("POST", f"{node.base_url}/events", EVENT, json.dumps(event).encode())
    assert answer.status == 202, answer
    return dict(answer.headers)["location"].rpartition("/")[2]


async def reply_all(http: HttpClient, sink: Sink, value: str = "yes") -> None:
    for each in sink.received:
        answer = await call(http, "POST", json.loads(each.body)["replyto"], {"value": value})
        assert answer.status in (204, 409), answer


@pytest.mark.parametrize("merging", [(True, True), (False, True), (True, False), (False, False)])
async def test_nodes_that_merge_and_nodes_that_do_not_give_the_same_view(
    tmp_path: Path, http: HttpClient, sink: Sink, merging: tuple[bool, bool]
) -> None:
    async with (
        tree_node(tmp_path / "a") as root,
        _node(tmp_path / "b", root, merge=merging[0]) as middle,
        _node(tmp_path / "c", middle, merge=merging[1]) as leaf,
    ):
        for number, node in enumerate((root, middle, leaf, leaf)):
            await subscribe_at(http, node, sink.url(str(number)), "t")
        await heard(leaf, middle)
        view = await asked(http, root, "t")
        await wait_until(lambda: len(sink.received) == 4, "all are told")
        found = await _looked(root, view, lambda seen: seen.exact)
        assert (found.receivers, found.replied, found.outstanding) == (4, 0, 4)
        await reply_all(http, sink)
        found = await _looked(root, view, lambda seen: seen.complete)
        assert found.histogram.counts == {"yes": 4} and found.receivers == 4


async def test_from_below_a_publication_asks_everybody_above_and_beside(
    tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with (
        tree_node(tmp_path / "a") as root,
        tree_node(tmp_path / "b", root) as left,
        tree_node(tmp_path / "c", root) as right,
    ):
        for number, node in enumerate((root, left, right)):
            await subscribe_at(http, node, sink.url(str(number)), "t")
        await heard(left, right)
        view = await asked(http, left, "t")
        await wait_until(lambda: len(sink.received) == 3, "all are told")
        await reply_all(http, sink, "no")
        found = await until(lambda: left.views.get(NODE, view), lambda seen: seen.complete)
        assert found.histogram.counts == {"no": 3}, "without a look: each node says once that it has all"
        elsewhere = await call(http, "GET", f"{root.base_url}/api/views/{view}")
        assert elsewhere.status == 404, "the view is its publisher's"
        wait = await left.views.terminate(NODE, view, 0.0)
        assert wait.ended == "terminated"


async def _looked(root: Node, view: str, good: Any) -> View:
    found: View = await until(lambda: root.views.get(NODE, view, look=0.5), good)
    return found


def _node(data: Path, parent: Node, *, merge: bool) -> Any:
    data.mkdir(exist_ok=True)
    implicit, tree = ImplicitSettings(key_file=key_file(data, KEY)), TreeSettings(parent.base_url)
    settings = Settings(data, "embedded", None, Listen(port=0), delivery=QUICK, implicit=implicit, tree=tree)
    return serving(replace(settings, reply=ReplySettings(merge=merge)), list[str]().append)


@pytest.mark.long
async def test_a_thousand_receivers_of_seven_processes_of_which_one_dies(
    grove: Grove, http: HttpClient, sink: Sink
) -> None:
    await grove.grow({0: None}, {1: 0, 2: 0}, {3: 1, 4: 1, 5: 2, 6: 2})
    receivers = [(number % 7, f"r{number}") for number in range(1000)]
    for node, name in receivers:
        await subscribe(http, grove.nodes[node], sink.url(name), "t")
    await grove.heard()
    view = await ask(http, grove.nodes[3], "t", replytype="enum:yes,no,unknown")
    await wait_until(lambda: len({each.path for each in sink.received}) == 1000, "all are told")
    where = {name: node for node, name in receivers}
    told = {each.path.removeprefix("/"): json.loads(each.body)["replyto"] for each in sink.received}
    random = Random(1)
    order = sorted(told)
    random.shuffle(order)
    silent, saying = set(order[:50]), order[50:]
    said: Counter[str] = Counter()
    for name in saying[:500]:
        said[await _reply(http, told[name], random)] += 1
    await grove.again(2)
    for name in saying[500:]:
        said[await _reply(http, told[name], random)] += 1
    found = await until(lambda: get(http, f"{view}?look=1s"), lambda seen: seen["replied"] == len(saying))
    assert histogram(found) == said
    assert (found["receivers"], found["outstanding"], found["exact"]) == (1000, 50, True)
    # One dies for good, with some that have not replied, and had told of it when last looked at
    grove.nodes[6].kill()
    dead = [name for name in silent if where[name] == 6]
    for name in silent - set(dead):
        said[await _reply(http, told[name], random)] += 1
    found = await until(lambda: get(http, f"{view}?look=1s"), lambda seen: seen["outstanding"] == len(dead))
    assert histogram(found) == said and found["receivers"] == 1000 and not found["complete"]
    ended = await call(http, "DELETE", f"{view}?grace=1s")
    assert json.loads(ended.body)["outstanding"] == len(dead)


async def _reply(http: HttpClient, address: str, random: Random) -> str:
    value = random.choice(("yes", "no", "unknown"))
    for attempt in range(200):
        answer = await call(http, "POST", address, {"value": value})
        if answer.status == 204 or (attempt and answer.status == 409):  # the answer to the first was lost
            return value
        await asyncio.sleep(0.05)
    raise AssertionError(answer)
