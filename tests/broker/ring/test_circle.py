"""Work that goes by a roster: begun again with the next one, refused by who is cut off, and never for ever."""

import asyncio

import pytest

from tocsin.broker.ring import circle as module
from tocsin.broker.ring.circle import Circle, Unreachable, moved
from tocsin.broker.ring.settling import Ready
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.roster import Member, Roster

MEMBERS = tuple(Member(name, place, f"127.0.0.1:{place}") for name, place in (("a", 10), ("b", 20), ("c", 30)))


def roster(number: int, *names: str) -> Roster:
    return Roster(number, tuple(each for each in MEMBERS if each.name in names), "a 0")


async def circle(*, may_act: bool = True) -> Circle:
    made = Circle("a", lambda: may_act)
    await made.take(roster(1, "a", "b"))
    return made


async def test_work_is_begun_again_with_the_next_roster() -> None:
    made, seen = await circle(), []

    async def work(by: Roster) -> str:
        seen.append(by.number)
        if by.number == 1:
            asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(made.take(roster(2, "a", "c"))))
            raise Unreachable("b does not answer")
        return "done"

    assert await made.agreed(work) == "done"
    assert seen[0] == 1 and seen[-1] == 2


async def test_what_is_wrong_is_not_tried_again() -> None:
    made, tries = await circle(), []

    async def work(by: Roster) -> None:
        tries.append(by)
        raise Refusal("bad-filter", "no such space")

    with pytest.raises(Refusal, match="no such space"):
        await made.agreed(work)
    assert len(tries) == 1


async def test_who_is_cut_off_says_so_and_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALONE", 0.05)
    made = await circle(may_act=False)

    async def work(by: Roster) -> None:
        raise AssertionError(by)

    with pytest.raises(Refusal, match="does not reach the most of its ring"):
        await made.agreed(work)


async def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    made = await circle()

    async def work(by: Roster) -> None:
        raise moved(by.number + 1)

    with pytest.raises(Refusal, match="does not come to terms"):
        await made.agreed(work)


async def test_who_was_put_out_takes_nothing_before_it_goes_by_the_next_roster() -> None:
    made = await circle()
    await made.ready(1)
    made.put_out()
    assert not made.is_ready and made.may_act()
    waiting = asyncio.create_task(made.same(1, ready=True))
    await asyncio.sleep(0)
    assert not waiting.done()
    await made.take(roster(3, "a", "b"))
    with pytest.raises(Refusal, match="has roster 3"):
        await waiting
    assert not made.is_ready
    await made.ready(3)
    assert made.is_ready


async def test_who_goes_by_an_older_roster_is_told_and_a_newer_one_is_waited_for() -> None:
    made = await circle()
    await made.ready(1)
    assert (await made.same(1, ready=True)).number == 1
    waiting = asyncio.create_task(made.same(2, ready=True))
    await asyncio.sleep(0)
    await made.take(roster(2, "a", "b", "c"))
    await asyncio.sleep(0)
    assert not waiting.done()
    await made.ready(2)
    assert (await waiting).number == 2
    with pytest.raises(Refusal, match="the ring has changed"):
        await made.same(1)


async def test_a_forced_roster_is_later_than_all_that_were_agreed_on() -> None:
    made = await circle()
    await made.take(roster(9, "a", "b"))
    await made.take(Roster(3, (MEMBERS[0],), "a 0", 1, True))
    assert len(made.roster.members) == 1


@pytest.mark.parametrize(
    "ready, arc, has",
    [
        ((10, 20), (10, 20), True),
        ((10, 20), (12, 20), True),
        ((10, 20), (10, 15), True),
        ((10, 20), (5, 20), False),
        ((10, 20), (10, 25), False),
        ((10, 20), (30, 40), False),
        ((10, 20), (20, 20), False),
        ((10, 10), (3, 7), True),
        ((10, 10), (10, 10), True),
        ((250, 20), (255, 10), True),
        ((250, 20), (10, 255), False),
    ],
)
def test_an_arc_that_became_smaller_is_still_whole(ready: tuple[int, int], arc: tuple[int, int], has: bool) -> None:
    assert Ready(1, *ready).has(*arc) is has
