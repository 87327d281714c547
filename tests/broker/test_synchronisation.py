"""A subscription is told again how its properties stand, whatever its filter takes."""

import asyncio
from pathlib import Path

import pytest
from tests.broker.test_pull_points import FORM, running, soon_drained

from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.subscriptions import synchronisation as synchronising
from tocsin.matching.judge import Undecided
from tocsin.mediation.operations import Subscribe
from tocsin.model.filters import Content
from tocsin.model.refusal import Refusal

__all__ = ["soon_drained"]

MESSAGE = (
    b'<m:Message xmlns:m="http://www.onvif.org/ver10/schema" UtcTime="2030-01-31T12:00:00Z"'
    b' PropertyOperation="Changed"/>'
)
PROPERTIES = 5


async def subscribed(node: Node) -> str:
    filters = (Content("xpath", "count(//*) > 0"),)
    return (await node.subscriptions.subscribe(NODE, Subscribe(None, None, FORM, filters, None))).id


async def stand(node: Node) -> None:
    for number in range(PROPERTIES):
        headers = (("content-type", "application/xml"),)
        await node.publishing.publish(NODE, f"/broker/publish/t{number}", "raw", headers, MESSAGE)


async def test_its_filter_is_evaluated_beside_the_loop(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await stand(node)
        name = await subscribed(node)
        loop, threads = asyncio.get_running_loop(), list[bool]()
        judge = node.judges.aside.judge

        def beside(asked: Content, document: bytes) -> bool:
            try:
                threads.append(asyncio.get_running_loop() is loop)
            except RuntimeError:
                threads.append(False)
            return judge(asked, document)

        node.judges.aside.judge = beside  # type: ignore[method-assign]
        await node.synchronisation.synchronise(NODE, name)
        assert threads == [False] * PROPERTIES
        assert node.pull_points.state(NODE, name).waiting == PROPERTIES
        assert all(
            b"Initialized" in each.notification.payload.data
            for each in (await node.pull_points.pull(NODE, name, None)).held
        )


async def test_it_is_refused_as_a_whole_when_that_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synchronising, "MOST_SECONDS", -1.0)
    async with running(tmp_path) as node:
        await stand(node)
        name = await subscribed(node)
        with pytest.raises(Refusal, match=f"for 0 of {PROPERTIES} properties") as refused:
            await node.synchronisation.synchronise(NODE, name)
        assert refused.value.reason == "overloaded"
        assert node.pull_points.state(NODE, name).waiting == 0


async def test_what_cannot_be_told_is_a_dead_letter(tmp_path: Path) -> None:
    async with running(tmp_path, told=[]) as node:
        await stand(node)
        name = await subscribed(node)

        def fail(asked: Content, document: bytes) -> bool:
            raise Undecided("it is wrong")

        node.judges.aside.judge = fail  # type: ignore[method-assign]
        await node.synchronisation.synchronise(NODE, name)
        await node.settlement.save()
        assert len(node.dead_letters.page(NODE, 0, 99, name)) == PROPERTIES
