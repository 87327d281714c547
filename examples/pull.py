"""Fetch messages without an address of one's own, as ONVIF clients do.

python examples/pull.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    async with Client(BROKER, "onvif") as client, client.pulling(topic="pulled//.") as point:
        print(f"messages wait at {point.address}")
        for river in ("Inn", "Ilz"):
            await client.publish(f"<alert>{river}</alert>".encode(), topic="pulled/severe")
        left = 2
        while left:
            for found in await client.pull(point, wait=30):
                print(f"{found.topic}: {found.payload.data.decode()}")
                left -= 1


asyncio.run(main())
