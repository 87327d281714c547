"""Ask for the last message about a topic, in the words of WS-Notification.

python examples/current.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    async with Client(BROKER, "wsn-1.3") as client:
        for level in (410, 423):
            await client.publish(f"<level>{level}</level>".encode(), topic="gauge/passau")
        found = await client.current_message("gauge/passau")
        print(f"the last level is {found.payload.data.decode()}")


asyncio.run(main())
