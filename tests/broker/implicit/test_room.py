"""What a node takes upon itself has a bound: who publishes is told to try later, and nothing that was taken is lost."""

import asyncio
from pathlib import Path

import pytest
from tests.broker.implicit.stage import HERE, THERE, Stage, at_home, copied, opened, published, world

from tocsin.model.identity import MessageId
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Granted
from tocsin.runtime import runtime as runtime_module
from tocsin.store.machines import Writing

STAR = world([("C1", "C2")], [*at_home("C1", "N1"), *at_home("C2", *(f"M{number}" for number in range(20)))])
CHAIN = world([("C1", "C2")], [*at_home("C1", "N1"), *at_home("C2", "N2")])
AWAY = world([("C1", "C2")], [("N1", "C1", HERE), ("N2", "C2", THERE), *at_home("C3", "N3")])


async def refused(stage: Stage, number: int, protocol: str = "din") -> bool:
    try:
        await stage.take(published(number, protocol))
    except Refusal as refusal:
        assert refusal.reason == "overloaded"
        return True
    return False


async def test_many_copies_for_here_bound_what_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "MOST_OPEN", 50)
    most = 0
    async with opened(tmp_path, STAR) as stage:
        write = stage.tables.write

        def counted(writing: Writing) -> None:
            nonlocal most
            write(writing)
            most = max(most, stage.runtime.figures()["local"])

        monkeypatch.setattr(stage.tables, "write", counted)
        found = await asyncio.gather(*(refused(stage, number) for number in range(100)))
        await stage.settled()
        taken = [number for number in range(100) if not found[number]]
        assert 0 < len(taken) < 10 and most <= 70
        assert {(await stage.result(f"urn:message:{number}")).notifications for number in taken} == {20}
        assert not await refused(stage, 1000)


async def test_a_turn_writes_no_more_than_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "MOST_ROWS", 60)
    async with opened(tmp_path, STAR) as stage:
        sizes: list[int] = []
        write = stage.tables.write

        def counted(writing: Writing) -> None:
            sizes.append(writing.size)
            write(writing)

        monkeypatch.setattr(stage.tables, "write", counted)
        await asyncio.gather(*(stage.take(published(number)) for number in range(40)))
        await stage.settled()
        assert max(sizes) <= 60 + 22 and len(stage.told) == 40 * 20


async def test_what_waits_for_a_history_that_does_not_answer_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_module, "MOST_OPEN", 3)
    async with opened(tmp_path, CHAIN, history=THERE) as stage:
        assert [await refused(stage, number, "cin") for number in range(4)] == [False, False, False, True]
        with pytest.raises(Refusal):
            await stage.take(copied("N2", 9))
        assert stage.runtime.figures() == {"local": 0, "asking": 3, "outbox": 0}
        await stage.grant(Granted(MessageId("urn:message:0"), "", "N1", (), ("N2",)))
        assert not await refused(stage, 5, "cin")


async def test_a_full_outbox_bounds_what_is_published_but_not_what_others_send(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two nodes that are full would wait for each other."""
    monkeypatch.setattr(runtime_module, "MOST_OUTGOING", 2)
    async with opened(tmp_path, AWAY) as stage:
        assert [await refused(stage, number) for number in range(3)] == [False, False, True]
        await stage.take(copied("N3", 7))
        assert stage.told == [("N3", "urn:message:7")]
        stage.tables.outbox.sent(stage.outbox())
        assert not await refused(stage, 4)
