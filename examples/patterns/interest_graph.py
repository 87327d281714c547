"""Push-1:n-implicit: the graph of interests names who is told, and those pass it on; nobody has subscribed.

python examples/patterns/interest_graph.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
WORLD = {
    "topics": {"Tremor": None},
    "categories": {"Seismologists": None, "Relief": None, "Press": None},
    "edges": [
        ["Seismologists", "Tremor", "Seismologists"],
        ["Seismologists", "Tremor", "Relief"],
        ["Relief", "Tremor", "Press"],
    ],
}
SERVICES = {"Observatory": "Seismologists", "Institute": "Seismologists", "Red Cross": "Relief", "Radio": "Press"}


async def main() -> None:
    async with Client(BROKER) as client, AsyncExitStack() as stack:
        await client.world.load(WORLD)
        for name, category in SERVICES.items():
            await stack.enter_async_context(client.serving(name, [category]))
        told = await client.tell(
            "push-1:n-implicit", "Tremor", {"magnitude": 5.1}, by="Observatory", protocol="hin-din"
        )
        print(f"told at once: {', '.join(told.told)}")
        result = await client.notifiers.result(told.message, wait=30)
        print(f"told in the end: {', '.join(sorted(result.receivers))}, with {result.repetitions} repetitions")


asyncio.run(main())
