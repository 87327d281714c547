"""The life of a subscription: subscribe, pause, resume, renew, look, unsubscribe.

python examples/manage.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from datetime import timedelta

from tocsin import Client, ClientError

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    async with Client(BROKER) as client:
        lease = await client.subscribe("http://127.0.0.1:9000/hook", topic="managed//.", expires=timedelta(minutes=10))
        await client.pause(lease)
        print(f"it is {(await client.status(lease)).state}")
        await client.resume(lease)
        lease = await client.renew(lease, timedelta(hours=1))
        print(f"it is {(await client.status(lease)).state} until {lease.expires}")
        await client.unsubscribe(lease)
    async with Client(BROKER, "wse-2004-08") as other:
        try:
            await other.pause(lease)
        except ClientError as problem:
            print(problem)


asyncio.run(main())
