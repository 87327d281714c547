"""What leaves a node: whom it is for is looked up before it is given up, and what fails holds nothing else back."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.broker.implicit.stage import HERE, THERE, Stage, at_home, copied, opened, published, world
from tests.whole.shell import wait_until

from tocsin.broker.implicit import shell as shell_module
from tocsin.broker.implicit.lane import Means, Patience
from tocsin.broker.implicit.machines import decode_copy
from tocsin.broker.implicit.peer_side import PeerSide
from tocsin.broker.implicit.peers import Peers
from tocsin.broker.implicit.turn import Here
from tocsin.delivery.settings import DeliverySettings
from tocsin.model.identity import SECOND, Instant, MessageId, Pairs
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Claim, Granted
from tocsin.runtime.link import Link
from tocsin.semantics.interest.changes import PutService, RemoveService
from tocsin.semantics.interest.ino import Service
from tocsin.store.implicit_outbox import Outgoing
from tocsin.wire.addresses import AddressGuard
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import Batch, Declined, Taken, decode_batch, encode

MOVED = "http://moved"
TWO = world([("C1", "C2")], [*at_home("C1", "N1"), ("N2", "C2", THERE)])
MANY = world([("C1", "C2")], [*at_home("C1", "N1"), *((f"M{number}", "C2", THERE) for number in range(700))])
FAILED, TAKEN = Answer(0, error="nobody there"), Answer(200, encode(Taken()))
QUICK = DeliverySettings(attempts=3, first_delay=0.001, longest_delay=0.01)
Says = Callable[[str, Batch], Answer]


class Scripted(Link):
    def __init__(self, says: Says, http: HttpClient, now: int) -> None:
        super().__init__(http, b"", lambda: Instant(now))
        self._says = says

    async def ask(self, method: str, node: str, target: str, body: bytes = b"") -> Answer:
        return self._says(node, decode_batch(body))


class Foreign(HttpClient):
    """Somebody else's notifiers, none of whom answers."""

    def __init__(self) -> None:
        super().__init__(timeout=1, guard=AddressGuard(loopback_allowed=True))
        self.asked = 0

    async def request(self, method: str, url: str, headers: Pairs = (), body: bytes = b"", **more: object) -> Answer:
        self.asked += 1
        return FAILED


@contextlib.asynccontextmanager
async def sending(stage: Stage, says: Says, longest: float = 1e6, now: int = 1_000_000_000) -> AsyncIterator[Foreign]:
    http = Foreign()
    link = Scripted(says, http, now)
    means = Means(link, stage.store.implicit.outbox, stage.registry, stage.shell.take, Patience(QUICK, longest), print)
    peers = Peers(means)
    stage.shell.send = peers.send
    await peers.start()
    try:
        yield http
    finally:
        await peers.close()
        await http.close()


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
    async with opened(tmp_path, TWO) as stage:
        await stage.take(published())
        absent = Answer(200, encode(Taken(tuple(copy_id(row) for row in stage.outbox()))))

        def says(node: str, batch: Batch) -> Answer:
            stage.registry.world().apply(PutService(Service("N2", ("C2",), notifier=f"{MOVED}/x", node=MOVED)))
            seen.extend((node, copy.to) for copy in batch.copies)
            return TAKEN if node == MOVED else FAILED if dead else absent

        async with sending(stage, says):
            await wait_until(lambda: (MOVED, "N2") in seen, "N2 is told")
            assert (await stage.result("urn:message:1")).gone == ()
            await wait_until(lambda: not stage.store.implicit.outbox.rows, "nothing is left")


def copy_id(row: Outgoing) -> str:
    return decode_copy(row.body).id


