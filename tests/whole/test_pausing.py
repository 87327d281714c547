"""Pause holds what waits and wants nothing new; resume goes on. The same with either engine."""

import time
from pathlib import Path

import pytest
from tests.whole.life import ENGINES, Engine, Life, living
from tests.whole.shell import document, wait_until
from tests.whole.sink import Say, Sink

from tocsin.broker import lifecycle
from tocsin.broker.caller import NODE
from tocsin.broker.engines.settlement import Settlement
from tocsin.wire.http_client import HttpClient

pytestmark = [pytest.mark.broker, pytest.mark.parametrize("engine", ENGINES)]


async def held_with(life: Life, *numbers: int) -> str:
    """A subscription that was paused while these waited for its consumer, which answers again."""
    life.sink.script = lambda received: Say(503)
    name = await life.subscribe("a")
    await life.publish(*numbers)
    await wait_until(lambda: life.sink.at("a"), "it is being tried")
    answer = await life.api(f"/{name}/pause")
    assert answer.status == 200 and document(answer.body)["state"] == "paused"
    life.sink.script = lambda received: Say()
    life.sink.received.clear()
    return name


async def test_what_waits_is_held_and_what_comes_meanwhile_is_not_for_it(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, engine, http, sink, attempts=1000) as life:
        name = await held_with(life, 1, 2, 3)
        await life.subscribe("b")
        await life.publish(4, 5)
        await wait_until(lambda: life.got("b") == [4, 5], "others are told")
        assert set(life.got("a")) <= {1}, "at most what was in flight"
        sink.received.clear()
        answer = await life.api(f"/{name}/resume")
        assert answer.status == 200 and document(answer.body)["state"] == "active"
        await life.publish(6)
        await wait_until(lambda: 6 in life.got("a"), "it goes on")
        assert [each for each in life.got("a") if each != 1] == [2, 3, 6]


async def test_a_paused_one_is_held_after_a_restart(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "DRAIN_SECONDS", 200.0)
    async with living(tmp_path, engine, http, sink, attempts=1000) as life:
        name = await held_with(life, 1, 2)
        began = time.monotonic()
    assert time.monotonic() - began < 100, "nobody waits for what is held"
    async with living(tmp_path, engine, http, sink) as life:
        await life.subscribe("b")
        await life.publish(3)
        await wait_until(lambda: life.got("b") == [3], "others are told")
        assert document((await life.api(f"/{name}", method="GET")).body)["state"] == "paused"
        assert not [each for each in life.got("a") if each != 1]
        await life.api(f"/{name}/resume")
        await life.publish(4)
        await wait_until(lambda: 4 in life.got("a"), "it goes on")
        assert [each for each in life.got("a") if each != 1] == [2, 4]


async def test_paused_just_before_a_crash(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint is older than the pause: what waited then is found again, and held."""
    with monkeypatch.context() as patch:
        patch.setattr(Settlement, "save", nothing)
        async with living(tmp_path, engine, http, sink, attempts=1000) as life:
            name = await held_with(life, 1, 2)
    async with living(tmp_path, engine, http, sink) as life:
        await life.subscribe("b")
        await life.publish(3)
        await wait_until(lambda: life.got("b") == [3], "others are told")
        assert not [each for each in life.got("a") if each != 1]
        await life.api(f"/{name}/resume")
        await wait_until(lambda: 2 in life.got("a"), "it goes on")


async def nothing(settlement: Settlement) -> None:
    """Stands for a checkpoint that the end of the process prevented."""


async def test_again_is_as_once_and_a_renewal_changes_nothing(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        name = await life.subscribe("a")
        states = []
        for step in ("resume", "pause", "pause", "renew", "resume", "resume"):
            answer = await life.api(f"/{name}/{step}", {} if step == "renew" else None)
            assert answer.status == 200, answer
            states.append(document(answer.body)["state"])
        assert states == ["active", "paused", "paused", "paused", "active", "active"]
        await life.publish(1)
        await wait_until(lambda: life.got("a") == [1], "it is told")
        assert (await life.api("/nobody/pause")).status == 404
        await life.api(f"/{name}", method="DELETE")
        assert (await life.api(f"/{name}/resume")).status == 404


async def test_a_dead_letter_tried_again_waits_for_the_end_of_a_pause(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        sink.script = lambda received: Say(400)
        name = await life.subscribe("a")
        await life.publish(1)
        await wait_until(lambda: life.node.dead_letters.page(NODE, 0, 9, None), "it is a dead letter")
        await life.api(f"/{name}/pause")
        sink.script = lambda received: Say()
        sink.received.clear()
        assert await life.node.dead_letters.redrive(NODE, None) == 1
        await life.subscribe("b")
        await life.publish(2)
        await wait_until(lambda: life.got("b") == [2], "others are told")
        assert life.got("a") == []
        await life.api(f"/{name}/resume")
        await wait_until(lambda: life.got("a") == [1], "now it is tried")
