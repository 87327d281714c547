"""Pull points whose subscribers want event graphs: what cannot be written for one of them stops nobody."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.broker.test_pull_points import FORM, Engine, engine, running, soon_drained
from tests.matching.graph_events import AUCTION, A, turtle

from tocsin.broker.caller import NODE
from tocsin.broker.kernels import warmed
from tocsin.broker.node import Node
from tocsin.mediation.operations import Start, Subscribe
from tocsin.model.declarations import MetaStatement
from tocsin.semantics.concepts.vocabulary import XSD

__all__ = ["engine", "kernels", "soon_drained"]
NO_NAME_OF_XML = f"{A}1"
ONTOLOGY = replace(
    AUCTION,
    properties=(*AUCTION.properties, (NO_NAME_OF_XML, ())),
    statements=(*AUCTION.statements, MetaStatement(f"{A}Selling", NO_NAME_OF_XML, f"{XSD}integer")),
)
UNWRITABLE = f"_:H a <{A}Selling> ; <{NO_NAME_OF_XML}> 1 .".encode()
WRITABLE = turtle("Selling", [("target", "Notebook")], "399.5")


@pytest.fixture(autouse=True)
async def kernels() -> None:
    """A node that has to compile them tells of it, which is not what is looked at here."""
    await warmed(lambda _: None)


async def asks(node: Node, start: Start | None = None) -> str:
    form = replace(FORM, graph="rdf-xml")
    return (await node.subscriptions.subscribe(NODE, Subscribe(None, None, form, (), None, start))).id


async def say(node: Node, data: bytes) -> None:
    await node.publishing.publish(NODE, "/broker/publish/a", "raw", (("content-type", "text/turtle"),), data)


async def pulled(node: Node, name: str) -> list[bytes]:
    return [each.notification.payload.data for each in (await node.pull_points.pull(NODE, name, None, 10.0)).held]


async def test_what_cannot_be_written_is_a_dead_letter(tmp_path: Path, engine: Engine) -> None:
    async with running(tmp_path, engine) as node:
        await node.semantics.declare(NODE, ONTOLOGY)
        name, other = (
            await asks(node),
            (await node.subscriptions.subscribe(NODE, Subscribe(None, None, FORM, (), None))).id,
        )
        await say(node, UNWRITABLE)
        await say(node, WRITABLE)
        late = await asks(node, Start(offset=0))
        for each in (name, late):
            (found,) = await pulled(node, each)
            assert b"<rdf:RDF" in found and b"Notebook" in found
        assert await pulled(node, other) == [UNWRITABLE, WRITABLE]
        await node.settlement.save()
        letters = await asyncio.to_thread(node.store.dead_letters)
        assert {each.delivery.match.subscription for each in letters} == {name, late}
        assert all("RDF/XML" in each.reason and "#1>" in each.reason for each in letters)


async def test_tried_again_it_is_put_there_as_a_graph(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await node.semantics.declare(NODE, ONTOLOGY)
        name = await asks(node)
        asking = node.standing.get(name)
        await say(node, WRITABLE)
        (held,) = (await node.pull_points.pull(NODE, name, None, 10.0)).held
        node.settlement.unjudged(held.notification, asking, "no time")
        await node.settlement.save()
        (letter,) = await asyncio.to_thread(node.store.dead_letters)
        await node.dead_letters.redrive(NODE, [letter.id])
        (found,) = await pulled(node, name)
        assert b"<rdf:RDF" in found
