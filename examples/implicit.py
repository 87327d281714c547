"""Implicit notification: whoever must know is told, though nobody has subscribed.

python examples/implicit.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
WORLD = {
    "topics": {"Storm": None, "Storm/Warning": "Storm"},
    "categories": {"Observatories": None, "Ports": None, "Pilots": "Ports"},
    "edges": [["Observatories", "Storm/Warning", "Ports"]],
}


async def main() -> None:
    async with Client(BROKER) as client:
        await client.world.load(WORLD, by="the desk")
        for name, category in (("Kiel observatory", "Observatories"), ("Port of Kiel", "Ports"), ("Pilot 7", "Pilots")):
            await client.notifiers.create(name, [category])
        message = await client.notifiers.publish("Kiel observatory", "Storm", {"beaufort": 11})
        told = await client.notifiers.result(message, wait=30)
        for step in told.trace:
            print(f"{step.sender} told {step.to} at hop {step.hop}")
        pilot = await client.notifiers.get("Pilot 7")
        for found in await client.pull(pilot.subscription, wait=30):
            print(f"the pilot hears of {found.topic}: {found.payload.data.decode()}")

        await client.world.edge("Ports", "Storm", "Observatories", by="ann", note="they could report the wind")
        for by in ("bob", "cleo"):
            edge = await client.world.vote("Ports", "Storm", "Observatories", by=by)
        print(f"the edge {'counts' if edge.counts else 'does not count'}: {edge.why}")


asyncio.run(main())
