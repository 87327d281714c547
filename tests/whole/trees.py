"""Nodes of a tree, in this process."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from tests.whole.acts import call
from tests.whole.shell import document, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import message, notify
from tests.whole.worlds import KEY, QUICK, key_file

from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.settings import ImplicitSettings, Listen, Settings, TreeSettings
from tocsin.platform.serving import serving
from tocsin.wire.http_client import HttpClient


@contextlib.asynccontextmanager
async def tree_node(
    data: Path,
    parent: Node | str | None = None,
    *,
    port: int = 0,
    children: int = 32,
    key: bytes = KEY,
    told: list[str] | None = None,
) -> AsyncIterator[Node]:
    """`told` is what its operator reads."""
    above = parent.base_url if isinstance(parent, Node) else parent
    data.mkdir(exist_ok=True)
    implicit, tree = ImplicitSettings(key_file=key_file(data, key)), TreeSettings(above, children)
    settings = Settings(data, "embedded", None, Listen(port=port), delivery=QUICK, implicit=implicit, tree=tree)
    async with serving(settings, ([] if told is None else told).append) as node:
        yield node


def port_of(node: Node) -> int:
    return int(node.base_url.rpartition(":")[2])


async def heard(*nodes: Node) -> None:
    """From below upwards: until all that is asked for there is known above."""
    for node in nodes:
        await wait_until(lambda node=node: node.tree.view(NODE).told, f"{node.base_url} told its parent", 20)  # type: ignore[misc]


async def subscribe(http: HttpClient, node: Node, consumer: str, topic: str, dialect: str = "cloudevents") -> str:
    asked = {"consumer": consumer, "topic": topic, "dialect": dialect}
    answer = await call(http, "POST", f"{node.base_url}/api/subscriptions", asked)
    assert answer.status == 201, answer
    return str(document(answer.body)["id"])


async def publish(http: HttpClient, node: Node, topic: str, *numbers: int) -> None:
    """In WS-Notification."""
    for number in numbers:
        said = notify(message(f'<n xmlns="">{number}</n>', topic, "urn:p"), message_id=f"urn:{topic}:{number}")
        answer = await http.request("POST", f"{node.base_url}/broker", *said)
        assert answer.status == 202, answer


async def received(sink: Sink, path: str, count: int) -> list[int]:
    """As soon as there are so many."""
    await wait_until(lambda: len(sink.notifications(path)) >= count, f"{count} at {path}", 20)
    return [int(data.partition(b">")[2].partition(b"<")[0]) for data in sink.payloads(path)]
