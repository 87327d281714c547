"""Notifiers as a node runs them: nothing acknowledged is lost, and nothing is handled twice."""

import asyncio
from pathlib import Path

import pytest
from tests.broker.implicit.stage import ELSEWHERE, HERE, THERE, Stage, at_home, copied, opened, published, world
from tests.whole.shell import wait_until

from tocsin.model.identity import Instant, MessageId
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Claim, Granted, Handled, Leave
from tocsin.routing.machine import Expire, Report
from tocsin.runtime import runtime as runtime_module
from tocsin.semantics.interest.changes import Change
from tocsin.semantics.interest.world import World
from tocsin.sim.implicit import disseminate
from tocsin.store.errors import DatabaseFailed
from tocsin.store.machines import Letter, Writing

# The paper's scenarios that loop, double and branch, all at one node.
FIG_7 = world([("C1", "C2"), ("C2", "C3")], [("N1", "C1,C3", HERE), *at_home("C2", "N2"), *at_home("C3", "N3", "N4")])
FIG_8 = world(
    [("C1", "C2"), ("C1", "C3"), ("C3", "C2")],
    [*at_home("C1", "N1"), *at_home("C2", "N2", "N3"), *at_home("C3", "N4", "N5")],
)
FIG_13 = world(
    [("C1", "C2"), ("C1", "C3"), ("C2", "C4"), ("C3", "C4"), ("C4", "C5")],
    [(f"N{number}", f"C{number}", HERE) for number in range(1, 6)],
)
CHAIN = world([("C1", "C2"), ("C2", "C3")], [*at_home("C1", "N1"), *at_home("C2", "N2"), *at_home("C3", "N3")])
# N2 is here, who tells N3 at another node and somebody else's N4.
FORK = world(
    [("C2", "C3")], [*at_home("C2", "N2"), ("N3", "C3", THERE), ("N4", "C3", ELSEWHERE), ("N5", "C3", "http://gone")]
)
MESSAGE = "urn:message:1"


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "AGAIN_AFTER", 0.001)


