"""A crisis desk asks through its notifier: whoever the graph of interests tells can answer, though nobody subscribed.

python examples/crisis_desk.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from tocsin import Client, all_replied, deadline

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
WORLD = {
    "topics": {"Free Beds": None},
    "categories": {"Crisis Desks": None, "Sickbays": None, "Field Hospitals": "Sickbays"},
    "edges": [["Crisis Desks", "Free Beds", "Sickbays"]],
}
BEDS = {"Saint Anna": 12, "University": 40, "Tent 4": None}  # nobody is in the tent


async def main() -> None:
    async with Client(BROKER) as client, AsyncExitStack() as stack:
        await client.world.load(WORLD)
        await stack.enter_async_context(client.serving("Crisis Desk East", ["Crisis Desks"]))
        boxes = {}
        for name in BEDS:
            kind = "Field Hospitals" if name.startswith("Tent") else "Sickbays"
            boxes[name] = (await stack.enter_async_context(client.serving(name, [kind]))).subscription
        view = await client.notifiers.publish(
            "Crisis Desk East", "Free Beds", "how many beds?", reply_type="int:0..5000", reply_for="10m"
        )
        told = await client.notifiers.result(view.message, wait=30)
        print(f"told: {', '.join(sorted(told.receivers))}")
        for name, beds in BEDS.items():
            (asked,) = await client.pull(boxes[name], wait=30)
            if beds is not None:
                await client.reply(asked, beds)
        found = await view.wait(all_replied() | deadline(1))
        answers = ", ".join(sorted(each.value for each in found.histogram))
        print(f"beds: {answers}; {found.outstanding} of {found.receivers} outstanding")
        await view.terminate()


asyncio.run(main())
