"""Pull-1:1-explicit as an observer: told that a film is there, the consumer fetches it when it has time for it.

python examples/patterns/thin_notice.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client, Notification

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    heard: asyncio.Queue[Notification] = asyncio.Queue()
    async with Client(BROKER) as client, client.listening(heard.put, topic="films//.", thin=True):
        await client.publish(bytes(500_000), media_type="video/mp4", topic="films/bridge", producer="urn:camera:7")
        notice = await heard.get()
        print(f"a {notice.payload.media_type} about {notice.topic} is there, {len(notice.payload.data)} bytes so far")
        film = await client.fetch(notice)
        print(f"fetched {len(film.data)} bytes of {film.media_type}")


asyncio.run(main())
