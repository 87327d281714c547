"""Push-1:1-explicit in a tree: each subscribes with its children only, and reports to its parent only.

python examples/patterns/hierarchical.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
PARENT = {"Station A": "District", "Station B": "District", "District": "Headquarters", "Headquarters": ""}


async def main() -> None:
    async with Client(BROKER) as client, AsyncExitStack() as stack:
        await client.world.load({"topics": {"Water Level": None}, "categories": {"Water Offices": None}})
        boxes = {}
        for name in PARENT:
            service = await stack.enter_async_context(client.serving(name, ["Water Offices"]))
            boxes[name] = service.subscription
        for child, parent in PARENT.items():
            if parent:
                await client.ask("push-1:1-explicit", "Water Level", by=parent, of=child)

        for station, level in {"Station A": 410, "Station B": 423}.items():
            await client.tell("push-1:1-explicit", "Water Level", level, by=station)
        levels: list[int] = []
        while len(levels) < 2:
            levels += [int(each.payload.data) for each in await client.pull(boxes["District"], wait=30)]
        await client.tell("push-1:1-explicit", "Water Level", max(levels), by="District")
        (report,) = await client.pull(boxes["Headquarters"], wait=30)
        print(f"headquarters hear of the highest level only: {report.payload.data.decode()}")


asyncio.run(main())
