"""From where in the log the messages come that wait in a pull point: never told later than it is."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from tocsin.broker.pull_points.pull_point import MARK_EVERY, PullPoint
from tocsin.model.identity import Instant
from tocsin.store.pull_points import PointState

acts = st.lists(st.tuples(st.booleans(), st.integers(0, 300)), max_size=60)


@given(acts)
def test_nothing_that_waits_comes_from_before(acts: list[tuple[bool, int]]) -> None:
    """Puts of many from a place on, places mostly growing, and messages handed out."""

    async def run() -> None:
        point, places, offset = PullPoint(PointState("p"), Instant(0)), list[tuple[int, int]](), 0
        for is_put, amount in acts:
            if is_put:
                offset = max(0, offset + amount - 20)
                for index in range(amount % 100):
                    places.append((offset, index))
                    point.next_number((offset, index))
            else:
                point.handed_out(min(point.last, point.handed_to + amount), Instant(0))
            waiting = places[point.handed_to :]
            told = point.waits_from()
            assert (told is None) == (not waiting)
            assert told is None or told <= min(waiting)

    asyncio.run(run())


async def test_it_is_told_finely_enough() -> None:
    point = PullPoint(PointState("p"), Instant(0))
    for offset in range(1000):
        point.next_number((offset, 0))
    point.handed_out(900, Instant(0))
    told = point.waits_from()
    assert told is not None and told[0] > 900 - MARK_EVERY
