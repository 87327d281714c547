"""Leases that are renewed for as long as they are wanted."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from tocsin.client.answers import ClientError, Unreachable
from tocsin.client.speech import Speech
from tocsin.client.values import Lease, Wanted

LATER = 1.0  # seconds until the next try at least
Renew = Callable[[Lease], Awaitable[Lease]]


@contextlib.asynccontextmanager
async def kept(speech: Speech, wanted: Wanted, over: asyncio.Event) -> AsyncIterator[Lease]:
    """A subscription until the way out, or until it is told that it is over.

    One that the broker no longer knows, for it was away too long, is made again.
    """
    lease = await speech.subscribe(wanted)

    async def renew(held: Lease) -> Lease:
        nonlocal lease
        try:
            lease = await speech.renew(held, wanted.expires)
        except Unreachable:
            raise
        except ClientError:
            if over.is_set():
                raise
            with contextlib.suppress(ClientError):
                await speech.unsubscribe(held)
            lease = await speech.subscribe(wanted)
        return lease

    try:
        async with _running(_renew(renew, lease, over)):
            yield lease
    finally:
        if not over.is_set():
            with contextlib.suppress(ClientError):
                await speech.unsubscribe(lease)


@contextlib.asynccontextmanager
async def renewed(speech: Speech, lease: Lease, expires: str) -> AsyncIterator[None]:
    async with _running(_renew(lambda held: speech.renew(held, expires), lease, asyncio.Event())):
        yield


async def _renew(renew: Renew, lease: Lease, over: asyncio.Event) -> None:
    """When half of it has passed; after a failure, when half of what is left has."""
    loop = asyncio.get_running_loop()
    while lease.seconds is not None and not over.is_set():
        ends = loop.time() + lease.seconds
        pause = lease.seconds / 2
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), pause)
                return
            try:
                lease = await renew(lease)
                break
            except ClientError:
                pause = max((ends - loop.time()) / 2, LATER)


@contextlib.asynccontextmanager
async def _running(work: Awaitable[None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
