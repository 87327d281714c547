"""Subscribe in WS-Notification and be told of what is published as a CloudEvent; ends after the first.

python examples/listen.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client, Notification

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    heard: asyncio.Queue[Notification] = asyncio.Queue()
    async with (
        Client(BROKER, "wsn-1.3") as subscriber,
        Client(BROKER, "cloudevents") as publisher,
        subscriber.listening(heard.put, topic="listened//.", expires="PT10M") as lease,
    ):
        print(f"subscribed until {lease.expires}, and renewed before that")
        await publisher.publish(b'{"river": "Inn"}', media_type="application/json", topic="listened/level")
        found = await heard.get()
        print(f"{found.topic}: {found.payload.data.decode()} in {found.payload.media_type}")


asyncio.run(main())
