"""Pull-1:1-implicit: the broker is a travel agency that picks the airline, whose news follow until they are ended.

python examples/patterns/travel_agency.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
AIRLINES = {
    "Alpha Air": ({"price": 420, "punctuality": 0.95}, ["refundable"]),
    "Budget Wings": ({"price": 90, "punctuality": 0.6}, []),
    "Comfort Jet": ({"price": 380, "punctuality": 0.9}, ["refundable"]),
}
WISHES: dict[str, dict[str, object]] = {
    "price": {"weight": 2, "better": "lower", "at_most": 500},
    "punctuality": {"weight": 1},
}


async def main() -> None:
    async with Client(BROKER) as client, AsyncExitStack() as stack:
        await client.world.load(
            {
                "topics": {"Flight Booking": None},
                "categories": {"Carriers": None, "Airlines": "Carriers", "Travellers": None},
            }
        )
        boxes = {}
        for name, (qualities, policies) in AIRLINES.items():
            airline = client.serving(name, ["Airlines"], qualities=qualities, policies=policies)
            boxes[name] = (await stack.enter_async_context(airline)).subscription
        traveller = await stack.enter_async_context(client.serving("Traveller", ["Travellers"]))

        asked = await client.ask(
            "pull-1:1-implicit",
            "Flight Booking",
            {"from": "DTW", "to": "CDG"},
            by="Traveller",
            category="Carriers",
            qualities=WISHES,
            policies=["refundable"],
        )
        assert asked.chosen_because is not None
        for each in asked.chosen_because.scored:
            print(f"{each.service}: {each.score:.2f}")
        print(f"the broker picked {asked.of}; excluded: {asked.chosen_because.excluded}")
        (wish,) = await client.pull(boxes[asked.of], wait=30)
        for news in ("booked", "gate B12", "cancelled"):
            await client.answer(wish, news, by=asked.of)
        heard: list[str] = []
        while len(heard) < 3:
            heard += [each.payload.data.decode() for each in await client.pull(traveller.subscription, wait=30)]
        print(f"the traveller hears: {', '.join(heard)}")
        await client.end_request(asked, by="Traveller")
        print(f"it is {(await client.request(asked)).state}, after {asked.of} had answered 3 times")


asyncio.run(main())