async def test_who_is_not_known_here_is_asked_for_before_it_is_called_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A neighbour that has left the part which this node knows, and one that has left the world."""
    seen: list[str] = []
    changes = world([("C1", "C2")], [*at_home("C1", "N1"), ("N2", "C2", THERE), ("N3", "C2", THERE)])
    async with opened(tmp_path, changes) as stage:
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
        told: list[str] = []

        def says(_: str, batch: Batch) -> Answer:
            told.extend(copy.to for copy in batch.copies)
            return TAKEN

        async with sending(stage, says):
            await wait_until(lambda: told == ["N2"], "N2 is told")
            await wait_until(lambda: not stage.store.implicit.outbox.rows, "nothing is left")
        assert (await stage.result("urn:message:1")).gone == ("N3",)


async def test_claims_that_are_not_taken_hold_back_nothing_else(tmp_path: Path) -> None:
    told: list[str] = []

    def says(_: str, batch: Batch) -> Answer:
        if batch.claims:
            return Answer(421, encode(Declined("not-here", "elsewhere")))
        told.extend(copy.to for copy in batch.copies)
        return TAKEN

    async with opened(tmp_path, TWO, history=THERE) as stage, sending(stage, says):
        await stage.take(published(1, "cin"))
        await stage.take(published(2, "din"))
        await wait_until(lambda: told == ["N2"], "N2 is told")


async def test_claims_for_another_node_cost_what_comes_with_them_nothing(tmp_path: Path) -> None:
    claim = Claim(MessageId("m"), "c", "R", ("N1",))
    async with opened(tmp_path, TWO, history=THERE) as stage:
        side = PeerSide(Here(HERE, THERE), b"", 1, stage.shell, stage.registry, lambda: Instant(1))
        assert (await side.from_peer(Batch((copied("N1"),), (), (claim,)))).granted == ()
        assert stage.told == [("N1", "urn:message:1")]
        with pytest.raises(Refusal, match="central history is at"):
            await side.from_peer(Batch(claims=(claim,)))


async def test_claims_are_made_anew_and_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure of the store, and where another node has the history by now."""
    monkeypatch.setattr(shell_module, "AGAIN_AFTER", 0.001)
    async with opened(tmp_path, TWO, history=THERE) as stage:
        await stage.take(published(1, "cin"))
        for number in (2, 3):
            stage.refuses["N1"] = Refusal("overloaded", "later")
            with pytest.raises(Refusal):
                await stage.take(copied("N1", number))
            stage.refuses.clear()
            await stage.settled()
        assert [row.kind for row in stage.outbox()] == ["claim"]
    async with opened(tmp_path, history="http://other") as stage:
        await stage.settled()
        assert stage.outbox() == [] and [row.kind for row in stage.outbox("http://other")] == ["claim"]
        claim = Claim(MessageId("urn:message:1"), "", "N1", ("N2",))
        await stage.take(Granted(claim.message, claim.copy, claim.by, claim.names, ()))
        assert [row.kind for row in stage.outbox()] == ["copy"]


async def test_all_that_is_too_old_is_given_up_at_once(tmp_path: Path) -> None:
    asked = 0

    def says(*_: object) -> Answer:
        nonlocal asked
        asked += 1
        return FAILED

    async with opened(tmp_path, MANY) as stage:
        await stage.take(published())
        async with sending(stage, says, longest=1.0, now=10**6 * SECOND):
            await complete(stage)
        assert asked == 1 and len((await stage.result("urn:message:1")).gone) == 700


async def test_a_row_that_a_node_cannot_read_is_found_and_let_go(tmp_path: Path) -> None:
    taken: list[str] = []

    def says(_: str, batch: Batch) -> Answer:
        names = [copy.to for copy in batch.copies]
        if "M77" in names:
            return Answer(400, encode(Declined("malformed", "cannot be read")))
        taken.extend(names)
        return TAKEN

    async with opened(tmp_path, MANY) as stage:
        await stage.take(published())
        async with sending(stage, says):
            await wait_until(lambda: len(taken) == 699, "all others are told")
            await wait_until(lambda: not stage.store.implicit.outbox.rows, "nothing is left")
        assert (await stage.result("urn:message:1")).gone == ("M77",)


async def test_a_refusal_of_somebody_between_loses_nothing(tmp_path: Path) -> None:
    answers = iter([Answer(400, b"<html>Bad Gateway</html>")])
    async with opened(tmp_path, TWO) as stage:
        await stage.take(published())
        async with sending(stage, lambda *_: next(answers, TAKEN)):
            await wait_until(lambda: not stage.store.implicit.outbox.rows, "it is taken")
        assert (await stage.result("urn:message:1")).gone == ()


async def test_after_one_that_never_answered_each_further_message_is_tried_once(tmp_path: Path) -> None:
    changes = world([("C1", "C2")], [*at_home("C1", "N1"), ("N2", "C2", "http://elsewhere/soap")])
    async with opened(tmp_path, changes) as stage:
        await asyncio.gather(*(stage.take(published(number)) for number in range(5)))
        async with sending(stage, lambda *_: TAKEN) as foreign:
            for number in range(5):
                await complete(stage, number)
            assert foreign.asked == 3 + 4


async def test_a_twin_that_the_world_has_elsewhere_by_now_gets_nothing_more(tmp_path: Path) -> None:
    changes = world([("C1", "C2")], [*at_home("C1", "N1"), *at_home("C2", "N2")])
    async with opened(tmp_path, changes) as stage:
        await stage.registry.change([RemoveService("N2")], "operator")
        await move(stage, "N2", THERE)
        await stage.take(published())
        await stage.settled()
        assert stage.told == [] and [row.kind for row in stage.outbox()] == ["copy"]


async def test_messages_from_before_a_node_moved_are_reported_where_it_is_now(tmp_path: Path) -> None:
    changes = world([("C1", "C2")], [*at_home("C1", "N1"), *at_home("C2", "N2")])
    async with opened(tmp_path, changes) as stage:
        stage.stuck = True
        await stage.take(published())
    async with opened(tmp_path, node=MOVED, history=MOVED) as stage:
        await wait_until(lambda: not stage.shell.waits, "all is done")
        assert stage.outbox(HERE) == [] and (await stage.result("urn:message:1")).complete
        others = copied("N2", 5)  # another node may have that address by now
        await stage.take(replace(others, message=replace(others.message, reports=HERE)))
        assert [row.kind for row in stage.outbox(HERE)] == ["report"]
