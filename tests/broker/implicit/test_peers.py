"""What leaves a node: whom it is for is looked up before it is given up, and what fails holds nothing else back."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace
from tests.broker.implicit.stage import (
    BEGIN,
    FAILED,
    HERE,
    THERE,
    Said,
    Stage,
    at_home,
    batch,
    copied,
    opened,
    published,
    world,
)
from tests.whole.shell import wait_until

from tocsin.broker.implicit.family import MESSAGES
from tocsin.model.identity import SECOND, MessageId
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Claim, Granted
from tocsin.runtime import runtime as runtime_module
from tocsin.semantics.interest.changes import PutService, RemoveService
from tocsin.semantics.interest.ino import Service
from tocsin.wire.answer import Answer
from tocsin.wire.peer_messages import Batch, Declined, Reply, Taken, WireLetter, encode

MOVED = "http://moved"
TWO = world([("C1", "C2")], [*at_home("C1", "N1"), ("N2", "C2", THERE)])
MANY = world([("C1", "C2")], [*at_home("C1", "N1"), *((f"M{number}", "C2", THERE) for number in range(700))])
TAKEN = Answer(200, encode(Taken()))


async def complete(stage: Stage, number: int = 1) -> None:
    async def look() -> None:
        while not (await stage.result(f"urn:message:{number}")).complete:
            await asyncio.sleep(0.005)

    await asyncio.wait_for(look(), 30)


async def move(stage: Stage, name: str, node: str) -> None:
    await stage.registry.change([PutService(Service(name, ("C2",), notifier=f"{node}/x", node=node))], "operator")


@pytest.mark.parametrize("dead", [True, False], ids=["dead", "another's"])
async def test_who_has_moved_is_told_at_the_new_address(tmp_path: Path, dead: bool) -> None:
    """Also when another node answers at the old one, which knows nothing of it."""
    seen: list[tuple[str, str]] = []

    def says(node: str, said: Said) -> Answer:
        stage.registry.world().apply(PutService(Service("N2", ("C2",), notifier=f"{MOVED}/x", node=MOVED)))
        seen.extend((node, copy.to) for copy in said.copies)
        absent = Taken(tuple(copy.id for copy in said.copies))
        return TAKEN if node == MOVED else FAILED if dead else Answer(200, encode(absent))

    async with opened(tmp_path, TWO, says=says) as stage:
        await stage.take(published())
        await wait_until(lambda: (MOVED, "N2") in seen, "N2 is told")
        assert (await stage.result("urn:message:1")).gone == ()
        await wait_until(lambda: not stage.tables.outbox.rows, "nothing is left")


async def test_who_is_not_known_here_is_asked_for_before_it_is_called_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A neighbour that has left the part which this node knows, and one that has left the world."""
    seen: list[str] = []
    told: list[str] = []

    def says(_: str, said: Said) -> Answer:
        told.extend(copy.to for copy in said.copies)
        return TAKEN

    changes = world([("C1", "C2")], [*at_home("C1", "N1"), ("N2", "C2", THERE), ("N3", "C2", THERE)])
    async with opened(tmp_path, changes, says=says) as stage:
        entry, look_up = stage.registry.entry, stage.registry.look_up
        monkeypatch.setattr(stage.registry, "entry", lambda name: entry(name) if seen else None)
        failures = iter([Refusal("overloaded", "the registry does not answer")])

        async def asked(names: object) -> object:
            for failure in failures:
                raise failure
            seen.append("asked")
            return {name: found for name, found in (await look_up(["N2", "N3"])).items() if name == "N2"}

        monkeypatch.setattr(stage.registry, "look_up", asked)
        await stage.take(published())
        await wait_until(lambda: told == ["N2"], "N2 is told")
        await wait_until(lambda: not stage.tables.outbox.rows, "nothing is left")
        assert (await stage.result("urn:message:1")).gone == ("N3",)


async def test_claims_that_are_not_taken_hold_back_nothing_else(tmp_path: Path) -> None:
    told: list[str] = []

    def says(_: str, said: Said) -> Answer:
        if said.claims:
            return Answer(421, encode(Declined("not-here", "elsewhere")))
        told.extend(copy.to for copy in said.copies)
        return TAKEN

    async with opened(tmp_path, TWO, history=THERE, says=says) as stage:
        await stage.take(published(1, "cin"))
        await stage.take(published(2, "din"))
        await wait_until(lambda: told == ["N2"], "N2 is told")
        assert "does not answer what is asked of it" in stage.reports[0]


async def test_claims_are_asked_together_until_they_are_answered(tmp_path: Path) -> None:
    sizes: list[int] = []
    told: list[str] = []

    def says(_: str, said: Said) -> Answer:
        told.extend(copy.message.id for copy in said.copies)
        if not said.claims:
            return TAKEN
        sizes.append(len(said.claims))
        if len(sizes) == 1:
            return FAILED
        granted = (Granted(each.message, each.copy, each.by, each.names, ()) for each in said.claims)
        replies = (Reply(number, Raw(MESSAGES.encode(each))) for number, each in enumerate(granted))
        return Answer(200, encode(Taken(replies=tuple(replies))))

    async with opened(tmp_path, TWO, history=THERE, says=says) as stage:
        await stage.take(*(published(number, "cin") for number in range(20)))
        await wait_until(lambda: len(set(told)) == 20, "all are granted")
        assert sizes[1] > 1 and sum(sizes[1:]) == 20 and not stage.runtime.figures()["asking"]


