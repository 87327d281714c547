"""What a node makes of ontologies: how much they may have, what is written, what a crash leaves, what waits."""

import asyncio
import threading
from collections.abc import Collection
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.broker.test_pull_points import FORM, Engine, engine, running, soon_drained
from tests.broker.test_pulled_graphs import kernels, say
from tests.matching.graph_events import AUCTION, SELLING, pattern, turtle

from tocsin.broker import lifecycle
from tocsin.broker.caller import NODE, Caller
from tocsin.broker.declarations import checks as declaration_checks
from tocsin.broker.declarations.semantics import Semantics
from tocsin.broker.node import Node
from tocsin.broker.subscriptions.suspension import Suspension
from tocsin.matching import evidence as event_graphs
from tocsin.mediation.operations import Subscribe
from tocsin.model.access import Principal
from tocsin.model.declarations import Ontology, Withdrawn
from tocsin.model.filters import Not
from tocsin.model.identity import SubscriptionId
from tocsin.model.refusal import Refusal

__all__ = ["engine", "kernels", "soon_drained"]
CHAIRS = pattern("(_:H, ?1, (Selling, target, Chair))")
SMALLER = replace(AUCTION, classes=tuple(each for each in AUCTION.classes if not each[0].endswith("#Chair")))
LONG = turtle("Selling", [("target", "Notebook")], "1") + b"#" * event_graphs.SMALL
SHORT = turtle("Selling", [("target", "Notebook")], "2")


def ontology(name: str, *properties: str) -> Ontology:
    return Ontology(name, properties=tuple((f"urn:{each}", ()) for each in properties))


async def test_all_together_have_so_many_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaration_checks, "MOST_PROPERTIES", 3)
    async with running(tmp_path) as node:
        await node.semantics.declare(NODE, ontology("one", "a", "b"))
        await node.semantics.declare(NODE, ontology("two", "b", "c"))
        with pytest.raises(Refusal, match="4 properties together; at most 3") as refused:
            await node.semantics.declare(NODE, ontology("three", "d"))
        assert refused.value.reason == "too-large" and list(node.declarations.known.ontologies) == ["one", "two"]
        await node.semantics.declare(NODE, Withdrawn("ontology", "two"))
        await node.semantics.declare(NODE, ontology("three", "d"))


