"""Acknowledgement of receipt: an alert asks everybody who gets it to confirm, and says who has not.

python examples/acknowledge.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from tocsin import Client, Notification, all_replied, deadline

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


def confirm(alert: Notification) -> str | None:
    """What a handler returns is its reply, where one is asked for."""
    return "received" if alert.reply_type else None


def overlook(alert: Notification) -> None:
    del alert


async def main() -> None:
    async with Client(BROKER, "wsn-1.3") as station, Client(BROKER) as desk, AsyncExitStack() as stack:
        for client, handler in ((station, confirm), (desk, confirm), (desk, overlook)):
            await stack.enter_async_context(client.listening(handler, topic="acknowledged/alerts"))
        view = await desk.publish(
            b"<alert>the dam may not hold</alert>", topic="acknowledged/alerts", reply_type="enum:received"
        )
        found = await view.wait(all_replied() | deadline(2))
        print(f"{found.replied} of {found.receivers} confirm, {found.outstanding} do not ({found.met})")
        await view.terminate()


asyncio.run(main())
