"""Push-1:1-explicit: pipes and filters. Each step takes what the one before it made, and has no other reader.

python examples/patterns/pipes_and_filters.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from itertools import pairwise

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
STEPS = ("Camera", "Denoise", "Detect", "Desk")
WORK = {"Denoise": lambda frame: frame - {"noise"}, "Detect": lambda frame: frame & {"smoke", "fire"}}


async def main() -> None:
    async with Client(BROKER) as client, AsyncExitStack() as stack:
        await client.world.load({"topics": {"Frames": None}, "categories": {"Image Steps": None}})
        boxes = {}
        for name in STEPS:
            service = await stack.enter_async_context(client.serving(name, ["Image Steps"]))
            boxes[name] = service.subscription
        for before, after in pairwise(STEPS):
            await client.ask("push-1:1-explicit", "Frames", by=after, of=before)

        async def step(name: str) -> None:
            (found,) = await client.pull(boxes[name], limit=1, wait=30)
            frame = sorted(WORK[name](set(found.payload.data.decode().split())))
            await client.tell("push-1:1-explicit", "Frames", " ".join(frame), by=name)

        await client.tell("push-1:1-explicit", "Frames", "noise smoke trees", by="Camera")
        for name in WORK:
            await step(name)
        (seen,) = await client.pull(boxes["Desk"], wait=30)
        print(f"the desk sees: {seen.payload.data.decode()}")


asyncio.run(main())
