"""The whole way of a message through a broker: one publisher, one consumer, one message at a time."""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from tocsin.client import Client, Consumer, Received
from tocsin.client.requests import publication
from tocsin.lab.benches._stage import Lost, started
from tocsin.lab.experiment import Progress
from tocsin.mediation.dialects import BY_NAME
from tocsin.model.notification import Notification
from tocsin.wire.http_client import HttpClient

WARM_UP, MEASURED = 10, 50
PATIENCE = 10.0


class Way(Struct, frozen=True):
    source: str
    target: str
    mean_ms: float


def whole_ways(mode: str, said: Sequence[Notification], names: Sequence[str], progress: Progress) -> list[Way]:
    """For every pair of those dialects, by a broker of its own in that delivery mode."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "serve",
            "--port",
            "0",
            "--data",
            str(Path(folder) / "data"),
            "--set",
            f"delivery.mode={mode}",
            "--json",
        ]
        with started(command) as (_, told):
            return asyncio.run(_ways(mode, told["url"], said, names, progress))


async def _ways(
    mode: str, broker: str, said: Sequence[Notification], names: Sequence[str], progress: Progress
) -> list[Way]:
    arrived: asyncio.Queue[tuple[float, Received]] = asyncio.Queue()
    http = HttpClient()
    found: dict[tuple[str, str], Way] = {}
    async with Consumer(received=lambda each: arrived.put_nowait((time.perf_counter(), each))).listening() as consumer:
        for target in names:
            client = Client(broker, target)
            lease = await client.subscribe(consumer.url)
            for source in names:
                progress(f"Fig. 13, {mode}: {source} to {target}")
                found[source, target] = Way(source, target, await _mean_ms(http, broker, source, said, arrived))
            await client.unsubscribe(lease.address)
            await client.close()
    await http.close()
    return [found[source, target] for source in names for target in names]


async def _mean_ms(
    http: HttpClient,
    broker: str,
    source: str,
    said: Sequence[Notification],
    arrived: "asyncio.Queue[tuple[float, Received]]",
) -> float:
    taken = []
    for number in range(WARM_UP + MEASURED):
        once = _renamed(said[number % len(said)])
        url, (headers, body) = publication(BY_NAME[source], once, broker)
        begun = time.perf_counter()
        answer = asyncio.ensure_future(http.request("POST", url, headers, body))
        async with asyncio.timeout(PATIENCE):
            came, received = await arrived.get()
        if not 200 <= (status := (await answer).status) < 300:
            raise Lost(f"{source} was answered {status}")
        if once.id.encode() not in received.body:
            raise Lost(f"another message came than {once.id}")
        taken.append(came - begun)
    return 1000 * fmean(taken[WARM_UP:])


_count = iter(range(1 << 62))


def _renamed(notification: Notification) -> Notification:
    """A repeated id would be taken for a repeated message."""
    return type(notification)(
        type(notification.id)(f"urn:tocsin:lab:{next(_count)}"),
        *(getattr(notification, name) for name in notification.__struct_fields__[1:]),
    )
