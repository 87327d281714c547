"""Publish one alert in each dialect; whoever subscribed gets it in the dialect of its own.

python examples/publish.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    for dialect in ("wsn-1.3", "wse-2004-08", "cloudevents"):
        async with Client(BROKER, dialect) as client:
            name = await client.publish(b"<alert>Passau</alert>", topic="flood/severe", producer="urn:river-gauge")
            print(f"{dialect}: accepted as {name}")


asyncio.run(main())
