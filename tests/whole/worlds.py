"""Nodes of one world, in this process."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.settings import DeliverySettings, ImplicitSettings, Listen, Settings
from tocsin.model.identity import MessageId
from tocsin.model.notification import Payload
from tocsin.platform.serving import serving
from tocsin.routing.implicit.result import Dissemination
from tocsin.routing.implicit.services import Published
from tocsin.semantics.interest.changes import Change, PutCategory, PutEdge, PutTopic
from tocsin.semantics.interest.ino import Edge, Service

KEY = b"0123456789abcdef"
TOPIC = "Disaster Info"
QUICK = DeliverySettings(first_backoff=0.005, longest_backoff=0.04, attempts=3)


def key_file(folder: Path, key: bytes | None = KEY) -> Path:
    path = folder / "world.key"
    if key is not None:
        path.write_bytes(key)
    return path


@contextlib.asynccontextmanager
async def node_of(
    data: Path,
    registry: Node | str | None = None,
    *,
    history: Node | None = None,
    port: int = 0,
    retention: float = 60.0,
    told: list[str] | None = None,
    key: bytes | None = KEY,
) -> AsyncIterator[Node]:
    """Without a registry it keeps the world itself. `told` is what its operator reads."""
    keeper = registry.base_url if isinstance(registry, Node) else registry
    central = None if history is None else history.base_url
    implicit = ImplicitSettings(keeper, central, key_file(data.parent, key), retention=retention)
    settings = Settings(data, "embedded", None, Listen(port=port), delivery=QUICK, implicit=implicit)
    async with serving(settings, ([] if told is None else told).append) as node:
        yield node


def graph(*edges: tuple[str, str]) -> list[Change]:
    """Categories, and edges of one topic between them."""
    names = dict.fromkeys(name for edge in edges for name in edge)
    return [PutTopic(TOPIC), *map(PutCategory, names), *(PutEdge(Edge(a, TOPIC, b)) for a, b in edges)]


async def create(node: Node, name: str, category: str, address: str = "") -> str:
    """The pull point or subscription by which its service is told."""
    return (
        await node.implicit.create_notifier(NODE, Service(name, (category,), address=address), "operator")
    ).subscription


async def publish(node: Node, name: str, protocol: str = "hin-din", only: tuple[str, ...] | None = None) -> MessageId:
    asked = Published(TOPIC, Payload("application/json", b'{"magnitude": 7.1}'), protocol, only=only)
    return await node.implicit.publish_through(NODE, name, asked)


async def outcome(node: Node, name: str, protocol: str = "hin-din") -> Dissemination:
    """What became of a message that is published now, once all is over."""
    return await node.implicit.dissemination(NODE, await publish(node, name, protocol), 60)


async def pulled(node: Node, subscription: str) -> list[MessageId]:
    return [each.notification.id for each in (await node.pull_points.pull(NODE, subscription, None, 60)).held]
