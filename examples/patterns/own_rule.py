"""Push-1:1-implicit: the producer's own rule names the one that is told, which never asked. Without a loop.

python examples/patterns/own_rule.py [http://127.0.0.1:8080]
"""

import sys

from tocsin.blocking import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"

with Client(BROKER) as client:
    client.world.load({"topics": {"Fire Alarm": None}, "categories": {"Buildings": None, "Brigades": None}})
    with (
        client.serving("Fire Brigade", ["Brigades"]) as brigade,
        client.serving("Town Hall", ["Buildings"], tells={"Fire Alarm": "Fire Brigade"}),
    ):
        told = client.tell("push-1:1-implicit", "Fire Alarm", {"floor": 3}, by="Town Hall")
        (found,) = client.pull(brigade.subscription, wait=30)
        print(f"told: {', '.join(told.told)}; it got {found.payload.data.decode()} from {found.attribute('root')}")
