"""Pull-1:n-explicit: participants of a transaction ask their coordinator, and one answer reaches all of them.

python examples/patterns/atomic_commit.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from tocsin import Client, ClientError

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
PARTICIPANTS = ("Flight", "Hotel", "Car")


async def main() -> None:
    async with Client(BROKER) as client, AsyncExitStack() as stack:
        await client.world.load(
            {"topics": {"Trip 4711": None}, "categories": {"Coordinators": None, "Participants": None}}
        )
        await stack.enter_async_context(client.serving("Trip Coordinator", ["Coordinators"]))
        boxes = {}
        for name in PARTICIPANTS:
            service = await stack.enter_async_context(client.serving(name, ["Participants"]))
            boxes[name] = service.subscription
            asked = await client.ask("pull-1:n-explicit", "Trip 4711", "ready", by=name, of="Trip Coordinator")
        told = await client.answer(asked, "commit", by="Trip Coordinator")
        print(f"{len(told.closed)} requests are answered at once")
        for name, box in boxes.items():
            (found,) = await client.pull(box, wait=30)
            print(f"{name}: {found.payload.data.decode()}")
        try:
            await client.answer(asked, "abort", by="Trip Coordinator")
        except ClientError as problem:
            print(problem)


asyncio.run(main())