async def test_claims_for_another_node_cost_what_comes_with_them_nothing(tmp_path: Path) -> None:
    claim = Claim(MessageId("m"), "c", "R", ("N1",))
    async with opened(tmp_path, TWO, history=THERE) as stage:
        assert (await stage.runtime.receive(batch(copied("N1"), claim))).replies == ()
        assert stage.told == [("N1", "urn:message:1")]
        with pytest.raises(Refusal, match="central history is at"):
            await stage.runtime.receive(batch(claim))
    async with opened(tmp_path) as stage:
        taken = await stage.runtime.receive(batch(copied("N1", 2), copied("X"), claim))
        assert taken.absent == ("copy-X-1",) and stage.told == [("N1", "urn:message:2")]
        (reply,) = taken.replies
        assert MESSAGES.decode(reply.body) == Granted(claim.message, claim.copy, claim.by, claim.names, ())


async def test_what_is_not_a_message_of_notifiers_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path, TWO) as stage:
        for body in (b"\x92\xa1x\x01", b"\x92\xa4copy\x01"):
            with pytest.raises(Refusal, match="not what a node says") as refused:
                await stage.runtime.receive(Batch((WireLetter("x", "N1", Raw(body)),)))
            assert refused.value.reason == "malformed"


async def test_claims_are_made_anew_and_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure of the store, and where another node has the history by now."""
    monkeypatch.setattr(runtime_module, "AGAIN_AFTER", 0.001)
    claim = Claim(MessageId("urn:message:1"), "", "N1", ("N2",))
    async with opened(tmp_path, TWO, history=THERE) as stage:
        await stage.take(published(1, "cin"))
        for number in (2, 3):
            stage.services.refuses["N1"] = Refusal("overloaded", "later")
            with pytest.raises(Refusal):
                await stage.take(copied("N1", number))
            stage.services.refuses.clear()
            await stage.settled()
        await wait_until(lambda: stage.claims() == [(THERE, claim)], "it is asked for once")
    async with opened(tmp_path, history="http://other") as stage:
        await wait_until(lambda: stage.claims() == [("http://other", claim)], "the other is asked")
        await stage.grant(Granted(claim.message, claim.copy, claim.by, claim.names, ()))
        assert [row.lane for row in stage.outbox()] == ["letters"]


async def test_all_that_is_too_old_is_given_up_at_once(tmp_path: Path) -> None:
    asked = 0

    def says(*_: object) -> Answer:
        nonlocal asked
        asked += 1
        return FAILED

    async with opened(tmp_path, MANY) as stage:
        await stage.take(published())
    async with opened(tmp_path, says=says, longest=1.0, begin=10**6 * SECOND) as stage:
        await complete(stage)
        assert asked == 1 and len((await stage.result("urn:message:1")).gone) == 700


async def test_a_row_that_a_node_cannot_read_is_found_and_let_go(tmp_path: Path) -> None:
    taken: list[str] = []

    def says(_: str, said: Said) -> Answer:
        names = [copy.to for copy in said.copies]
        if "M77" in names:
            return Answer(400, encode(Declined("malformed", "cannot be read")))
        taken.extend(names)
        return TAKEN

    async with opened(tmp_path, MANY, says=says) as stage:
        await stage.take(published())
        await wait_until(lambda: len(taken) == 699, "all others are told")
        await wait_until(lambda: not stage.tables.outbox.rows, "nothing is left")
        assert (await stage.result("urn:message:1")).gone == ("M77",)


async def test_a_refusal_of_somebody_between_loses_nothing(tmp_path: Path) -> None:
    answers = iter([Answer(400, b"<html>Bad Gateway</html>")])
    async with opened(tmp_path, TWO, says=lambda *_: next(answers, TAKEN)) as stage:
        await stage.take(published())
        await wait_until(lambda: not stage.tables.outbox.rows, "it is taken")
        assert (await stage.result("urn:message:1")).gone == ()


async def test_after_one_that_never_answered_each_further_message_is_tried_once(tmp_path: Path) -> None:
    changes = world([("C1", "C2")], [*at_home("C1", "N1"), ("N2", "C2", "http://elsewhere/soap")])
    async with opened(tmp_path, changes) as stage:
        await asyncio.gather(*(stage.take(published(number)) for number in range(5)))
    async with opened(tmp_path, says=lambda *_: TAKEN, begin=BEGIN + SECOND) as stage:
        for number in range(5):
            await complete(stage, number)
        assert stage.foreign.asked == 3 + 4


async def test_a_twin_that_the_world_has_elsewhere_by_now_gets_nothing_more(tmp_path: Path) -> None:
    changes = world([("C1", "C2")], [*at_home("C1", "N1"), *at_home("C2", "N2")])
    async with opened(tmp_path, changes) as stage:
        await stage.registry.change([RemoveService("N2")], "operator")
        await move(stage, "N2", THERE)
        await stage.take(published())
        await stage.settled()
        assert stage.told == [] and [row.lane for row in stage.outbox()] == ["letters"]


async def test_messages_from_before_a_node_moved_are_reported_where_it_is_now(tmp_path: Path) -> None:
    changes = world([("C1", "C2")], [*at_home("C1", "N1"), *at_home("C2", "N2")])
    async with opened(tmp_path, changes) as stage:
        stage.services.stuck = True
        await stage.take(published())
    async with opened(tmp_path, node=MOVED, history=MOVED) as stage:
        await wait_until(lambda: not stage.runtime.waits, "all is done")
        assert stage.outbox(HERE) == [] and (await stage.result("urn:message:1")).complete
        others = copied("N2", 5)  # another node may have that address by now
        await stage.take(replace(others, message=replace(others.message, reports=HERE)))
        assert [row.lane for row in stage.outbox(HERE)] == ["reports"]
