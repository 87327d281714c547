"""Subscriptions that feed pull points: from the past, across restarts, while nothing can be saved, and replaced."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.broker.test_pull_points import (
    BASE,
    FORM,
    Engine,
    engine,
    pull_point_for,
    pulled,
    running,
    say,
    soon_drained,
    wanting,
)

from tocsin.broker import lifecycle
from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.pull_points import feeds as pull_feeds
from tocsin.broker.pull_points import mailboxes
from tocsin.mediation.operations import CreatePullPoint, Start, Subscribe
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint
from tocsin.store.errors import DatabaseFailed
from tocsin.store.pull_points import Saving

__all__ = ["engine", "soon_drained"]


async def caught_up(node: Node) -> None:
    async with asyncio.timeout(60):
        while node.mailboxes.feeds.lagging:
            await asyncio.sleep(0.001)
    await node.mailboxes.save()


async def test_one_that_began_in_the_past_breaks_nothing_by_a_restart(tmp_path: Path, engine: Engine) -> None:
    async with running(tmp_path, engine) as node:
        await say(node, "a", *range(5))
        name = await pull_point_for(node, "a", start=Start(offset=0))
        await caught_up(node)
        assert await pulled(node, name, 2) == [0, 1]
    async with running(tmp_path, engine) as node:
        await caught_up(node)
        other = await pull_point_for(node, "a")
        await say(node, "a", 5)
        assert await pulled(node, name) == [2, 3, 4, 5]
        assert await pulled(node, other) == [5]


@pytest.mark.parametrize("page", [2, 10_000])
async def test_what_was_saved_without_its_place_in_the_log_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    """As by brokers that did not count changes among what they had matched."""
    monkeypatch.setattr(pull_feeds, "PAGE", page)
    async with running(tmp_path) as node:
        await say(node, "a", *range(5))
        name = await pull_point_for(node, "a", start=Start(offset=0))
        await caught_up(node)
        assert await pulled(node, name, 2) == [0, 1]
        table, save = node.mailboxes._table, node.mailboxes._table.save
        table.save = lambda saving: save(replace(saving, pulled_to=5))  # type: ignore[method-assign]
    async with running(tmp_path) as node:
        await say(node, "a", 5)
        await caught_up(node)
        assert await pulled(node, name) == [2, 3, 4, 5]


async def test_what_was_fed_from_the_past_is_not_doubled_by_a_restart(tmp_path: Path, engine: Engine) -> None:
    async with running(tmp_path, engine) as node:
        box = (await node.pull_points.create(NODE, CreatePullPoint(FORM))).id
        await say(node, "a", *range(5))
        consumer = Endpoint(f"{BASE}/broker/pullpoints/{box}")
        await node.subscriptions.subscribe(NODE, Subscribe(consumer, None, FORM, wanting("a"), None, Start(offset=0)))
        await caught_up(node)
        assert node.pull_points.state(NODE, box).waiting == 5
    async with running(tmp_path, engine) as node:
        await caught_up(node)
        assert await pulled(node, box) == list(range(5))


async def test_what_cannot_be_saved_does_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "CHECKPOINT_SECONDS", 600.0)
    monkeypatch.setattr(mailboxes, "_MOST_HELD_BACK", 5)
    monkeypatch.setattr(pull_feeds, "PAGE", 3)
    monkeypatch.setattr(pull_feeds, "_AGAIN_SECONDS", 0.001)
    async with running(tmp_path) as node:
        name = await pull_point_for(node, "a")
        save, failed = node.mailboxes._table.save, list[Saving]()
        await say(node, "b", *range(20))

        def fail(saving: Saving) -> Any:
            failed.append(saving)
            raise DatabaseFailed("full")

        node.mailboxes._table.save = fail  # type: ignore[method-assign]
        await pull_point_for(node, "b", start=Start(offset=0))
        await say(node, "a", 0)
        async with asyncio.timeout(60):
            while len(failed) < 20:
                await asyncio.sleep(0.001)
        assert max(len(each.put) for each in failed) <= 4, "no page is read behind one that could not be saved"
        with pytest.raises(Refusal) as refused:
            await say(node, "a", *range(1, 10))
        assert refused.value.reason == "overloaded"
        with pytest.raises(Refusal, match="pull points wait to be stored"):
            node.mailboxes.put_again(name, name, failed[-1].put[0].notification)
        node.mailboxes._table.save = save  # type: ignore[method-assign]
        found = await pulled(node, name)
        await say(node, "a", 99)
        assert found == list(range(len(found)))
        assert await pulled(node, name) == [99]


async def test_who_is_sent_to_from_now_on_feeds_no_pull_point(tmp_path: Path, engine: Engine) -> None:
    async with running(tmp_path, engine) as node:
        box = (await node.pull_points.create(NODE, CreatePullPoint(FORM))).id
        home, elsewhere = Endpoint(f"{BASE}/broker/pullpoints/{box}"), Endpoint("http://127.0.0.1:8/")
        await say(node, "a", 0)
        asked = Subscribe(home, None, FORM, wanting("a"), None, Start(offset=0))
        name = (await node.subscriptions.subscribe(NODE, asked)).id
        await say(node, "a", 1)
        await caught_up(node)
        await node.subscriptions.replace(NODE, name, replace(asked, consumer=elsewhere))
        await say(node, "a", 2)
        assert await pulled(node, box) == [0, 1]
        if engine == "embedded":
            assert node.engine.deliverer.figures().waiting == 1, "what came before is not for it"
        await node.subscriptions.replace(NODE, name, asked)
        await say(node, "a", 3)
        assert await pulled(node, box) == [3]
        if engine == "embedded":
            assert node.engine.deliverer.figures().waiting == 1, "what waits goes where it was to go"
    async with running(tmp_path, engine) as node:
        await say(node, "a", 4)
        assert await pulled(node, box) == [4]
        await node.subscriptions.unsubscribe(NODE, name)
        await say(node, "a", 5)
        assert await pulled(node, box) == []
        assert node.engine.deliverer.figures().waiting == 0


async def test_nobody_is_replaced_to_feed_a_pull_point_that_is_not_there(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        asked = Subscribe(Endpoint("http://127.0.0.1:8/"), None, FORM, (), None)
        name = (await node.subscriptions.subscribe(NODE, asked)).id
        with pytest.raises(Refusal, match="no pull point"):
            await node.subscriptions.replace(
                NODE, name, replace(asked, consumer=Endpoint(f"{BASE}/broker/pullpoints/none"))
            )