async def test_what_is_known_is_not_written_again(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await node.semantics.declare(NODE, AUCTION)
        offset = node.journal.log.next_offset
        await node.semantics.declare(NODE, replace(AUCTION))
        await node.semantics.declare(NODE, SMALLER, dry_run=True)
        assert node.journal.log.next_offset == offset


async def test_killed_before_all_were_suspended(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(self: Node, broken: object) -> None:
        del self, broken
        raise KeyboardInterrupt

    monkeypatch.setattr(lifecycle, "CHECKPOINT_SECONDS", 0.01)
    async with running(tmp_path, engine) as node:
        await node.semantics.declare(NODE, AUCTION)
        asked = [
            (await node.subscriptions.subscribe(NODE, Subscribe(None, None, FORM, (each,), None))).id
            for each in (CHAIRS, SELLING)
        ]
        with monkeypatch.context() as patched:
            patched.setattr(Semantics, "_suspend_all", killed)
            with pytest.raises(KeyboardInterrupt):
                await node.semantics.declare(NODE, SMALLER)
        assert node.standing.get(asked[0]).state == "active"
    async with running(tmp_path, engine) as node:
        async with asyncio.timeout(60):
            while node.standing.get(asked[0]).state == "active":
                await asyncio.sleep(0.001)
        assert "Chair" in node.standing.get(asked[0]).reason
        assert node.standing.get(asked[1]).state == "active"


async def test_what_is_long_is_read_while_others_publish(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, read = threading.Event(), event_graphs.read_once

    def slowly(data: bytes, *more: object) -> object:
        assert data is not LONG or others.wait(10), "the loop stood still"
        return read(data, *more)  # type: ignore[arg-type]

    monkeypatch.setattr("tocsin.broker.publishing.event_checks.read_once", slowly)
    async with running(tmp_path, engine) as node:
        await node.semantics.declare(NODE, AUCTION)
        name = (await node.subscriptions.subscribe(NODE, Subscribe(None, None, FORM, (SELLING,), None))).id
        long = asyncio.create_task(say(node, LONG))
        await asyncio.sleep(0)
        await say(node, SHORT)
        others.set()
        await long
        held = [each.notification for each in (await node.pull_points.pull(NODE, name, None, 10.0)).held]
        assert [each.payload.data for each in held] == [SHORT, LONG]
        assert [each.at.offset for each in held] == [node.journal.log.next_offset - 2, node.journal.log.next_offset - 1]
        with pytest.raises(Refusal, match="Nothing"):
            await say(node, b"<urn:x> a <urn:auction#Nothing> ." + b"#" * event_graphs.SMALL)


async def test_who_may_not_publish_is_told_nothing_of_the_event(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await node.semantics.declare(NODE, AUCTION)
        with pytest.raises(Refusal) as refused:
            await node.publishing.publish(
                Caller(Principal("bob")), "/broker/publish/a", "raw", (("content-type", "text/turtle"),), b"<"
            )
        assert refused.value.reason == "not-allowed"


async def test_a_model_that_is_refused_today_stops_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    async with running(tmp_path, told=told) as node:
        broken = Ontology("broken", classes=(("urn:a", ("urn:a",)),))
        await node.declarations.append((broken,))
    async with running(tmp_path, told=told) as node:
        assert any("above itself" in each for each in told)
        await node.semantics.declare(NODE, Withdrawn("ontology", "broken"))
        assert not node.declarations.known.concepts


async def test_without_an_ontology_a_pattern_waits_for_the_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warmed: list[str] = []

    async def warm(report: object) -> None:
        warmed.append("warm")

    monkeypatch.setattr("tocsin.broker.declarations.declarations.warmed", warm)
    async with running(tmp_path) as node:
        plain = await node.subscriptions.subscribe(NODE, Subscribe(None, None, FORM, (), None))
        assert warmed == []
        of_rdf = Not(pattern("(_:H, ?1, (owl:Thing, rdf:value, xsd:decimal))"))
        await node.subscriptions.subscribe(NODE, Subscribe(None, None, FORM, (of_rdf,), None))
        await node.subscriptions.replace(NODE, plain.id, Subscribe(None, None, FORM, (of_rdf,), None))
        assert warmed == ["warm"] * 2


async def test_a_short_document_with_long_names_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaration_checks, "MOST_WRITTEN", 1000)
    async with running(tmp_path) as node:
        with pytest.raises(Refusal, match="written out; at most 1,000") as refused:
            await node.semantics.declare(NODE, ontology("long", "x" * 1000))
        assert refused.value.reason == "too-large"
        await node.semantics.declare(NODE, ontology("short", "x" * 500))


async def test_who_could_not_be_suspended_is_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suspend, failed = Suspension.suspend, list[str]()

    async def fails_once(self: Suspension, name: SubscriptionId, reason: str, states: Collection[str]) -> bool:
        if not failed:
            failed.append(name)
            raise Refusal("cannot-store", "the disk is full")
        return await suspend(self, name, reason, states)

    monkeypatch.setattr(lifecycle, "CHECKPOINT_SECONDS", 0.01)
    monkeypatch.setattr(Suspension, "suspend", fails_once)
    async with running(tmp_path) as node:
        await node.semantics.declare(NODE, AUCTION)
        asked = [
            (await node.subscriptions.subscribe(NODE, Subscribe(None, None, FORM, (CHAIRS,), None))).id
            for _ in range(3)
        ]
        await node.semantics.suspend_broken()
        with pytest.raises(Refusal, match="disk is full"):
            await node.semantics.declare(NODE, SMALLER)
        async with asyncio.timeout(60):
            while any(node.standing.get(each).state == "active" for each in asked):
                await asyncio.sleep(0.001)
        assert failed == asked[:1]