def failing(stage: Stage, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """The next so many transactions."""
    left, write = [times], stage.tables.write

    def fails(writing: Writing) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise DatabaseFailed("disk full")
        write(writing)

    monkeypatch.setattr(stage.tables, "write", fails)


@pytest.mark.parametrize("protocol", ["bin", "cin", "din", "hin", "hin-din", "dht-cin"])
@pytest.mark.parametrize("changes", [FIG_7, FIG_8, FIG_13], ids=["7", "8", "13"])
async def test_a_node_counts_as_the_simulator_does(tmp_path: Path, changes: list[Change], protocol: str) -> None:
    expected = disseminate(World.of(changes), "N1", "T", protocol, limit=20)
    async with opened(tmp_path, changes) as stage:
        await stage.take(published(protocol=protocol, most=20))
        await stage.settled()
        found = await stage.result(MESSAGE)
        assert found.complete
        assert (found.notifications, found.repetitions) == (expected.notifications, expected.repetitions)
        assert set(found.receivers) == set(expected.receivers) == {name for name, _ in stage.told}
        assert found.stopped == expected.stopped


async def test_what_comes_again_is_acknowledged_and_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        await stage.take(copied("N2"), copied("N2"))
        await stage.take(copied("N2"))
        await stage.settled()
        await stage.take(copied("N2", name="by-another-way"))
        await stage.settled()
        assert stage.told == [("N2", MESSAGE), ("N3", MESSAGE)]
        assert [each.lane for each in stage.outbox()] == ["reports", "reports", "reports"]  # the other way is one more
    async with opened(tmp_path) as stage:
        await stage.take(copied("N2"))
        assert stage.told == []


async def test_a_publication_that_is_repeated_is_the_same_message(tmp_path: Path) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        await asyncio.gather(stage.take(published()), stage.take(published()))
        await stage.take(published())
        await stage.settled()
        assert (await stage.result(MESSAGE)).notifications == 2
        assert stage.told == [("N2", MESSAGE), ("N3", MESSAGE)]


async def test_what_is_acknowledged_goes_on_after_a_crash(tmp_path: Path) -> None:
    """Killed as soon as the publisher has its answer: the copies are on disk, and no more."""
    async with opened(tmp_path, CHAIN) as stage:
        stage.services.stuck = True
        await stage.take(published())
    async with opened(tmp_path) as stage:
        await stage.settled()
        assert stage.told == [("N2", MESSAGE), ("N3", MESSAGE)]
        assert (await stage.result(MESSAGE)).complete


async def test_killed_after_a_service_is_told_it_is_told_again_and_nobody_is_left_out(tmp_path: Path) -> None:
    """A notifier that remembered before it had forwarded would drop the repetition, and N3 would never know."""
    async with opened(tmp_path, CHAIN) as stage:
        stage.services.stuck = True
        taking = asyncio.create_task(stage.take(copied("N2", protocol="din")))
        await wait_until(lambda: stage.told, "N2 is told")
        taking.cancel()
    async with opened(tmp_path) as stage:
        await stage.take(copied("N2", protocol="din"))  # its sender has no answer, and sends again
        await stage.settled()
        assert stage.told == [("N2", MESSAGE), ("N3", MESSAGE)]


@pytest.mark.parametrize("protocol", ["din", "cin", "hin-din"])
async def test_what_cannot_be_written_is_refused_and_did_not_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        failing(stage, monkeypatch, 1)
        with pytest.raises(Refusal) as refused:
            await stage.take(copied("N2", protocol=protocol))
        assert refused.value.reason == "cannot-store"
        await stage.take(copied("N2", protocol=protocol))
        await stage.settled()
        assert stage.told == [("N2", MESSAGE), ("N2", MESSAGE), ("N3", MESSAGE)]
        assert stage.reports == ["implicit notification: DatabaseFailed: disk full"]


async def test_what_was_acknowledged_outlasts_a_store_that_fails_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        await stage.take(published())
        failing(stage, monkeypatch, 3)
        await wait_until(lambda: not stage.runtime.waits and ("N3", MESSAGE) in stage.told, "N3 is told")
        assert (await stage.result(MESSAGE)).complete


async def test_services_that_cannot_be_told_now_refuse_the_copy(tmp_path: Path) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        stage.services.refuses["N2"] = Refusal("overloaded", "later")
        with pytest.raises(Refusal, match="later"):
            await stage.take(copied("N2"))
        del stage.services.refuses["N2"]
        await stage.take(copied("N2"))
        await stage.settled()
        assert [name for name, _ in stage.told] == ["N2", "N3"]


@pytest.mark.parametrize("problem", [Refusal("unknown-topic", "not one of the fixed topics"), OverflowError("year")])
async def test_a_service_that_can_never_be_told_costs_the_others_nothing(tmp_path: Path, problem: Exception) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        stage.services.refuses["N2"] = problem
        await stage.take(copied("N2"))
        await stage.settled()
        assert stage.told == [("N3", MESSAGE)]
        assert "'N2' cannot be told" in stage.reports[0]


async def test_each_target_has_its_own_way(tmp_path: Path) -> None:
    async with opened(tmp_path, FORK) as stage:
        await stage.take(copied("N2"))
        assert set(stage.tables.outbox.lanes()) == {
            (THERE, "letters"),
            (THERE, "reports"),
            (ELSEWHERE, "foreign"),
            ("http://gone", "letters"),
        }


async def test_while_the_history_elsewhere_is_asked_the_copy_waits_and_its_service_is_told_once(tmp_path: Path) -> None:
    """CIN: killed while it waits, it asks again; what is granted is used once."""
    claim = Claim(MessageId(MESSAGE), "copy-N2-1", "N2", ("N3",))
    granted = Granted(claim.message, claim.copy, claim.by, claim.names, ())
    async with opened(tmp_path, CHAIN, history=THERE) as stage:
        await stage.take(copied("N2", protocol="cin"))
        assert stage.told == [("N2", MESSAGE)] and stage.outbox() == []
        await wait_until(lambda: stage.claims() == [(THERE, claim)], "the history is asked")
    async with opened(tmp_path, history=THERE) as stage:
        await stage.settled()
        await wait_until(lambda: stage.claims() == [(THERE, claim)], "it is asked again")
        assert stage.told == []
        await stage.grant(granted)
        stage.runtime.post("N2", granted)
        await stage.settled()
        assert stage.told == [("N3", MESSAGE)]
    async with opened(tmp_path, history=THERE) as stage:
        await stage.settled()
        assert stage.told == []  # N3 asked as well, and waits for its answer


async def test_an_answer_from_before_a_restart_does_not_end_what_is_asked_now(tmp_path: Path) -> None:
    """N4 joined since, and only the second life asks for it."""
    async with opened(tmp_path, CHAIN, history=THERE) as stage:
        await stage.take(copied("N2", protocol="cin"))
    async with opened(tmp_path, world([], at_home("C3", "N4")), history=THERE) as stage:
        await wait_until(stage.claims, "it is asked again")
        stage.runtime.post("N2", Granted(MessageId(MESSAGE), "copy-N2-1", "N2", ("N3",), ()))
        await stage.settled()
        assert stage.told == []
        await stage.grant(Granted(MessageId(MESSAGE), "copy-N2-1", "N2", ("N3", "N4"), ()))
        await stage.settled()
        assert stage.told == [("N3", MESSAGE), ("N4", MESSAGE)]


async def test_publications_that_wait_for_the_history_are_not_confused(tmp_path: Path) -> None:
    async with opened(tmp_path, CHAIN, history=THERE) as stage:
        await stage.take(published(1, "cin"), published(2, "cin"))
        await wait_until(lambda: len(stage.claims()) == 2, "both are asked for")
        for number in (2, 1):
            await stage.grant(Granted(MessageId(f"urn:message:{number}"), "", "N1", ("N2",), ()))
        await stage.settled()
        assert [name for _, name in stage.told] == ["urn:message:2", "urn:message:1"]
        assert not (await stage.result(MESSAGE)).complete  # what N2 may tell is being asked


async def test_the_central_history_answers_the_same_after_a_crash(tmp_path: Path) -> None:
    first, second = (Claim(MessageId("m"), copy, by, ("X",)) for copy, by in (("a", "A"), ("b", "B")))
    async with opened(tmp_path, CHAIN) as stage:
        assert [each.names for each in await stage.take(first, second)] == [("X",), ()]
    async with opened(tmp_path) as stage:
        assert [each.names for each in await stage.take(second, first)] == [(), ("X",)]


async def test_a_notifier_that_leaves_with_copies_waiting_is_reported_gone(tmp_path: Path) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        await stage.take(published(), Letter("N2", Leave()))
        await stage.settled()
        found = await stage.result(MESSAGE)
        assert found.complete and found.gone == ("N2",) and stage.told == []
        assert {name for name in stage.tables.rows() if name} == {"N1", "N3"}


async def test_a_root_that_leaves_just_before_it_publishes_is_reported_gone(tmp_path: Path) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        await stage.take(Letter("N1", Leave()), published())
        found = await stage.result(MESSAGE)
        assert found.complete and found.gone == ("N1",) and found.notifications == 0


async def test_copies_for_who_is_nowhere_are_reported_gone(tmp_path: Path) -> None:
    changes = world([("C1", "C2")], [*at_home("C1", "N1"), ("N2", "C2", "")])
    async with opened(tmp_path, changes) as stage:
        await stage.take(published())
        assert (await stage.result(MESSAGE)).gone == ("N2",)


async def test_what_is_old_is_forgotten_here_and_on_disk(tmp_path: Path) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        await stage.take(published(1, "din"), published(2, "cin"))
        await stage.settled()
        history, notifier, results = stage.history(), stage.notifier("N2"), stage.store.implicit
        assert len(history) and notifier.remembered()
        await stage.take(Expire(Instant(2_000_000_000)))
        assert not len(history) and not notifier.remembered()
        assert {key for rows in stage.tables.rows().values() for key in rows} == {""}
        assert not results.publications(9) and not results.reports(MESSAGE)
        assert stage.tables.known(["publication urn:message:1"]) == set()
        with pytest.raises(Refusal, match="published here"):
            await stage.result(MESSAGE)


async def test_what_waits_is_not_forgotten(tmp_path: Path) -> None:
    async with opened(tmp_path, CHAIN, history=THERE) as stage:
        await stage.take(copied("N2", protocol="cin"), Expire(Instant(2_000_000_000)))
        assert "waits:copy-N2-1" in stage.tables.rows()["N2"]


async def test_a_report_on_what_is_not_known_is_let_go(tmp_path: Path) -> None:
    async with opened(tmp_path, CHAIN) as stage:
        await stage.take(Report(Handled(MessageId("other"), "c", "A", "B", 1, Instant(1)), HERE))
        assert stage.store.implicit.reports("other") == []


async def test_more_than_can_wait_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "MOST_WAITING", 3)
    async with opened(tmp_path) as stage:
        with pytest.raises(Refusal) as refused:
            await stage.take(*(copied("N2", number) for number in range(4)))
        assert refused.value.reason == "overloaded"


async def test_many_at_once_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    async with opened(tmp_path, CHAIN) as stage:
        write = stage.tables.write

        def counted(writing: Writing) -> None:
            writes.append(len(writing.done))
            write(writing)

        monkeypatch.setattr(stage.tables, "write", counted)
        await asyncio.gather(*(stage.take(copied("N3", number)) for number in range(500)))
        assert sum(writes) == 500 and len(writes) < 5
        assert len(stage.told) == 500
