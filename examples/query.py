"""A distributed query: every hospital that listens says how many beds are free; the answers are watched as they come.

python examples/query.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from tocsin import Client, Notification

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
FREE = {"cloudevents": 12, "wsn-1.3": 0, "wse-2004-08": 30, "webhook": 12}  # a hospital for each dialect


async def count(asked: Notification) -> int:
    await asyncio.sleep(FREE[asked.dialect] / 100)  # somebody has to look
    return FREE[asked.dialect]


async def main() -> None:
    async with AsyncExitStack() as stack:
        for dialect in FREE:
            hospital = await stack.enter_async_context(Client(BROKER, dialect))
            await stack.enter_async_context(hospital.listening(count, topic="queried/beds"))
        desk = await stack.enter_async_context(Client(BROKER))
        view = await desk.publish(
            b"how many beds are free?", media_type="text/plain", topic="queried/beds", reply_type="int:0..5000"
        )
        async for found in view.stream():
            print(f"{found.replied} of {found.receivers} have answered")
            if found.complete:
                break
        beds = sum(int(each.value) * each.count for each in found.histogram)
        print(f"{beds} beds are free: " + ", ".join(f"{each.count} x {each.value}" for each in found.histogram))
        await view.terminate()


asyncio.run(main())
