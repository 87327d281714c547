import asyncio

import pytest
import uvloop

from tocsin.delivery.timers import Timers


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_alarms_that_are_due_already_ring_in_their_order(loop: "type[asyncio.AbstractEventLoop]") -> None:
    rung = list[int]()

    async def alarms() -> None:
        running = asyncio.get_running_loop()
        timers, now = Timers(running), running.time()
        for number, when in ((2, now), (1, now - 1), (3, now + 0.001)):
            timers.at(when, lambda number=number: rung.append(number))  # type: ignore[misc]
        while len(rung) < 3:
            await asyncio.sleep(0)
        timers.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(alarms(), 60))
    assert rung == [1, 2, 3]
