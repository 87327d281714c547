"""What is acknowledged is at all who keep copies; what waits for them when nobody does any more is not."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tocsin.broker.ring.circle import Circle, Unreachable
from tocsin.broker.ring.copies import Copies, Settled
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.roster import Member

KEEPER = Member("b", 20, "127.0.0.1:20")


class CutOff:
    async def ask(self, *_: Any) -> Any:
        raise Unreachable("nobody answers")


class Appended:
    """A log of eight records on disk."""

    next_offset = durable = 8

    def start(self) -> int:
        return 0

    def end(self) -> int:
        return 8

    def frames(self, first: int, end: int) -> Iterator[tuple[int, bytes]]:
        yield from ((at, b"%d" % at) for at in range(first, end))


def copies() -> Copies:
    log: Any = Appended()
    asking: Any = CutOff()
    return Copies(Circle("a", lambda: True), asking, log, log, Settled, list, lambda: Instant(0))


async def stored() -> "asyncio.Future[int]":
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    done.set_result(0)
    return done


async def test_what_waits_for_copies_is_refused_by_who_is_put_out() -> None:
    made = copies()
    made.chosen("0/a", (KEEPER,))
    covered = made.covered(await stored(), 0)
    await asyncio.sleep(0)
    assert made.is_needed and not covered.done()
    made.put_out()
    with pytest.raises(Refusal, match="put out"):
        await covered
    assert not made.is_needed
    await made.close()


async def test_who_is_no_keeper_any_more_is_not_waited_for() -> None:
    made = copies()
    made.chosen("0/a", (KEEPER,))
    covered = made.covered(await stored(), 0)
    await asyncio.sleep(0)
    made.chosen("0/a", ())
    assert await covered == 0
    await made.close()


async def test_what_was_appended_while_nobody_kept_any_is_read_from_disk() -> None:
    made = copies()
    made.appended(1, [b"1", b"2"])
    assert await made.records(2) == [b"2"]
    made.appended(6, [b"6", b"7"])  # 3 to 5 nobody was to keep
    for first in range(8):
        assert await made.records(first) == [b"%d" % at for at in range(first, 8)]
