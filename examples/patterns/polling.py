"""Pull-1:1-explicit by polling: a subscription whose messages wait until the consumer comes for them.

python examples/patterns/polling.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from collections.abc import Sequence

from tocsin import Client, Notification, PullPoint

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def poll(client: Client, point: PullPoint) -> Sequence[Notification]:
    """At regular intervals, until something is there."""
    while True:
        await asyncio.sleep(0.05)
        if found := await client.pull(point):
            return found


async def main() -> None:
    async with Client(BROKER) as client, client.pulling(topic="gauges//.") as point:
        seen: list[str] = []
        for level in (410, 423):
            print(f"nothing yet: {await client.pull(point)}")
            await client.publish(str(level).encode(), media_type="text/plain", topic="gauges/ilz")
            seen += [each.payload.data.decode() for each in await poll(client, point)]
        print(f"polled: {', '.join(seen)}")
        last = await client.current_message("gauges/ilz")
        print(f"and the last is {last.payload.data.decode()}")


asyncio.run(main())
