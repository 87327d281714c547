"""Site-Select Command: an order reaches those sites alone that are as it describes, and their outcomes are counted.

The order says what it is for; each site subscribes with a filter made of its own description, so that the broker
selects, and nobody has a list of sites.

python examples/site_select.py [http://127.0.0.1:8080]
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import NamedTuple

from tocsin import Client, Notification, all_replied, deadline

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"
OUTCOMES = "enum:success,no room on the disk,needs a restart,exception"


class Site(NamedTuple):
    name: str
    system: str
    version: int
    room: int  # megabytes on its disk
    state: str = "idle"

    def is_meant(self) -> str:
        """An order for such a site: of its system or of any, and for versions before one newer than its own."""
        return f"(/order[@system='{self.system}'] or /order[not(@system)]) and /order/@before > {self.version}"

    def obey(self, order: Notification) -> str | None:
        try:
            return self._install(order.payload.data)
        except OSError:
            return "exception"

    def _install(self, package: bytes) -> str | None:
        match self.state:
            case "broken":
                raise OSError(f"{package!r} cannot be read")
            case "asleep":
                return None
            case "busy":
                return "needs a restart"
        return "success" if self.room >= 100 else "no room on the disk"


SITES = (
    Site("gauge 1", "linux", 4, 500),
    Site("gauge 2", "linux", 4, 500),
    Site("gauge 3", "linux", 3, 20),
    Site("pump", "linux", 4, 500, "busy"),
    Site("siren", "linux", 2, 500, "broken"),
    Site("lamp", "linux", 4, 500, "asleep"),
    Site("gate", "linux", 6, 500),  # new enough
    Site("desk", "windows", 4, 500),  # of another kind
)


async def main() -> None:
    async with Client(BROKER) as client, AsyncExitStack() as stack:
        for site in SITES:
            await stack.enter_async_context(client.listening(site.obey, topic="site-select", content=site.is_meant()))
        view = await client.publish(
            b'<order system="linux" before="5">install 5.1</order>', topic="site-select", reply_type=OUTCOMES
        )
        found = await view.wait(all_replied() | deadline(2))
        print(f"{found.receivers} of {len(SITES)} sites are meant")
        for each in found.histogram:
            print(f"{each.count} x {each.value}")
        print(f"{found.outstanding} x no answer")
        await view.terminate()


asyncio.run(main())
