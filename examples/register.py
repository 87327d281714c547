"""Register as a publisher, so that the broker and others know who publishes what.

python examples/register.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    async with Client(BROKER, "wsn-1.3") as client:
        registration = await client.register_publisher(topics=["registered/level"], expires="PT1H")
        print(f"registered as {registration.id}; notifications go to {registration.consumer}")
        await client.publish(b"<level>410</level>", topic="registered/level")
        await client.destroy_registration(registration)
        print("no longer registered")


asyncio.run(main())
