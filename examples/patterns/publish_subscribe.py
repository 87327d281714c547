"""Push-1:n-explicit: publish/subscribe. Services subscribe at a producer; so does a program in WS-Notification.

python examples/patterns/publish_subscribe.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client, Notification

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    heard: asyncio.Queue[Notification] = asyncio.Queue()
    async with Client(BROKER) as client, Client(BROKER, "wsn-1.3") as other:
        await client.world.load({"topics": {"Stock": None, "Price": "Stock"}, "categories": {"Traders": None}})
        async with (
            client.serving("Exchange", ["Traders"]),
            client.serving("Ann Trader", ["Traders"]) as ann,
            client.serving("Ben Trader", ["Traders"]) as ben,
            other.listening(heard.put, topic="Stock/Price"),
        ):
            for name in (ann.name, ben.name):
                await client.ask("push-1:n-explicit", "Stock", by=name, of="Exchange")
            told = await client.tell("push-1:n-explicit", "Price", {"ACME": 31.4}, by="Exchange")
            print(f"told: {', '.join(told.told)}")
            for each in (ann, ben):
                (found,) = await client.pull(each.subscription, wait=30)
                print(f"{each.name} got {found.payload.data.decode()} about {found.topic}")
            print(f"and the program in WS-Notification {(await heard.get()).topic}")


asyncio.run(main())
