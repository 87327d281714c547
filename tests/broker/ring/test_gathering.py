"""What goes to another node waits for others of its topic: never longer than it may, and nobody is forgotten."""

import asyncio

from tocsin.broker.ring.gathering import Gathering

FLOW = ("/topics", 7)


async def test_the_first_of_a_topic_goes_at_once() -> None:
    gathering = Gathering(max_latency=60.0, idle=60.0)
    await asyncio.wait_for(gathering.turn(FLOW, 10), 30)


async def test_many_of_a_topic_go_together_and_all_of_them_go() -> None:
    gathering = Gathering(max_latency=0.2, idle=60.0)
    gone: list[int] = []

    async def one(number: int) -> None:
        await gathering.turn(FLOW, 10)
        gone.append(number)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(300):
            group.create_task(one(number))
            await asyncio.sleep(0.001)
    assert gone == list(range(300))


async def test_a_topic_that_was_idle_is_forgotten() -> None:
    gathering = Gathering(max_latency=0.05, idle=0.05)
    await gathering.turn(FLOW, 10)
    while len(gathering) > 1 or FLOW in gathering:
        await asyncio.sleep(0.01)
        await gathering.turn(("/topics", 8), 10)


async def test_whoever_waits_and_goes_away_keeps_nobody() -> None:
    gathering = Gathering(max_latency=0.1, idle=60.0)
    waiting = [asyncio.create_task(gathering.turn(FLOW, 10)) for _ in range(50)]
    await asyncio.sleep(0)
    waiting[-1].cancel()
    async with asyncio.timeout(60):
        done = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in done[:-1]] == [type(None)] * 49
