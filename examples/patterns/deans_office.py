"""Pull-1:n-implicit by multicast: the Dean's office answers one department, and all whom the graph of interests names.

python examples/patterns/deans_office.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
DEPARTMENTS = ("Computer Science", "Mathematics", "Physics")


async def main() -> None:
    async with Client(BROKER) as client, AsyncExitStack() as stack:
        await client.world.load(
            {
                "topics": {"Regulations": None},
                "categories": {"College": None, "Departments": "College", "Offices": "College"},
                "edges": [["Offices", "Regulations", "Departments"]],
            }
        )
        office = await stack.enter_async_context(client.serving("Dean's Office", ["Offices"]))
        boxes = {}
        for name in DEPARTMENTS:
            service = await stack.enter_async_context(client.serving(name, ["Departments"]))
            boxes[name] = service.subscription
        question = "what does rule 12 mean?"
        await client.ask(
            "pull-1:n-implicit", "Regulations", question, by="Physics", of="Dean's Office", also="interests"
        )
        (asked,) = await client.pull(office.subscription, wait=30)
        print(f"{asked.attribute('root')} asks: {asked.payload.data.decode()}")
        told = await client.answer(asked, "theses are in English", by="Dean's Office")
        print(f"told: {', '.join(told.told)}")
        for name, box in boxes.items():
            (found,) = await client.pull(box, wait=30)
            print(f"{name}: {found.payload.data.decode()}")


asyncio.run(main())
