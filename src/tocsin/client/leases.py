"""Leases that are renewed for as long as they are wanted."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from tocsin.client.connection import now
from tocsin.client.errors import ClientError, Unreachable
from tocsin.client.json_binding import JsonBinding
from tocsin.client.soap_binding import SoapBinding
from tocsin.client.values import Lease, Terms
from tocsin.mediation import times
from tocsin.model.refusal import Refusal

LATER = 1.0  # seconds until the next try at least
Binding = JsonBinding | SoapBinding
Renew = Callable[[Lease], Awaitable[Lease]]
Gone = Callable[[str], Awaitable[None]]


class KeptLease:
    """A subscription as it stands now: renewals replace the lease, and notices of an end are compared with it."""

    def __init__(self, binding: Binding) -> None:
        self.lease, self.over = Lease(""), asyncio.Event()
        self._binding = binding
        self._excused = False  # the broker could not be reached since it last knew the subscription

    @contextlib.asynccontextmanager
    async def kept(self, terms: Terms, gone: Gone) -> AsyncIterator[Lease]:
        """Until the way out, or until it is over; `gone` is called when the broker no longer knows it."""
        self.lease = await self._binding.subscribe(terms)
        try:
            async with _running(_renew(lambda held: self._renewed(held, terms, gone), self.lease, self.over)):
                yield self.lease
        finally:
            if not self.over.is_set():
                with contextlib.suppress(ClientError):
                    await self._binding.unsubscribe(self.lease)

    async def _renewed(self, held: Lease, terms: Terms, gone: Gone) -> Lease:
        try:
            self.lease = await self._binding.renew(held, terms.expires)
        except Unreachable:
            self._excused = True
            raise
        except ClientError as error:
            if self.over.is_set() or not error.refused or await self._stands(held):
                raise
            self.lease = await self._again(held, terms, gone, error)
        self._excused = False
        return self.lease

    async def _stands(self, held: Lease) -> bool:
        """Whether a renewal was refused for another reason than that there is nothing to renew."""
        try:
            await self._binding.status(held)
        except Unreachable:
            self._excused = True
            raise
        except ClientError:
            return False
        return True

    async def _again(self, held: Lease, terms: Terms, gone: Gone, why: ClientError) -> Lease:
        """What got lost is made again, but what vanished though we renewed it in time was ended on purpose."""
        if self._excused or _ran_out(held):
            try:
                return await self._binding.subscribe(terms)
            except ClientError as error:
                if not error.refused:
                    raise
                why = error
        await gone(str(why))
        return held


def _ran_out(lease: Lease) -> bool:
    """By the clock on the wall, for a machine that slept counts no seconds."""
    try:
        return bool(lease.expires) and times.instant(lease.expires) <= now()
    except Refusal:
        return False


@contextlib.asynccontextmanager
async def renewed(binding: Binding, lease: Lease, expires: str) -> AsyncIterator[None]:
    async with _running(_renew(lambda held: binding.renew(held, expires), lease, asyncio.Event())):
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
