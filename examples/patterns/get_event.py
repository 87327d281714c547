"""Pull-1:1-explicit: one service asks another, and is answered.

python examples/patterns/get_event.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    async with Client(BROKER) as client:
        await client.world.load({"topics": {"Beds": None}, "categories": {"Hospitals": None, "Desks": None}})
        async with (
            client.serving("Saint Anna", ["Hospitals"]) as hospital,
            client.serving("Crisis Desk", ["Desks"]) as desk,
        ):
            await client.ask("pull-1:1-explicit", "Beds", {"ward": "surgery"}, by="Crisis Desk", of="Saint Anna")
            (asked,) = await client.pull(hospital.subscription, wait=30)
            print(f"asked {asked.payload.data.decode()}, to be answered at {asked.attribute('replyto')}")
            await client.answer(asked, {"free": 12}, by="Saint Anna")
            (answer,) = await client.pull(desk.subscription, wait=30)
            print(f"the desk is answered {answer.payload.data.decode()}")


asyncio.run(main())
